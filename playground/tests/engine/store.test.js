import assert from 'node:assert/strict';
import { test } from 'node:test';

import { formatKey, parseKey } from '../../src/engine/address.js';
import { Disk } from '../../src/engine/disk.js';
import { Ledger, StorageError } from '../../src/engine/ledger.js';
import { storage } from '../../src/engine/store.js';
import { fileOf, NaiveNode } from './naive-store.js';
import { random } from './random.js';

/** @typedef {import('../../src/engine/address.js').Key} Key */

const PATH = '/var/lib/cni/networks/n';

/** Both ends of both families. */
const SPANS = [
  ['0.0.0.0', '0.0.0.5'], ['10.1.0.0', '10.1.0.7'], ['255.255.255.252', '255.255.255.255'],
  ['::', '::5'], ['fd00::ffff:fffe', 'fd00::1:0:2'],
  ['ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffd', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
].map((span) => span.map(key));

const ADDRESSES = SPANS.flatMap(([first, last]) => {
  const addresses = [];
  for (let number = BigInt(first); number <= BigInt(last); number++) {
    addresses.push(typeof first === 'number' ? Number(number) : number);
  }
  return addresses;
});

/** @param {string} text */
function key(text) {
  return /** @type {Key} */ (parseKey(text));
}

const CONTAINERS = ['c1', 'c2'];
const INTERFACES = ['eth0', 'net1', undefined];
const KEYS = ['ns/a', 'ns/b', 'ns/c', 'é'];

/**
 * A node beside a naive one: whatever is asked of both has one answer.
 * @param {number} seed
 */
function twins(seed) {
  const chance = random(seed);
  const disk = new Disk();
  const naive = new NaiveNode();
  let now = 1_000_000;
  let favourite = ADDRESSES[0];

  function session() {
    // One that comes often, so that things happen to it one after the other.
    favourite = chance.one(ADDRESSES);
    now += chance.one([0, 0, 1, 500, 60_000]);
    if (chance.below(12) === 0) {
      now += 1;
      disk.reboot(now);
      naive.boot = now;
      return;
    }
    const history = chance.below(5) === 0;
    const both = [new Ledger(disk, disk.make(PATH), now, history), naive.open(now, history)];
    for (let count = chance.below(8); count >= 0; count--) {
      const [name, ...args] = call();
      const [real, wanted] = both.map((ledger) => /** @type {any} */ (ledger)[name](...args));
      assert.deepEqual(shown(real), shown(wanted), `seed ${seed}: ${name} ${shown(args)}`);
    }
    if (chance.below(8) === 0) {
      edit();
    }
  }

  function owner() {
    return { container: chance.one(CONTAINERS), interface: chance.one(INTERFACES) };
  }

  /** @returns {[string, ...any[]]} */
  function call() {
    const address = chance.below(2) === 0 ? favourite : chance.one(ADDRESSES);
    const [first, last] = chance.one(SPANS);
    switch (chance.below(19)) {
      case 0: return ['heldBy', chance.one(CONTAINERS)];
      case 1: return ['holder', address];
      case 2: return ['nextFree', first, last];
      case 3:
      case 4:
      case 5:
      case 6: return ['reserve', address, { container: chance.one(CONTAINERS), interface: 'eth0' }];
      case 7:
      case 8: return ['release', address, { container: chance.one(CONTAINERS), interface: 'eth0' }];
      case 9: return ['release', address, owner()];
      case 10: return ['reservations', chance.below(2) === 0 ? undefined : address];
      case 11: return ['reclaim'];
      case 12: return ['nextUnused', first, last];
      case 13: return ['past', address];
      case 14: return ['released', chance.below(4)];
      case 15: return ['remembered', chance.one(KEYS)];
      case 16:
      case 17: return ['remember', address, chance.one(KEYS)];
      default: return chance.one([
        ['setLastReserved', chance.below(12), address],
        ['lastReserved', chance.below(12)],
        ['allLastReserved'],
        ['policyState'],
        ['setPolicyState', chance.one(['', '{"a":"1"}', '{"b":"2"}'])],
        ['keepState'],
      ]);
    }
  }

  /** Somebody else does something to the files. */
  function edit() {
    const address = chance.one(ADDRESSES);
    const directory = disk.make(PATH);
    if (chance.below(3) === 0) {
      directory.delete(formatKey(address));
      naive.records.delete(address);
    } else {
      const record = chance.one(['torn', 'foreign', owner()]);
      directory.set(formatKey(address), fileOf(/** @type {any} */ (record)));
      naive.records.set(address, /** @type {any} */ (record));
    }
  }

  return { disk, session };
}

/** Bigints are no JSON. @param {any} value */
function shown(value) {
  return JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `${part}n` : part))
    ?? 'nothing';
}

/** @param {Disk} disk */
function state(disk) {
  return new Map(disk.values().sort(([a], [b]) => (a < b ? -1 : 1)));
}

test('the store answers as a naive one does', () => {
  for (let seed = 1; seed <= 150; seed++) {
    const { session } = twins(seed);
    for (let count = 0; count < 200; count++) {
      session();
    }
  }
});

test('what was done can be undone and done again', () => {
  for (let seed = 1; seed <= 60; seed++) {
    const { disk, session } = twins(seed);
    const states = [state(disk)];
    const all = [];
    for (let count = 0; count < 100; count++) {
      session();
      const changes = disk.takeChanges();
      for (const { before, after } of changes) {
        assert.notDeepEqual(before, after);
      }
      all.push(changes);
      states.push(state(disk));
    }
    for (let at = all.length; at > 0; at--) {
      disk.undo(all[at - 1]);
      assert.deepEqual(state(disk), states[at - 1]);
    }
    // On another node, and by way of JSON, which has no undefined.
    const other = new Disk();
    all.forEach((changes, at) => {
      other.redo(JSON.parse(JSON.stringify(changes)));
      assert.deepEqual(state(other), states[at + 1]);
    });
  }
});

test('it does not matter whether an operation was carried out or its changes applied', () => {
  for (let seed = 1; seed <= 30; seed++) {
    const all = [];
    const one = twins(seed);
    for (let count = 0; count < 60; count++) {
      one.session();
      all.push(one.disk.takeChanges());
    }
    // The same again, in the course of which what was done is done anew.
    const other = twins(seed);
    for (let count = 0; count < 60; count++) {
      other.session();
      const changes = other.disk.takeChanges();
      assert.deepEqual(changes, all[count]);
      other.disk.undo(changes);
      other.disk.redo(changes);
    }
  }
});

test('an operation that is taken back leaves nothing', () => {
  for (let seed = 1; seed <= 30; seed++) {
    const { disk, session } = twins(seed);
    for (let count = 0; count < 20; count++) {
      session();
    }
    disk.takeChanges();
    const before = state(disk);
    session();
    session();
    disk.revert();
    assert.deepEqual(state(disk), before);
    assert.deepEqual(disk.takeChanges(), []);
  }
});

const LOCATION = { dataDir: '', network: 'n', lockWaitMs: 0, sync: false, history: false };

test('only ADD makes a directory, and a history', () => {
  const disk = new Disk();
  const { open } = storage(disk, () => 1000);
  for (const access of /** @type {const} */ (['inspect', 'read', 'release', 'collect'])) {
    assert.equal(open({ ...LOCATION, history: true }, access), undefined);
  }
  assert.deepEqual(disk.takeChanges(), []);
  const address = /** @type {const} */ ({ tag: 'ipv4', val: 0x0a010002 });
  const owner = { container: 'c', interface: 'eth0' };

  open(LOCATION, 'reserve')?.reserve(address, owner);
  open({ ...LOCATION, history: true }, 'release')?.release(address, owner);
  assert.deepEqual(disk.values(), [[`f:${PATH}/lock`, '']]);

  open({ ...LOCATION, history: true }, 'reserve')?.reserve(address, owner);
  open(LOCATION, 'release')?.release(address, owner);
  const event = { key: null, held: false, when: 1000, order: 1, given: 0 };
  assert.deepEqual(disk.values(), [
    [`f:${PATH}/lock`, ''], [`r:${PATH}`, true], [`h:${PATH}/10.1.0.2`, event],
  ]);
});

test('a directory goes when the last thing in it does', () => {
  const disk = new Disk();
  const { open } = storage(disk, () => 0);
  open(LOCATION, 'reserve');
  const changes = disk.takeChanges();
  assert.deepEqual(changes, [{ key: `f:${PATH}/lock`, before: undefined, after: '' }]);
  disk.undo(changes);
  assert.equal(open(LOCATION, 'release'), undefined);
  disk.redo(changes);
  assert.notEqual(open(LOCATION, 'release'), undefined);
});

test('paths are cleaned, and must be absolute and free', () => {
  const disk = new Disk();
  const { open } = storage(disk, () => 0);
  open({ ...LOCATION, dataDir: '/x//y/../z/.' }, 'reserve');
  assert.deepEqual(disk.values(), [['f:/x/z/n/lock', '']]);
  for (const [dataDir, cause] of [
    ['x', 'data directory x: not absolute'],
    ['/x/z/n/lock', 'data directory /x/z/n/lock: lock is no directory'],
  ]) {
    assert.throws(() => open({ ...LOCATION, dataDir }, 'reserve'),
      (error) => error instanceof StorageError && error.payload.kind === 'location'
        && error.message === cause);
  }
});
