// Policies: those that come with the page, and people's own.

import { byId, el, oncePerFrame, replace } from './dom.js';
import { addressText } from './pool.js';
import { toBase64 } from './share.js';

/** @typedef {import('./pool.js').Pool} Pool */
/** @typedef {import('./pool.js').PoolRange} PoolRange */

/** Natively, too, that is the limit unless a configuration sets another. */
const LARGEST = 16 * 1024 * 1024;
const TRANSPILER = 'the translator (about 1 MB)';

/** @type {Record<string, {size: string, about: string, config: (pool: Pool | undefined) => any}>} */
const EXAMPLES = {
  zones: {
    size: '70 kB',
    about: 'Spans by namespace: K8S_POD_NAMESPACE=shop in CNI_ARGS gets the first quarter, bank the second, everybody else the rest.',
    config: zonesConfig,
  },
  quota: {
    size: '73 kB',
    about: 'So many addresses for each namespace: three for shop, five for others.',
    config: () => ({ limits: { shop: 3 }, default: 5 }),
  },
  spread: {
    size: '68 kB',
    about: 'Fills the ranges of a set side by side, by weight.',
    config: (pool) => ({ weights: Object.fromEntries((pool?.ranges ?? []).map(({ subnet }, n) => [subnet, n === 0 ? 3 : 1])) }),
  },
  'zones-js': { size: '1.2 MB', about: 'zones in JavaScript, with QuickJS inside.', config: zonesConfig },
};

/**
 * @param {Pool | undefined} pool
 * @returns {any}
 */
function zonesConfig(pool) {
  /** @type {Record<string, string[]>} */
  const zones = { shop: [], bank: [] };
  /** @type {string[]} */
  const rest = [];
  for (const range of pool?.ranges ?? []) {
    const quarter = (range.last - range.first + 1n) / 4n;
    if (quarter === 0n) continue;
    zones.shop.push(spanText(range, range.first, range.first + quarter - 1n));
    zones.bank.push(spanText(range, range.first + quarter, range.first + 2n * quarter - 1n));
    rest.push(spanText(range, range.first + 2n * quarter, range.last));
  }
  return { zones, default: rest };
}

/**
 * @param {PoolRange} range
 * @param {bigint} first
 * @param {bigint} last
 */
function spanText(range, first, last) {
  return `${addressText(range, first)}-${addressText(range, last)}`;
}

export class Policies {
  #select = byId('policy-example', HTMLSelectElement);
  #use = byId('policy-use', HTMLButtonElement);
  #about = byId('policy-about', HTMLElement);
  #file = byId('policy-file', HTMLInputElement);
  #known = byId('policies-known', HTMLElement);
  #limit = byId('policy-limit', HTMLInputElement);
  #says = byId('policy-says', HTMLElement);
  #redraw = oncePerFrame(() => this.#draw());

  /**
   * @param {import('./player.js').Player} player
   * @param {import('./editor.js').Editor} editor
   * @param {(work: () => Promise<void>) => void} attempt
   */
  constructor(player, editor, attempt) {
    this.player = player;
    this.editor = editor;
    this.attempt = attempt;
    for (const name of Object.keys(EXAMPLES)) this.#select.append(el('option', { value: name }, name));
    this.#select.addEventListener('change', this.#redraw);
    this.#use.addEventListener('click', () => attempt(() => this.#useExample(this.#select.value)));
    this.#file.addEventListener('change', () => {
      const file = this.#file.files?.[0];
      this.#file.value = '';
      if (file) attempt(() => this.useFile(file));
    });
    this.#limit.addEventListener('change', () => {
      const limit = Math.trunc(Number(this.#limit.value));
      if (limit >= 10 && limit <= 600_000) player.client.limitMs = limit;
      this.#limit.value = String(player.client.limitMs);
    });
    this.#limit.value = String(player.client.limitMs);
    for (const event of ['opened', 'busy', 'ended-policy']) player.addEventListener(event, this.#redraw);
    this.#draw();
  }

  /** @param {string} name */
  async #useExample(name) {
    this.#says.textContent = '';
    const example = EXAMPLES[name];
    const response = await fetch(new URL(`../policies/${name}.wasm`, import.meta.url));
    if (!response.ok) throw new Error(`policies/${name}.wasm could not be fetched: ${response.status}`);
    const bytes = new Uint8Array(await response.arrayBuffer());
    const path = `/policies/${name}.wasm`;
    await this.player.addPolicy(path, bytes, name, { file: `${name}.wasm` });
    this.#configure(path, example.config(this.editor.pool));
  }

  /** @param {File} file */
  async useFile(file) {
    this.#says.textContent = '';
    if (file.size > LARGEST) throw new Error(`${file.name} has ${file.size} bytes; a policy has at most ${LARGEST}`);
    const bytes = new Uint8Array(await file.arrayBuffer());
    const name = file.name.replace(/\.wasm$/i, '').replace(/[^A-Za-z0-9_.-]+/g, '-') || 'policy';
    const path = `/policies/${name}.wasm`;
    await this.player.addPolicy(path, bytes, name, { wasm: toBase64(bytes) });
    this.#configure(path, undefined);
  }

  /**
   * Names the policy in the configuration.
   * @param {string} path
   * @param {any} config undefined: what is there stays
   */
  #configure(path, config) {
    const isChanged = this.editor.change((network) => {
      const ipam = typeof network.ipam === 'object' && network.ipam !== null ? network.ipam : {};
      const policy = { ...ipam.policy, component: path, ...(config !== undefined && { config }) };
      return { ...network, ipam: { ...ipam, policy } };
    });
    this.#says.textContent = isChanged
      ? `${path} is known, and the configuration names it. The next operation uses it.`
      : `${path} is known. The configuration is no JSON object, so put this into it: "ipam": {"policy": {"component": ${JSON.stringify(path)}}}`;
    this.#draw();
  }

  #draw() {
    const { player } = this;
    const isBusy = player.busy !== '';
    const name = this.#select.value;
    const example = EXAMPLES[name];
    this.#about.textContent = `${example.about} Fetched from this site: the policy (${example.size}) and, once, ${TRANSPILER}.`;
    this.#use.disabled = this.#file.disabled = isBusy;
    const paths = Object.keys(player.scenario.components ?? {});
    replace(this.#known, ...paths.map((path) => {
      const why = player.banished.get(path);
      return el('li', {}, el('span', { class: 'mono' }, path),
        why !== undefined && ` ${why}, and fails since `,
        why !== undefined && el('button', {
          type: 'button',
          'data-testid': 'policy-again',
          disabled: isBusy,
          onclick: () => this.attempt(() => player.forgive(path)),
        }, 'Try the policy again'));
    }));
    byId('policies-known-box', HTMLElement).hidden = paths.length === 0;
  }
}
