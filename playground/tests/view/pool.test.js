import assert from 'node:assert/strict';
import { test } from 'node:test';

import { blockAround } from '../../src/view/geometry.js';
import {
  addressText, baseCells, cellsOf, markerIn, momentOf, reservedIn, STATES, usedBlock,
} from '../../src/view/pool.js';
import { factsOf } from '../../src/view/words.js';
import { DIRECTORY, file, frame, layout, model, past, pool, START } from './fixtures.js';

/**
 * States of cells, by name.
 * @param {import('../../src/view/pool.js').Pool} all
 * @param {import('../../src/view/model.js').Model} played
 * @param {import('../../src/view/geometry.js').Block} [block]
 */
function cells(all, played, block = all.ranges[0].block) {
  const [range] = all.ranges;
  const { states, counts } = cellsOf(all, range, block, baseCells(all, range, block), played, momentOf(all, played));
  return { names: [...states].map((code) => STATES[code].name), counts };
}

test('without reservations the configuration decides', () => {
  const all = pool({
    exclude: [{ first: '10.1.0.4', last: '10.1.0.7' }, { first: '10.9.0.0', last: '10.9.0.255' }],
    static: [{ first: '10.1.0.7', last: '10.1.0.8' }],
  });
  const { names, counts } = cells(all, model());
  assert.equal(counts, undefined);
  assert.deepEqual(names.slice(0, 10), [
    'barred', 'gateway', 'free', 'free', 'excluded', 'excluded', 'excluded', 'excluded', 'static', 'free',
  ]);
  assert.equal(names[255], 'barred');
});

test('cells say the same as the facts of single addresses', () => {
  const all = pool({
    sets: [{ size: '1', ranges: [{ subnet: '10.1.0.0/24', first: '10.1.0.10', last: '10.1.0.99', gateway: '10.1.0.1', size: '90' }] }],
    exclude: [{ first: '10.1.0.20', last: '10.1.0.29' }],
    static: [{ first: '10.1.0.25', last: '10.1.0.35' }],
    cooldownMs: 60_000,
    keepMs: 600_000,
  });
  const played = model([
    ['b:', START - 1],
    [file('10.1.0.12'), 'web\r\neth0'],
    [file('10.1.0.13'), 'no record\r\n'],
    [file('10.1.0.14'), ' \n'],
    [file('10.1.0.22'), 'in-excluded\r\neth0'],
    [file('10.1.0.200'), 'outside\r\neth0'],
    [past('10.1.0.40'), { key: null, held: false, when: START - 30_000, order: 1, given: 1 }],
    [past('10.1.0.41'), { key: 'k', held: false, when: START - 100_000, order: 2, given: 2 }],
    [past('10.1.0.42'), { key: 'm', held: false, when: START - 100_000, order: 3, given: 3 }],
    [past('10.1.0.43'), { key: 'm', held: false, when: START - 90_000, order: 4, given: 4 }],
    [past('10.1.0.44'), { key: 'n', held: true, when: START - 10, order: 5, given: 5 }],
    [past('10.1.0.26'), { key: 'x', held: false, when: START - 10, order: 6, given: 6 }],
  ]);
  // The boot was a moment ago, so everything released before counts from it.
  const { names } = cells(all, played);
  const [range] = all.ranges;
  for (const [n, name] of names.entries()) {
    const number = range.block.first + BigInt(n);
    assert.equal(factsOf(all, range, number, addressText(range, number), played).state, name, `10.1.0.${n}`);
  }
  const shown = Object.fromEntries([12, 13, 14, 22, 26, 30, 40, 41, 42, 43, 44, 200].map((n) => [n, names[n]]));
  assert.deepEqual(shown, {
    12: 'reserved', 13: 'foreign', 14: 'free', 22: 'reserved', 26: 'excluded', 30: 'static',
    40: 'cooling', 41: 'cooling', 42: 'cooling', 43: 'cooling', 44: 'free', 200: 'reserved',
  });
});

test('cooling and keeping end with time', () => {
  const all = pool({ cooldownMs: 60_000, keepMs: 600_000 });
  const played = model([
    ['b:', 0],
    [past('10.1.0.5'), { key: 'k', held: false, when: START, order: 1, given: 1 }],
    [past('10.1.0.6'), { key: 'k', held: false, when: START, order: 2, given: 2 }],
  ]);
  const [range] = all.ranges;
  const at = (/** @type {number} */ ms) => ['10.1.0.5', '10.1.0.6'].map((text, n) =>
    factsOf(all, range, range.block.first + 5n + BigInt(n), text, played, ms).state);
  assert.deepEqual(at(59_999), ['cooling', 'cooling']);
  // Of a key only the last address is kept.
  assert.deepEqual(at(60_000), ['free', 'kept']);
  assert.deepEqual(at(600_000), ['free', 'free']);
  assert.match(factsOf(all, range, range.block.first + 6n, '10.1.0.6', played, 90_000).why, /kept for k for another 8 min 30 s/);
});

test('where a cell is many addresses, it counts', () => {
  const all = pool({
    sets: [{ size: '1', ranges: [{ subnet: '2001:db8::/64', first: '2001:db8::1', last: '2001:db8::ffff:ffff:ffff:ffff', gateway: '2001:db8::1', size: '1' }] }],
    gateways: ['2001:db8::1'],
    barred: [],
    exclude: [{ first: '2001:db8::1:0:0:0', last: '2001:db8::2:ffff:ffff:ffff' }],
  });
  const [range] = all.ranges;
  assert.equal(range.block.bits, 64);
  const played = model([
    [file('2001:db8::2'), 'a\r\neth0'],
    [file('2001:db8::3'), 'b\r\neth0'],
    [file('2001:db8::ffff:ffff:ffff:ffff'), 'c\r\neth0'],
  ]);
  const { names, counts } = cells(all, played);
  assert.deepEqual([counts?.[0], counts?.[1], counts?.[65_535]], [2, 0, 1]);
  assert.deepEqual(names.slice(0, 4), ['reserved', 'excluded', 'excluded', 'free']);
  const small = usedBlock(all, range, model([[file('2001:db8::2'), 'a\r\neth0']]));
  assert.deepEqual(small, blockAround(range.first, 8));
  assert.equal(reservedIn(all, range, played), 3);
});

test('ranges have the block of their subnet, or of themselves where that is too large', () => {
  const all = pool({
    sets: [
      { size: '1', ranges: [{ subnet: '10.1.0.0/31', first: '10.1.0.0', last: '10.1.0.1', gateway: null, size: '2' }] },
      { size: '1', ranges: [{ subnet: '10.0.0.0/8', first: '10.7.0.16', last: '10.7.0.31', gateway: '10.0.0.1', size: '16' }] },
    ],
  });
  assert.deepEqual(all.ranges.map(({ block, set }) => [block.first, block.bits, set]), [
    [0x0a010000n, 1, 0], [0x0a070010n, 4, 1],
  ]);
});

test('the round robin of each set', () => {
  const all = pool();
  const played = model([[`f:${DIRECTORY}/last_reserved_ip.0`, '10.1.0.7'], [`f:${DIRECTORY}/last_reserved_ip.1`, 'x']]);
  assert.equal(markerIn(all, 0, played)?.number, 0x0a010007n);
  assert.equal(markerIn(all, 1, played), undefined);
  assert.equal(markerIn(all, 2, played), undefined);
});

test('65,536 cells of which each is reserved are made in a moment', () => {
  const sets = [{ size: '65533', ranges: [{ subnet: '10.1.0.0/16', first: '10.1.0.1', last: '10.1.255.254', gateway: '10.1.0.1', size: '65533' }] }];
  const all = pool({ ...layout(), sets, barred: ['10.1.0.0', '10.1.255.255'] });
  const played = model();
  const changes = [];
  for (let n = 2; n < 65_535; n += 1) changes.push({ key: file(`10.1.${n >> 8}.${n & 255}`), after: `c${n}\r\neth0` });
  played.push([frame(1, { changes })]);
  played.goTo(1);
  const [range] = all.ranges;
  const base = baseCells(all, range, range.block);
  const { states } = cellsOf(all, range, range.block, base, played, momentOf(all, played));
  assert.equal(states.filter((code) => STATES[code].name === 'reserved').length, 65_533);
});
