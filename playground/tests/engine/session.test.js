import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Ledger } from '../../src/engine/ledger.js';
import { toHex } from '../../src/engine/policy-state.js';
import { policy, policyWithReleases, YOU_DECIDE } from './guest.js';
import { built, session } from './helper.js';

/** @typedef {import('../../src/engine/session.js').Frame} Frame */
/** @typedef {import('../../src/engine/session.js').Session} Session */

const DIRECTORY = '/var/lib/cni/networks/demo';
const START = 1_767_225_600_000;

/**
 * @param {any[]} steps
 * @param {object} [ipam]
 * @param {object} [more] of the scenario
 */
function scenario(steps, ipam = {}, more = {}) {
  return JSON.stringify({ wipam: 'scenario/1', network: network(ipam), steps, ...more });
}

/** @param {object} ipam */
function network(ipam) {
  return {
    cniVersion: '1.1.0',
    name: 'demo',
    type: 'bridge',
    ipam: { type: 'host-local', subnet: '10.1.0.0/29', ...ipam },
  };
}

/**
 * A session that has done all of its scenario.
 * @param {string} text
 */
async function played(text) {
  const made = await session();
  const start = await made.session.open(text);
  const { frames, ended } = made.session.run(1_000_000, 600_000);
  assert.ok(ended);
  return { ...made, start, frames };
}

/** @param {Frame} frame */
function address({ answer }) {
  return JSON.parse(answer).ips?.[0].address;
}

/**
 * The state after these operations.
 * @param {import('../../src/engine/session.js').Start} start
 * @param {Frame[]} frames
 */
function state({ entries }, frames) {
  const all = new Map(entries);
  for (const { key, after } of frames.flatMap(({ changes }) => changes)) {
    if (after === undefined) {
      all.delete(key);
    } else {
      all.set(key, after);
    }
  }
  return Object.fromEntries([...all].sort(([a], [b]) => (a < b ? -1 : 1)));
}

test('an operation is told with all that came of it', async () => {
  const { start, frames } = await played(scenario([
    { add: { container: 'web', args: 'IgnoreUnknown=1' } },
    { del: 'web' },
    { reboot: {} },
    { add: 'web' },
  ], { subnet: '10.1.0.0/24' }));
  assert.deepEqual(start, { directory: DIRECTORY, entries: [], now: START, notices: [] });

  const [add, del, reboot] = frames;
  const text = JSON.stringify(network({ subnet: '10.1.0.0/24' }), null, 2);
  const { answer, line, notes, ...rest } = add;
  assert.deepEqual(rest, {
    number: 1,
    ms: 0,
    command: 'ADD',
    container: 'web',
    interface: 'eth0',
    netns: '/run/netns/web',
    args: 'IgnoreUnknown=1',
    path: '/opt/cni/bin',
    config: text,
    network: text,
    status: 0,
    warnings: [],
    changes: [
      { key: `f:${DIRECTORY}/lock`, before: undefined, after: '' },
      { key: `f:${DIRECTORY}/10.1.0.2`, before: undefined, after: 'web\r\neth0' },
      { key: `f:${DIRECTORY}/last_reserved_ip.0`, before: undefined, after: '10.1.0.2' },
    ],
  });
  assert.equal(JSON.parse(answer).ips[0].address, '10.1.0.2/24');
  assert.notEqual(notes.length, 0);
  assert.deepEqual(JSON.parse(line), {
    operation: 1, ms: 0, command: 'ADD', container: 'web', interface: 'eth0', status: 0, answer,
  });

  assert.equal(del.ms, 1000);
  assert.deepEqual(JSON.parse(del.config).prevResult, JSON.parse(answer));
  assert.equal(del.network, text);
  assert.deepEqual(del.changes,
    [{ key: `f:${DIRECTORY}/10.1.0.2`, before: 'web\r\neth0', after: undefined }]);

  assert.deepEqual(reboot, {
    number: 3,
    ms: 2000,
    command: 'REBOOT',
    container: '',
    interface: '',
    netns: '',
    args: '',
    path: '',
    config: '',
    network: text,
    status: 0,
    answer: '',
    warnings: [],
    notes: [],
    changes: [{ key: 'b:', before: undefined, after: START + 2000 }],
    line: '{"operation":3,"ms":2000,"command":"REBOOT"}',
  });
});

test('files are there at first', async () => {
  const files = { '10.1.0.2': 'old\r\neth0', 'last_reserved_ip.0': '10.1.0.4' };
  const { start, frames } = await played(scenario([{ add: 'a' }, { del: 'old' }], {}, { files }));
  assert.deepEqual(start.entries, [
    [`f:${DIRECTORY}/10.1.0.2`, 'old\r\neth0'],
    [`f:${DIRECTORY}/last_reserved_ip.0`, '10.1.0.4'],
  ]);
  assert.equal(address(frames[0]), '10.1.0.5/29');
  assert.deepEqual(state(start, frames), {
    [`f:${DIRECTORY}/10.1.0.5`]: 'a\r\neth0',
    [`f:${DIRECTORY}/last_reserved_ip.0`]: '10.1.0.5',
    [`f:${DIRECTORY}/lock`]: '',
  });
  const { session: other } = await session();
  await assert.rejects(other.open(JSON.stringify({
    wipam: 'scenario/1', network: '{oops', files, steps: [],
  })), /^Error: files: the network configuration says nowhere to put them: /);
});

test('what is no scenario is told', async () => {
  const { session: one } = await session();
  assert.throws(() => one.run(1, 1), /no scenario is open/);
  await assert.rejects(one.open('{'), /EOF|expected|end/i);
  await assert.rejects(one.open(JSON.stringify({ wipam: 'scenario/9' })), Error);
  await one.open(scenario([]));
  assert.deepEqual(one.run(10, 1000), { frames: [], ended: true });
  assert.throws(() => one.append('{"ad": "web"}'), /unknown variant/);
});

test('steps can be added', async () => {
  const { session: one } = await session();
  await one.open(scenario([{ add: 'a' }]));
  assert.equal(one.run(1, 1000).ended, true);
  one.append('{"add": "b"}');
  one.append('{"del": "a"}');
  const first = one.run(1, 1000);
  assert.deepEqual([first.frames[0].container, first.ended], ['b', false]);
  const second = one.run(5, 1000);
  assert.deepEqual([second.frames[0].command, second.frames.length, second.ended],
    ['DEL', 1, true]);
  assert.equal(one.summary().operations, 3);
});

test('a run ends when its time is over, behind an operation', async () => {
  const { session: one } = await session();
  await one.open(scenario([{ add: 'a' }, { add: 'b' }]));
  const { frames, ended } = one.run(100, 0);
  assert.deepEqual([frames.length, ended], [1, false]);
});

/** All that a load does, with all that is remembered. */
const EVENTFUL = scenario([
  {
    load: {
      operations: 300,
      arrivals: '2s',
      lifetimes: '9s',
      names: 6,
      crashes: { share: 30, lifetime: '2s', restarts: 3 },
      lostDels: 5,
      reboots: '80s',
      gc: '60s',
      checks: 20,
    },
  },
  { network: network({ subnet: '10.2.0.0/28', dataDir: '/data', sticky: true }) },
  { load: { operations: 100, arrivals: '1s', lifetimes: '5s' } },
], { subnet: '10.1.0.0/28', sticky: true, cooldown: { seconds: 20, whenFull: 'use' } });

test('what was done can be restored, and goes on as it would have', async () => {
  const { start, frames, session: whole } = await played(EVENTFUL);
  const commands = new Set(frames.map(({ command }) => command));
  assert.deepEqual([...commands].sort(), ['ADD', 'CHECK', 'DEL', 'GC', 'REBOOT']);
  const kinds = new Set(Object.keys(state(start, frames)).map((key) => key.slice(0, 2)));
  assert.deepEqual([...kinds].sort(), ['b:', 'f:', 'h:', 'r:']);
  for (const count of [0, 1, 57, 200, 305, frames.length]) {
    const { session: one } = await session();
    // As it comes out of a worker, or of a file.
    const done = structuredClone(frames.slice(0, count));
    assert.deepEqual(await one.restore(EVENTFUL, done), start);
    const { frames: rest, ended } = one.run(1_000_000, 600_000);
    assert.ok(ended);
    assert.deepEqual(rest, frames.slice(count));
    assert.deepEqual(one.summary(), whole.summary());
    assert.deepEqual(one.series(), whole.series());
    assert.equal(one.picture(), whole.picture());
  }
});

test('frames of another scenario are refused', async () => {
  const { frames } = await played(scenario([{ add: 'a' }, { add: 'b' }]));
  const { session: one } = await session();
  await assert.rejects(one.restore(scenario([{ add: 'a' }]), frames), /operation 2 is not/);
  await assert.rejects(one.restore(scenario([{ add: 'a' }, { del: 'a' }]), frames), /operation 2 is not/);
});

test('changes lead back as well', async () => {
  const { start, frames } = await played(EVENTFUL);
  const all = new Map(start.entries);
  for (const { key, before, after } of frames.flatMap(({ changes }) => changes)) {
    assert.deepEqual(all.get(key), before);
    all.set(key, /** @type {any} */ (after));
  }
});

test('GC frees what nobody knows of, and a boot what nothing stands for', async () => {
  const { frames } = await played(scenario([
    { add: 'a' }, { add: 'b' }, { gc: { keep: ['a/eth0'] } }, { reboot: {} }, { gc: {} },
  ]));
  const gone = (/** @type {Frame} */ frame) => frame.changes.map(({ key, after }) => [key, after]);
  assert.deepEqual(gone(frames[2]), [[`f:${DIRECTORY}/10.1.0.3`, undefined]]);
  assert.deepEqual(gone(frames[4]), [[`f:${DIRECTORY}/10.1.0.2`, undefined]]);
});

test('an address cools, counted from the boot if that was later', async () => {
  const { frames } = await played(scenario([
    { add: 'a' }, { add: 'b' }, { add: 'c' }, { add: 'd' }, { add: 'e' },
    { del: 'a' }, { wait: '5s' }, { reboot: {} }, { wait: '8s' }, { add: 'f' }, { wait: '2s' },
    { add: 'f' },
  ], { cooldown: 10 }));
  const [early, late] = frames.filter(({ container }) => container === 'f');
  assert.equal(early.status, 1);
  assert.match(early.answer, /1 is cooling, the next can be given in 1 s/);
  assert.equal(address(late), '10.1.0.2/29');
  const [left] = frames[5].changes;
  assert.deepEqual(left, {
    key: `h:${DIRECTORY}/10.1.0.2`,
    before: undefined,
    after: { key: null, held: false, when: START + 5000, order: 1, given: 0 },
  });
});

test('there is no resolv.conf', async () => {
  const { frames: [frame] } = await played(scenario([{ add: 'a' }], { resolvConf: '/etc/resolv.conf' }));
  assert.equal(frame.status, 1);
  assert.match(frame.answer,
    /reading resolvConf \/etc\/resolv.conf: No such file or directory \(os error 2\)/);
});

test('a component that traps leaves nothing, and is begun anew', async (context) => {
  const { session: one } = await session();
  await one.open(scenario([{ add: 'a' }, { add: 'a' }]));
  const mock = context.mock.method(Ledger.prototype, 'setLastReserved', () => {
    throw new Error('broken');
  });
  const [trapped] = one.run(1, 1000).frames;
  assert.deepEqual([trapped.status, trapped.changes], [-1, []]);
  assert.deepEqual(JSON.parse(trapped.answer),
    { cniVersion: '1.1.0', code: 100, msg: 'the component trapped: broken' });
  mock.mock.restore();
  const [fine] = one.run(1, 1000).frames;
  assert.equal(address(fine), '10.1.0.2/29');
});

test('configurations are explained', async () => {
  const { session: one } = await session();
  const good = JSON.stringify(network({}));
  assert.match(one.explain(good).ok, /10\.1\.0\.0\/29/);
  assert.equal(one.layout(good).ok.directory, DIRECTORY);
  const bad = JSON.stringify(network({ subnet: '10.1.0.5/29' }));
  assert.match(String(one.explain(bad).error), /host bits/);
  assert.match(String(one.layout(bad).error), /host bits/);
});

// ------------------------------------------------------------------ policies

const ZONES = {
  policy: { component: '/p/zones.wasm', config: { zones: { sim: ['10.1.0.4-10.1.0.5'] } } },
};
const AS_SIM = 'IgnoreUnknown=1;K8S_POD_NAMESPACE=sim;K8S_POD_NAME=a';

test('a policy that comes with the site chooses', async () => {
  const text = scenario(
    [{ add: { container: 'a', args: AS_SIM } }, { status: {} }, { del: 'a' }],
    ZONES, { components: { '/p/zones.wasm': { file: 'zones.wasm' } } });
  const { frames, events } = await played(text);
  assert.equal(address(frames[0]), '10.1.0.4/29');
  // Asking STATUS and DEL runs nothing: this one is not told of releases.
  assert.deepEqual(events, [{ event: 'asking', path: '/p/zones.wasm' }, { event: 'asked' }]);
});

/**
 * @param {Uint8Array} bytes
 * @param {any[]} steps
 * @param {string} [sha256]
 */
function withPolicy(bytes, steps, sha256) {
  const wasm = Buffer.from(bytes).toString('base64');
  return scenario(steps, { policy: { component: '/p.wasm' } },
    { components: { '/p.wasm': { wasm, sha256 } } });
}

test('a policy is asked, and what it says is noted', async () => {
  const bytes = await policyWithReleases(
    `(call $log (i32.const 512) (i32.const 5)) ${YOU_DECIDE}`,
    '(call $set (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 2048))');
  const { start, frames, events } = await played(withPolicy(bytes, [{ add: 'a' }, { del: 'a' }]));
  assert.deepEqual(frames[0].notes.filter((note) => note.startsWith('the policy says')),
    ['the policy says: \u0000\u0000\u0000\u0000\u0000'.replaceAll('\u0000', ' ')]);
  assert.equal(state(start, frames)[`s:${DIRECTORY}`], '{"":""}');
  assert.deepEqual(events, [
    { event: 'asking', path: '/p.wasm' }, { event: 'asked' },
    { event: 'asking', path: '/p.wasm' }, { event: 'asked' },
  ]);
});

test('a policy that fails, fails the ADD and leaves nothing', async () => {
  const bytes = await policy('(unreachable)');
  const digest = toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)));
  const { start, frames } = await played(withPolicy(bytes, [{ add: 'a' }]));
  const { code, msg } = JSON.parse(frames[0].answer);
  assert.equal(code, 103);
  assert.equal(msg, 'failed to allocate for range 0: policy /p.wasm '
    + `(sha256 ${digest.slice(0, 12)}) trapped: wasm trap: wasm \`unreachable\` instruction executed`);
  assert.deepEqual(state(start, frames), { [`f:${DIRECTORY}/lock`]: '' });
});

test('a policy has to be the one that was meant', async () => {
  const bytes = await policy(YOU_DECIDE);
  const digest = toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)));
  await played(withPolicy(bytes, [{ add: 'a' }], digest.toUpperCase()));
  const { session: one } = await session();
  const wanted = '0'.repeat(64);
  await assert.rejects(one.open(withPolicy(bytes, [], wanted)), {
    message: `/p.wasm: another policy than the scenario's: wanted sha256 ${wanted}, found ${digest}`,
  });
});

test('a policy can be brought, and banished', async () => {
  const { session: one } = await session();
  await one.open(scenario([{ add: 'a' }], { policy: { component: '/p.wasm' } }));
  const [missing] = one.run(1, 1000).frames;
  assert.match(missing.answer, /policy \/p.wasm could not be read: there is no component of this name/);

  const { sha256 } = await one.component('/p.wasm', await policy(YOU_DECIDE), 'mine.wasm');
  assert.match(String(sha256), /^[0-9a-f]{64}$/);
  await assert.rejects(one.component('/p.wasm', await built('wasm/host-local.wasm'), 'mine.wasm'),
    /^Error: mine.wasm is no policy: it imports wipam:ipam\//);
  one.append('{"add": "a"}');
  assert.equal(one.run(1, 1000).frames[0].status, 0, 'the one before is still there');

  one.banish('/p.wasm', 'was ended after 1000 ms');
  one.append('{"add": "b"}');
  const [banished] = one.run(1, 1000).frames;
  assert.match(banished.answer,
    new RegExp(`policy /p.wasm \\(sha256 ${sha256?.slice(0, 12)}\\) was ended after 1000 ms`));
});

test('what is no policy fails where it is asked', async () => {
  const text = withPolicy(new TextEncoder().encode('nonsense'), [{ add: 'a' }, { status: {} }]);
  const { frames } = await played(text);
  assert.match(frames[0].answer, /is no policy: it is no component in binary form/);
  assert.match(frames[1].answer, /is no policy: it is no component in binary form/);
});
