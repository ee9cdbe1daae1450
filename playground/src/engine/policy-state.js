// What a policy remembers of a network: keys and values, as JSON in the form
// in which the native engine keeps it.

/** @typedef {import('./ledger.js').Ledger} Ledger */

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Fails `state.set`; jco looks for `payload`. */
class Refused extends Error {
  /** @param {string} why */
  constructor(why) {
    super(why);
    this.payload = why;
  }
}

/**
 * Keys and values, read when they are first needed. Changes stay here until
 * the decision has ended well.
 */
export class PolicyState {
  #ledger;
  #most;
  /** @type {Map<string, Uint8Array> | undefined} */
  #entries = undefined;
  /** Bytes of keys and values. */
  #size = 0;
  #isChanged = false;

  /**
   * @param {Ledger} ledger
   * @param {number} most bytes of keys and values
   */
  constructor(ledger, most) {
    this.#ledger = ledger;
    this.#most = most;
  }

  #read() {
    if (this.#entries === undefined) {
      this.#entries = read(this.#ledger.policyState());
      for (const [key, value] of this.#entries) {
        this.#size += encoder.encode(key).length + value.length;
      }
    }
    return this.#entries;
  }

  /** @param {string} key */
  get(key) {
    return this.#read().get(key);
  }

  /**
   * @param {string} key
   * @param {Uint8Array} value
   */
  set(key, value) {
    const entries = this.#read();
    const old = entries.get(key);
    const keySize = encoder.encode(key).length;
    const size = this.#size - (old === undefined ? 0 : keySize + old.length) + keySize + value.length;
    if (size > this.#most) {
      throw new Refused(
        `${size} bytes of keys and values would be more than the limit of ${this.#most}`);
    }
    this.#isChanged ||= old === undefined || compareBytes(old, value) !== 0;
    this.#size = size;
    entries.set(key, value);
  }

  /** @param {string} key */
  remove(key) {
    const entries = this.#read();
    const old = entries.get(key);
    if (old !== undefined) {
      this.#size -= encoder.encode(key).length + old.length;
      this.#isChanged = true;
      entries.delete(key);
    }
  }

  /** In the order of their bytes. */
  keys() {
    return [...this.#read().keys()].sort(compareTexts);
  }

  /** Hands what was changed to the store. */
  commit() {
    if (this.#isChanged) {
      const entries = this.#read();
      const members = this.keys().map((key) =>
        `${JSON.stringify(key)}:${write(entries.get(key) ?? new Uint8Array())}`);
      // Where nothing is left, nothing is kept.
      this.#ledger.setPolicyState(members.length === 0 ? '' : `{${members.join(',')}}`);
    }
  }
}

/**
 * A value: text where it is text, for those who look at it.
 * @param {Uint8Array} value
 */
function write(value) {
  try {
    return JSON.stringify(decoder.decode(value));
  } catch {
    return `{"hex":"${toHex(value)}"}`;
  }
}

/**
 * Nobody but {@link PolicyState} has written it.
 * @param {string} text
 * @returns {Map<string, Uint8Array>}
 */
function read(text) {
  if (text === '') {
    return new Map();
  }
  /** @type {[string, string | {hex: string}][]} */
  const entries = Object.entries(JSON.parse(text));
  return new Map(entries.map(([key, value]) =>
    [key, typeof value === 'string' ? encoder.encode(value) : fromHex(value.hex)]));
}

/** @param {Uint8Array} bytes */
export function toHex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** @param {string} text */
function fromHex(text) {
  const pairs = text.match(/../g) ?? [];
  return Uint8Array.from(pairs, (pair) => Number.parseInt(pair, 16));
}

/**
 * UTF-16 has another order than bytes.
 * @param {string} a
 * @param {string} b
 */
function compareTexts(a, b) {
  return compareBytes(encoder.encode(a), encoder.encode(b));
}

/**
 * @param {Uint8Array} a
 * @param {Uint8Array} b
 */
function compareBytes(a, b) {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) {
    if (a[at] !== b[at]) {
      return a[at] - b[at];
    }
  }
  return a.length - b.length;
}
