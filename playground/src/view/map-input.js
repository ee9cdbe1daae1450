// What people do with the map, by mouse, finger and keyboard.

import { byId } from './dom.js';
import { cellBlock, cellCount, ZOOM_BITS } from './geometry.js';

/** @typedef {import('./map-view.js').MapView} MapView */

/** How far a wheel turns for one step. */
const NOTCH = 60;
/** Pixels of a line, for wheels that count those. */
const LINE = 33;

/**
 * @param {MapView} map
 * @param {HTMLCanvasElement} canvas
 */
export function listenToMap(map, canvas) {
  byId('zoom-in', HTMLButtonElement).addEventListener('click', () => map.zoom(-ZOOM_BITS));
  byId('zoom-out', HTMLButtonElement).addEventListener('click', () => map.zoom(ZOOM_BITS));
  byId('zoom-all', HTMLButtonElement).addEventListener('click', () => map.showAll());
  byId('zoom-used', HTMLButtonElement).addEventListener('click', () => map.showUsed());
  canvas.addEventListener('keydown', (event) => {
    if (onKey(map, event)) event.preventDefault();
  });
  canvas.addEventListener('focus', () => map.refocus());
  canvas.addEventListener('blur', () => map.refocus());
  canvas.addEventListener('pointermove', (event) => map.hover(map.cellAt(event.clientX, event.clientY)));
  canvas.addEventListener('pointerleave', () => map.hover(-1));
  canvas.addEventListener('click', (event) => {
    const number = numberUnder(map, event);
    if (number !== undefined) map.focusOn(number);
  });
  canvas.addEventListener('dblclick', (event) => {
    const number = numberUnder(map, event);
    if (number !== undefined) map.zoom(-2 * ZOOM_BITS, number);
  });
  let turned = 0;
  canvas.addEventListener('wheel', (event) => {
    const number = numberUnder(map, event);
    const bits = event.deltaY < 0 ? -ZOOM_BITS : ZOOM_BITS;
    // At either end the page scrolls, as it would anywhere else.
    if (number === undefined || event.deltaY === 0 || !map.canZoom(bits)) return;
    event.preventDefault();
    const way = event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? event.deltaY : event.deltaY * LINE;
    turned = Math.sign(way) === Math.sign(turned) ? turned + way : way;
    if (Math.abs(turned) >= NOTCH) {
      turned = 0;
      map.zoom(bits, number);
    }
  }, { passive: false });
}

/**
 * The first address of the cell under the pointer.
 * @param {MapView} map
 * @param {MouseEvent} event
 */
function numberUnder(map, event) {
  const cell = map.cellAt(event.clientX, event.clientY);
  return cell >= 0 && map.block ? cellBlock(map.block, cell).first : undefined;
}

/**
 * @param {MapView} map
 * @param {KeyboardEvent} event
 * @returns {boolean} whether the key means something
 */
function onKey(map, event) {
  const { range, block } = map;
  if (!range || !block || event.altKey || event.metaKey) return false;
  const cells = cellCount(block);
  switch (event.key) {
    case 'ArrowLeft': map.step(-1); return true;
    case 'ArrowRight': map.step(1); return true;
    case 'ArrowUp': map.step(-map.columns); return true;
    case 'ArrowDown': map.step(map.columns); return true;
    case 'PageUp': map.step(-cells); return true;
    case 'PageDown': map.step(cells); return true;
    case 'Home': map.focusOn(event.ctrlKey ? range.first : block.first); return true;
    case 'End': map.focusOn(event.ctrlKey ? range.last : cellBlock(block, cells - 1).first); return true;
    case '+': case '=': map.zoom(-ZOOM_BITS); return true;
    case '-': case '_': map.zoom(ZOOM_BITS); return true;
    case 'Enter': map.zoom(-2 * ZOOM_BITS); return true;
    case 'Backspace': map.zoom(2 * ZOOM_BITS); return true;
    default: return false;
  }
}
