import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  blockAround, blockOver, cellAt, cellBits, cellBlock, cellCount, cellUnder, gridFor, holds, lastOf, moved, zoomed,
} from '../../src/view/geometry.js';

const SLASH_16 = { first: 0x0a010000n, bits: 16 };
const SLASH_64 = { first: 0x20010db8n << 96n, bits: 64 };

test('blocks begin at multiples of their size', () => {
  assert.deepEqual(blockAround(0x0a010203n, 8), { first: 0x0a010200n, bits: 8 });
  assert.deepEqual(blockAround(7n, 0), { first: 7n, bits: 0 });
  assert.deepEqual(blockOver(5n, 5n), { first: 5n, bits: 0 });
  assert.deepEqual(blockOver(7n, 8n), { first: 0n, bits: 4 });
  assert.equal(lastOf(SLASH_16), 0x0a01ffffn);
  assert.ok(holds(SLASH_16, 0x0a01ffffn) && !holds(SLASH_16, 0x0a020000n));
});

test('a /16 has a cell for each address, and a /64 one for each 2^48', () => {
  assert.deepEqual([cellBits(SLASH_16), cellCount(SLASH_16)], [0, 65_536]);
  assert.deepEqual([cellBits(SLASH_64), cellCount(SLASH_64)], [48, 65_536]);
  assert.equal(cellAt(SLASH_16, 0x0a010102n), 258);
  assert.equal(cellAt(SLASH_16, 0x0a020000n), -1);
  assert.equal(cellAt(SLASH_64, lastOf(SLASH_64)), 65_535);
  assert.deepEqual(cellBlock(SLASH_64, 1), { first: SLASH_64.first + (1n << 48n), bits: 48 });
});

test('zooming ends at eight addresses, and at the whole range', () => {
  let block = SLASH_64;
  for (let n = 0; n < 100; n += 1) block = zoomed(block, SLASH_64, SLASH_64.first + 77n, -2);
  assert.deepEqual(block, { first: SLASH_64.first + 72n, bits: 3 });
  for (let n = 0; n < 100; n += 1) block = zoomed(block, SLASH_64, SLASH_64.first + 77n, 2);
  assert.deepEqual(block, SLASH_64);
  const pair = { first: 4n, bits: 1 };
  assert.deepEqual(zoomed(pair, pair, 4n, -2), pair);
});

test('moving stays in the range', () => {
  assert.equal(moved(SLASH_16, SLASH_16, 0x0a010000n, -1), 0x0a010000n);
  assert.equal(moved(SLASH_16, SLASH_16, 0x0a010000n, 256), 0x0a010100n);
  assert.equal(moved(SLASH_64, SLASH_64, SLASH_64.first + 5n, 1), SLASH_64.first + (1n << 48n));
  const all = { first: 0n, bits: 32 };
  assert.equal(moved({ first: 0n, bits: 3 }, all, 0n, -1), 0n);
});

test('grids fit in, and rows are powers of two', () => {
  for (const cells of [1, 2, 8, 256, 65_536]) {
    for (const [width, height] of [[300, 300], [900, 400], [1800, 900], [320, 700]]) {
      const grid = gridFor(cells, width, height);
      assert.equal(grid.columns * grid.rows, cells);
      assert.equal(Math.log2(grid.columns) % 1, 0);
      assert.ok(grid.columns * grid.width <= width + 1e-6, `${cells} in ${width}`);
      assert.ok(grid.rows * grid.height <= height + 1e-6, `${cells} in ${height}`);
    }
  }
});

test('the cell under a place', () => {
  const grid = { columns: 4, rows: 2, width: 10, height: 20 };
  assert.equal(cellUnder(grid, 0, 0), 0);
  assert.equal(cellUnder(grid, 39.9, 39.9), 7);
  for (const [x, y] of [[-1, 0], [40, 0], [0, 40], [0, -1]]) assert.equal(cellUnder(grid, x, y), -1);
});
