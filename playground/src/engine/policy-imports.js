// The imports of a policy, for the length of one decision. Nothing here
// changes the pool.

import { fromKey, toKey } from './address.js';
import { StorageError } from './ledger.js';
import { Stop } from './policy-failure.js';
import { PolicyLog } from './policy-log.js';
import { PolicyState } from './policy-state.js';
import { nextGivable, toSpan } from './pool.js';

/**
 * @typedef {import('./address.js').Address} Address
 * @typedef {import('./ledger.js').Ledger} Ledger
 */

/**
 * What a policy may use. Fuel is not counted here, and of the stack nobody
 * knows how large it is.
 * @typedef {object} Limits
 * @property {bigint} fuel
 * @property {bigint} memory
 * @property {number} tableElements
 * @property {number} instances
 * @property {number} stack
 * @property {bigint} lifted
 * @property {bigint} component
 * @property {number} state
 */

/**
 * What of the pool a policy gets to see.
 * @typedef {object} View
 * @property {object[]} ranges
 * @property {{first: Address, last: Address}[]} spans
 * @property {bigint} cooldownMs
 * @property {bigint} keepMs
 * @property {string | undefined} key
 * @property {Address | undefined} lastReserved
 */

/**
 * Of no set, for where a decision is about none.
 * @type {View}
 */
export const NO_POOL = {
  ranges: [],
  spans: [],
  cooldownMs: 0n,
  keepMs: 0n,
  key: undefined,
  lastReserved: undefined,
};

/**
 * After this time no question is answered any more, as natively. A policy that
 * asks nothing is ended by the page.
 */
const LONGEST_MS = 5000;

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** What a decision has of the host while it runs. */
export class PolicyImports {
  #limits;
  /** Bytes that the policy may still hand over. */
  #left;
  #started = performance.now();
  /** @type {Stop | undefined} */
  #stopped = undefined;

  /**
   * @param {Ledger} ledger
   * @param {View} view
   * @param {Limits} limits
   */
  constructor(ledger, view, limits) {
    this.#limits = limits;
    this.#left = Number(limits.lifted);
    this.log = new PolicyLog();
    this.state = new PolicyState(ledger, limits.state);
    /** What jco is given: interfaces, and what makes texts of bytes. */
    this.all = {
      decoder: { decode: (/** @type {Uint8Array} */ bytes) => this.#decode(bytes) },
      'wipam:ipam/pool': this.#interface('pool', pool(ledger, view)),
      'wipam:ipam/state': this.#interface('state', this.#stateFunctions()),
      'wipam:ipam/log': this.#interface('log', {
        write: (/** @type {string} */ message) => this.log.write(message),
      }),
    };
  }

  #stateFunctions() {
    const { state } = this;
    return {
      get: (/** @type {string} */ key) => state.get(key),
      set: (/** @type {string} */ key, /** @type {Uint8Array} */ value) => {
        this.lifted(value.length);
        state.set(key, value);
      },
      remove: (/** @type {string} */ key) => state.remove(key),
      keys: () => state.keys(),
    };
  }

  /** @param {Uint8Array} bytes */
  #decode(bytes) {
    this.lifted(bytes.length);
    try {
      return utf8.decode(bytes);
    } catch {
      throw new Error('invalid utf-8 sequence');
    }
  }

  /**
   * Counts what a policy hands over. Texts are counted where they are made.
   * @param {number} count in bytes
   */
  lifted(count) {
    if (count > this.#left) {
      throw this.exceeded(`${this.#limits.lifted} bytes handed to the host`);
    }
    this.#left -= count;
  }

  /**
   * Ends the decision.
   * @param {string} limit that was reached
   */
  exceeded(limit) {
    return this.#stop(new Stop({ tag: 'limit', limit }));
  }

  /** Throws what the decision was ended with, if it was: a policy may have caught it. */
  check() {
    if (this.#stopped !== undefined) {
      throw this.#stopped;
    }
  }

  /** @param {Stop} stop */
  #stop(stop) {
    this.#stopped ??= stop;
    return this.#stopped;
  }

  /**
   * An interface as a policy gets it. One that wants more of it than there is
   * fails even if it never uses that.
   * @param {string} name
   * @param {Record<string, (...args: any[]) => any>} functions
   */
  #interface(name, functions) {
    const guarded = Object.entries(functions).map(([key, value]) => [key, this.#guarded(value)]);
    return new Proxy(Object.fromEntries(guarded), {
      get(target, key) {
        if (!Object.hasOwn(target, key)) {
          throw new Error(`it wants ${String(key)} of wipam:ipam/${name}@0.1.0, where there is none`);
        }
        return target[key];
      },
    });
  }

  /**
   * @param {(...args: any[]) => any} call
   * @returns {(...args: any[]) => any}
   */
  #guarded(call) {
    return (...args) => {
      this.check();
      if (performance.now() - this.#started >= LONGEST_MS) {
        throw this.exceeded(`${LONGEST_MS / 1000} seconds`);
      }
      try {
        return call(...args);
      } catch (error) {
        if (error instanceof StorageError) {
          throw this.#stop(new Stop({ tag: 'store', error }));
        }
        throw error instanceof Stop ? this.#stop(error) : error;
      }
    };
  }
}

/**
 * @param {Ledger} ledger
 * @param {View} view
 */
function pool(ledger, view) {
  const spans = view.spans.map(toSpan);
  const holdBack = {
    cooldownMs: Number(view.cooldownMs),
    keepMs: Number(view.keepMs),
    key: view.key,
  };
  return {
    ranges: () => view.ranges,
    spans: () => view.spans,
    isReserved: (/** @type {Address} */ address) => ledger.holder(toKey(address)).tag !== 'nobody',
    nextFree: (/** @type {Address} */ at) => {
      const free = nextGivable(ledger, spans, holdBack, toKey(at));
      return free === undefined ? undefined : fromKey(free);
    },
    lastReserved: () => view.lastReserved,
    reservations: (/** @type {Address | undefined} */ after) =>
      ledger.reservations(after && toKey(after)).map(({ address, owner }) =>
        ({ address: fromKey(address), owner, newer: false })),
  };
}
