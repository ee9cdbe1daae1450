// Replays the recorded host-local cases against the component transpiled by
// jco, with the playground's store.
//
//     node playground/tests/recorded/replay.js COMPONENT.wasm [--cases DIR] [--only REGEX]
//
// Time stands still, and no policy is asked: no recorded case names one.
//
// The last line is "N passed, N failed, N skipped"; the exit status is 1 if a
// case failed, or none ran.

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

import { Disk, pathNames } from '../../src/engine/disk.js';
import { Directory } from '../../src/engine/directory.js';
import { StorageError } from '../../src/engine/ledger.js';
import { storage } from '../../src/engine/store.js';
import { importModule, loadTranspiler, transpile } from '../../src/engine/transpile.js';
import {
  acceptable, collapse, compare, DATA_DIR, directoryIn, invocation, load, skipReason, snapshot,
  writeFiles,
} from './cases.js';
import { parse } from './json.js';

/** Differences shown for each case. */
const MOST_SHOWN = 12;

const TRANSPILER = new URL(
  '../../node_modules/@bytecodealliance/jco/obj/js-component-bindgen-component.js',
  import.meta.url,
);

const CASES = new URL('../../../conformance/host-local/cases', import.meta.url);

/** @typedef {(imports: object) => any} Instantiate makes a fresh instance */

/**
 * Transpiles a component, as it is done for the page.
 * @param {string} path
 * @returns {Promise<Instantiate>}
 */
async function loadComponent(path) {
  const generate = await loadTranspiler(TRANSPILER.href);
  const { source, modules } = transpile(await readFile(path), generate);
  const { instantiate } = await importModule(source);
  const compiled = new Map();
  for (const [name, bytes] of modules) {
    compiled.set(name, new WebAssembly.Module(bytes));
  }
  return (imports) => instantiate((name) => compiled.get(name), imports);
}

/**
 * What the component may ask for besides storage.
 * @param {Directory} root
 * @param {string[]} warnings
 */
function environment(root, warnings) {
  return {
    resolvConf(/** @type {string} */ path) {
      const names = pathNames(path.startsWith('/') ? path : `${DATA_DIR}/${path}`);
      const file = names.reduce(
        (/** @type {import('../../src/engine/directory.js').Entry | undefined} */ at, name) =>
          (at instanceof Directory ? at.get(name) : undefined),
        root,
      );
      if (typeof file !== 'string') {
        throw new StorageError('io', `reading resolvConf ${path}: no such file`);
      }
      return file;
    },
    warn(/** @type {string} */ message) {
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

/**
 * What one step gives, in the form of `want`.
 * @param {Instantiate} instantiate
 * @param {any} test
 * @param {any} step
 * @param {Disk} disk
 */
function runStep(instantiate, test, step, disk) {
  /** @type {string[]} */
  const warnings = [];
  const { cni } = instantiate({
    'wipam:ipam/storage': storage(disk, () => 0),
    'wipam:ipam/environment': environment(disk.root, warnings),
    'wipam:ipam/policies': policies,
  });
  const got = invoke(cni, invocation(test, step));
  return warnings.length === 0 ? got : { ...got, stderr: warnings.join('\n') };
}

/**
 * @param {any} cni
 * @param {object} parameters
 */
function invoke(cni, parameters) {
  try {
    return printed(0, cni.invoke(parameters));
  } catch (/** @type {any} */ error) {
    // jco throws the `err` of a result with this property; all else is a trap
    // or a fault in an import, which no case allows.
    return Object.hasOwn(error, 'payload')
      ? printed(1, error.payload)
      : { rc: 'trap', text: String(error) };
  }
}

/**
 * @param {number} rc
 * @param {string} answer
 */
function printed(rc, answer) {
  const text = collapse(answer);
  try {
    return text === '' ? { rc } : { rc, out: parse(text) };
  } catch {
    return { rc, text };
  }
}

/**
 * Differences from the reference.
 * @param {Instantiate} instantiate
 * @param {any} test
 * @returns {import('./cases.js').Difference[]}
 */
function replay(instantiate, test) {
  const disk = new Disk();
  disk.make('/dev').set('null', '');
  const dataDir = pathNames(DATA_DIR).reduce(directoryIn, disk.root);
  writeFiles(dataDir, test.files ?? {});
  const start = snapshot(dataDir);
  const results = [];
  for (const step of test.steps) {
    writeFiles(dataDir, step.files ?? {});
    const got = runStep(instantiate, test, step, disk);
    results.push({ got, after: snapshot(dataDir) });
  }

  /** @type {import('./cases.js').Difference[] | undefined} */
  let nearest;
  for (const { isReference, wanted } of acceptable(test)) {
    const found = compare(test, wanted, start, results);
    if (found.length === 0) {
      return [];
    }
    if (isReference && (nearest === undefined || nearest.length > found.length)) {
      nearest = found;
    }
  }
  return nearest ?? [[0, 'the case says nothing of what is wanted']];
}

/**
 * @param {string} label
 * @param {any} test
 * @param {import('./cases.js').Difference[]} found
 */
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
    cases: { type: 'string', default: fileURLToPath(CASES) },
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
  const found = replay(instantiate, test);
  if (found.length === 0) {
    passed += 1;
  } else {
    failed += 1;
    report(label, test, found);
  }
}
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
