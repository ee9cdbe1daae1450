// The map of the pool: which block it shows, and what is said of it.

import { byId, el, oncePerFrame, replace, whenQuiet } from './dom.js';
import {
  cellAt, cellBits, cellBlock, cellCount, cellUnder, gridFor, holds, moved, zoomed,
} from './geometry.js';
import { Legend } from './legend.js';
import { draw } from './map-draw.js';
import { listenToMap } from './map-input.js';
import { holderOf } from './model.js';
import { blockText, countText, numberOf } from './numbers.js';
import { readPalette } from './palette.js';
import { addressText, baseCells, cellsOf, markerIn, momentOf, reservedIn, usedBlock } from './pool.js';
import { attachmentText, cellText, factsOf } from './words.js';

/** @typedef {import('./player.js').Player} Player */
/** @typedef {import('./editor.js').Editor} Editor */
/** @typedef {import('./pool.js').PoolRange} PoolRange */
/** @typedef {import('./geometry.js').Block} Block */

/** Redraws that are remembered, for tests. */
const MOST_REDRAWS = 500;

/** Events: `range` after another range was chosen. */
export class MapView extends EventTarget {
  /** How long redraws took. @type {{cells: number, ms: number}[]} */
  redraws = [];
  /** @type {PoolRange | undefined} */
  range;
  /** What is shown. @type {Block | undefined} */
  block;
  /** The address that keys move. */
  focus = 0n;

  #canvas = byId('map', HTMLCanvasElement);
  #room = byId('map-room', HTMLElement);
  #where = byId('map-where', HTMLElement);
  #spoken = byId('map-spoken', HTMLElement);
  #ranges = byId('ranges', HTMLElement);
  #note = byId('map-note', HTMLElement);
  #context = /** @type {CanvasRenderingContext2D} */ (this.#canvas.getContext('2d', { alpha: false }));
  #palette = readPalette();
  /** @type {Uint8Array | undefined} */
  #base;
  /** @type {import('./pool.js').Cells | undefined} */
  #cells;
  #grid = gridFor(1, 1, 1);
  #left = 0;
  #hover = -1;
  /** What the cells were made of. */
  #made = '';
  #legend = new Legend();
  /** Nobody chose yet what to see of a scenario. */
  #isFresh = true;
  /** Somebody chose an address to look at. */
  #isPicked = false;
  /** @type {object | undefined} */
  #modelOf;
  #redraw = oncePerFrame(() => this.#draw());
  #say = whenQuiet(120, () => { this.#spoken.textContent = this.#sentence(); });

  /**
   * @param {Player} player
   * @param {Editor} editor
   * @param {import('./details.js').Details} details
   */
  constructor(player, editor, details) {
    super();
    this.player = player;
    this.editor = editor;
    this.details = details;
    player.addEventListener('moved', () => {
      this.#follow();
      this.#redraw();
    });
    player.addEventListener('opened', () => {
      this.#isFresh = true;
      this.#isPicked = false;
      if (this.range && this.editor.pool) this.#choose(this.range);
    });
    player.addEventListener('settled', () => {
      if (this.#isFresh && this.range && this.range.block.bits > 16) this.showUsed();
      this.#isFresh = false;
    });
    editor.addEventListener('pool', () => this.#newPool());
    new ResizeObserver(this.#redraw).observe(this.#room);
    listenToMap(this, this.#canvas);
  }

  /** After the colours changed. */
  recolour() {
    this.#palette = readPalette();
    this.#redraw();
  }

  // ------------------------------------------------------------------ ranges

  #newPool() {
    const { pool, isPoolOld } = this.editor;
    this.#note.textContent = isPoolOld ? 'This configuration cannot be used; the map shows the last one that could be.' : '';
    this.#note.hidden = !isPoolOld;
    if (isPoolOld && this.range && pool?.ranges.includes(this.range)) {
      this.#redraw();
      return;
    }
    const ranges = pool?.ranges ?? [];
    const before = this.range;
    const same = before && ranges.find((r) => r.subnet === before.subnet && r.set === before.set && r.first === before.first && r.last === before.last);
    this.#showRanges();
    if (same && this.block && !this.#isFresh) {
      this.range = same;
      this.#base = undefined;
      this.dispatchEvent(new Event('range'));
    } else if (ranges.length > 0) {
      this.#choose(ranges[Math.min(before?.index ?? 0, ranges.length - 1)]);
    } else {
      this.range = undefined;
      this.block = undefined;
      this.#cells = undefined;
      this.dispatchEvent(new Event('range'));
    }
    this.#markRange();
    this.#redraw();
  }

  /** @param {PoolRange} range */
  #choose(range) {
    const { pool } = this.editor;
    if (!pool) return;
    this.range = range;
    this.focus = range.first;
    // The same block of another configuration.
    this.#base = undefined;
    this.#look(range.block.bits <= 16 ? range.block : usedBlock(pool, range, this.player.model));
    this.#markRange();
    this.dispatchEvent(new Event('range'));
  }

  #showRanges() {
    const ranges = this.editor.pool?.ranges ?? [];
    const sets = this.editor.pool?.layout.sets.length ?? 0;
    this.#ranges.hidden = ranges.length < 2;
    replace(this.#ranges, ...ranges.map((range) => el('button', {
      type: 'button',
      class: 'chip',
      'data-testid': `range-${range.index}`,
      onclick: () => this.#choose(range),
    }, sets > 1 ? `${range.subnet} (set ${range.set})` : range.subnet)));
  }

  #markRange() {
    for (const [n, button] of [...this.#ranges.children].entries()) {
      button.setAttribute('aria-pressed', String(n === this.range?.index));
    }
  }

  // ------------------------------------------------------------------- where

  /** How many cells a row has. */
  get columns() {
    return this.#grid.columns;
  }

  /** @param {Block} block */
  #look(block) {
    if (this.block && block.first === this.block.first && block.bits === this.block.bits && this.#base) return;
    this.block = block;
    this.#base = undefined;
    this.#hover = -1;
    this.#redraw();
  }

  /** Shows what an operation changed, unless somebody looks at something. */
  #follow() {
    const { range, block } = this;
    if (this.#isPicked || !range || !block) return;
    const [cell] = this.#touched(range, block);
    if (cell !== undefined) this.focus = cellBlock(block, cell).first;
  }

  /** @param {bigint} number */
  focusOn(number) {
    const { range, block } = this;
    if (!range || !block) return;
    this.#isPicked = true;
    this.focus = number;
    if (!holds(block, number)) this.#look(zoomed(block, range.block, number, 0));
    this.#redraw();
    this.#say();
  }

  /**
   * @param {number} bits
   * @param {bigint} [around]
   * @returns {boolean} whether that could be
   */
  zoom(bits, around = this.focus) {
    const { range, block } = this;
    if (!range || !block) return false;
    const to = zoomed(block, range.block, around, bits);
    if (to.bits === block.bits) return false;
    if (!holds(to, this.focus)) this.focus = around;
    this.#look(to);
    this.#say();
    return true;
  }

  /** @param {number} bits */
  canZoom(bits) {
    const { range, block } = this;
    return range !== undefined && block !== undefined && zoomed(block, range.block, this.focus, bits).bits !== block.bits;
  }

  showAll() {
    if (this.range) this.#look(this.range.block);
    this.#say();
  }

  showUsed() {
    const { range } = this;
    const { pool } = this.editor;
    if (!range || !pool) return;
    const block = usedBlock(pool, range, this.player.model);
    if (!holds(block, this.focus)) this.focus = range.first;
    this.#look(block);
    this.#say();
  }

  /** @param {number} cells */
  step(cells) {
    const { range, block } = this;
    if (range && block) this.focusOn(moved(block, range.block, this.focus, cells));
  }

  /**
   * The cell at a place on the page, or -1.
   * @param {number} x
   * @param {number} y
   */
  cellAt(x, y) {
    const box = this.#canvas.getBoundingClientRect();
    const scale = this.#canvas.width / box.width;
    return cellUnder(this.#grid, (x - box.left) * scale - this.#left, (y - box.top) * scale);
  }

  /** @param {number} cell */
  hover(cell) {
    if (cell === this.#hover) return;
    this.#hover = cell;
    this.#redraw();
  }

  /** After the focus came or went. */
  refocus() {
    this.#redraw();
    this.#say();
  }

  // ----------------------------------------------------------------- drawing

  #draw() {
    // Redrawn when it is seen again: its room then has a size.
    if (this.#room.clientWidth === 0) return;
    const { range, block } = this;
    const { pool } = this.editor;
    this.#showWhere();
    if (!range || !block || !pool) {
      this.#context.fillStyle = this.#palette.ground;
      this.#context.fillRect(0, 0, this.#canvas.width, this.#canvas.height);
      this.details.clear();
      this.#legend.show(this.editor.pool, this.player.model, this.#cells?.states);
      return;
    }
    this.#fit(block);
    const began = performance.now();
    const { model, waitMs } = this.player;
    const made = `${model.version} ${waitMs}`;
    if (!this.#base || this.#made !== made || this.#modelOf !== model || !this.#cells) {
      this.#base ??= baseCells(pool, range, block);
      this.#cells = cellsOf(pool, range, block, this.#base, model, momentOf(pool, model, waitMs));
      this.#made = made;
      this.#modelOf = model;
    }
    const { states, counts } = this.#cells;
    const marker = markerIn(pool, range.set, model);
    const mark = marker?.family === range.family ? cellAt(block, marker.number) : -1;
    draw(this.#context, {
      grid: this.#grid,
      scale: devicePixelRatio,
      left: this.#left,
      top: 0,
      states,
      counts,
      cellSize: 2 ** cellBits(block),
      marks: mark >= 0 ? [mark] : [],
      touched: this.#touched(range, block),
      focus: cellAt(block, this.focus),
      hasFocus: document.activeElement === this.#canvas,
      hover: this.#hover,
      textFrom: range.family === 'ipv4' ? 33 : 52,
      rowText: (row) => addressText(range, cellBlock(block, row * this.#grid.columns).first),
      cellTexts: (cell) => this.#cellTexts(cell),
    }, this.#palette);
    this.redraws.push({ cells: states.length, ms: performance.now() - began });
    if (this.redraws.length > MOST_REDRAWS) this.redraws.shift();
    this.#showDetails();
    this.#legend.show(this.editor.pool, this.player.model, this.#cells?.states);
  }

  /** @param {Block} block */
  #fit(block) {
    const scale = devicePixelRatio;
    const box = this.#canvas.getBoundingClientRect();
    const width = Math.max(1, Math.round(box.width * scale));
    const height = Math.max(1, Math.round(box.height * scale));
    if (this.#canvas.width !== width || this.#canvas.height !== height) {
      this.#canvas.width = width;
      this.#canvas.height = height;
    }
    const isWide = box.width >= 520;
    const labels = this.range?.family === 'ipv6' ? 190 : 104;
    this.#left = isWide && cellCount(block) > 2 ? Math.round(labels * scale) : 0;
    this.#grid = gridFor(cellCount(block), width - this.#left, height, scale);
  }

  /**
   * The cells that the operation changed.
   * @param {PoolRange} range
   * @param {Block} block
   */
  #touched(range, block) {
    const cells = new Set();
    const changes = this.player.model.current?.changes ?? [];
    // Of a GC that released very many, no outlines are better than all.
    for (const { key } of changes.length > 400 ? [] : changes) {
      const number = key.startsWith('f:') ? findIn(range, key.slice(key.lastIndexOf('/') + 1)) : undefined;
      if (number !== undefined && holds(block, number)) cells.add(cellAt(block, number));
    }
    return [...cells];
  }

  /**
   * @param {number} cell
   * @returns {[string, string]}
   */
  #cellTexts(cell) {
    const { range, block } = this;
    if (!range || !block || !this.editor.pool) return ['', ''];
    const text = addressText(range, cellBlock(block, cell).first);
    const { directory } = this.editor.pool.layout;
    const record = this.player.model.directory(directory).addresses.get(text)?.record;
    const holder = record === undefined ? undefined : holderOf(record);
    const last = range.family === 'ipv4' ? text.slice(text.lastIndexOf('.')) : text.slice(text.lastIndexOf(':'));
    return [this.#grid.width / devicePixelRatio > 100 && range.family === 'ipv4' ? text : last, holder ? attachmentText(holder) : ''];
  }

  #showWhere() {
    const { range, block } = this;
    const { pool } = this.editor;
    byId('zoom-in', HTMLButtonElement).disabled = !this.canZoom(-1);
    byId('zoom-out', HTMLButtonElement).disabled = !this.canZoom(1);
    if (!range || !block || !pool) {
      this.#where.textContent = 'No pool: the configuration cannot be used.';
      return;
    }
    const count = reservedIn(pool, range, this.player.model);
    const cell = cellBits(block) === 0
      ? ''
      : ` · a cell is ${countText(1n << BigInt(cellBits(block)))} addresses`;
    const part = block.bits === range.block.bits ? '' : `${blockText(range.family, block)} of `;
    this.#where.textContent = `${part}${range.subnet}${cell} · ${count.toLocaleString('en')} of ${countText(BigInt(range.size))} reserved`;
  }

  #showDetails() {
    const { range, block } = this;
    const { pool } = this.editor;
    if (!range || !block || !pool || !this.#cells) return;
    const cell = this.#hover >= 0 ? this.#hover : cellAt(block, this.focus);
    if (cell < 0) return;
    const { counts } = this.#cells;
    if (counts) {
      this.details.showCell(cellText(range, block, cell, counts[cell]));
      return;
    }
    const number = this.#hover >= 0 ? cellBlock(block, cell).first : this.focus;
    this.details.showAddress(pool, range, number, addressText(range, number));
  }

  /** What is under the focus, for those who do not see it. */
  #sentence() {
    const { range, block } = this;
    const { pool } = this.editor;
    if (!range || !block || !pool) return 'No pool.';
    if (cellBits(block) > 0) {
      const cell = cellAt(block, this.focus);
      const { name, text } = cellText(range, block, cell, this.#cells?.counts?.[cell] ?? 0);
      return `${name}: ${text}. Enter zooms in.`;
    }
    const text = addressText(range, this.focus);
    const facts = factsOf(pool, range, this.focus, text, this.player.model, this.player.waitMs);
    const parts = [`${text}: ${facts.title}`];
    if (facts.owner !== '') parts.push(facts.owner);
    if (facts.since !== '') parts.push(`since ${facts.since}`);
    if (facts.why !== '' && facts.owner === '') parts.push(facts.why);
    if (facts.isMarker) parts.push('last reserved');
    return `${parts.join(', ')}.`;
  }
}

/**
 * @param {PoolRange} range
 * @param {string} text
 */
function findIn(range, text) {
  const address = numberOf(text);
  return address?.family === range.family && holds(range.block, address.number) ? address.number : undefined;
}
