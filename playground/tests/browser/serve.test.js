// The server gives out what lies in its folder, and nothing else.

import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';

import { serve } from '../../serve.mjs';

/** @type {string} */
let folder;
/** @type {Awaited<ReturnType<typeof serve>>} */
let server;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wipam-serve-'));
  await mkdir(join(folder, 'site/engine'), { recursive: true });
  await mkdir(join(folder, 'site-2'));
  await writeFile(join(folder, 'secret.json'), '{}');
  await writeFile(join(folder, 'site-2/secret.json'), '{}');
  await writeFile(join(folder, 'site/index.html'), '<!doctype html>');
  await writeFile(join(folder, 'site/engine/worker.js'), '');
  await writeFile(join(folder, 'site/a.wasm'), new Uint8Array([0]));
  server = await serve({ root: join(folder, 'site'), under: '/below/' });
});

after(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

/**
 * Asks for a path just as it is written: `fetch` would tidy it up.
 * @param {string} path
 * @param {string} [method]
 * @returns {Promise<{status: number | undefined, type: string | undefined}>}
 */
function ask(path, method = 'GET') {
  const { hostname, port } = new URL(server.url);
  return new Promise((done, failed) => {
    const asked = request({ hostname, port, path, method }, (response) => {
      response.resume();
      response.on('end', () =>
        done({ status: response.statusCode, type: response.headers['content-type'] }));
    });
    asked.on('error', failed).end();
  });
}

test('files have their types', async () => {
  for (const [path, type] of [
    ['/below/', 'text/html; charset=utf-8'],
    ['/below/index.html?a=b', 'text/html; charset=utf-8'],
    ['/below/engine/worker.js', 'text/javascript; charset=utf-8'],
    ['/below/a.wasm', 'application/wasm'],
  ]) {
    assert.deepEqual(await ask(path), { status: 200, type }, path);
  }
});

test('nothing outside of the folder is given out', async () => {
  for (const path of [
    '/',
    '/index.html',
    '/below/../secret.json',
    '/below/../site-2/secret.json',
    '/below/..%2fsecret.json',
    '/below/%2e%2e/secret.json',
    '/below/engine/../../secret.json',
    '/below//etc/passwd',
    '/below/%00',
    '/below/%ff',
    '/below/engine/',
    '/below/missing.js',
  ]) {
    assert.equal((await ask(path)).status, 404, path);
  }
  assert.equal((await ask('/below/', 'POST')).status, 404);
});
