// The format of the Go plugin: which names mean something, and what their
// contents say.

import { formatKey, parseKey, unmapped } from './address.js';

/**
 * @typedef {import('./address.js').Key} Key
 * @typedef {{container: string, interface?: string}} Owner
 */

/**
 * What stands under a record's name: nothing, a reservation, something that is
 * no record, or a record without an owner that its writer was killed over.
 * @typedef {{tag: 'nobody'} | {tag: 'owner', val: Owner} | {tag: 'foreign'} | {tag: 'torn'}} Found
 */

/** @type {Found} */
export const NOBODY = Object.freeze({ tag: 'nobody' });
/** @type {Found} */
const FOREIGN = Object.freeze({ tag: 'foreign' });
/** @type {Found} */
const TORN = Object.freeze({ tag: 'torn' });

/**
 * Whether the address can be reserved.
 * @param {Found} found
 */
export function isFree(found) {
  return found.tag === 'nobody' || found.tag === 'torn';
}

/**
 * @param {Found} found
 * @param {Owner} owner
 */
export function isHeldBy(found, owner) {
  return found.tag === 'owner'
    && found.val.container === owner.container
    && found.val.interface === owner.interface;
}

/** No record is longer, in bytes. */
const LONGEST = 4096;

/** No container id is longer. */
const LONGEST_CONTAINER = 1024;

/**
 * What a file says that has the name of a record.
 * @param {string | undefined} text nothing where what is there is no text
 * @returns {Found}
 */
export function classify(text) {
  if (text === undefined || isLonger(text, LONGEST)) {
    return FOREIGN;
  }
  const content = trim(text);
  if (content === '') {
    return TORN;
  }
  const end = content.indexOf('\r\n');
  const container = end < 0 ? content : content.slice(0, end);
  const name = end < 0 ? undefined : content.slice(end + 2);
  const isRecord = isContainerId(container) && (name === undefined || isInterfaceName(name));
  return isRecord ? { tag: 'owner', val: { container, interface: name } } : FOREIGN;
}

/**
 * The content of the record of an attachment.
 * @param {{container: string, interface: string}} owner
 */
export function render(owner) {
  return `${owner.container}\r\n${owner.interface}`;
}

const encoder = new TextEncoder();

/**
 * Whether a text has more bytes than that. It has at least as many as units of
 * UTF-16, and at most three for each.
 * @param {string} text
 * @param {number} most
 */
export function isLonger(text, most) {
  return text.length > most
    || (text.length * 3 > most && encoder.encode(text).length > most);
}

/** @param {string} text */
function isContainerId(text) {
  return text.length <= LONGEST_CONTAINER && /^[A-Za-z0-9][A-Za-z0-9_.-]*$/.test(text);
}

/** @param {string} text */
function isInterfaceName(text) {
  return text !== '' && !isLonger(text, 15) && text !== '.' && text !== '..'
    && !/[/:\p{White_Space}]/u.test(text);
}

/**
 * `String.trim` takes other characters for blanks than Go and Rust do.
 * @param {string} text
 */
function trim(text) {
  return text.replace(/^\p{White_Space}+|\p{White_Space}+$/gu, '');
}

const MARKER = 'last_reserved_ip.';

/**
 * What a file name means, if anything: the record of an address, what an
 * unfinished writer of another version left of one, or the address last
 * reserved for the range set of this index.
 * @param {string} name
 * @returns {{tag: 'record' | 'temporary', address: Key} | {tag: 'marker', index: number} | undefined}
 */
export function parseName(name) {
  if (name.startsWith(MARKER)) {
    const index = parseIndex(name.slice(MARKER.length));
    return index === undefined ? undefined : { tag: 'marker', index };
  }
  if (name.startsWith('.')) {
    const address = name.endsWith('.tmp') ? canonical(name.slice(1, -4)) : undefined;
    return address === undefined ? undefined : { tag: 'temporary', address };
  }
  const address = canonical(name);
  return address === undefined ? undefined : { tag: 'record', address };
}

/** @param {string} text */
function parseIndex(text) {
  const index = /^(?:0|[1-9]\d{0,9})$/.test(text) ? Number(text) : undefined;
  return index !== undefined && index < 2 ** 32 ? index : undefined;
}

/**
 * An address in the one form in which a record is named: `2001:DB8::1` is
 * another file than `2001:db8::1`, and nobody looks for it.
 * @param {string} text
 */
function canonical(text) {
  const address = parseKey(text);
  // The parser takes but one form of IPv4. A mapped address is an IPv4
  // address, and has that one's name.
  const isName = address !== undefined
    && (typeof address === 'number' || (unmapped(address) === address && formatKey(address) === text));
  return isName ? address : undefined;
}

/** @param {Key} address */
export function temporaryName(address) {
  return `.${formatKey(address)}.tmp`;
}

/** @param {number} index */
export function markerName(index) {
  return MARKER + index;
}

/**
 * Reads a marker. It is only a hint, so whatever is no address is nothing.
 * @param {string} text
 * @returns {Key | undefined}
 */
export function parseMarker(text) {
  const address = parseKey(text);
  return address === undefined ? undefined : unmapped(address);
}
