// What the addresses of a network are: by its configuration, and by what is
// reserved and remembered. Pure.

import { blockAround, blockOver, cellBits, cellCount, holds } from './geometry.js';
import { KIND, markerOf } from './model.js';
import { numberOf, textOf, width } from './numbers.js';

/** @typedef {import('./types.js').Layout} Layout */
/** @typedef {import('./geometry.js').Block} Block */
/** @typedef {import('./numbers.js').Family} Family */
/** @typedef {import('./model.js').Entry} Entry */
/** @typedef {import('./model.js').Model} Model */

/**
 * States by their code, which is what typed arrays hold.
 * @type {readonly {name: string, letter: string, title: string}[]}
 */
export const STATES = [
  { name: 'outside', letter: '', title: 'not in the range' },
  { name: 'free', letter: '', title: 'free' },
  { name: 'reserved', letter: 'R', title: 'reserved' },
  { name: 'stale', letter: '!', title: 'stale: its container is gone' },
  { name: 'foreign', letter: '?', title: 'a file that is no record' },
  { name: 'gateway', letter: 'G', title: 'gateway' },
  { name: 'barred', letter: '×', title: 'network or broadcast address' },
  { name: 'excluded', letter: 'E', title: 'excluded' },
  { name: 'static', letter: 'S', title: 'static: for requests only' },
  { name: 'cooling', letter: 'C', title: 'cooling' },
  { name: 'kept', letter: 'K', title: 'kept for who had it' },
];

/** @type {Record<string, number>} */
export const CODE = Object.fromEntries(STATES.map(({ name }, code) => [name, code]));

const { outside, free, reserved, stale, foreign, gateway, barred, excluded, cooling, kept } = CODE;
const forRequests = CODE.static;

/** @typedef {{family: Family, first: bigint, last: bigint}} Span */

/**
 * @typedef {object} PoolRange
 * @property {number} index among all ranges
 * @property {number} set index of its range set
 * @property {Family} family
 * @property {bigint} first
 * @property {bigint} last
 * @property {string} subnet
 * @property {string | null} gateway
 * @property {string} size
 * @property {Block} block what the map shows at most
 */

export class Pool {
  /** @param {Layout} layout */
  constructor(layout) {
    this.layout = layout;
    /** @type {PoolRange[]} */
    this.ranges = [];
    for (const [set, { ranges }] of layout.sets.entries()) {
      for (const range of ranges) {
        this.ranges.push(readRange(range, set, this.ranges.length));
      }
    }
    this.gateways = new Set(layout.gateways);
    this.barred = new Set(layout.barred);
    this.exclude = layout.exclude.map(readSpan);
    this.static = layout.static.map(readSpan);
  }

  /**
   * What an address is if nothing is known of it.
   * @param {PoolRange} range
   * @param {bigint} number
   * @param {string} text
   */
  base(range, number, text) {
    if (this.gateways.has(text)) return gateway;
    if (this.barred.has(text)) return barred;
    if (number < range.first || number > range.last) return outside;
    if (spanAt(this.exclude, range.family, number)) return excluded;
    if (spanAt(this.static, range.family, number)) return forRequests;
    return free;
  }
}

/**
 * @param {import('./types.js').LayoutRange} range
 * @param {number} set
 * @param {number} index
 * @returns {PoolRange}
 */
function readRange(range, set, index) {
  const { family, first, last } = readSpan(range);
  const [network, prefix] = range.subnet.split('/');
  const bits = width(family) - Number(prefix);
  // Of a large subnet only what the range has of it, so that it can be found.
  const block = bits <= 16
    ? { first: numberOf(network)?.number ?? first, bits }
    : blockOver(first, last);
  const { subnet, size } = range;
  return { index, set, family, first, last, subnet, gateway: range.gateway, size, block };
}

/**
 * @param {{first: string, last: string}} span
 * @returns {Span}
 */
function readSpan(span) {
  const first = numberOf(span.first);
  const last = numberOf(span.last);
  if (!first || !last) {
    throw new Error(`no addresses: ${span.first} and ${span.last}`);
  }
  return { family: first.family, first: first.number, last: last.number };
}

/**
 * @param {Span[]} spans
 * @param {Family} family
 * @param {bigint} number
 */
export function spanAt(spans, family, number) {
  return spans.find((s) => s.family === family && s.first <= number && number <= s.last);
}

/**
 * When it is, and what of the past counts.
 * @typedef {object} Moment
 * @property {number} now milliseconds since 1970
 * @property {number} boot likewise
 * @property {number} cooldownMs
 * @property {number} keepMs
 * @property {number} lastReboot number of an operation
 * @property {Map<string, Entry>} latest the last address of each key
 */

/**
 * @param {Pool} pool
 * @param {Model} model
 * @param {number} [waitMs] what is waited behind the last operation
 * @returns {Moment}
 */
export function momentOf(pool, model, waitMs = 0) {
  const { cooldownMs, keepMs, directory } = pool.layout;
  /** @type {Map<string, Entry>} */
  const latest = new Map();
  if (keepMs > 0) {
    for (const entry of model.directory(directory).addresses.values()) {
      const key = entry.past?.key;
      if (typeof key === 'string' && entry.past) {
        const known = latest.get(key)?.past;
        if (!known || known.given < entry.past.given) latest.set(key, entry);
      }
    }
  }
  return { now: model.now + waitMs, boot: model.boot, cooldownMs, keepMs, lastReboot: model.lastReboot, latest };
}

/**
 * How long an address still cools and is still kept, in milliseconds.
 * @param {Entry} entry
 * @param {Moment} moment
 */
export function heldBack(entry, moment) {
  const { past } = entry;
  if (!past || past.held || entry.kind !== KIND.none) {
    return { cooling: 0, kept: 0, ago: 0 };
  }
  const ago = Math.max(0, moment.now - Math.max(past.when, moment.boot));
  const isLast = past.key !== null && moment.latest.get(past.key) === entry;
  return {
    cooling: Math.max(0, moment.cooldownMs - ago),
    kept: isLast ? Math.max(0, moment.keepMs - ago) : 0,
    ago,
  };
}

/**
 * What an address is, given what is known of it. Shown as reserved whatever
 * else it is: a record counts also where nothing would be given now.
 * @param {number} base
 * @param {Entry} entry
 * @param {Model} model
 * @param {Moment} moment
 */
export function stateOf(base, entry, model, moment) {
  if (entry.kind === KIND.foreign) return foreign;
  if (entry.kind === KIND.reservation) {
    return model.isStale(entry, moment.lastReboot) ? stale : reserved;
  }
  if (base !== free && base !== forRequests) {
    return base;
  }
  const held = heldBack(entry, moment);
  if (held.cooling > 0) return cooling;
  if (held.kept > 0) return kept;
  return base;
}

/**
 * The cells of a block. Where a cell stands for more than one address, `counts`
 * says how many of them are reserved, and its state is what most of it is.
 * @typedef {{states: Uint8Array, counts: Uint32Array | undefined}} Cells
 */

/**
 * What cells are before anything is reserved.
 * @param {Pool} pool
 * @param {PoolRange} range
 * @param {Block} block
 */
export function baseCells(pool, range, block) {
  const count = cellCount(block);
  const bits = BigInt(cellBits(block));
  const states = new Uint8Array(count);
  /**
   * @param {Span} span
   * @param {number} code
   * @param {boolean} wholly only cells that are wholly in the span
   */
  const fill = (span, code, wholly) => {
    const end = block.first + (1n << BigInt(block.bits)) - 1n;
    if (span.family !== range.family || span.last < block.first || span.first > end) return;
    const edge = wholly ? (1n << bits) - 1n : 0n;
    const from = span.first <= block.first ? 0n : (span.first - block.first + edge) >> bits;
    const to = span.last >= end ? BigInt(count) : (span.last - block.first + (wholly ? 1n : 1n << bits)) >> bits;
    if (to > from) states.fill(code, Number(from), Number(to));
  };
  fill(range, free, false);
  for (const span of pool.static) fill(clip(span, range), forRequests, true);
  for (const span of pool.exclude) fill(clip(span, range), excluded, true);
  if (bits === 0n) {
    for (const [texts, code] of /** @type {const} */ ([[pool.barred, barred], [pool.gateways, gateway]])) {
      for (const text of texts) {
        const address = numberOf(text);
        if (address?.family === range.family && holds(block, address.number)) {
          states[Number(address.number - block.first)] = code;
        }
      }
    }
  }
  return states;
}

/**
 * @param {Span} span
 * @param {PoolRange} range
 * @returns {Span}
 */
function clip(span, range) {
  return {
    family: span.family,
    first: span.first > range.first ? span.first : range.first,
    last: span.last < range.last ? span.last : range.last,
  };
}

/**
 * @param {Pool} pool
 * @param {PoolRange} range
 * @param {Block} block the same object as long as it is the same block
 * @param {Uint8Array} base of this block
 * @param {Model} model
 * @param {Moment} moment
 * @returns {Cells}
 */
export function cellsOf(pool, range, block, base, model, moment) {
  const bits = cellBits(block);
  const states = base.slice();
  const counts = bits > 0 ? new Uint32Array(states.length) : undefined;
  for (const entry of model.directory(pool.layout.directory).addresses.values()) {
    if (entry.record === undefined && entry.past === undefined) continue;
    if (entry.block !== block) {
      entry.block = block;
      entry.cell = entry.family === range.family && holds(block, entry.number)
        ? Number((entry.number - block.first) >> BigInt(bits))
        : -1;
    }
    const { cell } = entry;
    if (cell < 0) continue;
    const state = stateOf(counts ? free : base[cell], entry, model, moment);
    if (!counts) {
      states[cell] = state;
    } else if (state === reserved || state === stale || state === foreign) {
      counts[cell] += 1;
      // One that needs attention is not to be lost among others.
      if (states[cell] !== stale) states[cell] = state;
    } else if (states[cell] === free) {
      states[cell] = state;
    }
  }
  return { states, counts };
}

/**
 * How many addresses of a range are reserved.
 * @param {Pool} pool
 * @param {PoolRange} range the same object as long as it is the same range
 * @param {Model} model
 */
export function reservedIn(pool, range, model) {
  let count = 0;
  for (const entry of model.directory(pool.layout.directory).addresses.values()) {
    if (entry.kind === KIND.none) continue;
    if (entry.range !== range) {
      entry.range = range;
      entry.isIn = entry.family === range.family && entry.number >= range.first && entry.number <= range.last;
    }
    if (entry.isIn) count += 1;
  }
  return count;
}

/**
 * Where the round robin of a range set stands, if it is known.
 * @param {Pool} pool
 * @param {number} set
 * @param {Model} model
 */
export function markerIn(pool, set, model) {
  for (const [name, text] of model.directory(pool.layout.directory).others) {
    if (markerOf(name) === set) {
      return numberOf(text.trim());
    }
  }
  return undefined;
}

/**
 * The smallest block that has all of a range of which anything is known.
 * @param {Pool} pool
 * @param {PoolRange} range
 * @param {Model} model
 * @returns {Block}
 */
export function usedBlock(pool, range, model) {
  let first = range.first;
  let last = range.first;
  for (const entry of model.directory(pool.layout.directory).addresses.values()) {
    const isKnown = entry.record !== undefined || entry.past !== undefined;
    if (isKnown && entry.family === range.family && holds(range.block, entry.number)) {
      if (entry.number < first) first = entry.number;
      if (entry.number > last) last = entry.number;
    }
  }
  const used = blockOver(first, last);
  const least = Math.min(range.block.bits, 8);
  return used.bits >= least ? used : blockAround(first, least);
}

/**
 * @param {PoolRange} range
 * @param {bigint} number
 */
export function addressText(range, number) {
  return textOf(range.family, number);
}
