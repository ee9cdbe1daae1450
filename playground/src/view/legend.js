// What the colours of the map mean, as far as they can come up.

import { byId, el, replace } from './dom.js';
import { lastOf } from './geometry.js';
import { CODE, STATES } from './pool.js';

/** @typedef {import('./pool.js').Pool} Pool */
/** @typedef {import('./model.js').Model} Model */

export class Legend {
  #list = byId('legend', HTMLElement);
  #shown = '';

  /**
   * @param {Pool | undefined} pool
   * @param {Model} model
   * @param {Uint8Array | undefined} cells that are drawn
   */
  show(pool, model, cells) {
    const states = STATES.filter(({ name }) => pool && canBe(name, pool, model, cells));
    const key = states.map(({ name }) => name).join();
    if (key === this.#shown) return;
    this.#shown = key;
    this.#list.hidden = states.length === 0;
    replace(this.#list,
      ...states.map(({ name, letter, title }) => item(`cell-${name}`, letter, title)),
      item('cell-marked', '', 'last reserved'),
      item('cell-touched', '', 'changed by this operation'));
  }
}

/**
 * @param {string} name of a state
 * @param {Pool} pool
 * @param {Model} model
 * @param {Uint8Array | undefined} cells
 */
function canBe(name, pool, model, cells) {
  switch (name) {
    case 'outside': return pool.ranges.some(({ block, first, last }) => first > block.first + 1n || last < lastOf(block) - 1n);
    case 'stale': return model.lastReboot > 0 || (cells?.includes(CODE.stale) ?? false);
    case 'foreign': return cells?.includes(CODE.foreign) ?? false;
    case 'gateway': return pool.gateways.size > 0;
    case 'barred': return pool.barred.size > 0;
    case 'excluded': return pool.exclude.length > 0;
    case 'static': return pool.static.length > 0;
    case 'cooling': return pool.layout.cooldownMs > 0;
    case 'kept': return pool.layout.keepMs > 0;
    default: return true;
  }
}

/**
 * @param {string} name
 * @param {string} letter
 * @param {string} title
 */
function item(name, letter, title) {
  return el('li', {}, el('span', { class: `swatch ${name}`, 'aria-hidden': 'true' }, letter), title);
}
