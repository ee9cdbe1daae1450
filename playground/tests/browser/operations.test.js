// Operations, one after the other, as a person does them.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { screenshot, site, visit, withBrowser } from './harness.js';
import { eventually, Person, SMALL } from './person.js';

withBrowser();

/** The exit status, as the page has it at the bottom of what happened. */
const EXIT = /^exit status (\d)/;

test('a pool is filled, says so, and gives again what came back', async (t) => {
  const page = await visit(t, await site());
  const person = new Person(page);
  await person.begin(SMALL);

  for (const [n, container] of ['a', 'b', 'c', 'd', 'e'].entries()) {
    await person.add(container);
    const address = `10.1.0.${n + 2}`;
    await eventually(() => person.story(), `${container} got ${address}.`);
    assert.equal(await person.state(address), `reserved ${container}/eth0`);
  }
  await screenshot(page, 'operations-full');

  await person.add('f');
  await eventually(() => person.story(), (story) => story.startsWith('ADD for f failed: error 11: '));
  const error = JSON.parse(await person.text('#exchange-stdout'));
  assert.equal(error.code, 11);
  // The page says it in the component's words.
  assert.ok((await person.story()).includes(error.msg), error.msg);
  assert.equal(EXIT.exec(await person.text('#exchange-status'))?.[1], '1');
  assert.match(await person.text('[data-testid=operation-6]'), /✗ error 11/);
  await screenshot(page, 'operations-exhausted');

  await person.press('STATUS');
  await person.settled();
  await person.del('c/eth0');
  await eventually(() => person.story(), 'c gave back 10.1.0.4.');
  assert.doesNotMatch(await person.state('10.1.0.4'), /reserved/);

  await person.add('f');
  await eventually(() => person.story(), 'f got 10.1.0.4.');
  assert.equal(await person.state('10.1.0.4'), 'reserved f/eth0');
  assert.equal(EXIT.exec(await person.text('#exchange-status'))?.[1], '0');

  // CHECK, GC and the rest of the bar.
  await person.write('Attachment', 'f/eth0');
  await person.press('CHECK');
  await person.settled();
  await eventually(() => person.story(), 'f still has what it was given.');
  await person.write('Alive', 'a b/eth0');
  await person.press('GC');
  await person.settled();
  await eventually(() => person.story(), (story) => story.startsWith('GC released 10.1.0.'));
  assert.equal(await person.state('10.1.0.2'), 'reserved a/eth0');
  await person.press('Reboot');
  await person.settled();
  assert.equal(await person.state('10.1.0.2'), 'stale a/eth0');
});

test('stepping goes back and forth, and another operation drops the later ones', async (t) => {
  const page = await visit(t, await site());
  const person = new Person(page);
  await person.begin(SMALL);
  await person.add('a');
  await person.add('b');
  await person.del('a/eth0');

  const shows = async (/** @type {number} */ position, /** @type {string[]} */ ...states) => {
    await eventually(() => person.position(), position);
    for (const [n, state] of states.entries()) {
      await eventually(() => person.state(`10.1.0.${n + 2}`), state, `10.1.0.${n + 2} at ${position}`);
    }
    // What is seen follows as well.
    const selected = page.getByRole('listbox', { name: 'Operations' }).getByRole('option', { selected: true });
    await eventually(() => selected.getAttribute('data-testid'), `operation-${position}`);
  };
  const a = 'reserved a/eth0';
  const b = 'reserved b/eth0';

  await shows(3, 'free', b);
  await person.press('One operation back');
  await shows(2, a, b);
  await eventually(() => person.story(), 'b got 10.1.0.3.');
  await person.press('One operation back');
  await shows(1, a, 'free');
  await person.press('To the start');
  await shows(0, 'free', 'free');
  await person.press('One operation on');
  await shows(1, a, 'free');
  await page.getByTestId('operation-2').click();
  await shows(2, a, b);
  await person.press('To the last operation');
  await shows(3, 'free', b);
  const slider = page.getByRole('slider', { name: 'Position' });
  await slider.focus();
  await page.keyboard.press('ArrowLeft');
  await shows(2, a, b);
  await page.keyboard.press('Home');
  await shows(0, 'free', 'free');

  await person.press('One operation on');
  await shows(1, a, 'free');
  await eventually(() => person.text('#op-note'),
    'The 2 operations after this point will be dropped by the next one.');
  await person.add('z');
  await shows(2, a, 'reserved z/eth0');
  const frames = await person.frames();
  assert.deepEqual(frames.map(({ container }) => container), ['a', 'z']);
  await eventually(() => page.locator('#op-note').isVisible(), false);

  // Playing ends at the last operation.
  await page.getByLabel('Speed').selectOption('100');
  await person.press('Play');
  await shows(2, a, 'reserved z/eth0');
  await page.getByRole('button', { name: 'Play', exact: true }).waitFor();
});

test('the table and the details tell the same as the map', async (t) => {
  const page = await visit(t, await site());
  const person = new Person(page);
  await person.begin(SMALL);
  await person.add('a');
  await person.tab('Table');
  const row = page.getByRole('row').filter({ has: page.getByRole('rowheader', { name: '10.1.0.2', exact: true }) });
  await eventually(() => row.innerText(), (text) => text.includes('reserved') && text.includes('a/eth0'));
  await page.getByLabel('State').selectOption({ label: 'gateway' });
  await eventually(() => page.locator('#table-rows tr').count(), 1);
  await page.getByLabel('State').selectOption('');
  await page.getByLabel('Text').fill('a/eth0');
  await eventually(() => page.locator('#table-rows tr').count(), 1);
  await screenshot(page, 'table');

  await person.tab('Map');
  const map = page.locator('#map');
  await map.focus();
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await eventually(() => person.text('#details h3'), '10.1.0.2');
  assert.match(await person.text('#details'), /a\/eth0/);
  await eventually(() => person.text('#map-spoken'), (said) => said.startsWith('10.1.0.2: reserved, a/eth0'));

  await person.tab('Charts');
  await eventually(() => page.locator('#chart-pool svg').count(), 1);
  await page.locator('#picture-box summary').click();
  await eventually(
    () => page.locator('#picture').evaluate((image) => /** @type {HTMLImageElement} */ (image).naturalWidth),
    (width) => width > 0);
  await screenshot(page, 'charts', true);
});

test('everything can be done with the keyboard', async (t) => {
  const page = await visit(t, await site());
  const person = new Person(page);
  await person.begin(SMALL);

  /** Goes on with Tab until something is reached, as somebody without a mouse does. */
  const reach = async (/** @type {string} */ id) => {
    for (let n = 0; n < 120; n += 1) {
      await page.keyboard.press('Tab');
      if (await page.evaluate(() => document.activeElement?.id) === id) return;
    }
    assert.fail(`#${id} cannot be reached with Tab`);
  };
  /** Replaces what is in a field. */
  const type = async (/** @type {string} */ text) => {
    await page.keyboard.press('Control+A');
    await page.keyboard.type(text);
  };

  await reach('config');
  await type(JSON.stringify({ ...SMALL, name: 'typed' }));
  await eventually(() => person.text('#config-says'), (says) => says.includes('typed'));
  await reach('op-container');
  await type('typed');
  await page.keyboard.press('Enter');
  await eventually(() => person.story(), 'typed got 10.1.0.2.');
  await person.settled();
  await reach('op-attachment');
  await type('typed/eth0');
  await page.keyboard.press('Enter');
  await eventually(() => person.story(), 'typed gave back 10.1.0.2.');
  await person.settled();

  await reach('tab-map');
  await page.keyboard.press('ArrowRight');
  await eventually(() => page.locator('#panel-table').isVisible(), true);
  await page.keyboard.press('ArrowLeft');
  await eventually(() => page.locator('#panel-map').isVisible(), true);

  await reach('map');
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowRight');
  await eventually(() => person.text('#map-spoken'), (said) => said.startsWith('10.1.0.1: gateway'));

  await reach('operations-list');
  await page.keyboard.press('ArrowLeft');
  await eventually(() => person.position(), 1);
  await page.keyboard.press('Home');
  await eventually(() => person.position(), 0);
  await page.keyboard.press('End');
  await eventually(() => person.position(), 2);

  // Whatever has the focus can be seen to have it.
  await reach('copy-command');
  const outline = await page.evaluate(() => {
    const style = getComputedStyle(/** @type {Element} */ (document.activeElement));
    return style.outlineStyle !== 'none' || style.boxShadow !== 'none';
  });
  assert.ok(outline, 'the focus is not seen');

  // Dialogs open and close, and give the focus back.
  await page.evaluate(() => /** @type {HTMLElement | null} */ (document.activeElement)?.blur());
  await reach('share');
  await page.keyboard.press('Enter');
  await eventually(() => page.locator('#share-dialog').isVisible(), true);
  await page.keyboard.press('Escape');
  await eventually(() => page.locator('#share-dialog').isVisible(), false);
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'share');
});
