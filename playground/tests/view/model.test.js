import assert from 'node:assert/strict';
import { test } from 'node:test';

import { holderOf, markerOf } from '../../src/view/model.js';
import { DIRECTORY, file, frame, model, past, START } from './fixtures.js';

const WEB = 'web\r\neth0';

/** Three operations: web comes, goes, and db gets its address. */
function played() {
  const all = model([[file('10.1.0.9'), 'old\r\neth0'], ['b:', 5]]);
  const marker = `f:${DIRECTORY}/last_reserved_ip.0`;
  all.push([
    frame(1, { changes: [{ key: file('10.1.0.2'), after: WEB }, { key: marker, after: '10.1.0.2' }] }),
    frame(2, {
      command: 'DEL',
      changes: [
        { key: file('10.1.0.2'), before: WEB },
        { key: past('10.1.0.2'), after: { key: 'k', held: false, when: START + 2000, order: 1, given: 1 } },
      ],
    }),
    frame(3, { container: 'db', changes: [{ key: file('10.1.0.2'), after: 'db\r\neth0' }] }),
  ]);
  return all;
}

/** @param {import('../../src/view/model.js').Model} all */
function seen(all) {
  const { addresses, others } = all.directory(DIRECTORY);
  const entry = addresses.get('10.1.0.2');
  return [entry?.record, entry?.since, entry?.past?.key, others.get('last_reserved_ip.0')];
}

test('stepping forwards and backwards leads to the same states', () => {
  const all = played();
  const states = [];
  for (const position of [0, 1, 2, 3]) {
    all.goTo(position);
    states.push(seen(all));
  }
  assert.deepEqual(states, [
    [undefined, undefined, undefined, undefined],
    [WEB, 1, undefined, '10.1.0.2'],
    [undefined, 2, 'k', '10.1.0.2'],
    ['db\r\neth0', 3, 'k', '10.1.0.2'],
  ]);
  for (const position of [2, 1]) {
    all.goTo(position);
    assert.deepEqual(seen(all), states[position], `back to ${position}`);
  }
  all.goTo(0);
  assert.deepEqual(seen(all).filter((value) => value !== undefined), [0]);
  all.goTo(99);
  assert.deepEqual([all.position, seen(all)], [3, states[3]]);
  assert.equal(all.now, START + 3000);
});

test('what was there at the start was there before the first operation', () => {
  const entry = played().directory(DIRECTORY).addresses.get('10.1.0.9');
  assert.deepEqual([entry?.record, entry?.since], ['old\r\neth0', 0]);
});

test('the history of an address ends at the position', () => {
  const all = played();
  const numbers = () => all.changesOf(DIRECTORY, '10.1.0.2', 10).map(({ number }) => number);
  assert.deepEqual(numbers(), []);
  all.goTo(2);
  assert.deepEqual(numbers(), [2, 1]);
  all.goTo(3);
  assert.deepEqual(numbers(), [3, 2, 1]);
  assert.deepEqual(all.changesOf(DIRECTORY, '10.1.0.2', 1).map(({ number }) => number), [3]);
});

test('a container is gone after a reboot, and after a DEL that failed', () => {
  const all = model();
  all.push([
    frame(1, { changes: [{ key: file('10.1.0.2'), after: WEB }] }),
    frame(2, { command: 'DEL', status: 1 }),
    frame(3, { container: 'db', changes: [{ key: file('10.1.0.3'), after: 'db\r\neth0' }] }),
    frame(4, { command: 'REBOOT', container: '', changes: [{ key: 'b:', before: 0, after: START + 4000 }] }),
  ]);
  const stale = () => ['10.1.0.2', '10.1.0.3'].map((address) => {
    const entry = all.directory(DIRECTORY).addresses.get(address);
    return entry !== undefined && all.isStale(entry, all.lastReboot);
  });
  const by = [];
  for (const position of [1, 2, 3, 4, 1]) {
    all.goTo(position);
    by.push(stale());
  }
  assert.deepEqual(by, [[false, false], [true, false], [true, false], [true, true], [false, false]]);
});

test('records and markers are told by their texts', () => {
  assert.deepEqual(holderOf(WEB), { container: 'web', interface: 'eth0' });
  assert.deepEqual(holderOf('web\n'), { container: 'web', interface: '' });
  for (const text of ['', ' ', 'a b', 'a\r\nb\r\nc', '/x']) assert.equal(holderOf(text), undefined, text);
  assert.deepEqual(['last_reserved_ip.12', 'last_reserved_ip', 'lock'].map(markerOf), [12, undefined, undefined]);
});
