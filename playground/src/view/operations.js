// The bar that says what is to happen next.

import { announce, byId, el, oncePerFrame, replace, wantDuration, whenQuiet } from './dom.js';
import { holderOf } from './model.js';
import { attachmentText, story } from './words.js';

/** @typedef {import('./types.js').Step} Step */
/** @typedef {{container: string, interface: string, address: string}} Attached */

/** Entries of the list that is offered. */
const MOST_OFFERED = 300;

export class Operations {
  #container = byId('op-container', HTMLInputElement);
  #interface = byId('op-interface', HTMLInputElement);
  #args = byId('op-args', HTMLInputElement);
  #attachment = byId('op-attachment', HTMLInputElement);
  #keep = byId('op-keep', HTMLInputElement);
  #none = byId('op-keep-none', HTMLInputElement);
  #wait = byId('op-wait', HTMLInputElement);
  #note = byId('op-note', HTMLElement);
  #offered = byId('attachments', HTMLElement);
  /** @type {HTMLButtonElement[]} */
  #buttons = ['add', 'del', 'check', 'gc', 'status', 'wait', 'reboot']
    .map((name) => byId(`do-${name}`, HTMLButtonElement));
  /** What was suggested; anything else was typed. */
  #suggested = { container: '', attachment: '' };
  #redraw = oncePerFrame(() => this.#draw());
  // Goes through every record, so not while operations fly by.
  #offer = whenQuiet(150, () => this.#drawOffers());

  /**
   * @param {import('./player.js').Player} player
   * @param {import('./editor.js').Editor} editor
   * @param {(work: () => Promise<void>) => void} attempt does it, and shows what goes wrong
   */
  constructor(player, editor, attempt) {
    this.player = player;
    this.editor = editor;
    this.attempt = attempt;
    const forms = /** @type {const} */ ([
      ['add-form', () => this.#add()],
      ['attachment-form', (/** @type {SubmitEvent} */ event) => this.#ofAttachment(event)],
      ['gc-form', () => this.#gc()],
      ['wait-form', () => this.#waitFor()],
    ]);
    for (const [id, work] of forms) {
      byId(id, HTMLFormElement).addEventListener('submit', (event) => {
        event.preventDefault();
        work(event);
      });
    }
    byId('do-status', HTMLButtonElement).addEventListener('click', () => this.#do({ status: {} }));
    byId('do-reboot', HTMLButtonElement).addEventListener('click', () => this.#do({ reboot: {} }));
    wantDuration(this.#wait);
    this.#none.addEventListener('change', () => { this.#keep.disabled = this.#none.checked; });
    for (const event of ['moved', 'busy', 'opened']) player.addEventListener(event, this.#redraw);
    editor.addEventListener('pool', this.#redraw);
    byId('config', HTMLTextAreaElement).addEventListener('input', this.#redraw);
    this.#draw();
  }

  #add() {
    const container = this.#container.value.trim();
    const name = this.#interface.value.trim();
    const args = this.#args.value.trim();
    this.#do({
      add: {
        container,
        ...(name !== '' && name !== 'eth0' && { interface: name }),
        ...(args !== '' && { args }),
      },
    });
  }

  /** @param {SubmitEvent} event */
  #ofAttachment(event) {
    const isCheck = event.submitter?.id === 'do-check';
    const { container, interface: name } = readAttachment(this.#attachment.value);
    // A runtime hands over the same arguments as in ADD.
    const args = this.#argsOf(container, name);
    const step = {
      container,
      ...(name !== 'eth0' && { interface: name }),
      ...(args !== '' && { args }),
    };
    this.#do(isCheck ? { check: step } : { del: step });
  }

  #gc() {
    const text = this.#keep.value.trim();
    if (this.#none.checked) this.#do({ gc: { keep: [] } });
    else if (text === '') this.#do({ gc: {} });
    else {
      const keep = text.split(/[\s,;]+/).filter((part) => part !== '').map(readAttachment).map(attachmentText);
      this.#do({ gc: { keep } });
    }
  }

  #waitFor() {
    this.#do({ wait: this.#wait.value.trim() });
  }

  /** @param {Step} step */
  #do(step) {
    if (this.player.busy !== '') return;
    const before = this.player.model.frames.length;
    this.attempt(async () => {
      await this.player.perform(this.editor.text, step);
      const { current, frames } = this.player.model;
      if (current && frames.length !== before) announce(story(current).sentence);
    });
  }

  /**
   * @param {string} container
   * @param {string} name
   */
  #argsOf(container, name) {
    const { frames, position } = this.player.model;
    for (let at = position - 1; at >= 0; at -= 1) {
      const frame = frames[at];
      if (frame.command === 'ADD' && frame.container === container && frame.interface === name) return frame.args;
    }
    return '';
  }

  /** @returns {Attached[]} the latest first */
  #attached() {
    const { model } = this.player;
    const path = this.editor.pool?.layout.directory ?? model.firstDirectory;
    /** @type {(Attached & {since: number})[]} */
    const all = [];
    for (const { record, text, since } of model.directory(path).addresses.values()) {
      const holder = record === undefined ? undefined : holderOf(record);
      if (holder) all.push({ ...holder, address: text, since });
    }
    return all.sort((a, b) => b.since - a.since);
  }

  #draw() {
    const { player } = this;
    const isBusy = player.busy !== '';
    for (const button of this.#buttons) button.disabled = isBusy;
    if (!isBusy) this.#offer();
    const dropped = player.wouldDrop;
    const notes = [];
    if (dropped > 0 && !isBusy) {
      const what = dropped === 1 ? 'The operation' : `The ${dropped.toLocaleString('en')} operations`;
      notes.push(`${what} after this point will be dropped by the next one.`);
    }
    if (player.waitMs > 0) notes.push('The wait has passed; times count from behind it.');
    this.#note.textContent = notes.join(' ');
    this.#note.hidden = notes.length === 0;
  }

  #drawOffers() {
    if (this.player.busy !== '') return;
    const attached = this.#attached();
    const offered = new Map(attached.map((each) => [attachmentText(each), each.address]));
    replace(this.#offered, ...[...offered].slice(0, MOST_OFFERED).map(([value, address]) =>
      el('option', { value, label: `${value}: ${address}` })));
    this.#suggest(attached);
  }

  /** @param {Attached[]} attached */
  #suggest(attached) {
    const { model } = this.player;
    const used = new Set(attached.map(({ container }) => container));
    const last = model.frames.slice(Math.max(0, model.position - 200), model.position);
    for (const { container } of last) used.add(container);
    let number = 1;
    while (used.has(`c${number}`)) number += 1;
    const { container, attachment } = this.#suggested;
    this.#suggested = {
      container: `c${number}`,
      attachment: attached.length > 0 ? attachmentText(attached[0]) : '',
    };
    const typed = this.#container.value;
    if ((typed === '' || typed === container || used.has(typed)) && document.activeElement !== this.#container) {
      this.#container.value = this.#suggested.container;
    }
    const isKnown = attached.some((each) => attachmentText(each) === this.#attachment.value);
    if ((!isKnown || this.#attachment.value === attachment) && document.activeElement !== this.#attachment) {
      this.#attachment.value = this.#suggested.attachment;
    }
  }
}

/**
 * "web/eth0", or "web" alone.
 * @param {string} text
 */
export function readAttachment(text) {
  const [container, ...rest] = text.trim().split('/');
  return { container, interface: rest.join('/') || 'eth0' };
}
