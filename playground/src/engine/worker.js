// The worker in which a session runs: messages in, messages out.

// They are made when the site is built.
// @ts-expect-error
import * as plugin from '../component/host-local.js';
// @ts-expect-error
import * as simulator from '../component/simulator.js';
import { Session } from './session.js';
import { loadTranspiler } from './transpile.js';

/** Methods of a session that the page may call. */
const CALLS = new Set([
  'open', 'restore', 'run', 'append', 'explain', 'layout', 'summary', 'series', 'picture',
  'component', 'banish',
]);

const COMPONENTS = new URL('../component/', import.meta.url);
const POLICIES = new URL('../policies/', import.meta.url);
const TRANSPILER = new URL('../transpiler/js-component-bindgen-component.js', import.meta.url);

/** @param {URL} url */
async function get(url) {
  const response = await fetch(url);
  if (!response.ok) {
    throw new Error(`${url.pathname} could not be loaded: ${response.status} ${response.statusText}`);
  }
  return response;
}

/**
 * Not every server knows the type that compiling while loading asks for.
 * @param {URL} url
 */
async function compile(url) {
  const response = await get(url);
  const type = response.headers.get('content-type') ?? '';
  return type.startsWith('application/wasm')
    ? WebAssembly.compileStreaming(response)
    : WebAssembly.compile(await response.arrayBuffer());
}

/**
 * @param {{instantiate: import('./transpile.js').Module['instantiate'], modules: string[]}} component
 * @returns {Promise<import('./plugin.js').Component>}
 */
async function load({ instantiate, modules }) {
  const compiled = new Map(await Promise.all(modules.map(async (name) =>
    /** @type {const} */ ([name, await compile(new URL(name, COMPONENTS))]))));
  const getCoreModule = (/** @type {string} */ name) =>
    /** @type {WebAssembly.Module} */ (compiled.get(name));
  return { instantiate, getCoreModule };
}

/** @type {Promise<import('./transpile.js').Generate> | undefined} */
let transpiler;

/** Loaded once; what could not be loaded is tried again. */
function loadedTranspiler() {
  transpiler ??= loadTranspiler(TRANSPILER.href).catch((error) => {
    transpiler = undefined;
    throw error;
  });
  return transpiler;
}

async function begin() {
  const [loadedPlugin, loadedSimulator] = await Promise.all([load(plugin), load(simulator)]);
  return new Session({
    plugin: loadedPlugin,
    simulator: loadedSimulator,
    transpiler: loadedTranspiler,
    policyFile: async (name) =>
      new Uint8Array(await (await get(new URL(encodeURIComponent(name), POLICIES))).arrayBuffer()),
    tell: (event) => postMessage(event),
  });
}

/** @type {Promise<any>} */
const session = begin();
// Whoever calls is told.
session.catch(() => {});

/** Calls are carried out one after the other. @type {Promise<void>} */
let last = Promise.resolve();

/** @param {{id: number, call: string, args: any[]}} message */
async function answer({ id, call, args }) {
  try {
    if (!CALLS.has(call)) {
      throw new Error(`there is no call ${call}`);
    }
    postMessage({ id, result: await (await session)[call](...args) });
  } catch (error) {
    postMessage({ id, error: error instanceof Error ? error.message : String(error) });
  }
}

addEventListener('message', ({ data }) => {
  last = last.then(() => answer(data));
});
