// What goes in and comes out of the page, and that it is the same natively.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { EXAMPLES } from '../../src/view/examples.js';
import { policy } from './fixtures.js';
import { ROOT, screenshot, site, visit, WIPAM, withBrowser } from './harness.js';
import { eventually, Person, SMALL } from './person.js';

withBrowser();

test('a broken configuration shows what the component says of it', async (t) => {
  const page = await visit(t, await site());
  const person = new Person(page);
  await person.begin(SMALL);
  for (const [config, says] of /** @type {[any, RegExp][]} */ ([
    ['{', /./],
    [{ ...SMALL, ipam: { type: 'host-local', subnet: '10.1.0.1/29' } }, /host bits/],
    [{ ...SMALL, ipam: { type: 'host-local', subnet: '10.1.0.0/29', rangeStart: '10.2.0.1' } }, /10\.2\.0\.1/],
  ])) {
    await person.configure(config);
    await eventually(() => person.text('#config-says'), (text) => says.test(text));
    await eventually(() => page.getByLabel('Network configuration').getAttribute('aria-invalid'), 'true');
    await eventually(() => page.locator('#map-note').isVisible(), true);
  }
  // An ADD with it fails for the same reason.
  const said = await person.text('#config-says');
  await screenshot(page, 'broken');
  await person.add('a');
  const answer = JSON.parse(await person.text('#exchange-stdout'));
  assert.equal(answer.code, 7);
  const reason = answer.details || answer.msg;
  assert.ok(said.includes(reason), `the page said ${said}, ADD ${reason}`);

  await person.configure(SMALL);
  await eventually(() => page.getByLabel('Network configuration').getAttribute('aria-invalid'), 'false');
  await eventually(() => page.locator('#map-note').isVisible(), false);
  await person.add('b');
  await eventually(() => person.story(), 'b got 10.1.0.2.');
});

test('a scenario goes round by its address, and as a file', async (t) => {
  const page = await visit(t, await site());
  const person = new Person(page);
  await person.begin({ ...SMALL, ipam: { ...SMALL.ipam, cooldown: 30 } });
  // The policy travels along.
  await person.bePatient();
  await page.getByLabel('A component (.wasm); dropping it on the page does as well').setInputFiles({
    name: 'trap.wasm', mimeType: 'application/wasm', buffer: Buffer.from(await policy('trap')),
  });
  await eventually(() => person.text('#policy-says'), (says) => says.startsWith('/policies/trap.wasm is known'));
  await person.settled();
  await person.add('a');
  await person.configure(SMALL);
  await person.add('a', 'IP=10.1.0.5');
  await person.add('b');
  await person.del('a/eth0');
  await person.write('Time', '1m');
  await person.press('Wait');
  await person.settled();
  await person.press('Reboot');
  await person.settled();
  const frames = await person.frames();
  assert.deepEqual(frames.map(({ command, status }) => `${command} ${status}`),
    ['ADD 1', 'ADD 0', 'ADD 0', 'DEL 0', 'REBOOT 0']);

  await person.press('Share and save…');
  await page.getByRole('dialog', { name: 'Share and save' }).waitFor();
  await screenshot(page, 'share');
  const address = await page.getByLabel('Address', { exact: true }).inputValue();
  const scenario = await person.save('Scenario');
  const answers = await person.save('Answers (JSON lines)');
  const summary = JSON.parse((await person.save('Summary (JSON)')).toString());
  const picture = (await person.save('Picture (SVG)')).toString();
  assert.equal(answers.toString(), frames.map(({ line }) => `${line}\n`).join(''));
  assert.equal(summary.operations, frames.length);
  assert.match(picture, /^<svg[^>]* xmlns="http:\/\/www\.w3\.org\/2000\/svg"/);
  await person.press('Close');

  const byAddress = await visit(t, address);
  const second = new Person(byAddress);
  await second.carriedOut();
  assert.deepEqual(await second.frames(), frames);

  const byFile = await visit(t, await site());
  const third = new Person(byFile);
  await third.carriedOut();
  await third.open(scenario.toString());
  assert.deepEqual(await third.frames(), frames);
});

test('an address or a file that is no scenario is refused in words', async (t) => {
  for (const [fragment, says] of [['#s=%%%', /address holds no scenario/], ['#s=AAAA', /address holds no scenario/]]) {
    const page = await visit(t, (await site()) + fragment);
    const alert = page.getByRole('alert');
    await eventually(() => alert.innerText(), (text) => /** @type {RegExp} */ (says).test(text));
  }
  const page = await visit(t, await site());
  const person = new Person(page);
  await person.carriedOut();
  const before = await person.frames();
  const asked = page.waitForEvent('filechooser');
  await person.press('Open…');
  const text = JSON.stringify({ wipam: 'scenario/1', network: SMALL, steps: [{ jump: 'high' }] });
  await (await asked).setFiles({ name: 'a.json', mimeType: 'application/json', buffer: Buffer.from(text) });
  await eventually(() => page.getByRole('alert').innerText(), (said) => said.includes('jump'));
  assert.deepEqual(await person.frames(), before);
});

test('the files of a directory are opened as a store', async (t) => {
  const page = await visit(t, await site());
  const person = new Person(page);
  await person.begin(SMALL);
  const asked = page.waitForEvent('filechooser');
  await person.press('Open…');
  await (await asked).setFiles([
    { name: '10.1.0.3', mimeType: '', buffer: Buffer.from('old\r\neth0') },
    { name: 'last_reserved_ip.0', mimeType: '', buffer: Buffer.from('10.1.0.3') },
    { name: 'lock', mimeType: '', buffer: Buffer.from('') },
  ]);
  await eventually(() => person.state('10.1.0.3'), 'reserved old/eth0');
  await person.settled();
  await person.add('new');
  await eventually(() => person.story(), 'new got 10.1.0.4.');
});

/**
 * Scenarios of all kinds, and the policies that they bring along.
 * @returns {Promise<Record<string, object>>}
 */
async function scenarios() {
  const trap = Buffer.from(await policy('trap')).toString('base64');
  const network = {
    cniVersion: '1.1.0',
    name: 'loaded',
    ipam: { type: 'host-local', subnet: '10.1.0.0/24', cooldown: 20 },
  };
  const load = {
    operations: 10_000, arrivals: '2s', lifetimes: '5m', names: 40,
    crashes: { share: 15, lifetime: '5s', restarts: 4 },
    lostDels: 2, reboots: '3h', gc: '1h', checks: 5,
  };
  return {
    load: { wipam: 'scenario/1', title: 'A load', seed: 7, network, steps: [{ load }] },
    'load-sticky': {
      wipam: 'scenario/1', title: 'A load of pods that come back', seed: 8,
      network: { ...network, ipam: { type: 'host-local', subnet: '10.1.0.0/23', sticky: true } },
      steps: [{ load: { ...load, operations: 2000 } }],
    },
    'load-random': {
      wipam: 'scenario/1', title: 'A load, at random', seed: 9,
      network: { ...network, ipam: { type: 'host-local', ranges: [[{ subnet: '10.1.0.0/25' }, { subnet: '10.1.1.0/25' }], [{ subnet: 'fd00::/64' }]], strategy: 'random' } },
      steps: [{ load: { ...load, operations: 2000 } }],
    },
    'load-zones': {
      wipam: 'scenario/1', title: 'A load, with a policy', seed: 10,
      network: { ...network, ipam: { type: 'host-local', subnet: '10.1.0.0/24', policy: { component: '/policies/zones.wasm', config: { zones: { sim: ['10.1.0.32/27', '10.1.0.128/25'] } } } } },
      components: { '/policies/zones.wasm': { file: 'zones.wasm' } },
      steps: [{ load: { ...load, operations: 2000 } }],
    },
    mixed: {
      wipam: 'scenario/1', title: 'Some of everything', start: 1_800_000_000_000, pace: '250ms',
      network: SMALL,
      components: { '/policies/trap.wasm': { wasm: trap } },
      files: { '10.1.0.2': 'old\r\neth0', 'last_reserved_ip.0': '10.1.0.2' },
      steps: [
        { add: 'a' }, { add: { container: 'a', interface: 'net1' } }, { check: 'a' }, { status: {} },
        { add: { container: 'b', args: 'IP=10.1.0.6' } }, { add: { container: 'c', args: 'IP=10.1.0.6' } },
        { add: 'd' }, { add: 'e' }, { wait: '1h' }, { del: 'a' }, { del: 'nobody' }, { reboot: {} },
        { gc: { keep: ['b/eth0'] } }, { gc: {} },
        { network: '{' }, { add: 'f' }, { del: 'b' },
        { network: { ...SMALL, ipam: { type: 'host-local', subnet: '10.1.0.0/29', policy: { component: '/policies/trap.wasm', onFailure: 'built-in' } } } },
        { add: 'g' }, { status: {} },
      ],
    },
  };
}

/**
 * Saves what is on the page, and compares it with what the program makes of the
 * scenario.
 * @param {import('node:test').TestContext} t
 * @param {Person} person
 * @param {string} [text] of the scenario, as it was opened; without it, as the page saves it
 */
async function compare(t, person, text) {
  await person.press('Share and save…');
  const scenario = text ?? (await person.save('Scenario')).toString();
  const answers = (await person.save('Answers (JSON lines)')).toString();
  const summary = JSON.parse((await person.save('Summary (JSON)')).toString());
  const picture = (await person.save('Picture (SVG)')).toString();
  await person.press('Close');
  const lines = answers.split('\n');
  assert.equal(lines.pop(), '');

  const folder = await mkdtemp(join(tmpdir(), 'wipam-simulate-'));
  t.after(() => rm(folder, { recursive: true }));
  const paths = {
    scenario: join(folder, 'scenario.json'),
    answers: join(folder, 'answers.jsonl'),
    picture: join(folder, 'picture.svg'),
  };
  await writeFile(paths.scenario, scenario);
  const said = execFileSync(WIPAM, [
    'simulate', paths.scenario, '--components', join(ROOT, 'dist/policies'), '--json',
    '--answers', paths.answers, '--picture', paths.picture,
  ], { stdio: 'pipe', encoding: 'utf8', maxBuffer: 1 << 30 });
  const native = await readFile(paths.answers, 'utf8');
  if (native !== answers) {
    const others = native.split('\n');
    const first = lines.findIndex((line, n) => line !== others[n]);
    assert.fail(first < 0
      ? `natively there are ${others.length - 1} operations, in the page ${lines.length}`
      : `operation ${first + 1} differs:\n  page   ${lines[first]}\n  native ${others[first]}`);
  }
  assert.deepEqual(JSON.parse(said), summary);
  assert.equal(await readFile(paths.picture, 'utf8'), picture);
}

for (const name of ['load', 'load-sticky', 'load-random', 'load-zones', 'mixed']) {
  test(`natively it answers the same, to the byte: ${name}`, async (t) => {
    const text = JSON.stringify((await scenarios())[name]);
    const page = await visit(t, await site());
    const person = new Person(page);
    await person.carriedOut();
    await person.bePatient();
    const began = performance.now();
    await person.open(text);
    const took = performance.now() - began;
    t.diagnostic(`${(await person.frames()).length} operations in ${took.toFixed(0)} ms`);
    await compare(t, person, text);
  });
}

for (const { group, examples } of EXAMPLES) {
  test(`natively the examples answer the same: ${group}`, async (t) => {
    const page = await visit(t, await site());
    const person = new Person(page);
    await person.carriedOut();
    await person.bePatient();
    for (const [id, title] of examples) {
      await person.example(title);
      const text = await readFile(join(ROOT, `playground/src/examples/${id}.json`), 'utf8');
      await t.test(title, (each) => compare(each, person, text));
    }
  });
}

test('natively it answers the same after going back and doing something else', async (t) => {
  const page = await visit(t, await site());
  const person = new Person(page);
  await person.carriedOut();
  await person.bePatient();
  // In the middle of a load, which ends there.
  const { load } = /** @type {any} */ (await scenarios());
  await person.open(JSON.stringify({ ...load, steps: [{ load: { ...load.steps[0].load, operations: 400 } }] }));
  await page.getByRole('slider', { name: 'Position' }).fill('217');
  await eventually(() => person.position(), 217);
  await person.add('late', 'IP=10.1.0.99');
  await person.write('Time', '10m');
  await person.press('Wait');
  await person.settled();
  await person.press('GC');
  await person.settled();
  assert.equal((await person.frames()).length, 219);
  await compare(t, person);

  // With a policy that remembers something.
  await person.example('A policy: quotas');
  await person.press('One operation back');
  await person.press('One operation back');
  const position = await person.position();
  await person.add('other', 'IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=web-9');
  assert.equal((await person.frames()).length, position + 1);
  await person.add('another', 'IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=web-10');
  await compare(t, person);
});

test('a long load is stopped and gone on with, and is saved as far as it came', async (t) => {
  const page = await visit(t, await site());
  const person = new Person(page);
  await person.begin(SMALL);
  await person.tab('Load');
  await page.getByLabel('Preset').selectOption({ label: 'Crash loops' });
  await page.getByRole('spinbutton', { name: 'Operations' }).fill('10000000');
  await person.press('Run the load');
  const done = () => page.evaluate(() => /** @type {any} */ (globalThis).wipam.frames.length);
  await eventually(done, (count) => count > 0);
  await person.press('Stop');
  await person.settled();
  const stopped = await done();
  assert.ok(stopped < 200_000, `${stopped} operations were done`);
  await eventually(() => person.text('#progress-text'), `Stopped after ${stopped.toLocaleString('en')} of 200,000 operations.`);
  await screenshot(page, 'load-stopped');
  await person.press('Go on');
  await eventually(done, (count) => count > stopped);
  await person.press('Stop');
  await person.settled();
  await person.press('To the start');
  await page.getByRole('slider', { name: 'Position' }).fill(String(stopped + 1));
  await eventually(() => person.position(), stopped + 1);
  // What comes later is dropped.
  await person.press('STATUS');
  await person.settled();
  assert.equal(await done(), stopped + 2);
  await compare(t, person);
});
