// Core modules of a policy: how much memory and how many tables they have from
// the beginning, and how far their memories may grow.

import { join, leb128, PREAMBLE, Reader, sections } from './binary.js';

/** Bytes of a page of memory. */
const WASM_PAGE = 65_536;

const TABLES = 4;
const MEMORIES = 5;

const HAS_MAXIMUM = 1;
const IS_SHARED = 2;
const IS_WIDE = 4;
const HAS_PAGE_SIZE = 8;

/**
 * What an instance of a module takes before its first instruction: its
 * memories, their bytes, its tables, their elements. What it imports is not
 * counted.
 * @typedef {{memories: number, memory: number, tables: number, elements: number}} Needs
 */

/**
 * @param {Uint8Array} module
 * @returns {Needs}
 */
export function needs(module) {
  const found = { memories: 0, memory: 0, tables: 0, elements: 0 };
  for (const { kind, content } of sections(module)) {
    if (kind === MEMORIES) {
      const memories = readMemories(content);
      found.memories += memories.length;
      found.memory += memories.reduce((sum, { minimum }) => sum + minimum * WASM_PAGE, 0);
    } else if (kind === TABLES) {
      const tables = readTables(content);
      found.tables += tables.length;
      found.elements += tables.reduce((sum, elements) => sum + elements, 0);
    }
  }
  return found;
}

/**
 * The module with memories none of which can grow beyond so many bytes.
 *
 * Natively a policy is ended that wants more, and the limit is one for all
 * memories together. Here nobody is told when memory grows: growing fails, and
 * what the policy makes of that is its own business. What memories have from
 * the beginning is not touched: who instantiates has a look at `needs` first.
 * @param {Uint8Array} module
 * @param {number} limit
 */
export function limited(module, limit) {
  /** @type {Uint8Array[]} */
  const parts = [module.subarray(0, PREAMBLE)];
  for (const { kind, content } of sections(module)) {
    const patched = kind === MEMORIES ? writeMemories(readMemories(content), limit) : content;
    parts.push(Uint8Array.of(kind), leb128(patched.length), patched);
  }
  return join(parts);
}

/** @typedef {{minimum: number, maximum: number | undefined}} Memory in pages */

/**
 * @param {Uint8Array} section
 * @returns {Memory[]}
 */
function readMemories(section) {
  const reader = new Reader(section);
  return reader.list(() => {
    const flags = reader.byte();
    refuse(flags & IS_SHARED, 'threads must be enabled for shared memories');
    refuse(flags & IS_WIDE, 'memory64 must be enabled for 64-bit memories');
    refuse(flags & HAS_PAGE_SIZE, 'the custom page sizes proposal must be enabled');
    return {
      minimum: reader.number(),
      maximum: flags & HAS_MAXIMUM ? reader.number() : undefined,
    };
  });
}

/**
 * @param {Memory[]} memories
 * @param {number} limit
 */
function writeMemories(memories, limit) {
  const most = Math.floor(limit / WASM_PAGE);
  const parts = memories.flatMap(({ minimum, maximum = most }) => [
    Uint8Array.of(HAS_MAXIMUM),
    leb128(minimum),
    leb128(Math.max(minimum, Math.min(most, maximum))),
  ]);
  return join([leb128(memories.length), ...parts]);
}

const FUNCREF = 0x70;
const EXTERNREF = 0x6f;

/**
 * How many elements each table has; none of them if there is one of a kind
 * that no language makes yet.
 * @param {Uint8Array} section
 */
function readTables(section) {
  const reader = new Reader(section);
  const count = reader.number();
  const elements = [];
  for (let n = 0; n < count; n++) {
    const kind = reader.byte();
    if (kind !== FUNCREF && kind !== EXTERNREF) {
      break;
    }
    const flags = reader.byte();
    elements.push(reader.number());
    if (flags & HAS_MAXIMUM) {
      reader.number();
    }
  }
  return elements;
}

/**
 * @param {number} is
 * @param {string} why
 */
function refuse(is, why) {
  if (is !== 0) {
    throw new Error(why);
  }
}
