// The interface `wipam:ipam/storage` in memory, for the component transpiled
// by jco: files as the native store lays them out, and its rules. Nothing in
// here is particular to node.

import { compare, format, fromNumber, parse, toNumber, unmapped } from './address.js';
import { History } from './history.js';

/**
 * @typedef {import('./address.js').Address} Address
 * @typedef {{container: string, interface?: string}} Owner
 * @typedef {{address: Address, owner: Owner, newer: boolean}} Reservation
 * @typedef {{dataDir: string, network: string, lockWaitMs: number, sync: boolean, history: boolean}} Location
 * @typedef {'inspect' | 'read' | 'release' | 'collect' | 'reserve'} Access
 * @typedef {{tag: 'nobody'} | {tag: 'foreign'} | {tag: 'owner', val: Owner}} Holder
 */

/** A symbolic link that leads nowhere. */
export class DanglingLink {
  /** @param {string} target */
  constructor(target) {
    this.target = target;
  }
}

/**
 * What a name stands for: a file with its content, a directory or a link.
 * @typedef {Uint8Array | Directory | DanglingLink} Entry
 * @typedef {Map<string, Entry>} Directory
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

/**
 * The histories of networks, by their directories.
 * @type {WeakMap<Directory, History>}
 */
const histories = new WeakMap();

const DEFAULT_DATA_DIR = '/var/lib/cni/networks';

/**
 * The functions of the interface over a tree of files, which may be looked at
 * and changed in between. There is no lock to wait for: invocations do not
 * overlap.
 * @param {Directory} root
 * @param {() => number} now the time in milliseconds
 */
export function memoryStorage(root, now = () => 0) {
  /**
   * @param {Location} location
   * @param {Access} access
   * @returns {Network | undefined}
   */
  function open(location, access) {
    const dataDir = location.dataDir || DEFAULT_DATA_DIR;
    if (!dataDir.startsWith('/')) {
      throw new StorageError('location', `data directory ${dataDir}: not absolute`);
    }
    let directory = root;
    for (const name of pathNames(`${dataDir}/${location.network}`)) {
      let entry = directory.get(name);
      if (entry === undefined) {
        if (access !== 'reserve') {
          return undefined;
        }
        entry = new Map();
        directory.set(name, entry);
      }
      if (!(entry instanceof Map)) {
        throw new StorageError('location', `data directory ${dataDir}: ${name} is no directory`);
      }
      directory = entry;
    }
    takeLock(directory, access);
    if (location.history && access === 'reserve' && !histories.has(directory)) {
      histories.set(directory, new History());
    }
    return new Network(directory, now());
  }
  return { Network, open };
}

/**
 * The names in a path, cleaned as Go's `filepath.Join` does.
 * @param {string} path
 */
export function pathNames(path) {
  const names = [];
  for (const name of path.split('/')) {
    if (name === '..') {
      names.pop();
    } else if (name !== '' && name !== '.') {
      names.push(name);
    }
  }
  return names;
}

/**
 * The lock file belongs to the layout although nobody holds it here.
 * @param {Directory} directory
 * @param {Access} access
 */
function takeLock(directory, access) {
  const lock = directory.get('lock');
  if (lock !== undefined && !(lock instanceof Uint8Array)) {
    throw new StorageError('io', 'open lock: is no regular file');
  }
  if (lock === undefined && access !== 'inspect' && access !== 'read') {
    directory.set('lock', new Uint8Array());
  }
}

/** Reservations in a page of `reservations`. */
const PAGE = 256;

/** The resource `network`. */
export class Network {
  #files;
  #now;
  /** Addresses reserved by this invocation: giving them back is no release. */
  #fresh = new Set();

  /**
   * @param {Directory} files the network's directory
   * @param {number} now in milliseconds
   */
  constructor(files, now) {
    this.#files = files;
    this.#now = now;
  }

  /**
   * @param {string} container
   * @returns {Reservation[]}
   */
  heldBy(container) {
    return this.#reservations().filter(({ owner }) => owner.container === container);
  }

  /**
   * @param {Address} address
   * @returns {Holder}
   */
  holder(address) {
    const found = this.#look(address);
    return isFree(found) ? { tag: 'nobody' } : found;
  }

  /**
   * @param {{first: Address, last: Address}} span
   * @returns {Address | undefined}
   */
  nextFree({ first, last }) {
    const end = toNumber(last);
    for (let number = toNumber(first); number <= end; number++) {
      const address = fromNumber(first.tag, number);
      if (isFree(this.#look(address))) {
        return address;
      }
    }
    return undefined;
  }

  /**
   * @param {Address} address
   * @param {{container: string, interface: string}} owner
   */
  reserve(address, owner) {
    if (!isFree(this.#look(address))) {
      return false;
    }
    this.#write(format(address), `${owner.container}\r\n${owner.interface}`);
    this.#fresh.add(format(address));
    return true;
  }

  /**
   * @param {Address} address
   * @param {Owner} owner
   */
  release(address, owner) {
    if (!isHeldBy(this.#look(address), owner)) {
      return false;
    }
    if (!this.#fresh.has(format(address))) {
      this.#history?.note(address, undefined, this.#now);
    }
    this.#files.delete(format(address));
    this.#sweep(owner);
    return true;
  }

  /**
   * @param {number} index
   * @returns {Address | undefined}
   */
  lastReserved(index) {
    const text = decode(this.#files.get(MARKER + index));
    const address = text === undefined ? undefined : parse(text);
    return address && unmapped(address);
  }

  /** @returns {Address[]} */
  allLastReserved() {
    const indexes = this.#meaning(parseMarkerName).sort((a, b) => a - b);
    const addresses = indexes.map((index) => this.lastReserved(index));
    return addresses.filter((address) => address !== undefined);
  }

  /**
   * @param {number} index
   * @param {Address} address
   */
  setLastReserved(index, address) {
    const name = MARKER + index;
    if (this.#files.get(name) instanceof Map) {
      throw new StorageError('io', `replace ${name}: is a directory`);
    }
    this.#write(name, format(address));
  }

  /**
   * @param {Address | undefined} after
   * @returns {Reservation[]}
   */
  reservations(after) {
    const following = this.#reservations().filter(
      ({ address }) => after === undefined || compare(address, after) > 0);
    return following.slice(0, PAGE);
  }

  /** @returns {Address[]} */
  reclaim() {
    const torn = this.#records().filter((address) => this.#look(address).tag === 'torn');
    torn.forEach((address) => this.#files.delete(format(address)));
    return torn;
  }

  /**
   * @param {{first: Address, last: Address}} span
   * @returns {Address | undefined}
   */
  nextUnused({ first, last }) {
    let free = this.nextFree({ first, last });
    while (free !== undefined && this.past(free) !== undefined) {
      const next = toNumber(free) + 1n;
      free = next > toNumber(last)
        ? undefined
        : this.nextFree({ first: fromNumber(first.tag, next), last });
    }
    return free;
  }

  /**
   * @param {Address} address
   * @returns {import('./history.js').Past | undefined}
   */
  past(address) {
    return isFree(this.#look(address)) ? this.#history?.of(address, this.#now) : undefined;
  }

  /**
   * @param {number} skip
   * @returns {import('./history.js').Past[]}
   */
  released(skip) {
    const all = (this.#history?.addresses() ?? []).map((address) => this.past(address));
    return all.filter((past) => past !== undefined).slice(skip, skip + PAGE);
  }

  /**
   * @param {string} key
   * @returns {Address | undefined}
   */
  remembered(key) {
    return this.#history?.lastOf(key);
  }

  /**
   * @param {Address} address
   * @param {string} key
   */
  remember(address, key) {
    this.#history?.note(address, key, this.#now);
  }

  /** There is no policy that could have written anything. */
  keepState() {}

  get #history() {
    return histories.get(this.#files);
  }

  /**
   * What the names that mean something to a parser mean.
   * @template T
   * @param {(name: string) => T | undefined} parser
   * @returns {T[]}
   */
  #meaning(parser) {
    return [...this.#files.keys()].map(parser).filter((meaning) => meaning !== undefined);
  }

  /** The addresses at which something stands, in their order. */
  #records() {
    return this.#meaning(parseRecordName).sort(compare);
  }

  #reservations() {
    return this.#records().flatMap((address) => {
      const found = this.#look(address);
      return found.tag === 'owner' ? [{ address, owner: found.val, newer: false }] : [];
    });
  }

  /** @param {Address} address */
  #look(address) {
    return classify(this.#files.get(format(address)));
  }

  /**
   * @param {string} name
   * @param {string} content
   */
  #write(name, content) {
    this.#files.set(name, new TextEncoder().encode(content));
  }

  /**
   * Removes the temporaries in which a writer that was killed had begun a
   * record of this owner.
   * @param {Owner} owner
   */
  #sweep(owner) {
    for (const address of this.#meaning(parseTemporaryName)) {
      const name = `.${format(address)}.tmp`;
      if (isHeldBy(classify(this.#files.get(name)), owner)) {
        this.#files.delete(name);
      }
    }
  }
}

/**
 * What stands under a record's name: a holder, or a record without an owner
 * that its writer was killed over.
 * @typedef {Holder | {tag: 'torn'}} Found
 */

/** No record is longer. */
const LONGEST = 4096;

/**
 * @param {Entry | undefined} entry
 * @returns {Found}
 */
function classify(entry) {
  if (entry === undefined) {
    return { tag: 'nobody' };
  }
  const text = entry.length > LONGEST ? undefined : trim(decode(entry));
  if (text === undefined) {
    return { tag: 'foreign' };
  }
  if (text === '') {
    return { tag: 'torn' };
  }
  const [, container, name] = /^(.*?)(?:\r\n(.*))?$/s.exec(text);
  const valid = isContainerId(container) && (name === undefined || isInterfaceName(name));
  return valid ? { tag: 'owner', val: { container, interface: name } } : { tag: 'foreign' };
}

/** @param {Found} found */
function isFree(found) {
  return found.tag === 'nobody' || found.tag === 'torn';
}

/**
 * @param {Found} found
 * @param {Owner} owner
 */
function isHeldBy(found, owner) {
  return found.tag === 'owner'
    && found.val.container === owner.container
    && found.val.interface === owner.interface;
}

/** @param {string} text */
function isContainerId(text) {
  return /^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(text);
}

/** @param {string} text */
function isInterfaceName(text) {
  const length = new TextEncoder().encode(text).length;
  return length > 0 && length <= 15 && text !== '.' && text !== '..'
    && !/[/:\p{White_Space}]/u.test(text);
}

/**
 * `String.trim` takes other characters for blanks than Go and Rust do.
 * @param {string | undefined} text
 */
function trim(text) {
  return text?.replace(/^\p{White_Space}+|\p{White_Space}+$/gu, '');
}

/**
 * The text of a file; nothing where there is no file or no text in it.
 * @param {Entry | undefined} entry
 */
function decode(entry) {
  if (!(entry instanceof Uint8Array)) {
    return undefined;
  }
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(entry);
  } catch {
    return undefined;
  }
}

const MARKER = 'last_reserved_ip.';

/**
 * The index of the range set whose last address a file remembers.
 * @param {string} name
 */
function parseMarkerName(name) {
  const index = /^last_reserved_ip\.(0|[1-9]\d{0,9})$/.exec(name)?.[1];
  return index !== undefined && Number(index) < 2 ** 32 ? Number(index) : undefined;
}

/**
 * The address of a record: only its canonical text is the name of one.
 * @param {string} name
 */
function parseRecordName(name) {
  const address = parse(name);
  // A mapped address is an IPv4 address, and has that one's name.
  const mapped = name.startsWith('::ffff:') && name.includes('.');
  return address && !mapped && format(address) === name ? address : undefined;
}

/**
 * The address in `.<address>.tmp`.
 * @param {string} name
 */
function parseTemporaryName(name) {
  const text = /^\.(.*)\.tmp$/s.exec(name)?.[1];
  return text === undefined ? undefined : parseRecordName(text);
}
