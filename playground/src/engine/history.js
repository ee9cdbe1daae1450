// What is remembered of addresses: who had them, and when they were released.
// The rules are those of the native store, which keeps it as lines of a file;
// of each address, only what happened last counts.

import { Sequence } from './sequence.js';

/** @typedef {import('./address.js').Key} Key */

/**
 * What happened last at an address: somebody got it, or it was released.
 * @typedef {object} Memory
 * @property {Key} address
 * @property {string | null} key who has it or had it, where that is known
 * @property {boolean} held whether it was given, and not released
 * @property {number} when in milliseconds since 1970
 * @property {number} order of what happened, since times may be equal
 * @property {number} given the order in which it was given to its key; 0 without one
 */

/**
 * Sorts by age, those of the longest ago first.
 * @param {Memory} a
 * @param {Memory} b
 */
export function byAge(a, b) {
  return a.when - b.when || a.order - b.order;
}

/**
 * @param {Memory} a
 * @param {Memory} b
 */
function byGift(a, b) {
  return a.given - b.given;
}

export class History {
  /** @type {Map<Key, Memory>} */
  #memories = new Map();
  /** Those with a key, by it, the one given last last. @type {Map<string, Sequence<Memory>>} */
  #byKey = new Map();

  /**
   * What is remembered of an address.
   * @param {Key} address
   */
  get(address) {
    return this.#memories.get(address);
  }

  get isEmpty() {
    return this.#memories.size === 0;
  }

  values() {
    return this.#memories.values();
  }

  /**
   * Of the addresses that a key had last, the one that it got last: in which
   * order they were released does not matter.
   * @param {string} key
   */
  latestOf(key) {
    return this.#byKey.get(key)?.last()?.address;
  }

  /**
   * @param {Key} address
   * @param {Memory | undefined} memory
   */
  put(address, memory) {
    const former = this.#memories.get(address);
    if (former !== undefined) {
      this.#dropKey(former);
      this.#memories.delete(address);
    }
    if (memory !== undefined) {
      this.#memories.set(address, memory);
      this.#addKey(memory);
    }
  }

  /** @param {Memory} memory */
  #addKey(memory) {
    if (memory.key !== null) {
      const known = this.#byKey.get(memory.key);
      const all = known ?? new Sequence(byGift);
      all.add(memory);
      if (known === undefined) {
        this.#byKey.set(memory.key, all);
      }
    }
  }

  /** @param {Memory} memory */
  #dropKey(memory) {
    if (memory.key === null) {
      return;
    }
    const all = this.#byKey.get(memory.key);
    all?.delete(memory);
    if (all?.last() === undefined) {
      this.#byKey.delete(memory.key);
    }
  }
}
