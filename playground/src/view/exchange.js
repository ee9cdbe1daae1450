// What went over the wire in an operation, to the byte, and what it meant.

import { byId, el, oncePerFrame, replace } from './dom.js';
import { clockText, story } from './words.js';

/** @typedef {import('./types.js').Frame} Frame */

const MOST_NOTES = 60;

export class Exchange {
  #story = byId('story', HTMLElement);
  #notes = byId('story-notes', HTMLElement);
  #box = byId('exchange-texts', HTMLElement);
  #env = byId('exchange-env', HTMLElement);
  #stdin = byId('exchange-stdin', HTMLElement);
  #stdout = byId('exchange-stdout', HTMLElement);
  #stderr = byId('exchange-stderr', HTMLElement);
  #status = byId('exchange-status', HTMLElement);
  #pretty = byId('exchange-pretty', HTMLInputElement);
  #redraw = oncePerFrame(() => this.#draw());

  /** @param {import('./player.js').Player} player */
  constructor(player) {
    this.player = player;
    player.addEventListener('moved', this.#redraw);
    player.addEventListener('opened', this.#redraw);
    this.#pretty.addEventListener('change', this.#redraw);
    /** @type {[string, (frame: Frame) => string][]} */
    const copies = [
      ['copy-command', shellCommand],
      ['copy-env', (frame) => environment(frame).map(([name, value]) => `${name}=${value}\n`).join('')],
      ['copy-stdin', ({ config }) => config],
      ['copy-stdout', ({ answer }) => answer],
    ];
    for (const [id, text] of copies) {
      const button = byId(id, HTMLButtonElement);
      button.addEventListener('click', () => {
        const { current } = player.model;
        if (current) void copy(button, text(current));
      });
    }
    this.#draw();
  }

  #draw() {
    const { model } = this.player;
    const frame = model.current;
    const isExecuted = frame !== undefined && frame.command !== 'REBOOT';
    this.#box.hidden = this.#status.hidden = !isExecuted;
    byId('copy-command', HTMLButtonElement).disabled = !isExecuted;
    if (!frame) {
      const { about } = this.player.scenario;
      this.#story.textContent = model.frames.length > 0
        ? 'Nothing has been done yet at this point.'
        : 'Nothing has been done yet: ADD gives the first container an address.';
      replace(this.#notes, typeof about === 'string' && el('li', {}, about));
      return;
    }
    const { sentence, notes } = story(frame);
    this.#story.textContent = sentence;
    const passed = notes.slice(0, MOST_NOTES).map(({ what, why }) => el('li', {},
      what !== '' && el('span', { class: 'mono' }, what), what !== '' && ' ', why));
    if (notes.length > MOST_NOTES) passed.push(el('li', {}, `and ${notes.length - MOST_NOTES} more`));
    replace(this.#notes, ...passed);
    if (!isExecuted) return;
    replace(this.#env, ...environment(frame).map(([name, value]) => el('div', {},
      el('span', { class: 'name' }, `${name}=`), value)));
    this.#stdin.textContent = this.#shown(frame.config);
    this.#stdout.textContent = this.#shown(frame.answer);
    this.#stderr.textContent = frame.warnings.join('\n');
    byId('exchange-stderr-box', HTMLElement).hidden = frame.warnings.length === 0;
    byId('exchange-stdout-box', HTMLElement).hidden = frame.answer === '';
    const moment = clockText(model.startMs + frame.ms);
    this.#status.textContent = frame.status < 0
      ? `crashed, ${moment}`
      : `exit status ${frame.status}, ${moment}`;
    this.#status.classList.toggle('wrong', frame.status !== 0);
  }

  /** @param {string} text */
  #shown(text) {
    if (!this.#pretty.checked) return text;
    try {
      return JSON.stringify(JSON.parse(text), null, 2);
    } catch {
      return text;
    }
  }
}

/**
 * @param {Frame} frame
 * @returns {[string, string][]}
 */
function environment(frame) {
  /** @type {[string, string][]} */
  const all = [
    ['CNI_COMMAND', frame.command],
    ['CNI_CONTAINERID', frame.container],
    ['CNI_NETNS', frame.netns],
    ['CNI_IFNAME', frame.interface],
    ['CNI_ARGS', frame.args],
    ['CNI_PATH', frame.path],
  ];
  return all.filter(([, value]) => value !== '');
}

/**
 * For a shell, with exactly these bytes on standard input.
 * @param {Frame} frame
 */
export function shellCommand(frame) {
  const variables = environment(frame).map(([name, value]) => `${name}=${quoted(value)}`).join(' ');
  return `printf %s ${quoted(frame.config)} | ${variables} host-local\n`;
}

/** @param {string} text */
function quoted(text) {
  return /^[A-Za-z0-9_./:=@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/**
 * @param {HTMLButtonElement} button
 * @param {string} text
 */
export async function copy(button, text) {
  const before = button.dataset.label ?? button.textContent ?? '';
  button.dataset.label = before;
  let said = 'Copied';
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    said = copyOldWay(text) ? 'Copied' : 'Not allowed';
  }
  button.textContent = said;
  setTimeout(() => { button.textContent = before; }, 1500);
}

/**
 * For pages without a secure origin, which have no clipboard.
 * @param {string} text
 */
function copyOldWay(text) {
  const area = el('textarea', { class: 'hidden-area', 'aria-hidden': 'true' });
  area.value = text;
  (document.querySelector('dialog[open]') ?? document.body).append(area);
  const focused = document.activeElement;
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return done;
}
