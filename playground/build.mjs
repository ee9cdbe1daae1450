// node playground/build.mjs [--out DIR] [--wasm DIR] [--policies DIR]
//
// Makes the playground: a folder of plain files that any web server can give
// out, under any path. There is no bundler; the modules of src/ are served as
// they are, but for their comments, beside
//
//     component/    the plugin and the simulator, transpiled ahead of time
//     policies/     the example policies, as components
//     transpiler/   what transpiles a policy inside the page
//
// The same inputs give the same bytes.

import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';

import { transpile } from '@bytecodealliance/jco';
import { minify } from 'terser';

import { FIRST } from './src/view/examples.js';

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = dirname(HERE);
const MODULES = join(HERE, 'node_modules/@bytecodealliance');

/** What the first visit may cost, in bytes as they are, not compressed. */
export const MOST_AT_FIRST = 1_000_000;

/** The components that every visit needs, and what makes them. */
const COMPONENTS = [
  { name: 'host-local', madeBy: 'cargo xtask dist' },
  { name: 'simulator', madeBy: 'cargo xtask playground --build-only' },
];

/** The policies that the examples use. */
const POLICIES = ['quota', 'spread', 'zones', 'zones-js'];

/** What jco writes; policies are transpiled in the page with the same. */
const OPTIONS = {
  instantiation: /** @type {const} */ ('sync'),
  nodejsCompat: false,
  wasiShim: false,
  typescript: false,
  minify: true,
  base64Cutoff: 0,
};

/**
 * Comments are a third of the modules. Names and lines stay, so that whoever
 * looks behind the page, or reads an error, finds what is in src/.
 */
const WITHOUT_COMMENTS = {
  module: true,
  compress: false,
  mangle: false,
  format: { comments: false, beautify: true, indent_level: 1 },
};

/** A mistake that a person can put right, told without a stack. */
class Complaint extends Error {}

/**
 * @param {string} path
 * @param {string} madeBy
 * @returns {Promise<Buffer>}
 */
async function input(path, madeBy) {
  try {
    return await readFile(path);
  } catch (error) {
    throw new Complaint(`${shown(path)} is missing: ${madeBy} makes it`, { cause: error });
  }
}

/** @param {string} path */
function shown(path) {
  const inside = relative(ROOT, path);
  return inside.startsWith('..') ? path : inside;
}

/**
 * Every file below a folder, in an order that does not depend on the disk.
 * @param {string} folder
 * @param {string} [under]
 * @returns {Promise<string[]>} paths within the folder
 */
async function filesOf(folder, under = '') {
  const found = [];
  for (const entry of await readdir(join(folder, under), { withFileTypes: true })) {
    const path = under === '' ? entry.name : `${under}/${entry.name}`;
    if (entry.isDirectory()) {
      found.push(...(await filesOf(folder, path)));
    } else if (!entry.name.startsWith('.')) {
      found.push(path);
    }
  }
  return found.sort();
}

/**
 * Only a folder that this made, or an empty one, is emptied.
 * @param {string} out
 */
async function emptied(out) {
  if (existsSync(out)) {
    const names = await readdir(out);
    if (names.length > 0 && !names.includes('component')) {
      throw new Complaint(`${shown(out)} holds something else than a playground: not replacing it`);
    }
    await rm(out, { recursive: true });
  }
  await mkdir(out, { recursive: true });
}

/**
 * @param {string} path
 * @param {string | Uint8Array} content
 */
async function write(path, content) {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
}

/**
 * Transpiles a component into a folder. The module has jco's `instantiate`, and
 * `modules`: the names it will ask `getCoreModule` for, which have to be
 * compiled before, since instantiating waits for nothing.
 * @param {Uint8Array} component
 * @param {string} name
 * @param {string} folder
 */
export async function transpileInto(component, name, folder) {
  const { files } = await transpile(component, { ...OPTIONS, name });
  const modules = Object.keys(files).filter((file) => file.endsWith('.wasm')).sort();
  for (const [file, content] of Object.entries(files)) {
    const end = file === `${name}.js` ? `\nexport const modules=${JSON.stringify(modules)};\n` : '';
    await write(join(folder, file), end === '' ? content : Buffer.from(content) + end);
  }
}

/**
 * jco's transpiler, with its imports made relative: an import map would do in a
 * page, but workers have none.
 * @param {string} to
 */
async function copyTranspiler(to) {
  const bindgen = join(MODULES, 'jco/obj');
  const shims = join(MODULES, 'preview2-shim/lib/browser');
  const wanted = new Set();

  const name = 'js-component-bindgen-component.js';
  const source = await readFile(join(bindgen, name), 'utf8');
  const rewritten = source.replace(
    /(from ')@bytecodealliance\/preview2-shim\/(\w+)(';)/g,
    (_, before, module, after) => {
      wanted.add(`${module}.js`);
      return `${before}./preview2-shim/${module}.js${after}`;
    },
  );
  const left = /^import .* from '(?!\.)(.*)';$/m.exec(rewritten);
  if (left !== null) {
    throw new Complaint(`jco's transpiler imports ${left[1]}, which no page could find`);
  }
  await write(join(to, name), rewritten);
  for (const file of (await readdir(bindgen)).sort()) {
    if (/^js-component-bindgen-component\.core\d*\.wasm$/.test(file)) {
      await copyFile(join(bindgen, file), join(to, file));
    }
  }
  await copyFile(join(MODULES, 'jco/LICENSE'), join(to, 'LICENSE'));

  // A set that grows while it is walked: what a shim imports comes along.
  for (const file of wanted) {
    const shim = await readFile(join(shims, file), 'utf8');
    for (const [, imported] of shim.matchAll(/^(?:import|export) .* from "\.\/(.*)";$/gm)) {
      wanted.add(imported);
    }
    await write(join(to, 'preview2-shim', file), shim);
  }
  await copyFile(join(MODULES, 'preview2-shim/LICENSE'), join(to, 'preview2-shim/LICENSE'));
}

/**
 * A file of src/ as it is given out.
 * @param {string} path
 */
async function served(path) {
  const content = await readFile(path);
  if (!path.endsWith('.js')) {
    return content;
  }
  const { code } = await minify(content.toString(), WITHOUT_COMMENTS);
  return `${code}\n`;
}

/**
 * What the first visit loads: all but what is fetched when somebody chooses it.
 * @param {string} file
 */
function isLoadedAtFirst(file) {
  const [folder] = file.split('/');
  return folder !== 'policies' && folder !== 'transpiler'
    && (folder !== 'examples' || file === `examples/${FIRST}.json`);
}

/**
 * A table of what the first visit loads, and how much that is.
 * @param {string} out
 */
async function measure(out) {
  const files = await filesOf(out);
  const rows = [];
  const later = { files: 0, size: 0, packed: 0 };
  const first = { size: 0, packed: 0 };
  for (const file of files) {
    const content = await readFile(join(out, file));
    const [size, packed] = [content.length, gzipSync(content, { level: 9 }).length];
    if (isLoadedAtFirst(file)) {
      rows.push([file, size, packed]);
      first.size += size;
      first.packed += packed;
    } else {
      later.files += 1;
      later.size += size;
      later.packed += packed;
    }
  }
  rows.push(['the first visit', first.size, first.packed]);
  rows.push([`loaded when used: ${later.files} files`, later.size, later.packed]);
  const width = Math.max(...rows.map(([name]) => String(name).length));
  console.log(`${''.padEnd(width)} ${'bytes'.padStart(9)} ${'gzip'.padStart(9)}`);
  for (const [name, size, packed] of rows) {
    console.log(`${String(name).padEnd(width)} ${String(size).padStart(9)} ${String(packed).padStart(9)}`);
  }
  return first.size;
}

/**
 * @param {{out: string, wasm: string, policies: string}} folders
 */
export async function build({ out, wasm, policies }) {
  const source = join(HERE, 'src');
  // All inputs before anything is thrown away.
  const index = join(source, 'index.html');
  if (!existsSync(index)) {
    throw new Complaint(`${shown(index)} is missing`);
  }
  const components = [];
  for (const { name, madeBy } of COMPONENTS) {
    components.push({ name, bytes: await input(join(wasm, `${name}.wasm`), madeBy) });
  }
  const examples = [];
  for (const name of POLICIES) {
    const path = join(policies, `${name}.wasm`);
    examples.push({ file: basename(path), bytes: await input(path, 'cargo xtask policies') });
  }

  await emptied(out);
  for (const { name, bytes } of components) {
    await transpileInto(bytes, name, join(out, 'component'));
  }
  for (const { file, bytes } of examples) {
    await write(join(out, 'policies', file), bytes);
  }
  await copyTranspiler(join(out, 'transpiler'));
  for (const file of await filesOf(source)) {
    if (!file.endsWith('.d.ts')) {
      await write(join(out, file), await served(join(source, file)));
    }
  }

  const size = await measure(out);
  if (size >= MOST_AT_FIRST) {
    throw new Complaint(`the first visit loads ${size} bytes, wanted less than ${MOST_AT_FIRST}`);
  }
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(resolve(process.argv[1])).href) {
  const { values } = parseArgs({
    options: {
      out: { type: 'string', default: join(ROOT, 'dist/playground') },
      wasm: { type: 'string', default: join(ROOT, 'dist/wasm') },
      policies: { type: 'string', default: join(ROOT, 'dist/policies') },
    },
  });
  try {
    await build({
      out: resolve(values.out),
      wasm: resolve(values.wasm),
      policies: resolve(values.policies),
    });
    console.log(`${shown(resolve(values.out))}: built`);
  } catch (error) {
    if (!(error instanceof Complaint)) {
      throw error;
    }
    console.error(`failed: ${error.message}`);
    process.exitCode = 1;
  }
}
