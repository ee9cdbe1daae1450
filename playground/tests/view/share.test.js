import assert from 'node:assert/strict';
import { test } from 'node:test';

import { fromBase64, fromFragment, toBase64, toFragment } from '../../src/view/share.js';

test('a text goes into an address and comes out again', async () => {
  for (const text of ['', '{}', 'ü € \u{1f600} \0 \r\n', 'x'.repeat(100_000)]) {
    const fragment = await toFragment(text);
    assert.match(fragment, /^#s=[A-Za-z0-9_-]*$/);
    assert.equal(await fromFragment(fragment), text);
  }
  assert.ok((await toFragment('x'.repeat(100_000))).length < 1000);
});

test('other fragments are none of ours', async () => {
  for (const fragment of ['', '#', '#map', 's=abc']) assert.equal(await fromFragment(fragment), undefined);
});

test('what cannot be read is refused', async () => {
  const good = await toFragment('{"wipam": "scenario/1"}');
  for (const fragment of ['#s=%', '#s=AAAA', `${good.slice(0, -6)}`, '#s=']) {
    await assert.rejects(fromFragment(fragment), /holds no scenario/, fragment);
  }
});

test('a short address that inflates to very much is refused', async () => {
  const bomb = await toFragment('0'.repeat(20 * 1024 * 1024));
  assert.ok(bomb.length < 100_000);
  await assert.rejects(fromFragment(bomb), /longer than/);
});

test('bytes in base64', () => {
  const bytes = Uint8Array.from({ length: 100_000 }, (_, n) => n % 256);
  assert.deepEqual(fromBase64(toBase64(bytes)), bytes);
});
