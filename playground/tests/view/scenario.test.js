import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  cut, durationOf, lastNetwork, networkText, networkValue, pendingWait, readScenario, totalOf,
} from '../../src/view/scenario.js';

/** @typedef {import('../../src/view/types.js').Step} Step */

/** @param {Step[]} steps */
const of = (...steps) => ({ wipam: 'scenario/1', network: { name: 'a' }, steps });

test('a configuration is an object only where that is the same text', () => {
  const object = { cniVersion: '1.1.0', ipam: { ranges: [[{ subnet: '10.1.0.0/24' }]] } };
  assert.deepEqual(networkValue(JSON.stringify(object, null, 2)), object);
  assert.equal(networkText(object), JSON.stringify(object, null, 2));
  for (const text of ['', '{', '{}\n', '{"a":1}', '[]', 'null', '"x"', '{\n  "a": 1.0\n}', '{\n  "a": 1,\n  "a": 2\n}', '{\n  "2": 0,\n  "1": 0\n}']) {
    assert.equal(networkValue(text), text);
    assert.equal(networkText(networkValue(text)), text);
  }
});

test('a scenario is cut behind an operation', () => {
  const all = of({ add: 'a' }, { wait: '5s' }, { add: 'b' }, { network: 'x' }, { load: { operations: 10, arrivals: '1s' } }, { wait: '1m' });
  assert.equal(totalOf(all), 12);
  assert.deepEqual(cut(all, 0).steps, []);
  // Waits and configurations behind the last operation were not done yet.
  assert.deepEqual(cut(all, 1).steps, [{ add: 'a' }]);
  assert.deepEqual(cut(all, 2).steps, [{ add: 'a' }, { wait: '5s' }, { add: 'b' }]);
  assert.deepEqual(cut(all, 5).steps?.slice(3), [{ network: 'x' }, { load: { operations: 3, arrivals: '1s' } }]);
  assert.deepEqual(cut(all, 12).steps, all.steps);
  assert.deepEqual(cut(all, 99).steps, all.steps);
  assert.equal(all.steps.length, 6);
});

test('what stands behind the last operation', () => {
  assert.equal(lastNetwork(of({ add: 'a' })), networkText({ name: 'a' }));
  assert.equal(lastNetwork(of({ network: 'x' }, { add: 'a' }, { network: { name: 'b' } })), networkText({ name: 'b' }));
  assert.equal(pendingWait(of({ wait: '1h' }, { add: 'a' }, { wait: '5s' }, { network: 'x' }, { wait: '20ms' })), 5020);
  assert.deepEqual(['5s', '2m', '1d', '7ms', '1.5s', 's', '-1s', ''].map(durationOf), [5000, 120_000, 86_400_000, 7, undefined, undefined, undefined, undefined]);
});

test('documents of others are read with care', () => {
  for (const text of ['', '[]', 'null', '"scenario/1"', '{']) assert.throws(() => readScenario(text), /no scenario/);
  const odd = readScenario('{"steps": [null, 1, {"load": {"operations": -1}}, {"add": null}], "network": 7}');
  assert.equal(totalOf(odd), 1);
  assert.equal(cut(odd, 0).steps?.length, 0);
  assert.equal(networkText(odd.network), '7');
});
