// The same facts as the map's, in rows.

import { byId, el, oncePerFrame, replace, whenQuiet } from './dom.js';
import { holds } from './geometry.js';
import { addressText, baseCells, cellsOf, CODE, momentOf, STATES, stateOf } from './pool.js';
import { factsAt } from './words.js';

const ROWS = 50;
/** Ranges up to this size are listed in full; of larger ones what is known. */
const FULL_BITS = 16;

export class Table {
  #page = 0;
  /** @type {{range: object, list: {text: string, number: bigint}[]} | undefined} */
  #all;
  #body = byId('table-rows', HTMLElement);
  #count = byId('table-count', HTMLElement);
  #previous = byId('table-previous', HTMLButtonElement);
  #next = byId('table-next', HTMLButtonElement);
  #state = byId('table-state', HTMLSelectElement);
  #text = byId('table-text', HTMLInputElement);
  #panel = byId('panel-table', HTMLElement);
  #redraw = oncePerFrame(() => this.#draw());

  /**
   * @param {import('./player.js').Player} player
   * @param {import('./editor.js').Editor} editor
   * @param {import('./map-view.js').MapView} map
   */
  constructor(player, editor, map) {
    this.player = player;
    this.editor = editor;
    this.map = map;
    for (const { name, title } of STATES.slice(1)) this.#state.append(el('option', { value: name }, title));
    const again = () => {
      this.#page = 0;
      this.#redraw();
    };
    this.#state.addEventListener('change', again);
    this.#text.addEventListener('input', whenQuiet(120, again));
    this.#previous.addEventListener('click', () => this.#turn(-1));
    this.#next.addEventListener('click', () => this.#turn(1));
    player.addEventListener('moved', this.#redraw);
    map.addEventListener('range', again);
    editor.addEventListener('pool', this.#redraw);
  }

  /** When it comes to be seen. */
  show() {
    this.#redraw();
  }

  /** @param {number} pages */
  #turn(pages) {
    this.#page += pages;
    this.#redraw();
  }

  #draw() {
    if (this.#panel.hidden) return;
    const { range } = this.map;
    const { pool } = this.editor;
    if (!range || !pool) {
      replace(this.#body);
      this.#count.textContent = 'No pool.';
      return;
    }
    const found = this.#matching(pool, range);
    const pages = Math.max(1, Math.ceil(found.length / ROWS));
    this.#page = Math.min(pages - 1, Math.max(0, this.#page));
    const from = this.#page * ROWS;
    const moment = momentOf(pool, this.player.model, this.player.waitMs);
    const rows = found.slice(from, from + ROWS)
      .map(({ text, number }) => factsAt(pool, range, number, text, this.player.model, moment));
    replace(this.#body, ...rows.map((facts) => el('tr', {},
      el('th', { scope: 'row', class: 'mono' }, facts.address),
      el('td', {}, el('span', { class: 'state' },
        el('span', { class: `swatch cell-${facts.state}`, 'aria-hidden': 'true' }, letterOf(facts.state)),
        facts.title),
      facts.isMarker && el('span', { class: 'muted' }, ' last reserved')),
      el('td', { class: 'mono' }, facts.owner),
      el('td', {}, facts.since),
      el('td', {}, facts.why))));
    const isPart = range.block.bits > FULL_BITS ? ' (of a range this large only those of which something is known)' : '';
    this.#count.textContent = found.length === 0
      ? `No address matches${isPart}.`
      : `${(from + 1).toLocaleString('en')} to ${(from + rows.length).toLocaleString('en')} of ${found.length.toLocaleString('en')} addresses${isPart}`;
    this.#previous.disabled = this.#page === 0;
    this.#next.disabled = this.#page >= pages - 1;
  }

  /**
   * The addresses that are to be listed, without all that is known of them.
   * @param {import('./pool.js').Pool} pool
   * @param {import('./pool.js').PoolRange} range
   * @returns {{text: string, number: bigint}[]}
   */
  #matching(pool, range) {
    const { model, waitMs } = this.player;
    const moment = momentOf(pool, model, waitMs);
    const wanted = CODE[this.#state.value];
    const search = this.#text.value.trim().toLowerCase();
    const { addresses } = model.directory(pool.layout.directory);
    /** @param {string} text */
    const isFound = (text) => search === '' || text.includes(search)
      || (addresses.get(text)?.record ?? '').toLowerCase().replace('\r\n', '/').includes(search);
    if (range.block.bits <= FULL_BITS) {
      const base = baseCells(pool, range, range.block);
      const { states } = cellsOf(pool, range, range.block, base, model, moment);
      return this.#listed(range).filter(({ text }, cell) =>
        (wanted === undefined || states[cell] === wanted) && isFound(text));
    }
    return [...addresses.values()]
      .filter((entry) => entry.record !== undefined || entry.past !== undefined)
      .filter(({ family, number }) => family === range.family && holds(range.block, number))
      .filter((entry) => wanted === undefined
        || stateOf(pool.base(range, entry.number, entry.text), entry, model, moment) === wanted)
      .filter(({ text }) => isFound(text))
      .sort((a, b) => (a.number < b.number ? -1 : Number(a.number > b.number)));
  }

  /**
   * All addresses of a range, made once.
   * @param {import('./pool.js').PoolRange} range
   */
  #listed(range) {
    if (this.#all?.range !== range) {
      const { first, bits } = range.block;
      const list = Array.from({ length: 2 ** bits }, (_, n) => {
        const number = first + BigInt(n);
        return { text: addressText(range, number), number };
      });
      this.#all = { range, list };
    }
    return this.#all.list;
  }
}

/** @param {string} state */
function letterOf(state) {
  return STATES.find(({ name }) => name === state)?.letter ?? '';
}
