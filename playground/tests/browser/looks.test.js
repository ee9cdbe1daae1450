// Light and dark, wide and narrow, small and large.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { screenshot, site, visit, withBrowser } from './harness.js';
import { eventually, Person } from './person.js';

withBrowser();

const TABS = ['Configuration', 'Load', 'Policy', 'Map', 'Table', 'Charts'];

/**
 * How light the page is, from 0 to 1.
 * @param {import('playwright-core').Page} page
 */
function lightness(page) {
  return page.evaluate(() => {
    const canvas = new OffscreenCanvas(1, 1);
    const context = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext('2d'));
    for (const element of [document.documentElement, document.body]) {
      context.fillStyle = getComputedStyle(element).backgroundColor;
      context.fillRect(0, 0, 1, 1);
    }
    const [red, green, blue] = context.getImageData(0, 0, 1, 1).data;
    return (red + green + blue) / 3 / 255;
  });
}

for (const colorScheme of /** @type {const} */ (['light', 'dark'])) {
  test(`it is ${colorScheme} where the system is, unless it is told otherwise`, async (t) => {
    const page = await visit(t, await site(), { colorScheme });
    const person = new Person(page);
    await person.carriedOut();
    const isDark = async () => (await lightness(page)) < 0.5;
    assert.equal(await isDark(), colorScheme === 'dark');
    await screenshot(page, `${colorScheme}-first`);
    await person.example('Crash loops, with cooldown');
    for (const tab of TABS) {
      await person.tab(tab);
      await screenshot(page, `${colorScheme}-${tab.toLowerCase()}`);
    }
    await person.tab('Map');
    // The button goes from system to light, and from there to dark.
    await person.press('Theme: system');
    assert.equal(await isDark(), false);
    await person.press('Theme: light');
    assert.equal(await isDark(), true);
    await page.reload();
    await person.carriedOut();
    assert.equal(await isDark(), true, 'it was forgotten');
    await page.getByRole('button', { name: 'Theme: dark' }).waitFor();
  });
}

for (const width of [360, 768, 1280]) {
  test(`nothing is wider than a window of ${width} pixels`, async (t) => {
    const page = await visit(t, await site(), { viewport: { width, height: 800 }, ...(width < 500 && { hasTouch: true, isMobile: true }) });
    const person = new Person(page);
    await person.carriedOut();
    const fits = async (/** @type {string} */ where) => {
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${where}: ${wide} pixels too wide`);
    };
    for (const label of ['A single subnet', 'A huge IPv6 prefix', 'A policy: quotas', 'No JSON']) {
      await person.example(label);
      for (const tab of TABS) {
        await person.tab(tab);
        await fits(`${label}, ${tab}`);
      }
      await person.tab('Map');
      await screenshot(page, `width-${width}-${label.toLowerCase().replace(/\W+/g, '-')}`, true);
    }
    for (const name of ['Share and save…', 'About']) {
      await person.press(name);
      await fits(name);
      await screenshot(page, `width-${width}-${name.toLowerCase().replace(/\W+/g, '-')}`);
      await person.press('Close');
    }
  });
}

test('whatever can be used has a name', async (t) => {
  const page = await visit(t, await site());
  const person = new Person(page);
  await person.carriedOut();
  const client = await page.context().newCDPSession(page);
  await client.send('Accessibility.enable');
  const roles = ['button', 'textbox', 'combobox', 'checkbox', 'slider', 'spinbutton', 'tab', 'listbox', 'link', 'application', 'img', 'table'];
  for (const tab of TABS) {
    await person.tab(tab);
    const { nodes } = await client.send('Accessibility.getFullAXTree');
    const nameless = nodes
      .filter(({ ignored, role }) => !ignored && roles.includes(role?.value))
      .filter(({ name, role }) => !name?.value && role?.value !== 'table')
      .map(({ role, backendDOMNodeId }) => `${role?.value} ${backendDOMNodeId}`);
    assert.deepEqual(nameless, [], tab);
  }
});

test('a full /16 is drawn, and the page answers', async (t) => {
  const page = await visit(t, await site());
  const person = new Person(page);
  await person.carriedOut();
  const began = performance.now();
  await page.getByLabel('Example', { exact: true }).selectOption({ label: 'A full /16 (65,600 operations)' });
  await eventually(async () => (await person.text('#progress-text')).includes('operations'), true);
  // While it fills, the page answers.
  await person.tab('Table');
  await eventually(() => page.locator('#panel-table').isVisible(), true);
  await person.tab('Map');
  await screenshot(page, 'full-16-filling');
  await page.waitForFunction(() => {
    const { wipam } = /** @type {any} */ (globalThis);
    return wipam.busy === '' && wipam.ended && wipam.frames.length > 65_000;
  }, undefined, { timeout: 300_000 });
  t.diagnostic(`filled in ${((performance.now() - began) / 1000).toFixed(1)} s`);
  await screenshot(page, 'full-16');
  await eventually(() => person.state('10.1.200.200'), (state) => state.startsWith('reserved'));

  // Going back and forth draws it anew.
  const timed = async (/** @type {string} */ what, /** @type {() => Promise<void>} */ work) => {
    await page.evaluate(() => { /** @type {any} */ (globalThis).wipam.redraws.length = 0; });
    const begin = performance.now();
    await work();
    await page.evaluate(() => new Promise((done) => void requestAnimationFrame(() => requestAnimationFrame(done))));
    const took = performance.now() - begin;
    const redraws = await page.evaluate(() => /** @type {any} */ (globalThis).wipam.redraws);
    const most = Math.max(...redraws.map((/** @type {any} */ { ms }) => ms));
    const cells = Math.max(...redraws.map((/** @type {any} */ each) => each.cells));
    assert.ok(redraws.length > 0, `${what}: nothing was drawn`);
    t.diagnostic(`${what}: ${took.toFixed(0)} ms from input to picture, redraws of ${cells} cells at most ${most.toFixed(1)} ms`);
  };
  await timed('one operation back', () => person.press('One operation back'));
  await timed('to the start', () => person.press('To the start'));
  assert.equal(await person.position(), 0);
  await timed('to the end', () => person.press('To the last operation'));
  await timed('zooming in', () => person.press('Zoom in'));
  await timed('zooming out', () => person.press('Zoom out'));
  await page.locator('#map').focus();
  await timed('an arrow key', () => page.keyboard.press('ArrowDown'));
  await page.locator('#map').dblclick({ position: { x: 300, y: 300 } });
  await eventually(() => page.evaluate(() => /** @type {any} */ (globalThis).wipam.block.bits), (bits) => bits < 16);
  await screenshot(page, 'full-16-zoomed');
  await person.add('one-more');
  await eventually(() => person.story(), (story) => story.startsWith('ADD for one-more failed: error 11: '));
});
