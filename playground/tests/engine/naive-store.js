// The rules of the store, written down as simply as they can be: files in a
// map, and a history that is a list of lines. Every question walks over all.

import { compareKeys, next } from '../../src/engine/address.js';

/**
 * @typedef {import('../../src/engine/address.js').Key} Key
 * @typedef {import('../../src/engine/record.js').Owner} Owner
 * @typedef {{address: Key, event: 'had' | 'left', key: string | null, when: number}} Line
 */

const PAGE = 256;

export class NaiveNode {
  /** Records: an owner, or that the file is torn or foreign. @type {Map<Key, Owner | 'torn' | 'foreign'>} */
  records = new Map();
  /** @type {Map<number, Key>} */
  markers = new Map();
  /** @type {Line[] | undefined} */
  lines = undefined;
  state = '';
  boot = 0;

  /**
   * @param {number} now
   * @param {boolean} history
   */
  open(now, history) {
    return new NaiveLedger(this, now, history);
  }
}

class NaiveLedger {
  /** What was reserved, and how many lines there were. @type {Map<Key, number>} */
  #fresh = new Map();
  /** @type {string | undefined} */
  #pending = undefined;

  /**
   * @param {NaiveNode} node
   * @param {number} now
   * @param {boolean} history
   */
  constructor(node, now, history) {
    this.node = node;
    this.now = now;
    this.history = history;
  }

  /** A history is begun with what is first reserved or remembered. */
  #begin() {
    if (this.history) {
      this.node.lines ??= [];
    }
  }

  /** @param {Key} address */
  #isFree(address) {
    const record = this.node.records.get(address);
    return record === undefined || record === 'torn';
  }

  #owned() {
    return [...this.node.records]
      .flatMap(([address, owner]) => (typeof owner === 'string' ? [] : [{ address, owner }]))
      .sort((a, b) => compareKeys(a.address, b.address));
  }

  /** @param {string} container */
  heldBy(container) {
    return this.#owned().filter(({ owner }) => owner.container === container);
  }

  /** @param {Key} address */
  holder(address) {
    const record = this.node.records.get(address);
    if (record === 'foreign') {
      return { tag: 'foreign' };
    }
    return record === undefined || record === 'torn'
      ? { tag: 'nobody' }
      : { tag: 'owner', val: record };
  }

  /**
   * @param {Key} first
   * @param {Key} last
   */
  nextFree(first, last) {
    for (let address = first; address <= last; address = next(address)) {
      if (this.#isFree(address)) {
        return address;
      }
    }
    return undefined;
  }

  /**
   * @param {Key} address
   * @param {{container: string, interface: string}} owner
   */
  reserve(address, owner) {
    if (!this.#isFree(address)) {
      return false;
    }
    this.node.records.set(address, owner);
    this.#begin();
    this.#fresh.set(address, this.node.lines?.length ?? 0);
    return true;
  }

  /**
   * @param {Key} address
   * @param {Owner} owner
   */
  release(address, owner) {
    const record = this.node.records.get(address);
    const isTheirs = typeof record === 'object'
      && record.container === owner.container && record.interface === owner.interface;
    if (!isTheirs) {
      return false;
    }
    this.node.records.delete(address);
    const { lines } = this.node;
    const fresh = this.#fresh.get(address);
    if (fresh !== undefined) {
      this.#fresh.delete(address);
      this.node.lines = lines?.filter((line, at) => line.address !== address || at < fresh);
    } else if (lines !== undefined) {
      const last = this.#last(address);
      const key = last?.event === 'had' ? last.key : null;
      lines.push({ address, event: 'left', key, when: this.now });
    }
    return true;
  }

  /** @param {Key | undefined} after */
  reservations(after) {
    return this.#owned()
      .filter(({ address }) => after === undefined || compareKeys(address, after) > 0)
      .slice(0, PAGE);
  }

  reclaim() {
    const torn = [...this.node.records].filter(([, record]) => record === 'torn');
    torn.forEach(([address]) => this.node.records.delete(address));
    return torn.map(([address]) => address).sort(compareKeys);
  }

  /** @param {number} index */
  lastReserved(index) {
    return this.node.markers.get(index);
  }

  allLastReserved() {
    return [...this.node.markers].sort(([a], [b]) => a - b).map(([, address]) => address);
  }

  /**
   * @param {number} index
   * @param {Key} address
   */
  setLastReserved(index, address) {
    this.node.markers.set(index, address);
  }

  /** Last lines of addresses, in their order. */
  #lasts() {
    const lines = this.node.lines ?? [];
    return lines.filter((line, at) =>
      !lines.slice(at + 1).some(({ address }) => address === line.address));
  }

  /** @param {Key} address */
  #last(address) {
    return this.#lasts().find((line) => line.address === address);
  }

  /**
   * @param {Key} first
   * @param {Key} last
   */
  nextUnused(first, last) {
    for (let address = first; address <= last; address = next(address)) {
      if (this.#isFree(address) && this.#last(address) === undefined) {
        return address;
      }
    }
    return undefined;
  }

  /** @param {Key} address */
  past(address) {
    const line = this.#last(address);
    return line !== undefined && this.#isFree(address) ? this.#past(line) : undefined;
  }

  /** @param {Line} line */
  #past({ address, key, when }) {
    return {
      address,
      key,
      latest: key !== null && this.remembered(key) === address,
      releasedMsAgo: Math.max(0, this.now - Math.max(when, this.node.boot)),
    };
  }

  #aged() {
    return this.#lasts()
      .map((line, at) => ({ line, at }))
      .sort((a, b) => a.line.when - b.line.when || a.at - b.at)
      .map(({ line }) => line);
  }

  /** @param {number} skip */
  released(skip) {
    return this.#aged()
      .filter(({ address }) => this.#isFree(address))
      .slice(skip, skip + PAGE)
      .map((line) => this.#past(line));
  }

  /** @param {string} key */
  remembered(key) {
    const theirs = this.#lasts().filter((line) => line.key === key).map(({ address }) => address);
    const had = (this.node.lines ?? []).filter(({ event }) => event === 'had');
    return had.findLast(({ address }) => theirs.includes(address))?.address;
  }

  /**
   * @param {Key} address
   * @param {string} key
   */
  remember(address, key) {
    this.#begin();
    this.node.lines?.push({ address, event: 'had', key, when: this.now });
  }

  policyState() {
    return this.#pending ?? this.node.state;
  }

  /** @param {string} state */
  setPolicyState(state) {
    this.#pending = state;
  }

  keepState() {
    this.node.state = this.#pending ?? this.node.state;
    this.#pending = undefined;
  }
}

/**
 * A file of the directory that says this.
 * @param {Owner | 'torn' | 'foreign'} record
 */
export function fileOf(record) {
  switch (record) {
    case 'torn':
      return ' \n';
    case 'foreign':
      return 'a b';
    default:
      return record.interface === undefined
        ? record.container
        : `${record.container}\r\n${record.interface}`;
  }
}
