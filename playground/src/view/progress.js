// How far a run has come, and what ends it.

import { byId, oncePerFrame } from './dom.js';
import { MOST_OPERATIONS, totalOf } from './scenario.js';

export class Progress {
  #box = byId('progress', HTMLElement);
  #bar = byId('progress-bar', HTMLProgressElement);
  #text = byId('progress-text', HTMLElement);
  #stop = byId('progress-stop', HTMLButtonElement);
  #more = byId('progress-more', HTMLButtonElement);
  #redraw = oncePerFrame(() => this.#draw());

  /**
   * @param {import('./player.js').Player} player
   * @param {(work: () => Promise<void>) => void} attempt
   */
  constructor(player, attempt) {
    this.player = player;
    this.#stop.addEventListener('click', () => player.stop());
    this.#more.addEventListener('click', () => attempt(() => player.goOn()));
    for (const event of ['busy', 'opened', 'moved', 'settled']) player.addEventListener(event, this.#redraw);
    this.#draw();
  }

  #draw() {
    const { player } = this;
    const isBusy = player.busy !== '';
    const done = player.model.frames.length;
    const total = Math.min(MOST_OPERATIONS, Math.max(totalOf(player.scenario), done));
    const isFull = done >= MOST_OPERATIONS;
    this.#box.classList.toggle('shown', isBusy || !player.isEnded);
    this.#bar.max = Math.max(1, total);
    this.#bar.value = done;
    const counts = `${done.toLocaleString('en')} of ${total.toLocaleString('en')} operations`;
    if (isBusy) this.#text.textContent = `${player.busy} … ${counts}`;
    else if (isFull && !player.isEnded) this.#text.textContent = `Stopped: this page does at most ${MOST_OPERATIONS.toLocaleString('en')} operations. wipam simulate does the rest.`;
    else if (!player.isEnded) this.#text.textContent = `Stopped after ${counts}.`;
    else this.#text.textContent = '';
    this.#stop.hidden = !isBusy;
    this.#more.hidden = isBusy || player.isEnded || isFull;
  }
}
