// The first visit: what it loads, and from where.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';

import { MOST_AT_FIRST } from '../../build.mjs';
import { AT_MOST, ROOT, site, visit, withBrowser } from './harness.js';
import { eventually, Person, SMALL } from './person.js';

withBrowser();

test('little is loaded before somebody asks for more', async (t) => {
  const page = await visit(t, await site());
  const person = new Person(page);
  await person.carriedOut();
  await page.waitForLoadState('networkidle');
  const loaded = () => {
    const entries = [
      ...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource'),
    ];
    return /** @type {PerformanceResourceTiming[]} */ (entries)
      .filter(({ name }) => name.startsWith('http'))
      .map(({ name, transferSize, encodedBodySize }) => ({ name, transferSize, encodedBodySize }));
  };
  // Each worker has a list of its own.
  const lists = [await page.evaluate(loaded)];
  for (const worker of page.workers()) lists.push(await worker.evaluate(loaded));
  const all = lists.flat();
  const sum = (/** @type {'transferSize' | 'encodedBodySize'} */ what) =>
    all.reduce((total, each) => total + each[what], 0);
  t.diagnostic(`${all.length} files, ${sum('transferSize')} bytes with their headers, ${sum('encodedBodySize')} without`);
  for (const wanted of ['index.html', '/component/host-local.core.wasm', '/component/simulator.core.wasm']) {
    const found = all.some(({ name, encodedBodySize }) =>
      (wanted === 'index.html' ? new URL(name).pathname === '/' : name.endsWith(wanted)) && encodedBodySize > 0);
    assert.ok(found, `${wanted} is not among what was counted`);
  }
  assert.ok(sum('transferSize') < MOST_AT_FIRST, `wanted less than ${MOST_AT_FIRST}`);
  const later = all.filter(({ name }) => /\/(policies|transpiler)\//.test(name));
  assert.deepEqual(later, [], 'this is for those who use a policy');
});

/**
 * The site works there, policies included.
 * @param {import('node:test').TestContext} t
 * @param {string} url
 */
async function works(t, url) {
  const page = await visit(t, url);
  const person = new Person(page);
  await person.begin(SMALL);
  await person.bePatient();
  await page.getByLabel('Example policy').selectOption('spread');
  await person.press('Use it');
  await eventually(() => person.text('#policy-says'), (says) => says.startsWith('/policies/spread.wasm is known'));
  await person.settled();
  await person.add('a');
  await eventually(() => person.story(), (story) => story.startsWith('a got 10.1.0.'));
}

test('it may be served below any path', async (t) => {
  await works(t, await site('/some/where/'));
});

test('the web server of Python does as well', async (t) => {
  const server = spawn('python3', ['-u', '-m', 'http.server', '0', '--bind', '127.0.0.1'], {
    cwd: join(ROOT, 'dist'), stdio: ['ignore', 'pipe', 'ignore'],
  });
  t.after(() => { server.kill(); });
  const port = await new Promise((done, failed) => {
    let said = '';
    server.stdout.on('data', (text) => {
      said += text;
      const found = /port (\d+)/.exec(said);
      if (found !== null) done(found[1]);
    });
    server.on('exit', () => failed(new Error(`it ended: ${said}`)));
    setTimeout(() => failed(new Error(`it names no port: ${said}`)), AT_MOST).unref();
  });
  await works(t, `http://127.0.0.1:${port}/playground/`);
});
