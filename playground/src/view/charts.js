// Charts of what came of all operations: how full the pool was, what failed,
// and how soon addresses came back.

import { byId, el, oncePerFrame, replace, svg } from './dom.js';
import { area, steps, ticks, timeTicks } from './plot.js';
import { countedText, durationText } from './words.js';

/** @typedef {import('./types.js').Summary} Summary */
/** @typedef {import('./types.js').Series} Series */

/** In pixels, so that texts have their size: between these, as there is room. */
const LEAST_WIDTH = 280;
const MOST_WIDTH = 620;
const HEIGHT = 220;
const EDGE = { left: 52, right: 14, top: 12, bottom: 38 };

/** Of all charts, as they were drawn last. */
let width = MOST_WIDTH;

/** @typedef {{x: (value: number) => number, y: (value: number) => number}} Scales */

export class Charts {
  #panel = byId('panel-charts', HTMLElement);
  #pool = byId('chart-pool', HTMLElement);
  #failures = byId('chart-failures', HTMLElement);
  #reuse = byId('chart-reuse', HTMLElement);
  #figures = byId('figures', HTMLElement);
  #errors = byId('errors', HTMLElement);
  #note = byId('charts-note', HTMLElement);
  /** For which state figures were fetched. */
  #fetched = '';
  /** @type {object | undefined} */
  #model;
  /** @type {{summary: Summary, series: Series} | undefined} */
  #figured;
  /** @type {{line: SVGElement, x: (ms: number) => number}[]} */
  #cursors = [];
  #moveCursors = oncePerFrame(() => this.#placeCursors());

  /** @param {import('./player.js').Player} player */
  constructor(player) {
    this.player = player;
    player.addEventListener('settled', () => void this.show());
    player.addEventListener('moved', this.#moveCursors);
    new ResizeObserver(oncePerFrame(() => this.#fit())).observe(this.#pool);
    byId('picture-box', HTMLDetailsElement).addEventListener('toggle', () => void this.#showPicture());
  }

  /** When they come to be seen, or there is more to see. */
  async show() {
    const { player } = this;
    if (this.#panel.hidden || player.busy !== '') return;
    const wanted = `${player.client.workers} ${player.model.startMs} ${player.model.frames.length}`;
    if (this.#fetched === wanted && this.#model === player.model) return;
    try {
      const [summary, series] = await Promise.all([player.ask('summary'), player.ask('series')]);
      this.#fetched = wanted;
      this.#model = player.model;
      this.#figured = { summary, series };
      this.#fit(true);
      await this.#showPicture();
    } catch (error) {
      this.#note.textContent = /** @type {Error} */ (error).message;
    }
  }

  /** @param {boolean} [isNew] whether there is something else to draw */
  #fit(isNew = false) {
    const room = this.#pool.clientWidth;
    if (room === 0 || !this.#figured) return;
    const fitting = Math.round(Math.min(MOST_WIDTH, Math.max(LEAST_WIDTH, room)));
    if (fitting === width && !isNew) return;
    width = fitting;
    this.#draw(this.#figured.summary, this.#figured.series);
  }

  /**
   * @param {Summary} summary
   * @param {Series} series
   */
  #draw(summary, series) {
    this.#cursors = [];
    const { operations, ms, addresses, reuse } = summary;
    this.#note.textContent = operations === 0
      ? 'Nothing has been done yet.'
      : 'Of all operations, also of those after the point that is shown; the line is where that is.';
    const failed = summary.commands.reduce((sum, each) => sum + each.failed, 0);
    replace(this.#figures, ...[
      ['Operations', `${operations.toLocaleString('en')} in ${durationText(ms)}`],
      ['Failed', failed.toLocaleString('en')],
      ['Reserved now', `${addresses.reserved.toLocaleString('en')} of ${addresses.pool}`],
      ['Of them stale', addresses.stale.toLocaleString('en')],
      ['Most at once', addresses.most.toLocaleString('en')],
      ['Given', `${addresses.given.toLocaleString('en')}, ${addresses.distinct.toLocaleString('en')} different ones`],
      ['Given again soonest', reuse.least ? `after ${durationText(reuse.least.ms)}, ${countedText(reuse.least.given, 'other')} in between` : 'none was'],
    ].map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))));
    replace(this.#pool, ...this.#poolChart(summary, series));
    replace(this.#failures, ...this.#failureChart(summary, series));
    replace(this.#reuse, ...reuseChart(summary));
    replace(this.#errors, ...summary.errors.map((error) => el('tr', {},
      el('th', { scope: 'row' }, error.code),
      el('td', {}, error.count.toLocaleString('en')),
      el('td', {}, el('button', { type: 'button', class: 'link', onclick: () => this.player.goTo(error.first) }, `operation ${error.first}`)),
      el('td', {}, error.message))));
    byId('errors-box', HTMLElement).hidden = summary.errors.length === 0;
    this.#placeCursors();
  }

  /**
   * @param {Summary} summary
   * @param {Series} series
   */
  #poolChart({ addresses, operations }, { samples }) {
    const most = Math.max(1, ...samples.map((sample) => sample[2]));
    const pool = Number(addresses.pool);
    // The size of the pool is a line only where it would not flatten the rest.
    const hasLine = pool <= most * 4;
    const end = endOf(samples);
    const { x, y } = scales(end, hasLine ? Math.max(pool, most) : most);
    const reserved = points(samples, 2, x, y);
    const stale = points(samples, 3, x, y);
    const text = `Reserved addresses over ${durationText(end)} and ${countedText(operations, 'operation')}: at most ${most.toLocaleString('en')} of ${addresses.pool}, ${addresses.reserved.toLocaleString('en')} at the end, ${addresses.stale.toLocaleString('en')} of them stale.`;
    return [
      this.#chart('chart-pool', text, x,
        axes(end, hasLine ? Math.max(pool, most) : most, x, y, 'time since the start', 'addresses'),
        svg('path', { class: 'area-reserved', d: area(reserved, y(0)) }),
        svg('path', { class: 'line-reserved', d: steps(reserved) }),
        svg('path', { class: 'line-stale', d: steps(stale) }),
        hasLine && svg('line', { class: 'line-pool', x1: x(0), x2: x(end), y1: y(pool), y2: y(pool) })),
      legend([['reserved', 'reserved'], ['stale', 'of them stale'], ...(hasLine ? /** @type {[string, string][]} */ ([['pool', `all there are: ${addresses.pool}`]]) : [])]),
      el('p', { class: 'muted' }, text),
    ];
  }

  /**
   * @param {Summary} summary
   * @param {Series} series
   */
  #failureChart({ errors }, { samples }) {
    const most = Math.max(0, ...samples.map((sample) => sample[4]));
    const text = most === 0
      ? 'No operation failed.'
      : `${countedText(most, 'operation')} failed: ${errors.map(({ code, count }) => `${count.toLocaleString('en')} with code ${code}`).join(', ')}.`;
    if (most === 0) return [el('p', { class: 'muted' }, text)];
    const end = endOf(samples);
    const { x, y } = scales(end, most);
    return [
      this.#chart('chart-failures', text, x,
        axes(end, most, x, y, 'time since the start', 'failed so far'),
        svg('path', { class: 'line-failures', d: steps(points(samples, 4, x, y)) })),
      legend([['failures', 'failed operations, added up']]),
      el('p', { class: 'muted' }, text),
    ];
  }

  /**
   * @param {string} id
   * @param {string} text
   * @param {(ms: number) => number} x
   * @param {import('./dom.js').Child[]} children
   */
  #chart(id, text, x, ...children) {
    const line = svg('line', { class: 'cursor', y1: EDGE.top, y2: HEIGHT - EDGE.bottom });
    this.#cursors.push({ line, x });
    return frame(`${id}-svg`, text, ...children, line);
  }

  #placeCursors() {
    const { model } = this.player;
    for (const { line, x } of this.#cursors) {
      const at = x(model.current?.ms ?? 0);
      line.setAttribute('x1', String(at));
      line.setAttribute('x2', String(at));
    }
  }

  async #showPicture() {
    const box = byId('picture-box', HTMLDetailsElement);
    const image = byId('picture', HTMLImageElement);
    if (!box.open || this.player.busy !== '') return;
    const text = await this.player.ask('picture');
    URL.revokeObjectURL(image.src);
    image.src = URL.createObjectURL(new Blob([text], { type: 'image/svg+xml' }));
  }
}

/** @param {Summary} summary */
function reuseChart({ reuse }) {
  if (reuse.count === 0) return [el('p', { class: 'muted' }, 'No address was given again.')];
  const bars = reuse.histogram;
  const most = Math.max(1, ...bars.map(({ count }) => count));
  const { y } = scales(1, most);
  const room = Math.min(60, (width - EDGE.left - EDGE.right) / bars.length);
  const text = `${countedText(reuse.count, 'time')} an address was given again. Addresses given in between: ${bars
    .filter(({ count }) => count > 0)
    .map(({ upTo, count }) => `up to ${upTo.toLocaleString('en')}: ${count.toLocaleString('en')}`).join(', ')}.`;
  const every = Math.ceil(bars.length / (width > 420 ? 10 : 6));
  return [
    frame('chart-reuse-svg', text,
      yAxis(most, y, 'addresses given again'),
      ...bars.map(({ count }, n) => svg('rect', {
        class: 'bar', x: EDGE.left + n * room + 1, width: Math.max(1, room - 2), y: y(count), height: y(0) - y(count),
      })),
      ...bars.map(({ upTo }, n) => (n % every === 0
        ? svg('text', { class: 'tick', x: EDGE.left + (n + 0.5) * room, y: HEIGHT - EDGE.bottom + 14, 'text-anchor': 'middle' }, shortNumber(upTo))
        : undefined)),
      svg('text', { class: 'axis', x: (EDGE.left + width) / 2, y: HEIGHT - 6, 'text-anchor': 'middle' }, 'given in between, up to')),
    legend([['bar', 'addresses that came back after so many others']]),
    el('p', { class: 'muted' }, text),
  ];
}

/** @param {number[][]} samples */
function endOf(samples) {
  return Math.max(1, samples.length > 0 ? samples[samples.length - 1][1] : 1);
}

/**
 * @param {number} end
 * @param {number} most
 * @returns {Scales}
 */
function scales(end, most) {
  const top = ticks(most).at(-1) ?? most;
  return {
    x: (value) => EDGE.left + (Math.min(value, end) / end) * (width - EDGE.left - EDGE.right),
    y: (value) => HEIGHT - EDGE.bottom - (value / top) * (HEIGHT - EDGE.top - EDGE.bottom),
  };
}

/**
 * @param {number[][]} samples
 * @param {number} column
 * @param {Scales['x']} x
 * @param {Scales['y']} y
 * @returns {[number, number][]}
 */
function points(samples, column, x, y) {
  return samples.map((sample) => [x(sample[1]), y(sample[column])]);
}

/**
 * @param {number} end
 * @param {number} most
 * @param {Scales['x']} x
 * @param {Scales['y']} y
 * @param {string} below
 * @param {string} beside
 */
function axes(end, most, x, y, below, beside) {
  return svg('g', {},
    yAxis(most, y, beside),
    ...timeTicks(end, width > 420 ? 6 : 4).map((at) => svg('text', {
      class: 'tick', x: x(at), y: HEIGHT - EDGE.bottom + 14, 'text-anchor': 'middle',
    }, at === 0 ? '0' : durationText(at))),
    svg('text', { class: 'axis', x: (EDGE.left + width) / 2, y: HEIGHT - 6, 'text-anchor': 'middle' }, below));
}

/**
 * @param {number} most
 * @param {Scales['y']} y
 * @param {string} name
 */
function yAxis(most, y, name) {
  return svg('g', {},
    ...ticks(most).flatMap((at) => [
      svg('line', { class: 'grid', x1: EDGE.left, x2: width - EDGE.right, y1: y(at), y2: y(at) }),
      svg('text', { class: 'tick', x: EDGE.left - 6, y: y(at) + 4, 'text-anchor': 'end' }, shortNumber(at)),
    ]),
    svg('text', { class: 'axis', transform: `translate(11 ${(HEIGHT - EDGE.bottom + EDGE.top) / 2}) rotate(-90)`, 'text-anchor': 'middle' }, name));
}

/**
 * @param {string} id
 * @param {string} text
 * @param {import('./dom.js').Child[]} children
 */
function frame(id, text, ...children) {
  return svg('svg', { id, role: 'img', 'aria-label': text, viewBox: `0 0 ${width} ${HEIGHT}` }, ...children);
}

/** @param {[string, string][]} items */
function legend(items) {
  return el('ul', { class: 'legend' }, ...items.map(([name, text]) => el('li', {},
    el('span', { class: `key key-${name}`, 'aria-hidden': 'true' }), text)));
}

/** @param {number} value */
function shortNumber(value) {
  return value >= 10_000 ? new Intl.NumberFormat('en', { notation: 'compact' }).format(value) : value.toLocaleString('en');
}
