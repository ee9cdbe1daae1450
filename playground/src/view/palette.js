// The colours of the map, which the style sheet has.

import { STATES } from './pool.js';

/**
 * @typedef {object} Palette
 * @property {string[]} fills by code of the state
 * @property {Uint32Array} words the same as pixels
 * @property {string[]} inks what is written on them
 * @property {string} ground
 * @property {string} text
 * @property {string} muted
 * @property {string} mark
 * @property {string} focus
 * @property {[number, number, number]} free
 * @property {[number, number, number]} reserved
 */

/** @returns {Palette} */
export function readPalette() {
  const probe = document.createElement('span');
  document.body.append(probe);
  /**
   * As it is in this theme, which only a colour that is used tells.
   * @param {string} name
   */
  const colour = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const fills = STATES.map(({ name }) => colour(`cell-${name}`));
  const parts = fills.map(readColour);
  const palette = {
    fills,
    words: new Uint32Array(parts.map(toWord)),
    inks: parts.map(inkOn),
    ground: colour('map-ground'),
    text: colour('text'),
    muted: colour('muted'),
    mark: colour('cell-mark'),
    focus: colour('focus'),
    free: parts[1],
    reserved: parts[2],
  };
  probe.remove();
  return palette;
}

/**
 * @param {string} text rgb(r, g, b)
 * @returns {[number, number, number]}
 */
function readColour(text) {
  const [r = 0, g = 0, b = 0] = (text.match(/\d+/g) ?? []).map(Number);
  return [r, g, b];
}

/**
 * Whichever of black and white is told apart better (WCAG 2.2, "contrast
 * ratio").
 * @param {[number, number, number]} colour
 */
function inkOn(colour) {
  const [r, g, b] = colour.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  const light = 0.2126 * r + 0.7152 * g + 0.0722 * b;
  return 1.05 / (light + 0.05) > (light + 0.05) / 0.0575 ? '#ffffff' : '#10151b';
}

/**
 * As ImageData keeps it on machines whose least byte comes first, which are all
 * that browsers run on.
 * @param {[number, number, number]} colour
 */
export function toWord([r, g, b]) {
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}
