// The recorded cases: reading, preparing and comparing them, as far as cases
// in memory need it. What the format means is said by
// conformance/host-local/harness.py, which this follows function by function.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { DanglingLink, Directory } from '../../src/engine/directory.js';
import { Disk, pathNames } from '../../src/engine/disk.js';
import { kind, parse, same, stringify } from './json.js';

/** Stands for `${DATADIR}`. */
export const DATA_DIR = '/replay/datadir';

const BASE_ENV = {
  CNI_CONTAINERID: 'c1',
  CNI_IFNAME: 'eth0',
  CNI_NETNS: '/some/where',
  CNI_PATH: '/opt/cni/bin',
};

// ---------------------------------------------------------------- case files

/**
 * The cases whose name matches, with their names.
 * @param {string} directory
 * @param {RegExp} only
 */
export function load(directory, only) {
  const files = readdirSync(directory).filter((name) => name.endsWith('.json')).sort();
  return files.flatMap((file) => {
    const cases = /** @type {any[]} */ (parse(readFileSync(join(directory, file), 'utf8')).cases);
    const theme = file.slice(0, -'.json'.length);
    return cases
      .map((test) => ({ label: `${theme}/${test.name}`, test }))
      .filter(({ label }) => only.test(label));
  });
}

/**
 * Why a case cannot be replayed in memory, if so.
 * @param {any} test
 * @returns {string | undefined}
 */
export function skipReason(test) {
  if (test.sandbox) {
    return `needs the file system of sandbox ${test.sandbox}`;
  }
  const steps = /** @type {any[]} */ (test.steps);
  if (steps.some((step) => 'fsize' in step)) {
    return 'limits the size of files';
  }
  if (steps.some((step) => step.modes)) {
    return 'looks at the modes of files';
  }
  if (steps.some((step) => !environment(step).CNI_COMMAND)) {
    return 'without CNI_COMMAND the component is not called';
  }
  if (hasLiveLink(test)) {
    return 'has a symbolic link that leads somewhere';
  }
  if (stringify(test).includes(': file name too long')) {
    return 'the kernel limits the length of names';
  }
  return undefined;
}

/**
 * Whether a link of the case leads to a file of the case.
 * @param {any} test
 */
function hasLiveLink(test) {
  const steps = test.steps.map((/** @type {any} */ step) => step.files);
  const files = Object.entries(Object.assign({}, test.files, ...steps));
  const paths = files.map(([name]) => `\${DATADIR}/${name}`);
  return files.some(([, value]) =>
    isLink(value) && paths.some((path) => `${path}/`.startsWith(`${value.link}/`)));
}

/** @param {any} value */
function isLink(value) {
  return kind(value) === 'object' && 'link' in value;
}

// --------------------------------------------------------------- preparation

/** @param {string} text */
function expand(text) {
  return text
    .replaceAll('${DATADIR}', DATA_DIR)
    .replace(/\$\{PAD:(\d+)\}/g, (_, n) => 'x'.repeat(Number(n)))
    .replace(/\$\{NEST:(\d+)\}/g, (_, n) => '['.repeat(Number(n)) + ']'.repeat(Number(n)));
}

/**
 * Undoes {@link expand} as far as it can be told.
 * @param {string} text
 */
export function collapse(text) {
  return text
    .replaceAll(DATA_DIR, '${DATADIR}')
    .replace(/x{200,}/g, (run) => `\${PAD:${run.length}}`);
}

/**
 * @param {any} value
 * @returns {Uint8Array}
 */
function toBytes(value) {
  switch (kind(value)) {
    case 'list':
      return Buffer.concat(value.map(toBytes));
    case 'object':
      return Buffer.from(value.hex, 'hex');
    default:
      return Buffer.from(expand(value));
  }
}

/**
 * A file of these bytes.
 * @param {Uint8Array} bytes
 */
function toFile(bytes) {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return bytes;
  }
}

/** @param {string | Uint8Array} file */
function fromFile(file) {
  return typeof file === 'string' ? collapse(file) : { hex: Buffer.from(file).toString('hex') };
}

/**
 * Text that may not be UTF-8, as the native host hands it to the component.
 * @param {Uint8Array} bytes
 */
export function toText(bytes) {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}

/**
 * The variables of a step, those that are set.
 * @param {any} step
 * @returns {Record<string, string>}
 */
function environment(step) {
  const all = {
    ...BASE_ENV,
    CNI_COMMAND: step.cmd,
    ...('id' in step && { CNI_CONTAINERID: step.id }),
    ...('if' in step && { CNI_IFNAME: step.if }),
    ...step.env,
  };
  const set = Object.entries(all).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(set.map(([name, value]) => [name, toText(toBytes(value))]));
}

/**
 * What the native host makes of a step's environment and standard input.
 * @param {any} test
 * @param {any} step
 */
export function invocation(test, step) {
  const env = environment(step);
  const isMeant = ['1', 'true'].includes(env.CNI_NETNS_OVERRIDE?.toLowerCase());
  return {
    command: env.CNI_COMMAND,
    containerId: env.CNI_CONTAINERID ?? '',
    interfaceName: env.CNI_IFNAME ?? '',
    netns: env.CNI_NETNS ?? '',
    ownNetns: env.CNI_NETNS === '/proc/self/ns/net' && !isMeant,
    args: env.CNI_ARGS ?? '',
    path: env.CNI_PATH ?? '',
    // VERSION reads no standard input.
    config: env.CNI_COMMAND === 'VERSION' ? new Uint8Array() : standardInput(test, step),
  };
}

/**
 * @param {any} test
 * @param {any} step
 */
function standardInput(test, step) {
  if ('stdin' in step) {
    return toBytes(step.stdin);
  }
  const conf = 'conf' in step ? step.conf : test.conf;
  return toBytes(conf === undefined || conf === null ? '' : stringify(conf));
}

// ------------------------------------------------------------- the directory

/**
 * Makes the files of a case, or the edits of a step.
 * @param {Directory} root where `${DATADIR}` is
 * @param {Record<string, any>} files
 */
export function writeFiles(root, files) {
  for (const [key, value] of Object.entries(files)) {
    const name = expand(key);
    const counted = /^(.*)\{(\d+)\.\.(\d+)\}$/s.exec(name);
    if (counted) {
      const [, prefix, first, last] = counted;
      for (let n = Number(first); n <= Number(last); n++) {
        writeFiles(root, { [`${prefix}${n}`]: value });
      }
      continue;
    }
    const parents = pathNames(name);
    const last = /** @type {string} */ (parents.pop());
    const directory = parents.reduce(directoryIn, root);
    if (value === null) {
      directory.delete(last);
    } else if (name.endsWith('/')) {
      directoryIn(directory, last);
    } else if (isLink(value)) {
      directory.set(last, new DanglingLink(expand(value.link)));
    } else {
      directory.set(last, value === true ? '' : toFile(toBytes(value)));
    }
  }
}

/**
 * The directory of a name, made if it is missing.
 * @param {Directory} directory
 * @param {string} name
 * @returns {Directory}
 */
export function directoryIn(directory, name) {
  const entry = directory.get(name);
  return entry instanceof Directory ? entry : directory.make(name);
}

/**
 * What is there, in the form of `disk`.
 * @param {Directory} directory
 * @returns {Map<string, any>}
 */
export function snapshot(directory, prefix = '') {
  const state = new Map();
  for (const [name, entry] of directory.entries()) {
    const key = prefix + collapse(name);
    if (entry instanceof Directory) {
      state.set(`${key}/`, true);
      snapshot(entry, `${key}/`).forEach((value, below) => state.set(below, value));
    } else if (entry instanceof DanglingLink) {
      state.set(key, { link: collapse(entry.target) });
    } else {
      state.set(key, name === 'lock' ? true : fromFile(entry));
    }
  }
  return state;
}

/**
 * @param {Map<string, any>} before
 * @param {Map<string, any>} after
 */
function changes(before, after) {
  const delta = new Map([...after].filter(([key, value]) => !same(before.get(key), value)));
  for (const key of before.keys()) {
    if (!after.has(key)) {
      delta.set(key, null);
    }
  }
  return delta;
}

/**
 * `state` with the file edits of a step applied.
 * @param {Map<string, any>} state
 * @param {any} step
 */
function edited(state, { files = {} }) {
  const kept = new Map(state);
  for (const name of Object.keys(files).filter((key) => files[key] === null)) {
    const path = name.replace(/\/+$/, '');
    for (const key of state.keys()) {
      if (`${key}/`.startsWith(`${path}/`)) {
        kept.delete(key);
      }
    }
  }
  const made = new Disk().root;
  writeFiles(made, Object.fromEntries(Object.entries(files).filter(([, value]) => value !== null)));
  return new Map([...kept, ...snapshot(made)]);
}

// ----------------------------------------------------------------- comparing

/** @param {any} value */
function show(value) {
  const text = value === undefined ? 'nothing' : stringify(value);
  return text.length <= 160 ? text : `${text.slice(0, 160)}...`;
}

/** @param {any} value */
function isError(value) {
  return kind(value) === 'object' && 'code' in value && 'msg' in value;
}

/**
 * @param {any} want
 * @param {any} got
 * @param {any} rule
 * @returns {string[]}
 */
function compareError(want, got, rule) {
  if (!isError(got)) {
    return [`out: want error ${show(want)} got ${show(got)}`];
  }
  const found = [];
  if (![want.code, ...(rule.also_code ?? [])].includes(got.code)) {
    found.push(`out.code: want ${want.code} got ${show(got.code)}`);
  }
  if (typeof got.msg !== 'string' || got.msg === '') {
    found.push(`out.msg: want a text got ${show(got.msg)}`);
  } else if (!rule.loose) {
    const said = `${got.msg}\n${got.details ?? ''}`;
    for (const key of ['msg', 'details']) {
      if (!said.includes(want[key] ?? '')) {
        found.push(`out.${key}: want ${show(want[key])} got ${show(got[key] ?? '')}`);
      }
    }
  }
  const known = ['code', 'msg', 'details', 'cniVersion'];
  for (const key of Object.keys(got).filter((key) => !known.includes(key))) {
    found.push(`out.${key}: unexpected ${show(got[key])}`);
  }
  return found;
}

/**
 * @param {any} want
 * @param {any} got
 * @param {string} at
 * @returns {string[]}
 */
function compareValue(want, got, at) {
  if (same(want, got)) {
    return [];
  }
  if (kind(want) === 'object' && kind(got) === 'object') {
    const keys = new Set([...Object.keys(want), ...Object.keys(got)]);
    return [...keys].flatMap((key) => compareValue(want[key], got[key], `${at}.${key}`));
  }
  if (kind(want) === 'list' && kind(got) === 'list' && want.length === got.length) {
    return want.flatMap((/** @type {any} */ value, /** @type {number} */ n) => compareValue(value, got[n], `${at}[${n}]`));
  }
  return [`${at}: want ${show(want)} got ${show(got)}`];
}

/**
 * Differences in what one step printed and returned.
 * @param {any} want
 * @param {any} got
 */
function compareStep(want, got) {
  const found = [];
  const allowed = want.rc;
  if (!(got.rc === allowed || (allowed === 'nonzero' && got.rc !== 0)
      || (kind(allowed) === 'list' && allowed.includes(got.rc)))) {
    found.push(`rc: want ${show(allowed)} got ${show(got.rc)}`);
  }

  if ('code' in want) { // alternatives only
    const codes = [want.code].flat();
    if (!(isError(got.out) && got.out.msg
        && (codes.includes(got.out.code) || same(codes, ['any'])))) {
      found.push(`out: want an error with code ${show(codes)} got ${show(got.out)}`);
    }
  } else if (want.out !== 'any') {
    if (isError(want.out) && 'out' in got) {
      found.push(...compareError(want.out, got.out, want));
    } else {
      found.push(...compareValue(want.out, got.out, 'out'));
    }
    found.push(...compareValue(want.text, got.text, 'text'));
  }

  if (got.stderr && !want.stderr) {
    found.push(`stderr: want empty got ${show(got.stderr)}`);
  }
  return found;
}

/**
 * Whether a key names a directory or a lock file.
 * @param {string} key
 */
function isFrame(key) {
  return key.endsWith('/') || key.split('/').pop() === 'lock';
}

/** @typedef {[number, string]} Difference the number of a step, and what is different */

/**
 * Differences over the whole case.
 *
 * Directories and lock files that the reference makes in anything but a
 * successful ADD may be missing until an ADD succeeds there.
 * @param {any} test
 * @param {any[]} wanted what each step should do
 * @param {Map<string, any>} start
 * @param {{got: any, after: Map<string, any>}[]} results
 * @returns {Difference[]}
 */
export function compare(test, wanted, start, results) {
  /** @type {Difference[]} */
  const found = [];
  const optional = new Set();
  let before = start;
  for (const [n, { got, after }] of results.entries()) {
    const step = test.steps[n];
    const want = wanted[n];
    found.push(...compareStep(want, got).map((text) => /** @type {Difference} */ ([n, text])));
    if (want.disk === 'any') {
      before = after;
      continue;
    }
    const delta = Object.entries(want.disk ?? {});
    const expected = edited(before, step);
    for (const [key, value] of delta) {
      if (value === null) {
        expected.delete(key);
      } else {
        expected.set(key, value);
      }
      if (step.cmd === 'ADD' && want.rc === 0) {
        const parent = key.split('/').slice(0, -1).join('/');
        optional.delete(`${parent}/`);
        optional.delete(`${parent}/lock`);
      } else if (value !== null && isFrame(key)) {
        optional.add(key);
      }
    }
    for (const [key, value] of changes(expected, after)) {
      if (value !== null || !optional.has(key)) {
        found.push([n, `disk ${key}: want ${show(expected.get(key))} got ${show(after.get(key))}`]);
      }
    }
    before = expected;
  }
  return found;
}

/**
 * What the steps may do, one outcome after the other: what the reference did,
 * perhaps several things, and then the known differences.
 * @param {any} test
 * @returns {Iterable<{isReference: boolean, wanted: any[]}>}
 */
export function* acceptable(test) {
  const bases = /** @type {any[][]} */ (
    test.want_any ?? [test.steps.map((/** @type {any} */ step) => step.want)]);
  for (const wanted of bases) {
    yield { isReference: true, wanted };
  }
  for (const { steps } of test.known_differences ?? []) {
    for (const base of bases) {
      yield {
        isReference: false,
        wanted: base.map((want, n) => (n in steps ? differing(want, steps[n]) : want)),
      };
    }
  }
}

/**
 * Directories and locks that the reference makes in the step are implied.
 * @param {any} reference
 * @param {any} want
 */
function differing(reference, want) {
  const frame = Object.entries(reference.disk ?? {}).filter(
    ([key, value]) => value !== null && isFrame(key));
  return frame.length === 0 || want.disk === 'any'
    ? want
    : { ...want, disk: { ...Object.fromEntries(frame), ...want.disk } };
}
