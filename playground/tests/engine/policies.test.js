import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';

import { fromKey, parse, toKey } from '../../src/engine/address.js';
import { sha256 } from '../../src/engine/digest.js';
import { Disk } from '../../src/engine/disk.js';
import { Ledger, StorageError } from '../../src/engine/ledger.js';
import { Policies } from '../../src/engine/policies.js';
import { PolicyFailure } from '../../src/engine/policy-failure.js';
import { loadPolicy } from '../../src/engine/policy.js';
import { nextGivable } from '../../src/engine/pool.js';
import { Network } from '../../src/engine/store.js';
import {
  answer, exporting, NEXT_FREE, policy, policyWithReleases, repeated, starting, text, YOU_DECIDE,
} from './guest.js';
import { built, transpiler } from './helper.js';

/** @typedef {import('../../src/engine/address.js').Address} Address */

/** @param {string} text */
function address(text) {
  return /** @type {Address} */ (parse(text));
}

/** @param {string} text first and last address */
function span(text) {
  const [first, last] = text.split('-').map(address);
  return { first, last };
}

const PATH = '/policies/p.wasm';
const OWNER = { container: 'c', interface: 'eth0' };

const LIMITS = {
  fuel: 500_000_000n,
  memory: BigInt(16 << 20),
  tableElements: 10_000,
  instances: 16,
  stack: 512 << 10,
  lifted: BigInt(1 << 20),
  component: BigInt(16 << 20),
  state: 64 << 10,
};

const REQUEST = {
  network: 'n',
  attachment: OWNER,
  pod: { namespace: 'shop', name: 'web-0', uid: undefined },
  args: [],
  set: 0,
  config: 'null',
  remembered: undefined,
  timeMs: 1_700_000_000_000n,
  seed: 42n,
};

const VIEW = {
  ranges: [{
    subnet: address('10.1.0.0'),
    prefixLength: 24,
    span: span('10.1.0.1-10.1.0.254'),
    gateway: address('10.1.0.1'),
  }],
  spans: [span('10.1.0.2-10.1.0.254')],
  cooldownMs: 0n,
  keepMs: 0n,
  key: undefined,
  lastReserved: undefined,
};

const NOTICE = {
  network: 'n',
  address: address('10.1.0.50'),
  container: 'c',
  interface: 'eth0',
  config: 'null',
  timeMs: 1_700_000_000_000n,
};

/** A policy with a network to decide about. */
class Trial {
  disk = new Disk();
  directory = this.disk.make('/n');
  /** What the policy said. @type {string[]} */
  said = [];
  /** @type {string[]} */
  asked = [];
  policies = new Policies((path) => this.asked.push(path), (line) => this.said.push(line));
  limits = { ...LIMITS };
  now = 0;

  /** @param {Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>>} component */
  async with(component) {
    const bytes = await component;
    this.digest = await sha256(bytes);
    this.policies.set(PATH, await loadPolicy(bytes, this.digest, transpiler));
    return this;
  }

  get setting() {
    return { component: PATH, cache: '', limits: this.limits };
  }

  network() {
    return new Network(new Ledger(this.disk, this.directory, this.now));
  }

  /** @param {string} at */
  hold(at) {
    this.network().reserve(address(at), OWNER);
  }

  /**
   * @param {object} [request]
   * @param {object} [view]
   */
  choose(request = {}, view = {}) {
    const network = this.network();
    const decision = this.policies.interface.choose(
      network, this.setting, { ...REQUEST, ...request }, { ...VIEW, ...view });
    network.keepState();
    assert.equal(decision.by, `policy ${PATH} (sha256 ${this.digest?.slice(0, 12)})`);
    return decision.answer;
  }

  /** @param {object} [notice] */
  released(notice = {}) {
    const network = this.network();
    this.policies.interface.released(network, this.setting, { ...NOTICE, ...notice });
    network.keepState();
  }

  /**
   * The text of a failure, without the name.
   * @param {() => void} call
   */
  failure(call = () => this.choose()) {
    const text = failure(call);
    const name = `policy ${PATH} (sha256 ${this.digest?.slice(0, 12)}) `;
    assert.ok(text.startsWith(name), text);
    return text.slice(name.length);
  }
}

/** @param {() => void} call */
function failure(call) {
  try {
    call();
  } catch (error) {
    assert.ok(error instanceof PolicyFailure && error.payload.tag === 'policy', String(error));
    return error.payload.val;
  }
  return assert.fail('it did not fail');
}

/** @param {Uint8Array<ArrayBuffer> | Promise<Uint8Array<ArrayBuffer>>} component */
function trial(component) {
  return new Trial().with(component);
}

/** @param {string[]} addresses */
function candidates(...addresses) {
  return { tag: 'candidates', val: addresses.map(address) };
}

// ------------------------------------------------------------- the examples

const ZONES = JSON.stringify({ zones: { shop: ['10.1.0.16/28'], bank: ['10.1.0.40-10.1.0.41'] } });

// QuickJS adds in constant expressions, which node 20 has to be told to take;
// browsers and later versions do.
setFlagsFromString('--experimental-wasm-extended-const');

for (const name of ['zones', 'zones-js']) {
  test(`${name} chooses by namespace`, async () => {
    const one = await trial(built(`policies/${name}.wasm`));
    const choose = (/** @type {string} */ namespace) =>
      one.choose({ config: ZONES, pod: { namespace, name: 'a', uid: undefined } });
    assert.deepEqual(choose('shop'), candidates('10.1.0.16'));
    one.hold('10.1.0.16');
    assert.deepEqual(choose('shop'), candidates('10.1.0.17'));
    one.hold('10.1.0.40');
    one.hold('10.1.0.41');
    assert.deepEqual(choose('bank'),
      { tag: 'none', val: 'no address is free for namespace "bank"' });
    assert.deepEqual(one.asked, [PATH, PATH, PATH]);
  });
}

test('quota keeps count', async () => {
  const one = await trial(built('policies/quota.wasm'));
  const config = JSON.stringify({ limits: { shop: 1 } });
  assert.deepEqual(one.choose({ config }), candidates('10.1.0.2'));
  assert.equal(one.directory.state, '{"shop/10.1.0.2":""}');
  one.hold('10.1.0.2');
  assert.deepEqual(one.choose({ config }),
    { tag: 'none', val: 'tenant "shop" has 1 of at most 1 addresses' });
  assert.equal(one.directory.state, '{"shop/10.1.0.2":""}');
  one.network().release(address('10.1.0.2'), OWNER);
  one.released({ config, address: address('10.1.0.2') });
  assert.equal(one.directory.state, '');
});

test('you-decide leaves the choice to the strategy', async () => {
  const one = await trial(built('policies/you-decide.wasm'));
  assert.deepEqual(one.choose(), { tag: 'you-decide' });
  one.released();
  one.policies.interface.ready(one.setting);
});

// --------------------------------------------------------- those by hand

test('the pool is seen as it is', async () => {
  const one = await trial(policy(NEXT_FREE));
  one.hold('10.1.0.50');
  one.hold('10.1.0.51');
  assert.deepEqual(one.choose(), candidates('10.1.0.52'));
  one.directory.setRemembers(true);
  const network = one.network();
  network.reserve(address('10.1.0.52'), OWNER);
  network.remember(address('10.1.0.52'), 'me');
  one.now = 1000;
  one.network().release(address('10.1.0.52'), OWNER);
  one.now = 2000;
  for (const [view, wanted] of /** @type {const} */ ([
    [{ cooldownMs: 1001n }, '10.1.0.53'],
    [{ cooldownMs: 1000n }, '10.1.0.52'],
    [{ keepMs: 1001n }, '10.1.0.53'],
    [{ keepMs: 1000n }, '10.1.0.52'],
    [{ cooldownMs: 9000n, keepMs: 9000n, key: 'me' }, '10.1.0.52'],
    [{ cooldownMs: 9000n, keepMs: 9000n, key: 'you' }, '10.1.0.53'],
  ])) {
    assert.deepEqual(one.choose({}, view), candidates(wanted));
  }
});

test('the next is the lowest of all spans in whatever order', () => {
  const disk = new Disk();
  const ledger = new Ledger(disk, disk.make('/n'), 0);
  for (const taken of ['10.1.0.2', '255.255.255.255', 'fd00::']) {
    ledger.reserve(toKey(address(taken)), OWNER);
  }
  const spans = ['fd00::-fd00::1', '10.9.0.0-10.9.0.1', '10.1.0.2-10.1.0.4',
    '255.255.255.254-255.255.255.255'].map(span);
  const keys = spans.map(({ first, last }) => ({ first: toKey(first), last: toKey(last) }));
  const holdBack = { cooldownMs: 0, keepMs: 0, key: undefined };
  for (const [at, wanted] of [
    ['0.0.0.0', '10.1.0.3'], ['10.1.0.4', '10.1.0.4'], ['10.1.0.5', '10.9.0.0'],
    ['10.9.0.2', '255.255.255.254'], ['255.255.255.255', 'fd00::1'], ['::', 'fd00::1'],
    ['fd00::2', undefined],
  ]) {
    const next = nextGivable(ledger, keys, holdBack, toKey(address(String(at))));
    assert.deepEqual(next === undefined ? undefined : fromKey(next),
      wanted === undefined ? undefined : address(wanted), at);
  }
});

test('what it says is told whatever becomes of it, within bounds', async () => {
  const words = '(data (i32.const 512) "hello\\nyou")';
  const said = '(call $log (i32.const 512) (i32.const 9))';
  const good = await trial(policy(`${said} ${said} ${YOU_DECIDE}`, words));
  good.choose();
  assert.deepEqual(good.said, ['hello you', 'hello you']);
  const bad = await trial(policy(`${said} (unreachable)`, words));
  bad.failure();
  assert.deepEqual(bad.said, ['hello you']);

  const many = await trial(policy(`
    (local.set $n (i32.const 1000))
    (loop $again ${said} (local.set $n (i32.sub (local.get $n) (i32.const 1)))
      (br_if $again (local.get $n)))
    (call $log (i32.const 8192) (i32.const 3000)) ${YOU_DECIDE}`, words));
  many.choose();
  assert.equal(many.said.length, 101);
  assert.equal(many.said[100], '901 more lines, beyond 100, are dropped');

  const long = await trial(policy(answer(1, 8192, 100_000)));
  assert.deepEqual(long.choose(), { tag: 'none', val: `${' '.repeat(1024)} ...` });
  const umlauts = `(data (i32.const 8191) "x${'ü'.repeat(600)}")`;
  const cut = await trial(policy(answer(1, 8191, 1201), umlauts));
  assert.deepEqual(cut.choose(), { tag: 'none', val: `x${'ü'.repeat(511)} ...` });
});

/** Writes `k: v` before it answers. @param {string} answer */
function writing(answer) {
  return policy(
    `(call $set (i32.const 512) (i32.const 1) (i32.const 513) (i32.const 1) (i32.const 2048))
     ${answer}`,
    '(data (i32.const 512) "kv")');
}

test('what it writes counts if it has an answer', async () => {
  for (const [after, wanted] of [
    [YOU_DECIDE, '{"k":"v"}'], [answer(0, 0, 0), '{"k":"v"}'], [answer(1, 512, 1), ''],
    [answer(0, 8192, 1025), ''], ['(unreachable)', ''],
  ]) {
    const one = await trial(writing(after));
    try {
      one.choose();
    } catch (error) {
      assert.ok(error instanceof PolicyFailure);
    }
    assert.equal(one.directory.state, wanted, after);
  }
});

test('state is JSON, in the order of its bytes', async () => {
  const keys = ['b', 'a', '', '\\u{ff5e}', '\\u{1f600}', '1', '0'];
  const sets = keys.map((_, n) =>
    `(call $set (i32.const ${512 + 16 * n}) (i32.load8_u (i32.const ${527 + 16 * n}))
      (i32.const ${640 + n}) (i32.const 1) (i32.const 2048))`);
  const data = keys.map((key, n) => {
    const bytes = new TextEncoder().encode(JSON.parse(`"${key.replace(/\\u\{(.*)\}/, (_, hex) =>
      String.fromCodePoint(Number.parseInt(hex, 16)))}"`));
    const hex = [...bytes].map((byte) => `\\${byte.toString(16).padStart(2, '0')}`).join('');
    const length = bytes.length.toString(16).padStart(2, '0');
    return `(data (i32.const ${512 + 16 * n}) "${hex}") (data (i32.const ${527 + 16 * n}) "\\${length}")`;
  });
  const one = await trial(policy(`${sets.join(' ')} ${YOU_DECIDE}`,
    `${data.join(' ')} (data (i32.const 640) "\\ff\\00\\22xyzw")`));
  one.choose();
  assert.equal(one.directory.state,
    '{"":"\\"","0":"w","1":"z","a":"\\u0000","b":{"hex":"ff"},"\uff5e":"x","\u{1f600}":"y"}');
  // What is there already is no change.
  one.disk.takeChanges();
  one.choose();
  assert.deepEqual(one.disk.takeChanges(), []);
});

test('state beyond its limit is refused and the policy lives', async () => {
  // The case of a result is 1 where it is an error.
  const one = await trial(policy(`
    (call $set (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 200) (i32.const 2048))
    (if (i32.eqz (i32.load8_u (i32.const 2048))) (then (unreachable)))
    ${YOU_DECIDE}`));
  one.limits.state = 200;
  one.choose();
  assert.equal(one.directory.state, '');
  one.limits.state = 201;
  assert.match(one.failure(), /unreachable/);
});

test('a release counts if nothing goes wrong, and shows no ranges', async () => {
  const write = '(call $set (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 2048))';
  const one = await trial(policyWithReleases(YOU_DECIDE, `${write}
    (call $spans (i32.const 2048))
    (if (i32.load (i32.const 2052)) (then (unreachable)))
    (if (call $is-reserved (i32.const 0) (i32.const 0x0a010032) (i32.const 0) (i32.const 0)
        (i32.const 0)) (then (unreachable)))`));
  one.released();
  assert.equal(one.directory.state, '{"\\u0000":""}');
  one.directory.setState('');
  one.hold('10.1.0.50');
  assert.match(one.failure(() => one.released()), /^trapped: /);
  assert.equal(one.directory.state, '');
});

test('each decision has a fresh instance', async () => {
  const one = await trial(policy(`
    (if (i32.load (i32.const 512)) (then (unreachable)))
    (i32.store (i32.const 512) (i32.const 1)) ${YOU_DECIDE}`));
  one.choose();
  one.choose();
});

test('a store that fails is no fault of the policy', async () => {
  const one = await trial(policy(NEXT_FREE));
  const network = one.network();
  network.ledger.nextFree = () => {
    throw new StorageError('io', 'broken');
  };
  assert.throws(() => one.policies.interface.choose(network, one.setting, REQUEST, VIEW),
    (error) => error instanceof PolicyFailure && error.payload.tag === 'storage'
      && error.payload.val.message === 'broken');
});

// ------------------------------------------------------- those that mean harm

const LIFTED = 'exceeded its limit of 1048576 bytes handed to the host';
const MEMORY = 'exceeded its limit of 16777216 bytes of memory';
const GROW = '(memory.grow (i32.const 160))';

/** @type {[string, Promise<Uint8Array<ArrayBuffer>>, string][]} */
const HOSTILE = [
  ['a trap', policy('(unreachable)'),
    'trapped: wasm trap: wasm `unreachable` instruction executed'],
  ['reading beyond memory', policy('(i32.load (i32.const 0x7fffffff))'),
    'trapped: wasm trap: out of bounds memory access'],
  ['data beyond memory', policy(YOU_DECIDE, '(data (i32.const 0x7fffff) "x")'),
    'trapped: wasm trap: out of bounds memory access'],
  ['dividing by zero', policy('(i32.div_u (i32.const 1) (local.get $n))'),
    'trapped: wasm trap: integer divide by zero'],
  ['the remainder by zero', policy('(i32.rem_s (i32.const 1) (local.get $n))'),
    'trapped: wasm trap: integer divide by zero'],
  ['dividing the least by -1', policy('(i32.div_s (i32.const 0x80000000) (i32.const -1))'),
    'trapped: wasm trap: integer overflow'],
  ['a number of what is none', policy('(i32.trunc_f64_s (f64.const nan))'),
    'trapped: wasm trap: invalid conversion to integer'],
  ['calling beyond a table',
    policy('(call_indirect (i32.const 5)) (unreachable)', '(table 2 funcref)'),
    'trapped: wasm trap: undefined element: out of bounds table access'],
  ['calling with another type',
    policy('(call_indirect (i32.const 0)) (unreachable)',
      '(table 2 funcref) (elem (i32.const 0) func $choose)'),
    'trapped: wasm trap: indirect call type mismatch'],
  ['recursion', policy(`(drop (call $deep (i64.const 0))) ${YOU_DECIDE}`,
    `(func $deep (param i64) (result i64)
      (i64.add (local.get 0) (call $deep (i64.add (local.get 0) (i64.const 1)))))`),
  'exceeded its limit of 524288 bytes of stack'],
  ['a start function that traps', policy(YOU_DECIDE, '(func $start (unreachable)) (start $start)'),
    'trapped: wasm trap: wasm `unreachable` instruction executed'],
  ['memory from the beginning', starting(`
    (core module $large (memory 300)) (core instance (instantiate $large))`), MEMORY],
  ['memory of several instances', starting(`
    (core module $large (memory 100))
    ${'(core instance (instantiate $large))'.repeat(3)}`), MEMORY],
  ['tables from the beginning', policy(YOU_DECIDE, '(table 1000000 funcref)'),
    'exceeded its limit of 10000 elements of tables'],
  ['many tables', policy(YOU_DECIDE, '(table 0 funcref)'.repeat(20)),
    'exceeded its limit of 16 tables'],
  ['many memories', starting(`
    (core module $memory (memory 0)) ${'(core instance (instantiate $memory))'.repeat(17)}`),
  'exceeded its limit of 16 instances'],
  ['many instances', starting('(core instance (instantiate $module))'.repeat(20)),
    'exceeded its limit of 16 instances'],
  ['a list of 1025 addresses', policy(answer(0, 8192, 1025)),
    'answered 1025 candidates, wanted at most 1024'],
  ['a list of 60,000 addresses', policy(`(drop ${GROW}) ${answer(0, 131_072, 60_000)}`), LIFTED],
  ['a reason of 1 GiB', policy(answer(1, 0, 1 << 30)),
    'failed: string pointer/length out of bounds of memory'],
  ['a reason of 8 MiB', policy(`(drop ${GROW}) ${answer(1, 0, 8 << 20)}`), LIFTED],
  ['a line of 8 MiB',
    policy(`(drop ${GROW}) (call $log (i32.const 0) (i32.const 0x800000)) (unreachable)`), LIFTED],
  ['many lines', policy(repeated('(call $log (i32.const 8192) (i32.const 100000))')), LIFTED],
  ['filling its state', policy(repeated(`
    (call $set (i32.const 0) (i32.const 4) (i32.const 0) (i32.const 60000) (i32.const 2048))`)),
  LIFTED],
  ['an answer that is none', policy('(i32.store8 (i32.const 1024) (i32.const 9)) (i32.const 1024)'),
    'failed: invalid variant discriminant for Answer'],
  ['an answer outside of memory', policy('(i32.const -4)'),
    'failed: pointer out of bounds of memory'],
  ['a text that is none', policy(answer(1, 512, 2), '(data (i32.const 512) "\\ff\\fe")'),
    'failed: invalid utf-8 sequence'],
  ['another type of function', starting(''),
    'failed: failed to convert function to given type'],
  ['a clock', exporting('wipam:ipam/choice@0.1.0',
    `(import "wasi:clocks/monotonic-clock@0.2.0" (instance (export "now" (func (result u64)))))`),
  'is no policy: it imports wasi:clocks/monotonic-clock@0.2.0, and a policy gets nothing but '
    + 'wipam:ipam/{types,decision,pool,state,log}@0.1.0'],
  ['a later pool', exporting('wipam:ipam/choice@0.1.0',
    '(import "wipam:ipam/pool@0.2.0" (instance (export "ranges" (func))))'),
  'is no policy: it imports wipam:ipam/pool@0.2.0, and a policy gets nothing but '
    + 'wipam:ipam/{types,decision,pool,state,log}@0.1.0'],
  ['a later choice', exporting('wipam:ipam/choice@0.9.0', ''),
    'is no policy: it exports wipam:ipam/choice@0.9.0, wanted wipam:ipam/choice@0.1.0'],
  ['nothing', text('(component)'),
    'is no policy: it exports nothing, wanted wipam:ipam/choice@0.1.0'],
  ['a module', text('(module)'), 'is no policy: it is a module, wanted a component'],
  ['a text', Promise.resolve(new TextEncoder().encode('(component)')),
    'is no policy: it is no component in binary form'],
];

test('each that means harm ends, and it is said how', async () => {
  for (const [name, component, wanted] of HOSTILE) {
    const one = await trial(component);
    assert.equal(one.failure(), wanted, name);
    assert.equal(one.directory.state, '', name);
  }
});

test('memory is not had beyond the limit', async () => {
  // 2 pages of its own; what is granted is granted at once.
  const one = await trial(policy(`
    (if (i32.ne (memory.grow (i32.const 254)) (i32.const 2)) (then (unreachable)))
    (if (i32.ne (memory.grow (i32.const 1)) (i32.const -1)) (then (unreachable))) ${YOU_DECIDE}`));
  one.choose();
  one.limits.memory = 200n * 65_536n;
  assert.match(one.failure(), /unreachable/);
  one.limits.memory = 65_536n;
  assert.equal(one.failure(), 'exceeded its limit of 65536 bytes of memory');
});

test('a component beyond its limit is not looked at', async () => {
  const one = await trial(policy(YOU_DECIDE));
  one.limits.component = 100n;
  assert.match(failure(() => one.choose()), new RegExp(
    `^policy ${PATH} exceeded its limit of 100 bytes of component: it has \\d+$`));
});

test('what is not there cannot be read, and who was banished fails', async () => {
  const one = await trial(policy(YOU_DECIDE));
  one.policies.banish(PATH, 'was ended after 1000 ms');
  for (const call of [() => one.choose(), () => one.policies.interface.ready(one.setting)]) {
    assert.equal(one.failure(call), 'was ended after 1000 ms');
  }
  await one.with(policy(YOU_DECIDE));
  one.choose();
  one.policies.clear();
  assert.equal(failure(() => one.choose()),
    `policy ${PATH} could not be read: there is no component of this name`);
});

test('without digests, messages name none', async () => {
  const one = new Trial();
  one.policies.set(PATH, await loadPolicy(await policy('(unreachable)'), undefined, transpiler));
  assert.match(failure(() => one.choose()), new RegExp(`^policy ${PATH} trapped: `));
});
