// The interface `wipam:ipam/storage` in memory, for the component transpiled
// by jco. Nothing in here is particular to a browser or to node.

import { fromKey, toKey } from './address.js';
import { Directory } from './directory.js';
import { pathNames } from './disk.js';
import { Ledger, StorageError } from './ledger.js';

/**
 * @typedef {import('./address.js').Address} Address
 * @typedef {import('./disk.js').Disk} Disk
 * @typedef {import('./ledger.js').Access} Access
 * @typedef {import('./record.js').Found} Found
 * @typedef {import('./record.js').Owner} Owner
 * @typedef {{first: Address, last: Address}} Span
 * @typedef {{dataDir: string, network: string, lockWaitMs: number, sync: boolean, history: boolean}} Location
 * @typedef {{address: Address, owner: Owner, newer: boolean}} Reservation
 * @typedef {{address: Address, key: string | undefined, latest: boolean, releasedMsAgo: bigint}} Past
 */

const DEFAULT_DATA_DIR = '/var/lib/cni/networks';

/**
 * The interface over a disk, which may be looked at and changed in between.
 * There is no lock to wait for: invocations do not overlap.
 * @param {Disk} disk
 * @param {() => number} now in milliseconds since 1970
 */
export function storage(disk, now) {
  /**
   * @param {Location} location
   * @param {Access} access
   * @returns {Network | undefined}
   */
  function open(location, access) {
    const directory = find(disk, location, access);
    if (directory === undefined) {
      return undefined;
    }
    takeLock(directory, access);
    const begins = location.history && access === 'reserve';
    return new Network(new Ledger(disk, directory, now(), begins));
  }
  return { Network, open };
}

/**
 * The directory of a location, made if it is missing and the access makes it.
 * @param {Disk} disk
 * @param {Location} location
 * @param {Access} access
 */
function find(disk, location, access) {
  const dataDir = location.dataDir || DEFAULT_DATA_DIR;
  if (!dataDir.startsWith('/')) {
    throw new StorageError('location', `data directory ${dataDir}: not absolute`);
  }
  let directory = disk.root;
  for (const name of pathNames(`${dataDir}/${location.network}`)) {
    const entry = directory.get(name);
    if (entry === undefined && access !== 'reserve') {
      return undefined;
    }
    const found = entry ?? directory.make(name);
    if (!(found instanceof Directory)) {
      throw new StorageError('location', `data directory ${dataDir}: ${name} is no directory`);
    }
    directory = found;
  }
  return directory;
}

/**
 * The lock file belongs to the layout although nobody holds it here.
 * @param {Directory} directory
 * @param {Access} access
 */
function takeLock(directory, access) {
  const lock = directory.get('lock');
  if (lock === undefined) {
    if (access !== 'inspect' && access !== 'read') {
      directory.set('lock', '');
    }
  } else if (typeof lock !== 'string' && !(lock instanceof Uint8Array)) {
    throw new StorageError('io', `open ${directory.path}/lock: is no regular file`);
  }
}

/** The resource `network`. */
export class Network {
  /** @param {Ledger} ledger */
  constructor(ledger) {
    /** What the policy host asks. */
    this.ledger = ledger;
  }

  /**
   * @param {string} container
   * @returns {Reservation[]}
   */
  heldBy(container) {
    return this.ledger.heldBy(container).map(toReservation);
  }

  /** @param {Address} address */
  holder(address) {
    return this.ledger.holder(toKey(address));
  }

  /** @param {Span} span */
  nextFree({ first, last }) {
    return toAddress(this.ledger.nextFree(toKey(first), toKey(last)));
  }

  /**
   * @param {Address} address
   * @param {{container: string, interface: string}} owner
   */
  reserve(address, owner) {
    return this.ledger.reserve(toKey(address), owner);
  }

  /**
   * @param {Address} address
   * @param {Owner} owner
   */
  release(address, owner) {
    return this.ledger.release(toKey(address), owner);
  }

  /** @param {number} index */
  lastReserved(index) {
    return toAddress(this.ledger.lastReserved(index));
  }

  allLastReserved() {
    return this.ledger.allLastReserved().map(fromKey);
  }

  /**
   * @param {number} index
   * @param {Address} address
   */
  setLastReserved(index, address) {
    this.ledger.setLastReserved(index, toKey(address));
  }

  /**
   * @param {Address | undefined} after
   * @returns {Reservation[]}
   */
  reservations(after) {
    return this.ledger.reservations(after && toKey(after)).map(toReservation);
  }

  reclaim() {
    return this.ledger.reclaim().map(fromKey);
  }

  /** @param {Span} span */
  nextUnused({ first, last }) {
    return toAddress(this.ledger.nextUnused(toKey(first), toKey(last)));
  }

  /** @param {Address} address */
  past(address) {
    const past = this.ledger.past(toKey(address));
    return past && toPast(past);
  }

  /** @param {number} skip */
  released(skip) {
    return this.ledger.released(skip).map(toPast);
  }

  /** @param {string} key */
  remembered(key) {
    return toAddress(this.ledger.remembered(key));
  }

  /**
   * @param {Address} address
   * @param {string} key
   */
  remember(address, key) {
    this.ledger.remember(toKey(address), key);
  }

  keepState() {
    this.ledger.keepState();
  }
}

/** @param {import('./address.js').Key | undefined} key */
function toAddress(key) {
  return key === undefined ? undefined : fromKey(key);
}

/**
 * @param {import('./ledger.js').Reservation} reservation
 * @returns {Reservation}
 */
function toReservation({ address, owner }) {
  return { address: fromKey(address), owner, newer: false };
}

/**
 * @param {import('./ledger.js').Past} past
 * @returns {Past}
 */
function toPast({ address, key, latest, releasedMsAgo }) {
  return {
    address: fromKey(address),
    key: key ?? undefined,
    latest,
    releasedMsAgo: BigInt(releasedMsAgo),
  };
}
