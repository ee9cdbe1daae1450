// What is remembered of addresses: who had them, and when they were released.
// The native store keeps this beside the network's directory.

import { compare, format } from './address.js';

/**
 * @typedef {import('./address.js').Address} Address
 * @typedef {{address: Address, key?: string, latest: boolean, releasedMsAgo: bigint}} Past
 */

export class History {
  /** What happened last at an address, by its text. Ordered by when. */
  #events = new Map();

  /**
   * @param {Address} address
   * @param {string | undefined} key who has it; without, it was released
   * @param {number} now in milliseconds
   */
  note(address, key, now) {
    const name = format(address);
    const before = this.#events.get(name);
    // After a release, whoever had it next did not say who it was.
    const holder = key ?? (before?.held ? before.key : undefined);
    this.#events.delete(name);
    this.#events.set(name, { address, key: holder, held: key !== undefined, when: now });
  }

  /** @param {string} key */
  lastOf(key) {
    return [...this.#events.values()].findLast((event) => event.key === key)?.address;
  }

  /**
   * @param {Address} address
   * @param {number} now
   * @returns {Past | undefined}
   */
  of(address, now) {
    const event = this.#events.get(format(address));
    if (event === undefined) {
      return undefined;
    }
    const { key, when } = event;
    const last = key === undefined ? undefined : this.lastOf(key);
    return {
      address,
      key,
      latest: last !== undefined && compare(last, address) === 0,
      releasedMsAgo: BigInt(Math.max(0, now - when)),
    };
  }

  /** The addresses of which anything is known, the longest ago first. */
  addresses() {
    return [...this.#events.values()].map(({ address }) => address);
  }
}
