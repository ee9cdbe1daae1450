// What was done so far, and the state at any point of it. Stepping applies the
// lists of changes that came with the operations, forwards or backwards.

import { numberOf } from './numbers.js';

/** @typedef {import('./types.js').Frame} Frame */
/** @typedef {import('./types.js').Start} Start */
/** @typedef {import('./numbers.js').Family} Family */

/** @typedef {{key: string | null, held: boolean, when: number, order: number, given: number}} Past */

/**
 * All that is known of one address.
 * @typedef {object} Entry
 * @property {string} text
 * @property {Family} family
 * @property {bigint} number
 * @property {string | undefined} record content of its file
 * @property {number} kind what the file is: see KIND
 * @property {number} since number of the operation that wrote it; 0: it was there
 * @property {Past | undefined} past
 * @property {object | undefined} block cache of the map: for which block ...
 * @property {number} cell ... it is in which cell
 * @property {object | undefined} range likewise: for which range ...
 * @property {boolean} isIn ... it is in it
 */

/** What a file under the name of an address counts as. */
export const KIND = { none: 0, reservation: 1, foreign: 2 };

/**
 * A network's directory.
 * @typedef {object} Directory
 * @property {Map<string, Entry>} addresses every one of which anything was ever known
 * @property {Map<string, string>} others markers and whatever else is there
 * @property {string | undefined} state what a policy remembers
 */

/** @typedef {{set(value: any, number: number): void}} Slot */

/** What a container id looks like. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]*$/;
const MARKER = /^last_reserved_ip\.(\d{1,9})$/;

export class Model {
  /** @type {Frame[]} */
  frames = [];
  position = 0;
  /** Counts changes of the state, for whoever keeps something made of it. */
  version = 0;
  /** When the node booted last, in milliseconds since 1970. */
  boot = 0;

  /** @type {Start} */
  #start;
  /** @type {Map<string, Directory>} */
  #directories = new Map();
  /** @type {Map<string, Slot>} */
  #slots = new Map();
  /** Numbers of the operations that changed a key. @type {Map<string, number[]>} */
  #changed = new Map();
  /** Numbers of reboots. @type {number[]} */
  #reboots = [];
  /** By attachment, numbers of DELs that failed. @type {Map<string, number[]>} */
  #failedDels = new Map();
  /** @type {Map<string, string>} */
  #texts = new Map();
  /** The last standard input of each command. @type {Map<string, string>} */
  #configs = new Map();

  /** @param {Start} start */
  constructor(start) {
    this.#start = start;
    for (const [key, value] of start.entries) {
      this.#slot(key).set(value, 0);
    }
  }

  get startMs() {
    return this.#start.now;
  }

  /** The operation that was done last, seen from here. */
  get current() {
    return this.position > 0 ? this.frames[this.position - 1] : undefined;
  }

  get isAtEnd() {
    return this.position === this.frames.length;
  }

  /** Milliseconds since 1970. */
  get now() {
    return this.#start.now + (this.current?.ms ?? 0);
  }

  /**
   * @param {string} path
   * @returns {Directory}
   */
  directory(path) {
    let found = this.#directories.get(path);
    if (!found) {
      found = { addresses: new Map(), others: new Map(), state: undefined };
      this.#directories.set(path, found);
    }
    return found;
  }

  /** The directory of the network at the start. */
  get firstDirectory() {
    return this.#start.directory;
  }

  /**
   * Adds operations behind the last one. The position stays.
   * @param {Frame[]} frames
   */
  push(frames) {
    for (const frame of frames) {
      this.#share(frame);
      this.frames.push(frame);
      const number = this.frames.length;
      for (const { key } of frame.changes) {
        const numbers = this.#changed.get(key);
        if (!numbers) {
          this.#changed.set(key, [number]);
        } else if (numbers[numbers.length - 1] !== number) {
          numbers.push(number);
        }
      }
      if (frame.command === 'REBOOT') {
        this.#reboots.push(number);
      } else if (frame.command === 'DEL' && frame.status !== 0) {
        const who = `${frame.container}/${frame.interface}`;
        this.#failedDels.set(who, [...(this.#failedDels.get(who) ?? []), number]);
      }
    }
  }

  /** @param {number} position */
  goTo(position) {
    const to = Math.min(this.frames.length, Math.max(0, Math.trunc(position)));
    if (to === this.position) {
      return;
    }
    while (this.position < to) {
      this.position += 1;
      for (const { key, after } of this.frames[this.position - 1].changes) {
        this.#slot(key).set(after, this.position);
      }
    }
    while (this.position > to) {
      const { changes } = this.frames[this.position - 1];
      this.position -= 1;
      for (const { key, before } of changes.toReversed()) {
        this.#slot(key).set(before, this.#lastChange(key));
      }
    }
    this.version += 1;
  }

  /**
   * The operations that changed the file of an address or what is remembered
   * of it, up to the position, the latest first.
   * @param {string} path of the directory
   * @param {string} address
   * @param {number} most
   * @returns {Frame[]}
   */
  changesOf(path, address, most) {
    const numbers = new Set();
    for (const kind of ['f', 'h']) {
      const all = this.#changed.get(`${kind}:${path}/${address}`) ?? [];
      let at = countUpTo(all, this.position);
      for (let taken = 0; at > 0 && taken < most; taken += 1) {
        at -= 1;
        numbers.add(all[at]);
      }
    }
    return [...numbers].sort((a, b) => b - a).slice(0, most).map((n) => this.frames[n - 1]);
  }

  /** Number of the last reboot up to the position, or 0. */
  get lastReboot() {
    const count = countUpTo(this.#reboots, this.position);
    return count > 0 ? this.#reboots[count - 1] : 0;
  }

  /**
   * From which operation on a container is gone though its record is there:
   * after a reboot, or a DEL that failed. One whose DEL got lost cannot be told
   * from one that lives, as on a node.
   * @param {Entry} entry
   * @param {number} lastReboot
   */
  isStale(entry, lastReboot) {
    if (entry.kind !== KIND.reservation) return false;
    if (entry.since < lastReboot) return true;
    if (this.#failedDels.size === 0) return false;
    const holder = holderOf(entry.record ?? '');
    const numbers = holder && this.#failedDels.get(`${holder.container}/${holder.interface}`);
    return numbers?.some((number) => number > entry.since && number <= this.position) ?? false;
  }

  /** @param {string} key */
  #lastChange(key) {
    const numbers = this.#changed.get(key) ?? [];
    const count = countUpTo(numbers, this.position);
    return count > 0 ? numbers[count - 1] : 0;
  }

  /**
   * Where the value of a key is kept.
   * @param {string} key
   * @returns {Slot}
   */
  #slot(key) {
    let slot = this.#slots.get(key);
    if (!slot) {
      slot = this.#makeSlot(key);
      this.#slots.set(key, slot);
    }
    return slot;
  }

  /**
   * @param {string} key
   * @returns {Slot}
   */
  #makeSlot(key) {
    const kind = key.slice(0, 2);
    const path = key.slice(2);
    if (kind === 'b:') {
      return { set: (value) => { this.boot = Number(value ?? 0); } };
    }
    if (kind === 's:') {
      const directory = this.directory(path);
      return { set: (value) => { directory.state = value; } };
    }
    const slash = path.lastIndexOf('/');
    const { addresses, others } = this.directory(path.slice(0, slash));
    const name = path.slice(slash + 1);
    const address = numberOf(name);
    if (!address) {
      return {
        set: (value) => {
          if (value === undefined || value === null) others.delete(name);
          else others.set(name, String(value));
        },
      };
    }
    let entry = addresses.get(name);
    if (!entry) {
      entry = {
        text: name,
        ...address,
        record: undefined,
        kind: KIND.none,
        since: 0,
        past: undefined,
        block: undefined,
        cell: -1,
        range: undefined,
        isIn: false,
      };
      addresses.set(name, entry);
    }
    const at = entry;
    return kind === 'f:'
      ? {
        set: (value, number) => {
          at.record = value === undefined || value === null ? undefined : String(value);
          at.kind = kindOf(at.record);
          at.since = number;
        },
      }
      : { set: (value) => { at.past = value ?? undefined; } };
  }

  /**
   * Configurations come with every operation, and are few.
   * @param {Frame} frame
   */
  #share(frame) {
    const network = this.#texts.get(frame.network);
    if (network === undefined) this.#texts.set(frame.network, frame.network);
    else frame.network = network;
    const last = this.#configs.get(frame.command);
    if (last === frame.config) frame.config = last;
    else this.#configs.set(frame.command, frame.config);
  }
}

/**
 * How many of the ascending numbers are at most `most`.
 * @param {number[]} numbers
 * @param {number} most
 */
function countUpTo(numbers, most) {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] <= most) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** @param {string | undefined} record */
function kindOf(record) {
  if (record === undefined || record.trim() === '') return KIND.none;
  return holderOf(record) ? KIND.reservation : KIND.foreign;
}

/**
 * The index of the range set whose marker a file is.
 * @param {string} name
 */
export function markerOf(name) {
  const found = MARKER.exec(name);
  return found ? Number(found[1]) : undefined;
}

/**
 * Whom a record names; nobody where it is none, and then the address is taken
 * all the same, unless the file is empty.
 * @param {string} record
 * @returns {{container: string, interface: string} | undefined}
 */
export function holderOf(record) {
  const [container, name = '', ...rest] = record.trim().split('\r\n');
  return container !== '' && rest.length === 0 && NAME.test(container)
    ? { container, interface: name.trim() }
    : undefined;
}
