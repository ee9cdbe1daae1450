// Why a policy gave no answer, in the words of the native engine. What it took
// is left out: here nobody counts it.

import { StorageError } from './ledger.js';
import { oneLine } from './policy-log.js';

/**
 * What a decision is ended with from outside: the store failed, which is no
 * fault of the policy's, or a limit was reached.
 * @typedef {{tag: 'store', error: StorageError} | {tag: 'limit', limit: string}} Reason
 */

/** Ends a decision. */
export class Stop extends Error {
  /** @param {Reason} reason */
  constructor(reason) {
    super(reason.tag);
    this.reason = reason;
  }
}

/** Fails a call of `policies`; jco looks for `payload`. */
export class PolicyFailure extends Error {
  /** @param {{tag: 'storage', val: StorageError['payload']} | {tag: 'policy', val: string}} payload */
  constructor(payload) {
    super(payload.tag);
    this.payload = payload;
  }
}

/** How many digits of a digest are shown. */
const DIGITS = 12;

/** The policy, as messages name it. */
export class Name {
  #text;

  /**
   * @param {string} path
   * @param {string | undefined} digest
   */
  constructor(path, digest) {
    this.#text = digest === undefined
      ? `policy ${path}`
      : `policy ${path} (sha256 ${digest.slice(0, DIGITS)})`;
  }

  toString() {
    return this.#text;
  }

  /**
   * A failure of this policy.
   * @param {string} how
   */
  fails(how) {
    return new PolicyFailure({ tag: 'policy', val: `${this.#text} ${how}` });
  }

  /**
   * What became of a decision that ended before its answer.
   * @param {unknown} error
   * @param {number} stack the limit, in bytes
   */
  ended(error, stack) {
    if (error instanceof Stop) {
      return this.#stopped(error.reason);
    }
    if (isStackOverflow(error)) {
      return this.#stopped({ tag: 'limit', limit: `${stack} bytes of stack` });
    }
    if (error instanceof WebAssembly.RuntimeError) {
      return this.fails(`trapped: wasm trap: ${inOtherWords(error.message, TRAPS)}`);
    }
    const message = error instanceof Error ? error.message : String(error);
    return this.fails(`failed: ${inOtherWords(message, FAULTS)}`);
  }

  /** @param {Reason} reason */
  #stopped(reason) {
    return reason.tag === 'store'
      ? new PolicyFailure({ tag: 'storage', val: reason.error.payload })
      : this.fails(`exceeded its limit of ${reason.limit}`);
  }
}

/**
 * The stack is the browser's, and so is its size: natively it is as large as
 * the limit says.
 * @param {unknown} error
 */
function isStackOverflow(error) {
  return error instanceof Error && /call stack|too much recursion/.test(error.message);
}

/**
 * Words of V8, and those of wasmtime for the same. V8 does not tell a number
 * that is too large from one that is none, and before 2024 a call of nothing
 * from one with another type.
 * @type {[RegExp, string][]}
 */
const TRAPS = [
  [/unreachable/, 'wasm `unreachable` instruction executed'],
  [/memory access out of bounds|data segment.* out of bounds/, 'out of bounds memory access'],
  [/divide by zero|remainder by zero/, 'integer divide by zero'],
  [/divide result unrepresentable/, 'integer overflow'],
  [/float unrepresentable/, 'invalid conversion to integer'],
  [/signature mismatch/, 'indirect call type mismatch'],
  [/null function/, 'uninitialized element'],
  [/array.* out of bounds/, 'out of bounds array access'],
  [/(table|element).* out of bounds/, 'undefined element: out of bounds table access'],
  [/null pointer/, 'null reference'],
  [/illegal cast/, 'cast failure'],
];

/** The same of errors in what jco has made. @type {[RegExp, string][]} */
const FAULTS = [
  [/typed array length|Start offset/, 'string pointer/length out of bounds of memory'],
  [/bounds of the DataView/, 'pointer out of bounds of memory'],
];

/**
 * @param {string} message
 * @param {[RegExp, string][]} known
 */
function inOtherWords(message, known) {
  return known.find(([words]) => words.test(message))?.[1] ?? oneLine(message);
}
