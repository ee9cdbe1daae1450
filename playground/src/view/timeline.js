// The operations, and moving among them.

import { byId, el, oncePerFrame, replace } from './dom.js';
import { durationText, outcomeOf, subjectText } from './words.js';

/** Of a row, in pixels; the style sheet says the same. */
const ROW = 26;
/** Rows above and below those that are seen. */
const MORE = 6;

export class Timeline {
  #list = byId('operations-list', HTMLElement);
  #rows = byId('operations-rows', HTMLElement);
  #slider = byId('position', HTMLInputElement);
  #text = byId('position-text', HTMLElement);
  #play = byId('play', HTMLButtonElement);
  #speed = byId('speed', HTMLSelectElement);
  /** @type {Record<'first' | 'back' | 'forward' | 'last' | 'failure', HTMLButtonElement>} */
  #buttons = {
    first: byId('go-first', HTMLButtonElement),
    back: byId('go-back', HTMLButtonElement),
    forward: byId('go-forward', HTMLButtonElement),
    last: byId('go-last', HTMLButtonElement),
    failure: byId('go-failure', HTMLButtonElement),
  };
  #isPlaying = false;
  #lastTick = 0;
  #owed = 0;
  #redraw = oncePerFrame(() => this.#draw());
  #scrolled = oncePerFrame(() => this.#drawRows());

  /** @param {import('./player.js').Player} player */
  constructor(player) {
    this.player = player;
    const { first, back, forward, last, failure } = this.#buttons;
    first.addEventListener('click', () => this.#go(0));
    back.addEventListener('click', () => this.#go(player.model.position - 1));
    forward.addEventListener('click', () => this.#go(player.model.position + 1));
    last.addEventListener('click', () => this.#go(player.model.frames.length));
    failure.addEventListener('click', () => this.#nextFailure());
    this.#play.addEventListener('click', () => (this.#isPlaying ? this.#halt() : this.#begin()));
    this.#slider.addEventListener('input', () => this.#go(Number(this.#slider.value)));
    this.#list.addEventListener('scroll', this.#scrolled);
    this.#list.addEventListener('keydown', (event) => {
      if (this.#key(event)) event.preventDefault();
    });
    new ResizeObserver(this.#scrolled).observe(this.#list);
    player.addEventListener('moved', this.#redraw);
    player.addEventListener('opened', () => this.#halt());
    player.addEventListener('busy', () => {
      if (player.busy !== '') this.#halt();
    });
    this.#draw();
  }

  /** @param {number} position */
  #go(position) {
    this.#halt();
    this.player.goTo(position);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const { model } = this.player;
    if (event.altKey || event.metaKey || event.ctrlKey) return false;
    switch (event.key) {
      case 'ArrowLeft': case 'ArrowUp': this.#go(model.position - 1); return true;
      case 'ArrowRight': case 'ArrowDown': this.#go(model.position + 1); return true;
      case 'PageUp': this.#go(model.position - 10); return true;
      case 'PageDown': this.#go(model.position + 10); return true;
      case 'Home': this.#go(0); return true;
      case 'End': this.#go(model.frames.length); return true;
      case ' ': if (this.#isPlaying) this.#halt(); else this.#begin(); return true;
      default: return false;
    }
  }

  #nextFailure() {
    const { frames, position } = this.player.model;
    const count = frames.length;
    for (let n = 0; n < count; n += 1) {
      const frame = frames[(position + n) % count];
      if (frame.status !== 0) {
        this.#go(frame.number);
        return;
      }
    }
  }

  // ----------------------------------------------------------------- playing

  #begin() {
    const { model } = this.player;
    if (model.frames.length === 0 || this.player.busy !== '') return;
    if (model.isAtEnd) this.player.goTo(0);
    this.#isPlaying = true;
    this.#owed = 0;
    this.#lastTick = performance.now();
    this.#showPlay();
    requestAnimationFrame(this.#tick);
  }

  #tick = (/** @type {number} */ now) => {
    if (!this.#isPlaying) return;
    this.#owed += (Math.max(0, now - this.#lastTick) / 1000) * Number(this.#speed.value);
    this.#lastTick = now;
    const whole = Math.floor(this.#owed);
    if (whole > 0) {
      this.#owed -= whole;
      this.player.goTo(this.player.model.position + whole);
    }
    if (this.player.model.isAtEnd) this.#halt();
    else requestAnimationFrame(this.#tick);
  };

  #halt() {
    if (!this.#isPlaying) return;
    this.#isPlaying = false;
    this.#showPlay();
  }

  #showPlay() {
    this.#play.classList.toggle('playing', this.#isPlaying);
    this.#play.setAttribute('aria-label', this.#isPlaying ? 'Pause' : 'Play');
  }

  // ----------------------------------------------------------------- drawing

  #draw() {
    const { model } = this.player;
    const count = model.frames.length;
    this.#slider.max = String(count);
    this.#slider.value = String(model.position);
    this.#slider.disabled = count === 0;
    const at = model.current ? `, ${durationText(model.current.ms)} after the start` : '';
    this.#text.textContent = count === 0
      ? 'No operation yet'
      : `${model.position.toLocaleString('en')} of ${count.toLocaleString('en')}${at}`;
    this.#slider.setAttribute('aria-valuetext', this.#text.textContent);
    const { first, back, forward, last, failure } = this.#buttons;
    first.disabled = back.disabled = model.position === 0;
    forward.disabled = last.disabled = model.isAtEnd;
    failure.disabled = this.#play.disabled = count === 0;
    this.#rows.style.height = `${(count + 1) * ROW}px`;
    this.#reveal(model.position);
    this.#drawRows();
  }

  /** @param {number} row */
  #reveal(row) {
    const list = this.#list;
    const top = row * ROW;
    if (top < list.scrollTop) list.scrollTop = top;
    else if (top + ROW > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW - list.clientHeight;
  }

  #drawRows() {
    const { frames, position } = this.player.model;
    const list = this.#list;
    const from = Math.max(0, Math.floor(list.scrollTop / ROW) - MORE);
    const to = Math.min(frames.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW) + MORE);
    const made = [];
    for (let row = from; row <= to; row += 1) made.push(this.#row(row, position));
    replace(this.#rows, ...made);
    list.setAttribute('aria-activedescendant', `operation-${position}`);
  }

  /**
   * @param {number} number 0 is the start
   * @param {number} position
   */
  #row(number, position) {
    const { frames } = this.player.model;
    const frame = number > 0 ? frames[number - 1] : undefined;
    const outcome = frame && outcomeOf(frame);
    const classes = ['operation'];
    if (number === position) classes.push('current');
    if (number > position) classes.push('later');
    if (outcome && !outcome.ok) classes.push('failed');
    const row = el('div', {
      id: `operation-${number}`,
      class: classes.join(' '),
      role: 'option',
      'aria-selected': String(number === position),
      'aria-setsize': frames.length + 1,
      'aria-posinset': number + 1,
      'data-testid': `operation-${number}`,
      onclick: () => this.#go(number),
    }, ...(frame && outcome
      ? [
        el('span', { class: 'number' }, number),
        el('span', { class: 'command' }, frame.command),
        el('span', { class: 'subject' }, subjectText(frame)),
        el('span', { class: 'outcome' }, outcome.ok ? outcome.text : `✗ ${outcome.text}`),
      ]
      : [el('span', { class: 'number' }, 0), el('span', { class: 'command' }, 'Start')]));
    row.style.top = `${number * ROW}px`;
    return row;
  }
}
