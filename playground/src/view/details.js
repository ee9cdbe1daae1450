// What is known of the address under the pointer or the focus.

import { byId, el, replace } from './dom.js';
import { STATES } from './pool.js';
import { clockText, factsOf, outcomeOf, subjectText } from './words.js';

const MOST_HISTORY = 8;

export class Details {
  #box = byId('details', HTMLElement);
  #shown = '';

  /** @param {import('./player.js').Player} player */
  constructor(player) {
    this.player = player;
  }

  clear() {
    this.#shown = '';
    replace(this.#box);
  }

  /** @param {{name: string, text: string}} cell */
  showCell({ name, text }) {
    if (this.#shown === name + text) return;
    this.#shown = name + text;
    replace(this.#box,
      el('h3', { class: 'mono' }, name),
      el('p', {}, text),
      el('p', { class: 'muted' }, 'Zoom in to see each of them.'));
  }

  /**
   * @param {import('./pool.js').Pool} pool
   * @param {import('./pool.js').PoolRange} range
   * @param {bigint} number
   * @param {string} text
   */
  showAddress(pool, range, number, text) {
    const { model, waitMs } = this.player;
    const facts = factsOf(pool, range, number, text, model, waitMs);
    const key = JSON.stringify([facts, model.version, model.frames.length]);
    if (this.#shown === key) return;
    this.#shown = key;
    const frames = model.changesOf(pool.layout.directory, text, MOST_HISTORY);
    const { letter } = STATES.find(({ name }) => name === facts.state) ?? STATES[0];
    const passed = model.current?.notes.filter((note) => note.startsWith(`${text}: `)) ?? [];
    replace(this.#box,
      el('h3', { class: 'mono' }, text),
      el('p', { class: 'state' }, el('span', { class: `swatch cell-${facts.state}`, 'aria-hidden': 'true' }, letter), facts.title),
      facts.isMarker && el('p', { class: 'muted' }, 'Last reserved: the round robin goes on behind it.'),
      el('dl', {},
        ...pair('Owner', facts.owner),
        ...pair('Since', facts.since),
        ...pair('An ADD', facts.why === '' ? 'could get it' : `passes it over: ${facts.why}`)),
      ...passed.map((note) => el('p', { class: 'note' }, `This operation: ${note.slice(text.length + 2)}`)),
      frames.length > 0 && el('h4', {}, 'History'),
      frames.length > 0 && el('ul', { class: 'history' }, ...frames.map((frame) => this.#row(frame))));
  }

  /** @param {import('./types.js').Frame} frame */
  #row(frame) {
    const outcome = outcomeOf(frame);
    return el('li', {}, el('button', {
      type: 'button',
      class: 'link',
      title: clockText(this.player.model.startMs + frame.ms),
      onclick: () => this.player.goTo(frame.number),
    }, `${frame.number}. ${frame.command} ${subjectText(frame)}${outcome.ok ? '' : ' (failed)'}`));
  }
}

/**
 * @param {string} name
 * @param {string} value
 */
function pair(name, value) {
  return value === '' ? [] : [el('dt', {}, name), el('dd', {}, value)];
}
