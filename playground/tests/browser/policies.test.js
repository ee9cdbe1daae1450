// Policies: those that come with the page, and those that mean harm.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { policy } from './fixtures.js';
import { screenshot, site, visit, WIPAM, withBrowser } from './harness.js';
import { eventually, Person, SMALL } from './person.js';

withBrowser();

/** A network of which zones gives each namespace a quarter. */
const WIDE = { cniVersion: '1.1.0', name: 'wide', ipam: { type: 'host-local', subnet: '10.1.0.0/24' } };
const POD = (/** @type {string} */ namespace) => `IgnoreUnknown=1;K8S_POD_NAMESPACE=${namespace};K8S_POD_NAME=web-0`;

for (const name of ['zones', 'zones-js']) {
  test(`${name} chooses`, async (t) => {
    const page = await visit(t, await site());
    const person = new Person(page);
    await person.begin(WIDE);
    await person.bePatient();
    await page.getByLabel('Example policy').selectOption(name);
    await person.press('Use it');
    await person.settled();
    await eventually(() => person.text('#policy-says'), (says) => says.startsWith(`/policies/${name}.wasm is known`));
    // It gives the second quarter to one of the two, and the first to the other.
    await person.add('vault', POD('bank'));
    await eventually(() => person.story(), 'vault got 10.1.0.64.');
    await person.add('web', POD('shop'));
    await eventually(() => person.story(), 'web got 10.1.0.2.');
    await person.add('other', POD('else'));
    await eventually(() => person.story(), 'other got 10.1.0.127.');
    assert.match(await person.text('#story-notes'), /polic/, 'nothing says that a policy chose');
    await screenshot(page, `policy-${name}`);
  });
}

/**
 * Lets something happen, while the page has to stay alive: its timers run, it
 * draws, and a click on another tab works.
 * @param {Person} person
 * @param {() => Promise<void>} begin
 */
async function whileAlive(person, begin) {
  const { page } = person;
  await page.evaluate(() => {
    const counts = { timers: 0, frames: 0 };
    Object.assign(globalThis, { counts });
    setInterval(() => { counts.timers += 1; }, 10);
    const frame = () => {
      counts.frames += 1;
      requestAnimationFrame(frame);
    };
    frame();
  });
  const counts = () => page.evaluate(() => ({ ... /** @type {any} */ (globalThis).counts }));
  await begin();
  assert.ok(await page.evaluate(() => /** @type {any} */ (globalThis).wipam.busy) !== '', 'it was over at once');
  const before = await counts();
  await eventually(counts, ({ timers, frames }) => timers > before.timers + 5 && frames > before.frames + 5);
  await person.tab('Table');
  await eventually(() => page.locator('#panel-table').isVisible(), true);
  await person.tab('Map');
  assert.ok(await page.evaluate(() => /** @type {any} */ (globalThis).wipam.busy) !== '', 'it was over while it was looked at');
  await screenshot(page, 'policy-busy');
  await person.settled();
}

for (const name of ['endless', 'greedy']) {
  test(`a policy that is ${name} is ended, and the page lives on`, async (t) => {
    const page = await visit(t, await site());
    const person = new Person(page);
    await person.begin(SMALL);
    // Long enough to look around meanwhile.
    await person.limit(5000);
    await page.getByLabel('A component (.wasm); dropping it on the page does as well').setInputFiles({
      name: `${name}.wasm`, mimeType: 'application/wasm', buffer: Buffer.from(await policy(name)),
    });
    await eventually(() => person.text('#policy-says'), (says) => says.startsWith(`/policies/${name}.wasm is known`));
    await person.settled();

    await person.write('Container', 'a');
    await whileAlive(person, () => person.press('ADD'));
    await eventually(() => person.story(), (story) => story.startsWith('ADD for a failed: error 103: '));
    const [frame] = await person.frames();
    assert.equal(frame.status, 1);
    assert.match(frame.answer, /was ended after 5000 ms/);
    // The lock file is made by whoever comes first.
    const changed = frame.changes.map((/** @type {any} */ { key }) => key).filter((/** @type {string} */ key) => !key.endsWith('/lock'));
    assert.deepEqual(changed, []);
    const alert = page.getByRole('alert');
    await eventually(() => alert.innerText(), (text) => text.includes(`/policies/${name}.wasm was ended after 5000 ms in operation 1`));
    await screenshot(page, `policy-${name}`);

    // It does not get another five seconds.
    await person.add('b');
    await eventually(() => person.story(), (story) => story.startsWith('ADD for b failed: error 103: '));

    // Where the strategy may decide, it does.
    await person.configure({ ...SMALL, ipam: { ...SMALL.ipam, policy: { component: `/policies/${name}.wasm`, onFailure: 'built-in' } } });
    await person.add('c');
    await eventually(() => person.story(), 'c got 10.1.0.2.');
    assert.match((await person.frames())[2].warnings.join(), /was ended after 5000 ms/);

    // Without it all is as ever.
    await person.configure(SMALL);
    await person.add('d');
    await eventually(() => person.story(), 'd got 10.1.0.3.');

    // It may try again, with less time.
    await person.limit(300);
    await page.getByTestId('policy-again').click();
    await person.settled();
    await person.configure({ ...SMALL, ipam: { ...SMALL.ipam, policy: { component: `/policies/${name}.wasm` } } });
    await person.add('e');
    await eventually(() => person.story(), (story) => story.includes('was ended after 300 ms'));
    const frames = await person.frames();
    assert.deepEqual(frames.map(({ status }) => status), [1, 1, 0, 0, 1]);
    assert.equal(await person.state('10.1.0.2'), 'reserved c/eth0');
  });
}

test('a policy that is ended in the middle of a load leaves what came before as it was', async (t) => {
  const page = await visit(t, await site());
  const person = new Person(page);
  await person.carriedOut();
  await person.limit(3000);
  const wasm = Buffer.from(await policy('moody')).toString('base64');
  const network = { ...WIDE, ipam: { ...WIDE.ipam, policy: { component: '/policies/moody.wasm' } } };
  const load = { operations: 200, arrivals: '2s', lifetimes: '1m', checks: 20 };
  const text = JSON.stringify({
    wipam: 'scenario/1', title: 'A moody policy', seed: 3, network,
    components: { '/policies/moody.wasm': { wasm } }, steps: [{ load }],
  });
  await person.open(text);
  const frames = await person.frames();
  assert.equal(frames.length, 200);
  const first = frames.find(({ status }) => status !== 0);
  assert.match(first.answer, /was ended after 3000 ms/);
  assert.ok(first.number > 5, `it is ended as early as in operation ${first.number}`);
  await eventually(() => page.getByRole('alert').innerText(), (said) => said.includes(`in operation ${first.number}.`));
  const later = frames.filter(({ command, number }) => command === 'ADD' && number > first.number);
  assert.ok(later.length > 20 && later.every(({ status }) => status === 1), 'it chose again after it was ended');

  // Natively it may go on; up to that operation nothing differs.
  const folder = await mkdtemp(join(tmpdir(), 'wipam-moody-'));
  t.after(() => rm(folder, { recursive: true }));
  const [scenario, answers] = [join(folder, 'scenario.json'), join(folder, 'answers')];
  await writeFile(scenario, text);
  execFileSync(WIPAM, ['simulate', scenario, '--answers', answers], { stdio: 'pipe' });
  const native = (await readFile(answers, 'utf8')).split('\n');
  const before = frames.slice(0, first.number - 1).map(({ line }) => line);
  assert.deepEqual(before, native.slice(0, before.length));
  assert.match(native[before.length] ?? '', /fuel/);
});

test('a policy that is dropped on the page is used, and a crash is told', async (t) => {
  const page = await visit(t, await site());
  const person = new Person(page);
  await person.begin(SMALL);
  await person.bePatient();
  await drop(person, 'trap.wasm', await policy('trap'));
  await eventually(() => page.getByLabel('Network configuration').inputValue(), (text) => text.includes('/policies/trap.wasm'));
  await person.settled();
  await person.add('a');
  await eventually(() => person.story(), (story) => story.startsWith('ADD for a failed: error 103: '));
  const sha256 = createHash('sha256').update(await policy('trap')).digest('hex');
  assert.ok((await person.story()).includes(sha256.slice(0, 12)), 'the error does not name the digest');

  // Neither of these is a policy; what is there stays as it is.
  await drop(person, 'nothing.wasm', new TextEncoder().encode('nothing'));
  await page.getByRole('alert').waitFor();
  await person.settled();
  assert.equal((await person.frames()).length, 1);
});

/**
 * @param {Person} person
 * @param {string} name
 * @param {Uint8Array} bytes
 */
async function drop({ page }, name, bytes) {
  const data = await page.evaluateHandle(([file, content]) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([Uint8Array.from(content)], file));
    return transfer;
  }, /** @type {[string, number[]]} */ ([name, [...bytes]]));
  for (const event of ['dragenter', 'dragover', 'drop']) {
    await page.dispatchEvent('body', event, { dataTransfer: data });
  }
}
