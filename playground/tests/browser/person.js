// What a person does on the page, and sees of it.

import assert from 'node:assert/strict';

import { AT_MOST } from './harness.js';

/** @typedef {import('playwright-core').Page} Page */

/** A network of five addresses, 10.1.0.2 to 10.1.0.6. */
export const SMALL = {
  cniVersion: '1.1.0',
  name: 'small',
  ipam: { type: 'host-local', subnet: '10.1.0.0/29' },
};

/**
 * Waits until something is as it is wanted; if it never is, tells how it was.
 * @template T
 * @param {() => Promise<T>} get
 * @param {T | ((found: T) => boolean)} wanted
 * @param {string} [what]
 */
export async function eventually(get, wanted, what) {
  const isWanted = typeof wanted === 'function'
    ? /** @type {(found: T) => boolean} */ (wanted)
    : (/** @type {T} */ found) => {
      try {
        assert.deepEqual(found, wanted);
        return true;
      } catch {
        return false;
      }
    };
  const end = Date.now() + AT_MOST;
  let found = await get();
  while (!isWanted(found) && Date.now() < end) {
    await new Promise((done) => void setTimeout(done, 30));
    found = await get();
  }
  if (typeof wanted === 'function') {
    assert.ok(isWanted(found), `${what ?? 'wanted something else'}: found ${JSON.stringify(found)}`);
  } else {
    assert.deepEqual(found, wanted, what);
  }
}

/** Somebody in front of a page. */
export class Person {
  /** @param {Page} page */
  constructor(page) {
    this.page = page;
  }

  /** @param {string} name */
  async press(name) {
    await this.page.getByRole('button', { name, exact: true }).click();
  }

  /** @param {string} name */
  async tab(name) {
    await this.page.getByRole('tab', { name, exact: true }).click();
  }

  /**
   * @param {string} label
   * @param {string} text
   */
  async write(label, text) {
    await this.page.getByLabel(label, { exact: true }).fill(text);
  }

  /** @param {object | string} config */
  async configure(config) {
    await this.tab('Configuration');
    await this.write('Network configuration', typeof config === 'string' ? config : JSON.stringify(config, null, 2));
  }

  /**
   * @param {string} container
   * @param {string} [args]
   */
  async add(container, args = '') {
    await this.write('Container', container);
    await this.write('CNI_ARGS', args);
    await this.press('ADD');
    await this.settled();
  }

  /** @param {string} attachment */
  async del(attachment) {
    await this.write('Attachment', attachment);
    await this.press('DEL');
    await this.settled();
  }

  /**
   * Policies are ended after so long.
   * @param {number} milliseconds
   */
  async limit(milliseconds) {
    await this.tab('Policy');
    await this.write('Milliseconds for one operation', String(milliseconds));
    await this.page.keyboard.press('Tab');
  }

  /** Policies that are meant to answer get all the time that a busy machine needs. */
  async bePatient() {
    await this.limit(AT_MOST);
  }

  /**
   * Opens a scenario as a file, and waits until it is carried out.
   * @param {string} text
   */
  async open(text) {
    const asked = this.page.waitForEvent('filechooser');
    await this.press('Open…');
    await (await asked).setFiles({
      name: 'scenario.json', mimeType: 'application/json', buffer: Buffer.from(text),
    });
    await eventually(() => this.text('#title'), JSON.parse(text).title);
    await this.carriedOut();
  }

  /**
   * Opens one of the examples, and waits until it is carried out.
   * @param {string} label
   */
  async example(label) {
    const examples = this.page.getByLabel('Example', { exact: true });
    // It is fetched first, and nothing tells of that; so the frames of before
    // are remembered.
    const before = await this.page.evaluateHandle(() => /** @type {any} */ (globalThis).wipam.frames);
    await examples.selectOption({ label });
    await this.page.waitForFunction((frames) => {
      const { wipam } = /** @type {any} */ (globalThis);
      return wipam.frames !== frames && wipam.busy === '' && wipam.ended;
    }, before, { timeout: 5 * AT_MOST });
    await eventually(() => examples.evaluate(
      (select) => /** @type {HTMLSelectElement} */ (select).selectedOptions[0]?.label), label);
  }

  /**
   * Begins with an empty network.
   * @param {{ipam: {subnet: string, [field: string]: any}, [field: string]: any}} network
   */
  async begin(network) {
    await this.carriedOut();
    await this.open(JSON.stringify({ wipam: 'scenario/1', title: 'Of a test', network, steps: [] }));
    await eventually(() => this.text('#map-where'), (where) => where.startsWith(network.ipam.subnet));
  }

  /**
   * Saves something that the dialog offers.
   * @param {string} name
   * @returns {Promise<Buffer>}
   */
  async save(name) {
    const parts = [];
    for await (const part of await (await this.#download(name)).createReadStream()) parts.push(part);
    return Buffer.concat(parts);
  }

  /**
   * Chromium drops downloads without a word beyond ten a second, which no
   * person would notice: then the button is pressed again.
   * @param {string} name
   */
  async #download(name) {
    for (let left = 5; left > 0; left--) {
      const download = this.page.waitForEvent('download', { timeout: 5_000 }).catch(() => undefined);
      await this.press(name);
      const begun = await download;
      if (begun !== undefined) return begun;
    }
    throw new Error(`${name}: nothing is saved`);
  }

  /** @param {string} selector */
  async text(selector) {
    return (await this.page.locator(selector).textContent()) ?? '';
  }

  /** What the page says of the operation. */
  story() {
    return this.text('#story');
  }

  // ------------------------------------------------------ behind the page

  /** Waits until nothing is being done. */
  async settled() {
    await this.page.waitForFunction(() => /** @type {any} */ (globalThis).wipam?.busy === '');
  }

  /** Waits until a scenario is open, and every operation of it done. */
  async carriedOut() {
    await this.page.waitForFunction(() => {
      const { wipam } = /** @type {any} */ (globalThis);
      return wipam?.busy === '' && wipam.ended;
    });
  }

  /** @returns {Promise<any[]>} */
  frames() {
    return this.page.evaluate(() => /** @type {any} */ (globalThis).wipam.frames);
  }

  /** @returns {Promise<number>} */
  position() {
    return this.page.evaluate(() => /** @type {any} */ (globalThis).wipam.position);
  }

  /**
   * State and owner of an address, as the map shows it.
   * @param {string} address
   */
  async state(address) {
    const facts = await this.page.evaluate(
      (text) => /** @type {any} */ (globalThis).wipam.state(text), address);
    return facts === undefined ? 'unknown' : `${facts.state} ${facts.owner}`.trim();
  }
}
