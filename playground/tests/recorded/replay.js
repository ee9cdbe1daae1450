// Replays the recorded host-local cases against the component transpiled by
// jco, with a store in memory.
//
//     node replay.js COMPONENT.wasm [--cases DIR] [--only REGEX]
//
// Time stands still, and no policy is asked: no recorded case names one.
//
// The last line is "N passed, N failed, N skipped"; the exit status is 1 if a
// case failed, or none ran.

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { transpile } from '@bytecodealliance/jco';

import {
  acceptable, collapse, compare, DATA_DIR, directoryIn, invocation, load, skipReason, snapshot,
  toText, writeFiles,
} from './cases.js';
import { parse } from './json.js';
import { memoryStorage, pathNames, StorageError } from './memory-store.js';

/** Differences shown for each case. */
const MOST_SHOWN = 12;

/**
 * Transpiles a component, with the options a browser needs.
 * @param {string} path
 * @returns {Promise<(imports: object) => Promise<any>>} makes a fresh instance
 */
async function loadComponent(path) {
  const { files } = await transpile(await readFile(path), {
    name: 'component',
    instantiation: 'async',
    nodejsCompat: false,
    wasiShim: false,
    typescript: false,
    minify: true,
    base64Cutoff: 0,
  });
  const modules = new Map();
  for (const [name, content] of Object.entries(files).filter(([name]) => name.endsWith('.wasm'))) {
    modules.set(name, await WebAssembly.compile(content));
  }
  // From memory: a file would need a package that makes it a module.
  const source = Buffer.from(files['component.js']).toString('base64');
  const { instantiate } = await import(`data:text/javascript;base64,${source}`);
  return (imports) => instantiate((name) => modules.get(name), imports);
}

/**
 * What the component may ask for besides storage.
 * @param {import('./memory-store.js').Directory} root
 * @param {string[]} warnings
 */
function memoryEnvironment(root, warnings) {
  return {
    resolvConf(path) {
      const names = pathNames(path.startsWith('/') ? path : `${DATA_DIR}/${path}`);
      const file = names.reduce((at, name) => (at instanceof Map ? at.get(name) : undefined), root);
      if (!(file instanceof Uint8Array)) {
        throw new StorageError('io', `reading resolvConf ${path}: no such file`);
      }
      return toText(file);
    },
    warn(message) {
      warnings.push(message);
    },
    timeMs: () => 0n,
    seed: () => 0n,
    noting: () => false,
    note() {},
  };
}

/** No policies: whoever asks one has a fault that a case would show. */
const policies = {
  choose() {
    throw new Error('a policy was asked');
  },
  ready() {
    throw new Error('a policy was to be ready');
  },
  released() {
    throw new Error('a policy was told of a release');
  },
};

/** What one step gives, in the form of `want`. */
async function runStep(instantiate, test, step, root) {
  const warnings = [];
  const { cni } = await instantiate({
    'wipam:ipam/storage': memoryStorage(root),
    'wipam:ipam/environment': memoryEnvironment(root, warnings),
    'wipam:ipam/policies': policies,
  });
  const got = invoke(cni, invocation(test, step));
  return warnings.length === 0 ? got : { ...got, stderr: warnings.join('\n') };
}

function invoke(cni, parameters) {
  try {
    return printed(0, cni.invoke(parameters));
  } catch (error) {
    // jco throws the `err` of a result with this property; all else is a trap
    // or a fault in an import, which no case allows.
    return Object.hasOwn(error, 'payload')
      ? printed(1, error.payload)
      : { rc: 'trap', text: String(error) };
  }
}

function printed(rc, answer) {
  const text = collapse(answer);
  try {
    return text === '' ? { rc } : { rc, out: parse(text) };
  } catch {
    return { rc, text };
  }
}

/** @returns {Promise<[number, string][]>} differences from the reference */
async function replay(instantiate, test) {
  const root = new Map([['dev', new Map([['null', new Uint8Array()]])]]);
  const dataDir = pathNames(DATA_DIR).reduce(directoryIn, root);
  writeFiles(dataDir, test.files ?? {});
  const start = snapshot(dataDir);
  const results = [];
  for (const step of test.steps) {
    writeFiles(dataDir, step.files ?? {});
    const got = await runStep(instantiate, test, step, root);
    results.push({ got, after: snapshot(dataDir) });
  }

  let nearest;
  for (const { isReference, wanted } of acceptable(test)) {
    const found = compare(test, wanted, start, results);
    if (found.length === 0) {
      return [];
    }
    if (isReference && !(nearest?.length <= found.length)) {
      nearest = found;
    }
  }
  return nearest;
}

function report(label, test, found) {
  console.log(`FAIL ${label}: ${test.why}`);
  for (const [n, text] of found.slice(0, MOST_SHOWN)) {
    const { cmd, id = 'c1', if: name = 'eth0' } = test.steps[n];
    console.log(`  step ${n} ${cmd} ${id}/${name}: ${text}`);
  }
  if (found.length > MOST_SHOWN) {
    console.log(`  ... ${found.length - MOST_SHOWN} more`);
  }
  if (test.known_differences) {
    console.log(`  (nor any of ${test.known_differences.length} known differences)`);
  }
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    cases: { type: 'string', default: fileURLToPath(new URL('../host-local/cases', import.meta.url)) },
    only: { type: 'string', default: '' },
  },
});
if (positionals.length !== 1) {
  console.error('usage: node replay.js COMPONENT.wasm [--cases DIR] [--only REGEX]');
  process.exit(2);
}

const instantiate = await loadComponent(positionals[0]);
let passed = 0;
let failed = 0;
let skipped = 0;
for (const { label, test } of load(values.cases, new RegExp(values.only))) {
  const reason = skipReason(test);
  if (reason !== undefined) {
    skipped += 1;
    console.log(`SKIP ${label}: ${reason}`);
    continue;
  }
  const found = await replay(instantiate, test);
  if (found.length === 0) {
    passed += 1;
  } else {
    failed += 1;
    report(label, test, found);
  }
}
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
