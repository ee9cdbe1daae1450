// What people take away: an address that holds the scenario, and files.

import { byId, el } from './dom.js';
import { copy } from './exchange.js';
import { LONG, toFragment, TOO_LONG } from './share.js';

export class Sharing {
  #dialog = byId('share-dialog', HTMLDialogElement);
  #link = byId('share-link', HTMLInputElement);
  #says = byId('share-says', HTMLElement);
  #copy = byId('share-copy', HTMLButtonElement);
  #command = byId('native-command', HTMLElement);
  #besides = byId('native-besides', HTMLElement);
  // Asked for beforehand: browsers let a click save something for a moment only.
  /** @type {Promise<any>} */
  #summary = Promise.resolve();
  /** @type {Promise<string>} */
  #picture = Promise.resolve('');

  /**
   * @param {import('./player.js').Player} player
   * @param {(work: () => Promise<void>) => void} attempt
   */
  constructor(player, attempt) {
    this.player = player;
    this.#copy.addEventListener('click', () => void copy(this.#copy, this.#link.value));
    const native = byId('native-copy', HTMLButtonElement);
    native.addEventListener('click', () => void copy(native, this.#command.textContent ?? ''));
    byId('share-close', HTMLButtonElement).addEventListener('click', () => this.#dialog.close());
    /** @type {[string, () => void | Promise<void>][]} */
    const downloads = [
      ['save-scenario', () => save(`${this.#name}.json`, 'application/json', this.#text())],
      ['save-answers', () => saveParts(`${this.#name}.answers.jsonl`, 'application/jsonl', this.#answers())],
      ['save-summary', async () => save(`${this.#name}.summary.json`, 'application/json', JSON.stringify(await this.#summary, null, 2))],
      ['save-picture', async () => save(`${this.#name}.svg`, 'image/svg+xml', await this.#picture)],
    ];
    for (const [id, work] of downloads) {
      byId(id, HTMLButtonElement).addEventListener('click', () => attempt(async () => work()));
    }
  }

  get #name() {
    const title = typeof this.player.scenario.title === 'string' ? this.player.scenario.title : '';
    return title.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '').slice(0, 60) || 'scenario';
  }

  #text() {
    return `${JSON.stringify(this.player.shown, null, 2)}\n`;
  }

  /** What belongs to the scenario as it is saved. */
  #answers() {
    const { frames, position } = this.player.model;
    return frames.slice(0, position).map(({ line }) => `${line}\n`);
  }

  /** Shows the dialog. */
  async show() {
    this.#summary = this.player.ask('summary');
    this.#picture = this.player.ask('picture');
    // Whoever wants to save it is told.
    for (const asked of [this.#summary, this.#picture]) asked.catch(() => {});
    const text = JSON.stringify(this.player.shown);
    const fragment = await toFragment(text);
    const address = location.href.replace(/#.*$/, '') + fragment;
    const count = address.length.toLocaleString('en');
    const isTooLong = address.length > TOO_LONG;
    this.#link.value = isTooLong ? '' : address;
    this.#link.disabled = this.#copy.disabled = isTooLong;
    this.#says.classList.toggle('wrong', address.length > LONG);
    if (isTooLong) this.#says.textContent = `The address would have ${count} characters, which browsers refuse. Download the scenario file instead.`;
    else if (address.length > LONG) this.#says.textContent = `The address has ${count} characters; chat and mail programs may cut it. The scenario file is safer.`;
    else this.#says.textContent = `${count} characters. All of it stands behind the #, which browsers send to nobody.`;
    this.#command.textContent = `wipam simulate ${this.#name}.json --answers ${this.#name}.answers.jsonl`;
    const beside = Object.values(this.player.shown.components ?? {}).map(({ file }) => file).filter((file) => typeof file === 'string');
    this.#besides.textContent = beside.length === 0 ? '' : `It looks for ${beside.join(' and ')} beside the scenario, or in the folder that --components names; this site has them in policies/.`;
    if (!this.#dialog.open) this.#dialog.showModal();
    if (!isTooLong) this.#link.select();
  }
}

/**
 * @param {string} name
 * @param {string} type
 * @param {string} text
 */
function save(name, type, text) {
  saveParts(name, type, [text]);
}

/**
 * @param {string} name
 * @param {string} type
 * @param {string[]} parts
 */
function saveParts(name, type, parts) {
  const address = URL.createObjectURL(new Blob(parts, { type }));
  const link = el('a', { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
