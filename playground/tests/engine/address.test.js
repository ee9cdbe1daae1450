import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  compareKeys, format, formatKey, fromKey, fromNumber, parse, parseKey, toKey, toNumber, unmapped,
} from '../../src/engine/address.js';
import { AddressSet } from '../../src/engine/address-set.js';
import { Sequence } from '../../src/engine/sequence.js';
import { random } from './random.js';

/** @typedef {import('../../src/engine/address.js').Key} Key */

test('what is written is read', () => {
  for (const text of [
    '0.0.0.0', '10.1.2.3', '255.255.255.255', '::', '::1', 'fd00::', '2001:db8::5', '1::2:0:0:3',
    '1:0:2:0:3:0:4:0', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '::ffff:10.0.0.1', '::2:0:0:0',
  ]) {
    const key = /** @type {Key} */ (parseKey(text));
    assert.equal(formatKey(key), text);
    assert.deepEqual(toKey(fromKey(key)), key);
    const address = /** @type {import('../../src/engine/address.js').Address} */ (parse(text));
    assert.equal(format(address), text);
    assert.deepEqual(fromNumber(address.tag, toNumber(address)), address);
  }
});

test('other forms are read where they are no slip', () => {
  for (const [text, same] of [
    ['2001:DB8:0::5', '2001:db8::5'], ['0:0:0:0:0:0:0:1', '::1'], ['::1.2.3.4', '::102:304'],
  ]) {
    assert.deepEqual(parseKey(text), parseKey(same));
  }
  for (const text of [
    '', '1.2.3', '1.2.3.4.5', '1.2.3.256', '1.2.3.04', '1.2.3.00', '1..3.4', '.1.2.3', '1.2.3.',
    ' 1.2.3.4', '1.2.3.4 ', '1.2.3.a', ':', ':::', '1:2:3:4:5:6:7', '1:2:3:4:5:6:7:8:9', '1::2::3',
    '12345::', '::g', '::1.2.3', '::1.2.3.256', 'fe80::1%eth0', '1:2:3:4:5:6:7::8',
  ]) {
    assert.equal(parseKey(text), undefined, text);
  }
});

test('a mapped address is the IPv4 address it stands for', () => {
  assert.equal(unmapped(/** @type {Key} */ (parseKey('::ffff:10.0.0.1'))), 0x0a000001);
  assert.equal(unmapped(1n), 1n);
  assert.equal(unmapped(1), 1);
});

test('IPv4 comes before IPv6', () => {
  assert.deepEqual([2n, 2, 1n, 1].sort(compareKeys), [1, 2, 1n, 2n]);
});

test('a sequence is an array that is sorted', () => {
  const chance = random(1);
  const sequence = new Sequence((/** @type {number} */ a, b) => a - b);
  /** @type {number[]} */
  let array = [];
  for (let count = 0; count < 6000; count++) {
    // First it grows in any order, then at its end, then it shrinks.
    const value = count < 2000 || count >= 4000 ? chance.below(3000) : count;
    if (array.includes(value)) {
      sequence.delete(value);
      array = array.filter((other) => other !== value);
    } else if (count < 4000) {
      sequence.add(value);
      array.push(value);
      array.sort((a, b) => a - b);
    }
    const at = chance.below(3000);
    assert.equal(sequence.lastBefore((other) => other < at), array.findLast((other) => other < at));
    assert.equal(sequence.firstBehind((other) => other < at), array.find((other) => other >= at));
    if (count % 100 === 0) {
      assert.deepEqual(sequence.page(0, Infinity), array);
      assert.deepEqual(sequence.page(at, 700), array.slice(at, at + 700));
      assert.deepEqual([...sequence.behind((other) => other < at)],
        array.filter((other) => other >= at));
      assert.equal(sequence.last(), array.at(-1));
    }
  }
});

test('a set of addresses is one, whatever is put in and taken out', () => {
  const chance = random(2);
  const set = new AddressSet();
  /** @type {Set<Key>} */
  const naive = new Set();
  const top = 2 ** 32 - 2000;
  const top6 = 2n ** 128n - 2000n;
  for (let count = 0; count < 30_000; count++) {
    const offset = chance.below(2000);
    const address = chance.below(2) === 0 ? top + offset : top6 + BigInt(offset);
    // At first it fills, then it empties.
    const isIn = chance.below(10) < (count < 15_000 ? 9 : 2);
    set.put(address, isIn);
    if (isIn) {
      naive.add(address);
    } else {
      naive.delete(address);
    }
    assert.equal(set.has(address), isIn);
    if (count % 500 === 0) {
      const sorted = [...naive].sort(compareKeys);
      assert.deepEqual([...set.behind(undefined)], sorted);
      assert.deepEqual([...set.behind(address)],
        sorted.filter((other) => compareKeys(other, address) > 0));
    }
    if (typeof address === 'number') {
      let gap = address;
      while (naive.has(gap)) gap++;
      assert.equal(set.gap(address, 2 ** 32 - 1), gap < 2 ** 32 ? gap : undefined);
      assert.equal(set.gap(address, gap - 1), undefined);
    }
  }
});
