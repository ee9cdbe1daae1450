// Whether a component is a policy: what it may import, and what it has to
// export. The words are those of the native engine.

import { Reader, sections } from './binary.js';

/** The interfaces that a policy gets. There is nothing else. */
const GRANTED = ['types', 'decision', 'pool', 'state', 'log'];

const CHOICE = 'wipam:ipam/choice';
const RELEASES = 'wipam:ipam/releases';

/** Magic word, version and layer. */
const COMPONENT = [0, 0x61, 0x73, 0x6d, 0x0d, 0, 1, 0];
const MODULE = [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0];

/**
 * What is wrong with a component before anything is compiled, if anything is.
 * @param {Uint8Array} bytes
 * @returns {string | undefined}
 */
export function wrongForm(bytes) {
  if (startsWith(bytes, MODULE)) {
    return 'it is a module, wanted a component';
  }
  return startsWith(bytes, COMPONENT) ? undefined : 'it is no component in binary form';
}

/**
 * @param {Uint8Array} bytes
 * @param {number[]} start
 */
function startsWith(bytes, start) {
  return start.every((byte, at) => bytes[at] === byte);
}

/**
 * The interfaces of a policy, by the names it has for them.
 * @typedef {{choice: string, releases: string | undefined}} Exports
 */

/**
 * Finds the interfaces of a policy, or throws what it has or lacks.
 * @param {Uint8Array} component
 * @returns {Exports}
 */
export function exportsOf(component) {
  const { imports, exports } = names(component);
  const unknown = imports.filter((name) => !isGranted(name));
  if (unknown.length > 0) {
    throw new Error(`it imports ${unknown.join(', ')}, and a policy gets nothing but `
      + `wipam:ipam/{${GRANTED.join(',')}}@0.1.0`);
  }
  const choice = exports.find((name) => isCompatible(name, CHOICE));
  if (choice === undefined) {
    const found = exports.length === 0 ? 'nothing' : exports.join(', ');
    throw new Error(`it exports ${found}, wanted ${CHOICE}@0.1.0`);
  }
  return { choice, releases: exports.find((name) => isCompatible(name, RELEASES)) };
}

/**
 * Later versions of 0.1 only add to it.
 * @param {string} name
 */
function isGranted(name) {
  return GRANTED.some((granted) => isCompatible(name, `wipam:ipam/${granted}`));
}

/**
 * @param {string} name
 * @param {string} wanted without its version
 */
function isCompatible(name, wanted) {
  return name.startsWith(`${wanted}@`) && /^0\.1\.\d+$/.test(name.slice(wanted.length + 1));
}

const IMPORTS = 10;
const EXPORTS = 11;

/**
 * The names of what a component imports and exports.
 * @param {Uint8Array} component
 */
function names(component) {
  /** @type {string[]} */
  const imports = [];
  /** @type {string[]} */
  const exports = [];
  for (const { kind, content } of sections(component)) {
    const reader = new Reader(content);
    if (kind === IMPORTS) {
      imports.push(...reader.list(() => importName(reader)));
    } else if (kind === EXPORTS) {
      exports.push(...reader.list(() => exportName(reader)));
    }
  }
  return { imports, exports };
}

/** @param {Reader} reader */
function importName(reader) {
  const name = externName(reader);
  skipType(reader);
  return name;
}

/** @param {Reader} reader */
function exportName(reader) {
  const name = externName(reader);
  const isCore = reader.byte() === 0;
  if (isCore) {
    reader.byte();
  }
  reader.number();
  const hasType = reader.byte() === 1;
  if (hasType) {
    skipType(reader);
  }
  return name;
}

/** @param {Reader} reader */
function externName(reader) {
  const kind = reader.byte();
  if (kind > 1) {
    throw new Error('it has a name of an unknown kind');
  }
  return reader.text();
}

/**
 * What an import or export is: a kind, and a type by its number.
 * @param {Reader} reader
 */
function skipType(reader) {
  const kind = reader.byte();
  const isModule = kind === 0;
  const isType = kind === 3;
  if (kind === 2 || kind > 5) {
    throw new Error('it has an import or export of an unknown kind');
  }
  const hasNumber = isModule || isType ? reader.byte() !== 1 : true;
  if (hasNumber) {
    reader.number();
  }
}
