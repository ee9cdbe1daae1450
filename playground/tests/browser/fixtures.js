// Policies for the tests, made of their text.

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { componentEmbed, componentNew, parse } from '@bytecodealliance/jco';

/** @param {string} path from this file */
const beside = (path) => fileURLToPath(new URL(path, import.meta.url));

/**
 * A component of the world `policy`.
 * @param {string} name of a file in `fixtures/`
 * @returns {Promise<Uint8Array>}
 */
export async function policy(name) {
  const binary = await parse(await readFile(beside(`fixtures/${name}.wat`), 'utf8'));
  const embedded = await componentEmbed({
    binary,
    witPath: beside('../../../wit'),
    world: 'policy',
  });
  return componentNew(embedded, []);
}
