// The form for a simulated load.

import { byId, el, oncePerFrame, wantDuration } from './dom.js';
import { MOST_OPERATIONS } from './scenario.js';

/** @typedef {import('./types.js').Step} Step */

/**
 * By the names of the form's fields; what is missing is left empty.
 * @type {{id: string, title: string, fields: Record<string, string>}[]}
 */
const PRESETS = [
  { id: 'steady', title: 'Steady coming and going', fields: { operations: '1000', arrivals: '2s', lifetimes: '5m' } },
  { id: 'crashes', title: 'Crash loops', fields: { operations: '1000', arrivals: '10s', lifetimes: '1h', names: '20', share: '20', lifetime: '5s', restarts: '5' } },
  { id: 'lost', title: 'DELs get lost, GC finds out', fields: { operations: '2000', arrivals: '5s', lifetimes: '10m', lostDels: '5', gc: '30m' } },
  { id: 'reboots', title: 'The node reboots', fields: { operations: '2000', arrivals: '10s', lifetimes: '30m', reboots: '2h', gc: '3h', checks: '5' } },
  { id: 'rush', title: 'A rush that fills the pool', fields: { operations: '1000', arrivals: '100ms', lifetimes: '1d', spread: 'even' } },
  { id: 'much', title: 'Many operations', fields: { operations: '50000', arrivals: '1s', lifetimes: '2m' } },
];

export class LoadForm {
  #form = byId('load-form', HTMLFormElement);
  #preset = byId('load-preset', HTMLSelectElement);
  #run = byId('load-run', HTMLButtonElement);
  #note = byId('load-note', HTMLElement);
  #redraw = oncePerFrame(() => this.#draw());

  /**
   * @param {import('./player.js').Player} player
   * @param {import('./editor.js').Editor} editor
   * @param {(work: () => Promise<void>) => void} attempt
   */
  constructor(player, editor, attempt) {
    this.player = player;
    for (const { id, title } of PRESETS) this.#preset.append(el('option', { value: id }, title));
    for (const field of this.#form.elements) {
      if (field instanceof HTMLInputElement && field.dataset.duration !== undefined) wantDuration(field);
    }
    this.#preset.addEventListener('change', () => this.#use(this.#preset.value));
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      attempt(() => player.perform(editor.text, this.step()));
    });
    this.#form.addEventListener('input', this.#redraw);
    for (const event of ['busy', 'moved', 'opened']) player.addEventListener(event, this.#redraw);
    this.#use('steady');
  }

  /** @param {string} id */
  #use(id) {
    const preset = PRESETS.find((each) => each.id === id);
    if (!preset) return;
    for (const field of this.#form.elements) {
      if (field instanceof HTMLInputElement) field.value = preset.fields[field.name] ?? '';
      else if (field instanceof HTMLSelectElement && field !== this.#preset) field.value = preset.fields[field.name] ?? 'random';
    }
    this.#preset.value = id;
    this.#draw();
  }

  /** @returns {Step} */
  step() {
    const data = new FormData(this.#form);
    /** @param {string} name */
    const text = (name) => String(data.get(name) ?? '').trim();
    /** @type {Record<string, any>} */
    const load = { operations: Number(text('operations')) };
    for (const name of ['arrivals', 'lifetimes']) load[name] = text(name);
    if (text('spread') === 'even') load.spread = 'even';
    for (const name of ['names', 'lostDels', 'checks']) {
      if (text(name) !== '') load[name] = Number(text(name));
    }
    if (text('share') !== '') {
      load.crashes = { share: Number(text('share')) };
      if (text('lifetime') !== '') load.crashes.lifetime = text('lifetime');
      if (text('restarts') !== '') load.crashes.restarts = Number(text('restarts'));
    }
    for (const name of ['reboots', 'gc']) {
      if (text(name) !== '') load[name] = text(name);
    }
    return { load };
  }

  #draw() {
    const { player } = this;
    this.#run.disabled = player.busy !== '';
    const wanted = Number(new FormData(this.#form).get('operations'));
    const done = player.model.position;
    const room = MOST_OPERATIONS - done;
    const isTooMuch = wanted > room && player.busy === '';
    this.#note.textContent = isTooMuch
      ? `This page does at most ${MOST_OPERATIONS.toLocaleString('en')} operations, and ${done.toLocaleString('en')} are done: the load will stop after ${Math.max(0, room).toLocaleString('en')}. wipam simulate has no such limit.`
      : `At most ${MOST_OPERATIONS.toLocaleString('en')} operations in all; wipam simulate has no such limit.`;
    this.#note.classList.toggle('wrong', isTooMuch);
  }
}
