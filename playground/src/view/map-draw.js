// Draws the cells of the map. Many small ones as one picture that is enlarged,
// few large ones each by itself, with a letter or pattern and what is in them.

import { CODE, STATES } from './pool.js';
import { toWord } from './palette.js';

/** @typedef {import('./geometry.js').Grid} Grid */
/** @typedef {import('./palette.js').Palette} Palette */

/** From this size on (pixels of the style sheet) cells have gaps. */
const GAP_FROM = 4;
/** ... patterns ... */
const PATTERN_FROM = 7;
/** ... and letters. */
const LETTER_FROM = 13;

/**
 * @typedef {object} Scene
 * @property {Grid} grid in device pixels
 * @property {number} scale device pixels for each pixel
 * @property {number} left where the cells begin, in device pixels
 * @property {number} top
 * @property {Uint8Array} states
 * @property {Uint32Array | undefined} counts
 * @property {number} cellSize how many addresses a cell stands for, roughly
 * @property {number[]} marks cells where a round robin stands
 * @property {number[]} touched cells that the operation changed
 * @property {number} focus the cell that keys move, or -1
 * @property {boolean} hasFocus
 * @property {number} hover or -1
 * @property {number} textFrom the width from which on cells have a text
 * @property {(row: number) => string} rowText what a row begins with
 * @property {(cell: number) => [string, string]} cellTexts address and owner
 */

/** @type {HTMLCanvasElement | undefined} */
let small;

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Scene} scene
 * @param {Palette} palette
 */
export function draw(context, scene, palette) {
  const { canvas } = context;
  context.fillStyle = palette.ground;
  context.fillRect(0, 0, canvas.width, canvas.height);
  const size = Math.min(scene.grid.width, scene.grid.height) / scene.scale;
  drawPicture(context, scene, palette);
  if (size >= GAP_FROM) drawGaps(context, scene, palette);
  const hasTexts = scene.grid.width / scene.scale >= scene.textFrom && size >= 20;
  if (size >= PATTERN_FROM) drawPatterns(context, scene, palette, !hasTexts);
  if (hasTexts) drawTexts(context, scene, palette);
  else if (size >= LETTER_FROM) drawLetters(context, scene, palette);
  drawRows(context, scene, palette);
  for (const cell of scene.marks) outline(context, scene, cell, palette.mark, Math.min(3, Math.max(2, size / 16)));
  context.setLineDash([4 * scene.scale, 3 * scene.scale]);
  for (const cell of scene.touched) {
    // Small ones have it around them, over others.
    const ink = size < 8 ? palette.text : palette.inks[scene.states[cell]];
    outline(context, scene, cell, ink, 1.5, 3);
  }
  context.setLineDash([]);
  if (scene.hover >= 0) outline(context, scene, scene.hover, palette.text, 1.5);
  if (scene.focus >= 0) outline(context, scene, scene.focus, palette.focus, scene.hasFocus ? 3 : 1.5);
}

/**
 * One pixel for each cell, enlarged.
 * @param {CanvasRenderingContext2D} context
 * @param {Scene} scene
 * @param {Palette} palette
 */
function drawPicture(context, scene, palette) {
  const { grid, states } = scene;
  small ??= document.createElement('canvas');
  if (small.width !== grid.columns || small.height !== grid.rows) {
    small.width = grid.columns;
    small.height = grid.rows;
  }
  const inner = /** @type {CanvasRenderingContext2D} */ (small.getContext('2d'));
  const image = inner.createImageData(grid.columns, grid.rows);
  const pixels = new Uint32Array(image.data.buffer);
  const { words } = palette;
  for (let cell = 0; cell < states.length; cell += 1) {
    pixels[cell] = words[states[cell]];
  }
  if (scene.counts) shade(pixels, scene, palette);
  inner.putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, scene.left, scene.top, grid.columns * grid.width, grid.rows * grid.height);
}

/**
 * Cells of many addresses: the more are reserved, the stronger. One of them is
 * to be seen as well, however many there are.
 * @param {Uint32Array} pixels
 * @param {Scene} scene
 * @param {Palette} palette
 */
function shade(pixels, { counts, cellSize, states }, palette) {
  const { free, reserved } = palette;
  for (const [cell, count] of /** @type {Uint32Array} */ (counts).entries()) {
    if (count === 0 || states[cell] === CODE.stale) continue;
    const share = 0.3 + 0.7 * Math.sqrt(Math.min(1, count / cellSize));
    const mixed = free.map((from, n) => Math.round(from + (reserved[n] - from) * share));
    pixels[cell] = toWord([mixed[0], mixed[1], mixed[2]]);
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Scene} scene
 * @param {Palette} palette
 */
function drawGaps(context, { grid, left, top, scale }, palette) {
  const line = Math.max(1, Math.round(scale * (grid.width / scale > 20 ? 2 : 1)));
  context.fillStyle = palette.ground;
  for (let column = 1; column <= grid.columns; column += 1) {
    context.fillRect(left + column * grid.width - line, top, line, grid.rows * grid.height);
  }
  for (let row = 1; row <= grid.rows; row += 1) {
    context.fillRect(left, top + row * grid.height - line, grid.columns * grid.width, line);
  }
}

/**
 * A diagonal for what is never given, a bar below for what is held back.
 * @param {CanvasRenderingContext2D} context
 * @param {Scene} scene
 * @param {Palette} palette
 * @param {boolean} hasRoom where texts would not be in the way
 */
function drawPatterns(context, { grid, left, top, scale, states }, palette, hasRoom) {
  const line = Math.max(1, Math.round(scale));
  const slanted = [CODE.excluded, CODE.barred];
  const barred = [CODE.cooling, CODE.kept];
  const dotted = [CODE.stale, CODE.foreign];
  context.lineWidth = line;
  for (let cell = 0; cell < states.length; cell += 1) {
    const state = states[cell];
    if (state <= CODE.reserved || state === CODE.gateway) continue;
    const x = left + (cell % grid.columns) * grid.width;
    const y = top + Math.floor(cell / grid.columns) * grid.height;
    context.fillStyle = palette.inks[state];
    context.strokeStyle = palette.inks[state];
    context.globalAlpha = 0.55;
    if (slanted.includes(state)) {
      context.beginPath();
      context.moveTo(x + line, y + grid.height - 2 * line);
      context.lineTo(x + grid.width - 2 * line, y + line);
      context.stroke();
    } else if (hasRoom && barred.includes(state)) {
      const high = Math.max(line, Math.round(grid.height / 8));
      const wide = state === CODE.kept ? grid.width / 2 : grid.width;
      context.fillRect(x, y + grid.height - high - line, wide - line, high);
    } else if (hasRoom && dotted.includes(state)) {
      const dot = Math.max(2 * line, Math.round(Math.min(grid.width, grid.height) / 5));
      context.fillRect(x + line, y + line, dot, dot);
    }
    context.globalAlpha = 1;
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Scene} scene
 * @param {Palette} palette
 */
function drawLetters(context, { grid, left, top, scale, states }, palette) {
  const size = Math.min(grid.width, grid.height);
  context.font = `600 ${Math.round(Math.min(size * 0.62, 13 * scale))}px system-ui, sans-serif`;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  for (let cell = 0; cell < states.length; cell += 1) {
    const state = states[cell];
    if (STATES[state].letter === '') continue;
    context.fillStyle = palette.inks[state];
    context.fillText(
      STATES[state].letter,
      left + (cell % grid.columns + 0.5) * grid.width,
      top + (Math.floor(cell / grid.columns) + 0.5) * grid.height,
    );
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Scene} scene
 * @param {Palette} palette
 */
function drawTexts(context, scene, palette) {
  const { grid, left, top, scale, states } = scene;
  const isHigh = grid.height / scale >= 42;
  const isWide = grid.width / scale >= 56;
  const pad = (isWide ? 6 : 3) * scale;
  const size = (isWide ? 11 : 10) * scale;
  const room = grid.width - 2 * pad - 2 * scale;
  context.textBaseline = 'alphabetic';
  for (let cell = 0; cell < states.length; cell += 1) {
    const state = states[cell];
    const x = left + (cell % grid.columns) * grid.width + pad;
    const y = top + Math.floor(cell / grid.columns) * grid.height;
    const [address, owner] = scene.cellTexts(cell);
    const { letter } = STATES[state];
    context.fillStyle = state === CODE.outside ? palette.muted : palette.inks[state];
    context.font = `${isWide ? 600 : 400} ${size}px ui-monospace, monospace`;
    context.textAlign = 'left';
    context.fillText(fitting(context, address, room), x, y + size + 3 * scale);
    if (letter !== '') {
      context.font = `600 ${size}px system-ui, sans-serif`;
      context.textAlign = 'right';
      context.fillText(letter, x + room, isHigh || !isWide ? y + grid.height - 6 * scale : y + size + 3 * scale);
    }
    if (owner !== '' && isHigh && isWide) {
      context.textAlign = 'left';
      context.font = `${11 * scale}px system-ui, sans-serif`;
      context.fillText(fitting(context, owner, room), x, y + 28 * scale);
    }
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {string} text
 * @param {number} room
 */
function fitting(context, text, room) {
  if (context.measureText(text).width <= room) return text;
  let kept = text;
  while (kept.length > 1 && context.measureText(`${kept}…`).width > room) kept = kept.slice(0, -1);
  return `${kept}…`;
}

/**
 * What rows begin with, where there is room beside the cells.
 * @param {CanvasRenderingContext2D} context
 * @param {Scene} scene
 * @param {Palette} palette
 */
function drawRows(context, { grid, left, top, scale, rowText }, palette) {
  if (left < 40 * scale) return;
  const every = 2 ** Math.max(0, Math.ceil(Math.log2((18 * scale) / grid.height)));
  context.font = `${11 * scale}px ui-monospace, monospace`;
  context.fillStyle = palette.muted;
  context.textAlign = 'right';
  context.textBaseline = 'middle';
  for (let row = 0; row < grid.rows; row += every) {
    const middle = top + (row + (every > 1 ? 0 : 0.5)) * grid.height;
    context.fillText(rowText(row), left - 8 * scale, Math.max(middle, 6 * scale));
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Scene} scene
 * @param {number} cell
 * @param {string} colour
 * @param {number} width in pixels
 * @param {number} [inset] likewise
 */
function outline(context, { grid, left, top, scale }, cell, colour, width, inset = 0) {
  const line = width * scale;
  const x = left + (cell % grid.columns) * grid.width;
  const y = top + Math.floor(cell / grid.columns) * grid.height;
  context.strokeStyle = colour;
  context.lineWidth = line;
  // Around tiny cells, so that something of them is left.
  const isTiny = Math.min(grid.width, grid.height) < 8 * scale;
  const out = isTiny ? line + inset * scale : -line / 2 - inset * scale;
  context.strokeRect(x - out, y - out, grid.width + 2 * out - scale, grid.height + 2 * out - scale);
}
