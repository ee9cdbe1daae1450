import assert from 'node:assert/strict';
import { test } from 'node:test';

import { shellCommand } from '../../src/view/exchange.js';
import { countText } from '../../src/view/numbers.js';
import { readAttachment } from '../../src/view/operations.js';
import { ticks, timeTicks } from '../../src/view/plot.js';
import { clockText, durationText, factsOf, listText, outcomeOf, story } from '../../src/view/words.js';
import { file, frame, model, pool } from './fixtures.js';

test('durations have their two largest parts', () => {
  const texts = [0, 250, 1000, 61_000, 3_600_000, 3_661_000, 90_061_000].map(durationText);
  assert.deepEqual(texts, ['0 ms', '250 ms', '1 s', '1 min 1 s', '1 h', '1 h 1 min', '1 d 1 h']);
  assert.equal(clockText(1_767_225_600_000), '2026-01-01 00:00:00');
  assert.equal(clockText(1_767_225_600_007), '2026-01-01 00:00:00.007');
  assert.equal(clockText(Number.MAX_SAFE_INTEGER), `${Number.MAX_SAFE_INTEGER} ms`);
});

test('results of every version, and errors', () => {
  const of = (/** @type {Partial<import('../../src/view/types.js').Frame>} */ more) => outcomeOf(frame(1, more));
  assert.deepEqual(of({ answer: '{"ips": [{"address": "10.1.0.2/24"}, {"address": "2001:db8::2/64"}]}' }).addresses, ['10.1.0.2', '2001:db8::2']);
  assert.deepEqual(of({ answer: '{"ip4": {"ip": "10.1.0.2/24"}}' }).addresses, ['10.1.0.2']);
  assert.equal(of({ status: 1, answer: '{"code": 11, "msg": "full", "details": "network demo"}' }).text, 'error 11: full: network demo');
  assert.equal(of({ status: 1, answer: '{"code": 11, "msg": "full", "details": "network demo"}' }).code, 11);
  assert.equal(of({ status: -1 }).ok, false);
  for (const answer of ['', 'null', '7', '{"ips": 3}', '{"ips": [null, {"address": 4}]}', '{"ip4": 3}']) assert.equal(of({ answer }).text, 'ok');
});

test('what an operation did', () => {
  const add = story(frame(1, {
    answer: '{"ips": [{"address": "10.1.0.5/24"}]}',
    notes: ['10.1.0.1: the gateway', '10.1.0.2-10.1.0.4: likewise not to be had', 'policy x chose'],
  }));
  assert.equal(add.sentence, 'web got 10.1.0.5.');
  assert.deepEqual(add.notes, [
    { what: '10.1.0.1', why: 'the gateway' },
    { what: '10.1.0.2-10.1.0.4', why: 'likewise not to be had' },
    { what: '', why: 'policy x chose' },
  ]);
  const gone = [{ key: file('10.1.0.5'), before: 'web\r\neth0' }, { key: file('last_reserved_ip.0'), before: 'x' }];
  assert.equal(story(frame(2, { command: 'DEL', changes: gone })).sentence, 'web gave back 10.1.0.5.');
  assert.match(story(frame(2, { command: 'DEL' })).sentence, /^Nothing was reserved for web/);
  assert.equal(listText(['a', 'b', 'c', 'd', 'e', 'f']), 'a, b, c, d and 2 more');
});

test('the facts of an address', () => {
  const all = pool({ exclude: [{ first: '10.1.0.4', last: '10.1.0.7' }] });
  const [range] = all.ranges;
  const played = model();
  played.push([frame(1, { changes: [{ key: file('10.1.0.9'), after: 'web\r\neth0' }, { key: file('last_reserved_ip.0'), after: '10.1.0.9' }] })]);
  played.goTo(1);
  const facts = (/** @type {number} */ n) => factsOf(all, range, range.block.first + BigInt(n), `10.1.0.${n}`, played);
  assert.deepEqual(facts(9), {
    address: '10.1.0.9',
    state: 'reserved',
    title: 'reserved',
    owner: 'web/eth0',
    since: 'operation 1, 2026-01-01 00:00:01',
    why: 'held by container web, interface eth0',
    isMarker: true,
  });
  assert.equal(facts(5).why, 'is excluded (10.1.0.4-10.1.0.7): never given unasked');
  assert.equal(facts(1).why, 'is a gateway: never given');
  assert.equal(facts(0).why, 'is the network or broadcast address of 10.1.0.0/24: never given');
  assert.equal(facts(10).why, '');
});

test('a shell gets exactly the bytes', () => {
  const command = shellCommand(frame(1, { config: '{"a": "it\'s $x"}', args: 'IP=10.1.0.9;K=V' }));
  assert.equal(command, `printf %s '{"a": "it'\\''s $x"}' | CNI_COMMAND=ADD CNI_CONTAINERID=web CNI_NETNS=/run/netns/web CNI_IFNAME=eth0 CNI_ARGS='IP=10.1.0.9;K=V' CNI_PATH=/opt/cni/bin host-local\n`);
});

test('small things', () => {
  assert.deepEqual(readAttachment(' web '), { container: 'web', interface: 'eth0' });
  assert.deepEqual(readAttachment('web/net1'), { container: 'web', interface: 'net1' });
  assert.deepEqual([5n, 65_536n, 1n << 64n, (1n << 64n) - 1n, (1n << 64n) + 1n].map(countText), ['5', '65,536', '2^64', 'about 2^64', 'about 2^64']);
  assert.deepEqual(ticks(7), [0, 2, 4, 6, 8]);
  assert.deepEqual(ticks(0), [0, 1]);
  assert.deepEqual(ticks(1), [0, 1]);
  assert.deepEqual(timeTicks(10_000), [0, 2000, 4000, 6000, 8000, 10_000]);
  assert.ok(timeTicks(1e15).length < 10);
});
