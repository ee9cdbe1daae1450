// Where the cells of the map are. Pure: no canvas, no addresses as text.
//
// The map always shows a block: 2^bits addresses that begin at a multiple of
// their number, as a prefix does. So zooming in and out leads to places that
// have a name, and the same address is found in the same place again.

/** @typedef {{first: bigint, bits: number}} Block */
/** @typedef {{columns: number, rows: number, width: number, height: number}} Grid in pixels: of one cell */

/** The most cells: 2^16. */
export const CELL_BITS = 16;
/** The smallest block that zooming in leads to: 2^3 addresses. */
export const LEAST_BITS = 3;
/** How much one step of zooming changes a block. */
export const ZOOM_BITS = 2;

/** Below this size a row or column more or less is not seen. */
const WHOLE_FROM = 5;

/** Cells need not be larger than this to hold what is written in them. */
const LARGEST = { width: 200, height: 100 };

/**
 * @param {bigint} number
 * @param {number} bits
 * @returns {Block}
 */
export function blockAround(number, bits) {
  const shift = BigInt(bits);
  return { first: (number >> shift) << shift, bits };
}

/**
 * The smallest block that has both.
 * @param {bigint} first
 * @param {bigint} last
 */
export function blockOver(first, last) {
  const difference = first ^ last;
  return blockAround(first, difference === 0n ? 0 : difference.toString(2).length);
}

/** @param {Block} block */
export function lastOf(block) {
  return block.first + (1n << BigInt(block.bits)) - 1n;
}

/**
 * @param {Block} block
 * @param {bigint} number
 */
export function holds(block, number) {
  return number >> BigInt(block.bits) === block.first >> BigInt(block.bits);
}

/**
 * A cell stands for 2^this addresses.
 * @param {Block} block
 */
export function cellBits(block) {
  return Math.max(0, block.bits - CELL_BITS);
}

/** @param {Block} block */
export function cellCount(block) {
  return 2 ** (block.bits - cellBits(block));
}

/**
 * The block that a cell is.
 * @param {Block} block
 * @param {number} cell
 * @returns {Block}
 */
export function cellBlock(block, cell) {
  const bits = cellBits(block);
  return { first: block.first + (BigInt(cell) << BigInt(bits)), bits };
}

/**
 * -1 where the number is not in the block.
 * @param {Block} block
 * @param {bigint} number
 */
export function cellAt(block, number) {
  return holds(block, number) ? Number((number - block.first) >> BigInt(cellBits(block))) : -1;
}

/**
 * Zooms in (a negative change) or out, around an address.
 * @param {Block} block
 * @param {Block} outer the largest one
 * @param {bigint} around
 * @param {number} change in bits
 */
export function zoomed(block, outer, around, change) {
  const least = Math.min(LEAST_BITS, outer.bits);
  const bits = Math.min(outer.bits, Math.max(least, block.bits + change));
  return blockAround(holds(outer, around) ? around : outer.first, bits);
}

/**
 * The address so many cells on; the same one where there is nothing.
 * @param {Block} block
 * @param {Block} outer
 * @param {bigint} from
 * @param {number} cells
 */
export function moved(block, outer, from, cells) {
  const bits = BigInt(cellBits(block));
  const to = ((from >> bits) + BigInt(cells)) << bits;
  return holds(outer, to) && to >= 0n ? to : from;
}

/**
 * As large as cells can be in this room. A row is a power of two long, so that
 * rows begin at prefixes as well.
 * @param {number} cells a power of two
 * @param {number} roomWidth
 * @param {number} roomHeight
 * @param {number} [scale] device pixels for each pixel
 * @returns {Grid}
 */
export function gridFor(cells, roomWidth, roomHeight, scale = 1) {
  /** @type {Grid | undefined} */
  let best;
  let bestSize = -1;
  for (let columns = 1; columns <= cells; columns *= 2) {
    const rows = cells / columns;
    const width = Math.min(LARGEST.width * scale, roomWidth / columns);
    const height = Math.min(LARGEST.height * scale, roomHeight / rows);
    // A little wider than high: texts are.
    const size = Math.min(width / 1.5, height);
    // Of equal ones the widest: there is more room beside than below.
    if (size >= bestSize) {
      bestSize = size;
      best = { columns, rows, width: fitted(width, scale), height: fitted(height, scale) };
    }
  }
  return /** @type {Grid} */ (best);
}

/**
 * Whole pixels, or lines would blur; but not where half of the room would be
 * left over.
 * @param {number} size
 * @param {number} scale
 */
function fitted(size, scale) {
  return size < WHOLE_FROM * scale ? size : Math.floor(size);
}

/**
 * The cell at a place, or -1.
 * @param {Grid} grid
 * @param {number} x
 * @param {number} y
 */
export function cellUnder(grid, x, y) {
  const column = Math.floor(x / grid.width);
  const row = Math.floor(y / grid.height);
  const isInside = column >= 0 && column < grid.columns && row >= 0 && row < grid.rows;
  return isInside ? row * grid.columns + column : -1;
}
