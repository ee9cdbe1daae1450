// Makes JavaScript of a component, with jco's transpiler: a megabyte or three,
// so that it is loaded only where somebody brings a policy.

/**
 * @typedef {[string, Uint8Array<ArrayBuffer>][]} Files
 * @typedef {(component: Uint8Array, options: object) => {files: Files}} Generate
 */

/**
 * A component, transpiled: the text of a module, and core modules by the names
 * that it asks for.
 * @typedef {{source: string, modules: Map<string, Uint8Array<ArrayBuffer>>}} Transpiled
 */

/**
 * A module that jco has made. `instantiate` can be called any number of times,
 * and waits for nothing.
 * @typedef {object} Module
 * @property {(
 *   getCoreModule: (name: string) => WebAssembly.Module,
 *   imports: object,
 *   instantiateCore?: InstantiateCore,
 * ) => any} instantiate
 */

/**
 * @typedef {(module: WebAssembly.Module, imports?: WebAssembly.Imports)
 *   => WebAssembly.Instance} InstantiateCore
 */

/**
 * @param {string} url of jco's `js-component-bindgen-component.js`
 * @returns {Promise<Generate>}
 */
export async function loadTranspiler(url) {
  const { $init, generate } = await import(url);
  await $init;
  return generate;
}

/** What the site's own components are transpiled with, too. */
const OPTIONS = {
  name: 'component',
  map: [],
  instantiation: { tag: 'sync' },
  noNodejsCompat: true,
  noTypescript: true,
  base64Cutoff: 0,
};

/**
 * @param {Uint8Array} component
 * @param {Generate} generate
 * @returns {Transpiled}
 */
export function transpile(component, generate) {
  const { files } = generate(component, OPTIONS);
  const source = files.find(([name]) => name.endsWith('.js'));
  if (source === undefined) {
    throw new Error('the transpiler made no module');
  }
  return {
    source: strict(new TextDecoder().decode(source[1])),
    modules: new Map(files.filter(([name]) => name.endsWith('.wasm'))),
  };
}

/**
 * A text that is no UTF-8 is a fault, and one that begins with U+FEFF keeps
 * it: jco's decoder would make another text of either. Whoever instantiates
 * may bring a decoder, to know how much it is that is handed over.
 * @param {string} source
 */
function strict(source) {
  return source.replaceAll(
    'new TextDecoder()',
    "(imports.decoder ?? new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }))",
  );
}

/**
 * Node imports no blobs, and a page may not be allowed to import data.
 * @param {string} source
 * @returns {Promise<Module>}
 */
export async function importModule(source) {
  if (globalThis.process?.versions?.node !== undefined) {
    return import(`data:text/javascript;charset=utf-8,${encodeURIComponent(source)}`);
  }
  const url = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
  try {
    return await import(url);
  } finally {
    URL.revokeObjectURL(url);
  }
}
