// A directory in memory, with what the native store keeps beside it. What the
// rules ask for is kept at hand, so that no question has to walk over all the
// files: a pool may have tens of thousands of them.

import { compareKeys, formatKey } from './address.js';
import { AddressSet } from './address-set.js';
import { byAge, History } from './history.js';
import { classify, isFree, NOBODY, parseName } from './record.js';
import { Sequence } from './sequence.js';

/**
 * @typedef {import('./address.js').Key} Key
 * @typedef {import('./changes.js').Changes} Changes
 * @typedef {import('./history.js').Memory} Memory
 * @typedef {import('./record.js').Found} Found
 */

/** A symbolic link that leads nowhere. */
export class DanglingLink {
  /** @param {string} target */
  constructor(target) {
    this.target = target;
  }
}

/**
 * What a name stands for: a file with its text, one with bytes that are none,
 * a directory or a link.
 * @typedef {string | Uint8Array | Directory | DanglingLink} Entry
 */

export class Directory {
  /** @type {Map<string, Entry>} */
  #entries = new Map();
  /** What stands at addresses, where it is not nothing. @type {Map<Key, Found>} */
  #found = new Map();
  /** The addresses at which a container has reservations. @type {Map<string, Set<Key>>} */
  #containers = new Map();
  /** Those with a record without an owner. @type {Set<Key>} */
  #torn = new Set();
  /** Those that cannot be reserved. */
  #taken = new AddressSet();
  /** Those, and those of which something is remembered. */
  #used = new AddressSet();
  /** @type {Set<number>} */
  #markers = new Set();
  /** @type {Set<Key>} */
  #temporaries = new Set();
  #history = new History();
  /** What is remembered of addresses that are free. @type {Sequence<Memory>} */
  #aged = new Sequence(byAge);
  #remembers = false;
  #state = '';
  #changes;

  /**
   * @param {string} path
   * @param {Changes} changes told of everything that changes
   */
  constructor(path, changes) {
    this.path = path;
    this.#changes = changes;
  }

  // ------------------------------------------------------------------- files

  /** @param {string} name */
  get(name) {
    return this.#entries.get(name);
  }

  /**
   * The text of a file; nothing where there is no file or no text in it.
   * @param {string} name
   */
  text(name) {
    const entry = this.#entries.get(name);
    return typeof entry === 'string' ? entry : undefined;
  }

  /** Names and what they stand for. */
  entries() {
    return this.#entries.entries();
  }

  /**
   * @param {string} name
   * @param {Entry} entry
   */
  set(name, entry) {
    this.#note(name, entry);
    this.#entries.set(name, entry);
    this.#index(name, entry);
  }

  /** @param {string} name */
  delete(name) {
    this.#note(name, undefined);
    this.#entries.delete(name);
    this.#index(name, undefined);
  }

  /**
   * The directory of a name, made if it is missing.
   * @param {string} name
   */
  make(name) {
    const made = new Directory(`${this.path}/${name}`, this.#changes);
    this.set(name, made);
    return made;
  }

  /** Whether nothing is in it, nor kept beside it. */
  get isEmpty() {
    return this.#entries.size === 0 && this.#history.isEmpty && !this.#remembers
      && this.#state === '';
  }

  /**
   * @param {string} name
   * @param {Entry | undefined} entry
   */
  #note(name, entry) {
    const after = typeof entry === 'string' ? entry : undefined;
    this.#changes.note(`f:${this.path}/${name}`, this.text(name), after);
  }

  /**
   * @param {string} name
   * @param {Entry | undefined} entry
   */
  #index(name, entry) {
    const meaning = parseName(name);
    switch (meaning?.tag) {
      case 'record': {
        const text = typeof entry === 'string' ? entry : undefined;
        this.#put(meaning.address, entry === undefined ? NOBODY : classify(text));
        break;
      }
      case 'temporary':
        putIn(this.#temporaries, meaning.address, entry !== undefined);
        break;
      case 'marker':
        putIn(this.#markers, meaning.index, entry !== undefined);
        break;
    }
  }

  // ----------------------------------------------------------------- records

  /**
   * What stands at an address.
   * @param {Key} address
   */
  found(address) {
    return this.#found.get(address) ?? NOBODY;
  }

  /**
   * Addresses with reservations of a container, in their order.
   * @param {string} container
   */
  heldBy(container) {
    return [...(this.#containers.get(container) ?? [])].sort(compareKeys);
  }

  /** Addresses with a record without an owner, in their order. */
  torn() {
    return [...this.#torn].sort(compareKeys);
  }

  /** Indexes that have a marker, in their order. */
  markers() {
    return [...this.#markers].sort((a, b) => a - b);
  }

  /** Addresses that have a temporary. */
  temporaries() {
    return [...this.#temporaries];
  }

  /** Addresses that cannot be reserved. */
  get taken() {
    return this.#taken;
  }

  /** Addresses that cannot be reserved, or of which something is remembered. */
  get used() {
    return this.#used;
  }

  /**
   * @param {Key} address
   * @param {Found} found
   */
  #put(address, found) {
    const before = this.found(address);
    this.#hold(before, address, false);
    if (found.tag === 'nobody') {
      this.#found.delete(address);
    } else {
      this.#found.set(address, found);
    }
    this.#hold(found, address, true);
    putIn(this.#torn, address, found.tag === 'torn');
    if (isFree(before) !== isFree(found)) {
      this.#turn(address, isFree(found));
    }
  }

  /**
   * @param {Found} found
   * @param {Key} address
   * @param {boolean} holds
   */
  #hold(found, address, holds) {
    if (found.tag !== 'owner') {
      return;
    }
    const { container } = found.val;
    const held = this.#containers.get(container) ?? new Set();
    putIn(held, address, holds);
    if (held.size === 0) {
      this.#containers.delete(container);
    } else {
      this.#containers.set(container, held);
    }
  }

  /**
   * An address has become free, or ceased to be.
   * @param {Key} address
   * @param {boolean} isFree
   */
  #turn(address, isFree) {
    const memory = this.#history.get(address);
    this.#taken.put(address, !isFree);
    this.#used.put(address, !isFree || memory !== undefined);
    if (memory !== undefined) {
      if (isFree) {
        this.#aged.add(memory);
      } else {
        this.#aged.delete(memory);
      }
    }
  }

  // ------------------------------------------------------------------ history

  /** Whether releases are remembered. */
  get remembers() {
    return this.#remembers;
  }

  /** @param {boolean} remembers */
  setRemembers(remembers) {
    this.#changes.note(`r:${this.path}`, this.#remembers || undefined, remembers || undefined);
    this.#remembers = remembers;
  }

  /**
   * What is remembered of an address, free or not.
   * @param {Key} address
   */
  memory(address) {
    return this.#history.get(address);
  }

  /**
   * The address that a key got last, free or not.
   * @param {string} key
   */
  latestOf(key) {
    return this.#history.latestOf(key);
  }

  /** What is remembered of addresses that are free, the longest ago first. */
  get aged() {
    return this.#aged;
  }

  /**
   * Remembers this of an address, in place of what was.
   * @param {Key} address
   * @param {Memory | undefined} memory
   */
  remember(address, memory) {
    const before = this.#history.get(address);
    this.#changes.note(`h:${this.path}/${formatKey(address)}`, event(before), event(memory));
    this.#history.put(address, memory);
    const isFreeNow = isFree(this.found(address));
    if (isFreeNow && before !== undefined) {
      this.#aged.delete(before);
    }
    if (isFreeNow && memory !== undefined) {
      this.#aged.add(memory);
    }
    this.#used.put(address, !isFreeNow || memory !== undefined);
  }

  // ------------------------------------------------------- a policy's state

  /** What a policy remembers: a JSON object, or nothing. */
  get state() {
    return this.#state;
  }

  /** @param {string} state */
  setState(state) {
    this.#changes.note(`s:${this.path}`, this.#state || undefined, state || undefined);
    this.#state = state;
  }

  // --------------------------------------------------------------- everything

  /**
   * All that is in it and beside it, as entries of the state.
   * @returns {Generator<[string, import('./changes.js').Value], void, void>}
   */
  *values() {
    for (const [name, entry] of this.#entries) {
      if (typeof entry === 'string') {
        yield [`f:${this.path}/${name}`, entry];
      } else if (entry instanceof Directory) {
        yield* entry.values();
      }
    }
    if (this.#remembers) {
      yield [`r:${this.path}`, true];
    }
    for (const { address, ...memory } of this.#history.values()) {
      yield [`h:${this.path}/${formatKey(address)}`, memory];
    }
    if (this.#state !== '') {
      yield [`s:${this.path}`, this.#state];
    }
  }
}

/**
 * What the page gets to see.
 * @param {Memory | undefined} memory
 * @returns {import('./changes.js').Event | undefined}
 */
function event(memory) {
  if (memory === undefined) {
    return undefined;
  }
  const { key, held, when, order, given } = memory;
  return { key, held, when, order, given };
}

/**
 * @template T
 * @param {Set<T>} set
 * @param {T} value
 * @param {boolean} isIn
 */
function putIn(set, value, isIn) {
  if (isIn) {
    set.add(value);
  } else {
    set.delete(value);
  }
}
