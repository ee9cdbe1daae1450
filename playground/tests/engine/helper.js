// What the tests need of the outside: the components, as the page has them.

import { readFile } from 'node:fs/promises';

import { Session } from '../../src/engine/session.js';
import { importModule, loadTranspiler, transpile } from '../../src/engine/transpile.js';

const DIST = new URL('../../../dist/', import.meta.url);

const TRANSPILER = new URL(
  '../../node_modules/@bytecodealliance/jco/obj/js-component-bindgen-component.js',
  import.meta.url,
);

/** @type {Promise<import('../../src/engine/transpile.js').Generate> | undefined} */
let loading;

export function transpiler() {
  loading ??= loadTranspiler(TRANSPILER.href);
  return loading;
}

/**
 * The bytes of something that was built.
 * @param {string} path below dist/
 */
export async function built(path) {
  return new Uint8Array(await readFile(new URL(path, DIST)));
}

/**
 * A component, as it is transpiled for the site.
 * @param {string} path below dist/
 * @returns {Promise<import('../../src/engine/plugin.js').Component>}
 */
export async function component(path) {
  const { source, modules } = transpile(await built(path), await transpiler());
  const compiled = new Map();
  for (const [name, bytes] of modules) {
    compiled.set(name, new WebAssembly.Module(bytes));
  }
  const { instantiate } = await importModule(source);
  return { instantiate, getCoreModule: (name) => compiled.get(name) };
}

/** Loaded once for all tests of a file. */
const host = Promise.all([component('wasm/host-local.wasm'), component('wasm/simulator.wasm')]);

/** A session, and the events that it told. */
export async function session() {
  const [plugin, simulator] = await host;
  /** @type {object[]} */
  const events = [];
  const session = new Session({
    plugin,
    simulator,
    transpiler,
    policyFile: (name) => built(`policies/${name}`),
    tell: (event) => events.push(event),
  });
  return { session, events };
}
