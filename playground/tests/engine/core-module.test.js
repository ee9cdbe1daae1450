import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parse } from '@bytecodealliance/jco';

import { leb128, Reader, sections } from '../../src/engine/binary.js';
import { limited, needs } from '../../src/engine/core-module.js';

const PAGE = 65_536;

/**
 * By how many pages a memory may grow.
 * @param {string} memory as text
 * @param {number} limit in bytes
 */
async function growth(memory, limit) {
  const module = await parse(`(module ${memory}
    (func (export "grow") (result i32) (memory.grow (i32.const 1))))`);
  const patched = new WebAssembly.Module(limited(module, limit));
  const { grow } = new WebAssembly.Instance(patched).exports;
  let pages = 0;
  while (/** @type {() => number} */ (grow)() >= 0) {
    pages += 1;
  }
  return pages;
}

test('no memory grows beyond the limit', async () => {
  for (const [memory, limit, wanted] of /** @type {const} */ ([
    ['(memory 1)', 4 * PAGE, 3],
    ['(memory 1)', 4 * PAGE + PAGE - 1, 3],
    ['(memory 0)', 0, 0],
    ['(memory 1 3)', 4 * PAGE, 2],
    ['(memory 1 300)', 200 * PAGE, 199],
    // What it has from the beginning is for others to refuse.
    ['(memory 5)', 4 * PAGE, 0],
    ['(memory 5 9)', 4 * PAGE, 0],
  ])) {
    assert.equal(await growth(memory, limit), wanted, `${memory} ${limit}`);
  }
});

test('all else stays as it is', async () => {
  const module = await parse(`(module
    (import "a" "f" (func $f (param i32)))
    (memory (export "memory") 2)
    (table 3 5 funcref)
    (data (i32.const 70000) "at the end")
    (func (export "call") (call $f (i32.load8_u (i32.const 70000))))
    (@custom "name of a section" "whatever"))`);
  const patched = limited(module, 16 << 20);
  const without = (/** @type {Uint8Array} */ bytes) =>
    [...sections(bytes)].filter(({ kind }) => kind !== 5);
  assert.deepEqual(without(patched), without(module));
  /** @type {number[]} */
  const calls = [];
  const { exports } = new WebAssembly.Instance(
    new WebAssembly.Module(patched), { a: { f: (/** @type {number} */ n) => calls.push(n) } });
  /** @type {() => void} */ (exports.call)();
  assert.deepEqual(calls, ['a'.charCodeAt(0)]);
});

test('a memory that is imported is left to who has it', async () => {
  const module = await parse('(module (import "a" "memory" (memory 2 1000)))');
  assert.deepEqual(limited(module, PAGE), module);
});

test('what a module needs is counted', async () => {
  const module = await parse(`(module
    (import "a" "memory" (memory 7)) (import "a" "table" (table 7 funcref))
    (memory 2) (memory 3 9) (table 200 funcref) (table 1 2 externref))`);
  assert.deepEqual(needs(module), { memories: 2, memory: 5 * PAGE, tables: 2, elements: 201 });
  assert.deepEqual(needs(await parse('(module)')),
    { memories: 0, memory: 0, tables: 0, elements: 0 });
});

test('memory of other kinds is refused', async () => {
  for (const [memory, words] of [['1 1 shared', 'threads'], ['i64 1', 'memory64']]) {
    const module = await parse(`(module (memory ${memory}))`);
    assert.throws(() => limited(module, PAGE), new RegExp(words));
    assert.throws(() => needs(module), new RegExp(words));
  }
});

test('numbers are written as they are read', () => {
  for (const number of [0, 1, 127, 128, 300, 65_535, 65_536, 2 ** 31, 2 ** 32 - 1, 2 ** 40]) {
    const reader = new Reader(leb128(number));
    assert.equal(reader.number(), number);
    assert.ok(reader.isAtEnd);
  }
});

test('what is cut off has an end', async () => {
  const module = await parse('(module (memory 2) (func) (data (i32.const 0) "abc"))');
  for (let length = 9; length < module.length; length++) {
    const cut = module.slice(0, length);
    try {
      limited(cut, PAGE);
    } catch (error) {
      assert.match(String(error), /unexpected end/);
    }
  }
  assert.throws(() => new Reader(new Uint8Array(20).fill(0x80)).number(), /without end/);
});
