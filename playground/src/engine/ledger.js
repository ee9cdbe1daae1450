// The rules: what counts as a reservation, as free and as foreign, and what is
// done to files when an address is reserved or released. They are those of the
// native stores, the one of files and the one of simulations. An invocation has
// a ledger of its own.

import { compareKeys, formatKey } from './address.js';
import { Directory } from './directory.js';
import {
  classify, isFree, isHeldBy, markerName, NOBODY, parseMarker, render, temporaryName,
} from './record.js';

/**
 * @typedef {import('./address.js').Key} Key
 * @typedef {import('./disk.js').Disk} Disk
 * @typedef {import('./history.js').Memory} Memory
 * @typedef {import('./record.js').Found} Found
 * @typedef {import('./record.js').Owner} Owner
 * @typedef {'inspect' | 'read' | 'release' | 'collect' | 'reserve'} Access
 * @typedef {{address: Key, owner: Owner}} Reservation
 */

/**
 * What is remembered of an address that is free.
 * @typedef {{address: Key, key: string | null, latest: boolean, releasedMsAgo: number}} Past
 */

/** Fails a call with an `error` of the interface; jco looks for `payload`. */
export class StorageError extends Error {
  /**
   * @param {'busy' | 'io' | 'location'} kind
   * @param {string} message
   */
  constructor(kind, message) {
    super(message);
    this.payload = { kind, message };
  }
}

/** How many reservations are handed out at once. */
const PAGE = 256;

export class Ledger {
  #disk;
  #directory;
  #now;
  #begins;
  /**
   * What this invocation reserved, and what was remembered of it before, if
   * it was remembered again. Giving it back is no release.
   * @type {Map<Key, {before: Memory | undefined} | undefined>}
   */
  #fresh = new Map();
  /** What a policy has set and is not kept yet. @type {string | undefined} */
  #pending = undefined;

  /**
   * @param {Disk} disk
   * @param {Directory} directory
   * @param {number} now in milliseconds since 1970
   * @param {boolean} begins whether releases are remembered once something was
   *   reserved
   */
  constructor(disk, directory, now, begins = false) {
    this.#disk = disk;
    this.#directory = directory;
    this.#now = now;
    this.#begins = begins;
  }

  // ----------------------------------------------------------------- records

  /**
   * @param {string} container
   * @returns {Reservation[]}
   */
  heldBy(container) {
    return this.#directory.heldBy(container).flatMap((address) => this.#reservation(address));
  }

  /**
   * @param {Key} address
   * @returns {Found}
   */
  holder(address) {
    const found = this.#directory.found(address);
    return isFree(found) ? NOBODY : found;
  }

  /**
   * @param {Key} first
   * @param {Key} last
   */
  nextFree(first, last) {
    return this.#directory.taken.gap(first, last);
  }

  /**
   * @param {Key} address
   * @param {{container: string, interface: string}} owner
   */
  reserve(address, owner) {
    if (!isFree(this.#directory.found(address))) {
      return false;
    }
    this.#directory.set(formatKey(address), render(owner));
    this.#fresh.set(address, undefined);
    this.#begin();
    return true;
  }

  /**
   * @param {Key} address
   * @param {Owner} owner
   */
  release(address, owner) {
    if (!isHeldBy(this.#directory.found(address), owner)) {
      return false;
    }
    const remembered = this.#fresh.get(address);
    if (!this.#fresh.delete(address)) {
      this.#left(address);
    } else if (remembered !== undefined) {
      // Nobody has used what was reserved just now.
      this.#directory.remember(address, remembered.before);
    }
    this.#directory.delete(formatKey(address));
    this.#sweep(owner);
    return true;
  }

  /**
   * @param {Key | undefined} after
   * @returns {Reservation[]}
   */
  reservations(after) {
    const page = [];
    for (const address of this.#directory.taken.behind(after)) {
      page.push(...this.#reservation(address));
      if (page.length === PAGE) {
        break;
      }
    }
    return page;
  }

  /**
   * The reservation at an address, if it is one.
   * @param {Key} address
   * @returns {Reservation[]}
   */
  #reservation(address) {
    const found = this.#directory.found(address);
    return found.tag === 'owner' ? [{ address, owner: found.val }] : [];
  }

  reclaim() {
    const torn = this.#directory.torn();
    torn.forEach((address) => this.#directory.delete(formatKey(address)));
    return torn;
  }

  /**
   * Removes the temporaries in which a writer that was killed had begun a
   * record of this owner.
   * @param {Owner} owner
   */
  #sweep(owner) {
    for (const address of this.#directory.temporaries()) {
      const name = temporaryName(address);
      if (isHeldBy(classify(this.#directory.text(name)), owner)) {
        this.#directory.delete(name);
      }
    }
  }

  // ----------------------------------------------------------------- markers

  /**
   * @param {number} index
   * @returns {Key | undefined}
   */
  lastReserved(index) {
    const text = this.#directory.text(markerName(index));
    return text === undefined ? undefined : parseMarker(text);
  }

  /** @returns {Key[]} */
  allLastReserved() {
    const all = this.#directory.markers().map((index) => this.lastReserved(index));
    return all.filter((address) => address !== undefined);
  }

  /**
   * @param {number} index
   * @param {Key} address
   */
  setLastReserved(index, address) {
    const name = markerName(index);
    const text = formatKey(address);
    const entry = this.#directory.get(name);
    if (entry instanceof Directory) {
      throw new StorageError('io', `replace ${name}: is a directory`);
    }
    if (entry !== text) {
      this.#directory.set(name, text);
    }
  }

  // ----------------------------------------------------------------- history

  /**
   * @param {Key} first
   * @param {Key} last
   */
  nextUnused(first, last) {
    return this.#directory.used.gap(first, last);
  }

  /**
   * @param {Key} address
   * @returns {Past | undefined}
   */
  past(address) {
    const memory = this.#directory.memory(address);
    return memory !== undefined && isFree(this.#directory.found(address))
      ? this.#past(memory)
      : undefined;
  }

  /** @param {number} skip */
  released(skip) {
    return this.#directory.aged.page(skip, PAGE).map((memory) => this.#past(memory));
  }

  /**
   * @param {Memory} memory
   * @returns {Past}
   */
  #past({ address, key, when }) {
    const latest = key === null ? undefined : this.#directory.latestOf(key);
    // Of what was before the node booted, no more is known than that.
    const since = Math.max(when, this.#disk.boot ?? when);
    return {
      address,
      key,
      latest: latest !== undefined && compareKeys(latest, address) === 0,
      releasedMsAgo: Math.max(0, this.#now - since),
    };
  }

  /** @param {string} key */
  remembered(key) {
    return this.#directory.latestOf(key);
  }

  /**
   * @param {Key} address
   * @param {string} key
   */
  remember(address, key) {
    this.#begin();
    if (!this.#directory.remembers) {
      return;
    }
    const before = this.#directory.memory(address);
    if (this.#fresh.has(address) && this.#fresh.get(address) === undefined) {
      this.#fresh.set(address, { before });
    }
    const order = this.#disk.order();
    const memory = { address, key, held: true, when: this.#now, order, given: order };
    this.#directory.remember(address, memory);
  }

  #begin() {
    if (this.#begins && !this.#directory.remembers) {
      this.#directory.setRemembers(true);
    }
  }

  /** @param {Key} address that is released */
  #left(address) {
    if (this.#directory.remembers) {
      const memory = this.#directory.memory(address);
      // Who had it is known if it was given to them last, and not released since.
      const { key, given } = memory?.held ? memory : { key: null, given: 0 };
      this.#directory.remember(address, {
        address, key, held: false, when: this.#now, order: this.#disk.order(), given,
      });
    }
  }

  // ------------------------------------------------------------------- state

  /** What a policy remembers: as it was last set, or else as it is kept. */
  policyState() {
    return this.#pending ?? this.#directory.state;
  }

  /**
   * Sets that. It counts once it is kept.
   * @param {string} state
   */
  setPolicyState(state) {
    this.#pending = state;
  }

  keepState() {
    const state = this.#pending ?? this.#directory.state;
    this.#pending = undefined;
    if (state !== this.#directory.state) {
      this.#directory.setState(state);
    }
  }
}
