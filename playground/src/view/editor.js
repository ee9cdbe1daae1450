// The network configuration, and what the component says of it.

import { byId, el, oncePerFrame, replace, whenQuiet } from './dom.js';
import { Pool } from './pool.js';

/** @typedef {import('./player.js').Player} Player */
/** @typedef {import('./types.js').Reply} Reply */

const TYPING_MS = 150;
/** Configurations whose answers are kept. */
const MOST_KEPT = 50;

/** Event: `pool` after another configuration is described. */
export class Editor extends EventTarget {
  /** What the map shows. @type {Pool | undefined} */
  pool;
  /** Whether that is of an earlier text, because this one cannot be used. */
  isPoolOld = false;

  #area = byId('config', HTMLTextAreaElement);
  #lines = byId('config-lines', HTMLElement);
  #says = byId('config-says', HTMLElement);
  #state = byId('config-state', HTMLElement);
  #revert = byId('config-revert', HTMLButtonElement);
  #format = byId('config-format', HTMLButtonElement);
  /** The configuration in force that was put into the area last. */
  #synced = '';
  /** Answers by text. @type {Map<string, {explained: Reply, layout: Reply, pool: Pool | undefined}>} */
  #known = new Map();
  #asked = 0;

  /** @param {Player} player */
  constructor(player) {
    super();
    this.player = player;
    const look = whenQuiet(TYPING_MS, () => this.#look());
    this.#area.addEventListener('input', () => {
      this.#showLines();
      this.#showState();
      look();
    });
    this.#area.addEventListener('scroll', oncePerFrame(() => {
      this.#lines.scrollTop = this.#area.scrollTop;
    }));
    this.#revert.addEventListener('click', () => this.set(this.player.network));
    this.#format.addEventListener('click', () => this.#reformat());
    player.addEventListener('opened', () => {
      // The map is not to show what belongs to another scenario.
      this.pool = undefined;
      this.set(this.player.network);
    });
    player.addEventListener('moved', () => this.#follow());
  }

  get text() {
    return this.#area.value;
  }

  get isEdited() {
    return this.text !== this.player.network;
  }

  /** @param {string} text */
  set(text) {
    this.#area.value = text;
    this.#synced = this.text;
    this.#showLines();
    this.#showState();
    void this.#look();
  }

  /**
   * Changes the configuration for whoever does not want to type.
   * @param {(config: any) => any} change gets the parsed text
   * @returns {boolean} false where it is no JSON object
   */
  change(change) {
    let config;
    try {
      config = JSON.parse(this.text);
    } catch {
      return false;
    }
    if (typeof config !== 'object' || config === null || Array.isArray(config)) return false;
    this.#area.value = JSON.stringify(change(config), null, 2);
    this.#area.dispatchEvent(new Event('input'));
    return true;
  }

  /** Shows the configuration of another position, unless somebody is typing. */
  #follow() {
    const { network } = this.player;
    if (this.text === this.#synced && this.text !== network) this.set(network);
    else this.#synced = this.text === network ? network : this.#synced;
    this.#showState();
  }

  #reformat() {
    this.change((config) => config);
  }

  #showLines() {
    const count = this.text.split('\n').length;
    if (this.#lines.childElementCount === count) return;
    replace(this.#lines, ...Array.from({ length: count }, (_, n) => el('span', {}, n + 1)));
    this.#lines.scrollTop = this.#area.scrollTop;
  }

  #showState() {
    const { isEdited } = this;
    this.#state.textContent = isEdited ? 'Edited: the next operation uses this text.' : 'In force.';
    this.#state.classList.toggle('edited', isEdited);
    this.#revert.disabled = !isEdited;
  }

  async #look() {
    const { text } = this;
    this.#asked += 1;
    const asked = this.#asked;
    let known = this.#known.get(text);
    if (!known) {
      try {
        const [explained, layout] = await Promise.all([
          this.player.ask('explain', text), this.player.ask('layout', text),
        ]);
        known = { explained, layout, pool: layout.error === undefined ? new Pool(layout.ok) : undefined };
      } catch (error) {
        const reply = { error: /** @type {Error} */ (error).message };
        known = { explained: reply, layout: reply, pool: undefined };
      }
      if (this.#known.size >= MOST_KEPT) this.#known.clear();
      this.#known.set(text, known);
    }
    if (asked !== this.#asked) return;
    const { explained, pool } = known;
    const isWrong = explained.error !== undefined;
    this.#says.textContent = isWrong ? explained.error : explained.ok;
    this.#says.classList.toggle('wrong', isWrong);
    this.#area.setAttribute('aria-invalid', String(isWrong));
    this.isPoolOld = !pool && this.pool !== undefined;
    this.pool = pool ?? this.pool;
    this.dispatchEvent(new Event('pool'));
  }
}
