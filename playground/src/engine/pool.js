// What of a range set can be given right now, as the component has it.

import { compareKeys, next, toKey } from './address.js';

/**
 * @typedef {import('./address.js').Key} Key
 * @typedef {import('./ledger.js').Ledger} Ledger
 * @typedef {import('./ledger.js').Past} Past
 */

/**
 * Which free addresses are held back, and from whom: times in milliseconds.
 * @typedef {{cooldownMs: number, keepMs: number, key: string | undefined}} HoldBack
 */

/** @typedef {{first: Key, last: Key}} Span */

/** @param {{first: import('./address.js').Address, last: import('./address.js').Address}} span */
export function toSpan({ first, last }) {
  return { first: toKey(first), last: toKey(last) };
}

/**
 * Whether an address with this past is held back. To whoever had it last it
 * never is.
 * @param {HoldBack} holdBack
 * @param {Past} past
 */
function holds({ cooldownMs, keepMs, key }, past) {
  if (past.key !== null && past.key === key) {
    return false;
  }
  const isCooling = past.releasedMsAgo < cooldownMs;
  const isKept = past.key !== null && past.latest && past.releasedMsAgo < keepMs;
  return isCooling || isKept;
}

/**
 * The lowest address of a span that can be given: free, and not held back.
 * @param {Ledger} ledger
 * @param {Span} span
 * @param {HoldBack} holdBack
 */
function firstGivable(ledger, { first, last }, holdBack) {
  let free = ledger.nextFree(first, last);
  while (free !== undefined) {
    const past = ledger.past(free);
    if (past === undefined || !holds(holdBack, past)) {
      return free;
    }
    const rest = next(free);
    free = rest <= last ? ledger.nextFree(rest, last) : undefined;
  }
  return undefined;
}

/**
 * The lowest address at or after `at` in any of the spans that can be given.
 * Addresses of the other family come before or after, as their order has it.
 * @param {Ledger} ledger
 * @param {Span[]} spans
 * @param {HoldBack} holdBack
 * @param {Key} at
 */
export function nextGivable(ledger, spans, holdBack, at) {
  /** @type {Key | undefined} */
  let found;
  for (const { first, last } of spans) {
    // Spans are in the order of the configuration, not of addresses.
    const isPassed = compareKeys(last, at) < 0
      || (found !== undefined && compareKeys(found, first) < 0);
    if (!isPassed) {
      const from = compareKeys(at, first) > 0 ? at : first;
      const givable = firstGivable(ledger, { first: from, last }, holdBack);
      if (givable !== undefined && (found === undefined || compareKeys(givable, found) < 0)) {
        found = givable;
      }
    }
  }
  return found;
}
