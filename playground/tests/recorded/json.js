// JSON in which 1 and 1.0 are two things and large numbers keep their digits:
// JSON.parse makes doubles of all of them.

/** A number that is no plain integer of at most 53 bits, as it is written. */
export class Numeral {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
  }

  toJSON() {
    return MARK + this.text;
  }
}

/** Begins what stands for a number within strings and keys. */
const MARK = '\0number:';

const STRING_OR_NUMBER =
  /"(?:[^"\\]|\\.)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/g;

/**
 * @param {string} text
 * @returns {any} integers as numbers, all other numbers as {@link Numeral}
 * @throws {SyntaxError}
 */
export function parse(text) {
  const key = JSON.stringify(MARK);
  const marked = text.replace(STRING_OR_NUMBER, (token) =>
    token[0] === '"' ? token : `{${key}:"${token}"}`);
  return JSON.parse(marked, (_, value) =>
    value !== null && Object.hasOwn(Object(value), MARK) ? number(value[MARK]) : value);
}

/** @param {string} text */
function number(text) {
  const value = Number(text);
  return Number.isSafeInteger(value) && String(value) === text ? value : new Numeral(text);
}

/** @param {any} value what {@link parse} returned, or a part of it */
export function stringify(value) {
  const text = JSON.stringify(value);
  const mark = JSON.stringify(MARK).slice(0, -1);
  return text.replaceAll(/"(?:[^"\\]|\\.)*"/g, (token) =>
    token.startsWith(mark) ? token.slice(mark.length, -1) : token);
}

/**
 * Equality in which the order of keys does not count.
 * @param {any} a
 * @param {any} b
 * @returns {boolean}
 */
export function same(a, b) {
  if (a === b) {
    return true;
  }
  if (kind(a) !== kind(b)) {
    return false;
  }
  switch (kind(a)) {
    case 'numeral':
      return a.text === b.text;
    case 'list':
      return a.length === b.length && a.every((/** @type {any} */ value, /** @type {number} */ n) => same(value, b[n]));
    case 'object': {
      const keys = Object.keys(a);
      return keys.length === Object.keys(b).length
        && keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]));
    }
    default:
      return false;
  }
}

/** @param {any} value */
export function kind(value) {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'list';
  if (value instanceof Numeral) return 'numeral';
  return typeof value;
}
