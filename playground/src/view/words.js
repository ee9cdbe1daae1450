// What happened and what is, in words. Pure.

import { cellBlock, lastOf } from './geometry.js';
import { holderOf } from './model.js';
import { blockText, countText } from './numbers.js';
import { CODE, heldBack, markerIn, momentOf, spanAt, STATES, stateOf } from './pool.js';

/** @typedef {import('./types.js').Frame} Frame */
/** @typedef {import('./model.js').Model} Model */
/** @typedef {import('./model.js').Entry} Entry */
/** @typedef {import('./pool.js').Pool} Pool */
/** @typedef {import('./pool.js').PoolRange} PoolRange */
/** @typedef {import('./geometry.js').Block} Block */

/** Notes are of this shape: an address or a span, and why. */
const NOTE = /^([0-9a-fA-F:.]+(?:-[0-9a-fA-F:.]+)?): (.*)$/;

/**
 * "1 d 2 h", "3 min 5 s", "250 ms": the two largest parts.
 * @param {number} ms
 */
export function durationText(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = Math.floor(ms / 1000);
  const parts = [
    [Math.floor(seconds / 86400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ];
  const first = parts.findIndex(([count]) => Number(count) > 0);
  return parts.slice(first, first + 2)
    .filter(([count]) => Number(count) > 0)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ');
}

/**
 * A moment, in UTC.
 * @param {number} ms since 1970
 */
export function clockText(ms) {
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) return `${ms} ms`;
  const text = date.toISOString();
  return `${text.slice(0, 10)} ${text.slice(11, ms % 1000 === 0 ? 19 : 23)}`;
}

/**
 * What an operation answered, as far as it can be told.
 * @typedef {object} Outcome
 * @property {boolean} ok
 * @property {string[]} addresses of a result, without prefix length
 * @property {number | undefined} code of an error
 * @property {string} text a line
 */

/**
 * @param {Frame} frame
 * @returns {Outcome}
 */
export function outcomeOf(frame) {
  const answer = readObject(frame.answer);
  if (frame.status < 0) {
    return { ok: false, addresses: [], code: undefined, text: 'the component crashed' };
  }
  if (frame.status !== 0) {
    const code = typeof answer?.code === 'number' ? answer.code : undefined;
    const details = answer?.details ? `: ${answer.details}` : '';
    return { ok: false, addresses: [], code, text: `error ${code ?? '?'}: ${answer?.msg ?? frame.answer}${details}` };
  }
  const addresses = resultAddresses(answer);
  if (addresses.length > 0) {
    return { ok: true, addresses, code: undefined, text: addresses.join(', ') };
  }
  const released = releasedBy(frame);
  const text = released.length > 0 ? `released ${listText(released)}` : 'ok';
  return { ok: true, addresses, code: undefined, text };
}

/**
 * @param {string} text
 * @returns {Record<string, any> | undefined}
 */
function readObject(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Of a result of any version.
 * @param {Record<string, any> | undefined} result
 * @returns {string[]}
 */
function resultAddresses(result) {
  const all = Array.isArray(result?.ips)
    ? result.ips.map((/** @type {any} */ ip) => ip?.address)
    : [result?.ip4?.ip, result?.ip6?.ip];
  return all.filter((text) => typeof text === 'string').map((text) => text.split('/')[0]);
}

/**
 * The addresses whose records an operation removed.
 * @param {Frame} frame
 */
export function releasedBy(frame) {
  return frame.changes
    .filter(({ key, before, after }) => key.startsWith('f:') && before && !after)
    .map(({ key }) => key.slice(key.lastIndexOf('/') + 1))
    .filter((name) => /^[0-9a-f]*[.:]/.test(name));
}

/** @param {Frame} frame */
export function subjectText(frame) {
  if (frame.container === '') return '';
  return frame.interface === '' || frame.interface === 'eth0'
    ? frame.container
    : `${frame.container}/${frame.interface}`;
}

/**
 * "1 time", "2 times".
 * @param {number} count
 * @param {string} noun
 */
export function countedText(count, noun) {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}

/**
 * At most so many, and how many more.
 * @param {string[]} texts
 * @param {number} [most]
 */
export function listText(texts, most = 4) {
  const shown = texts.slice(0, most).join(', ');
  return texts.length > most ? `${shown} and ${texts.length - most} more` : shown;
}

/**
 * What an operation did, and why: a sentence, and what was passed over.
 * @param {Frame} frame
 * @returns {{sentence: string, notes: {what: string, why: string}[]}}
 */
export function story(frame) {
  const notes = frame.notes.map((note) => {
    const parts = NOTE.exec(note);
    return parts ? { what: parts[1], why: parts[2] } : { what: '', why: note };
  });
  return { sentence: sentenceOf(frame), notes };
}

/** @param {Frame} frame */
function sentenceOf(frame) {
  const outcome = outcomeOf(frame);
  const who = subjectText(frame);
  const released = releasedBy(frame);
  if (!outcome.ok) {
    const whose = who === '' ? '' : ` for ${who}`;
    return `${frame.command}${whose} failed: ${outcome.text}.`;
  }
  switch (frame.command) {
    case 'ADD':
      return `${who} got ${listText(outcome.addresses)}.`;
    case 'DEL':
      return released.length > 0
        ? `${who} gave back ${listText(released)}.`
        : `Nothing was reserved for ${who}; DEL succeeds all the same.`;
    case 'CHECK':
      return `${who} still has what it was given.`;
    case 'GC':
      return released.length > 0
        ? `GC released ${listText(released)}: whoever had them is not among the attachments that are alive.`
        : 'GC found nothing to release.';
    case 'STATUS':
      return 'An ADD would work.';
    case 'REBOOT':
      return 'The node booted: every container is gone, and no DEL comes for them. Their records stay.';
    default:
      return `${frame.command} succeeded.`;
  }
}

/**
 * All that is known of an address.
 * @typedef {object} Facts
 * @property {string} address
 * @property {string} state name of the state
 * @property {string} title of the state, in words
 * @property {string} owner or ''
 * @property {string} since or ''
 * @property {string} why an ADD would pass it over, or ''
 * @property {boolean} isMarker whether the round robin stands here
 */

/**
 * @param {Pool} pool
 * @param {PoolRange} range
 * @param {bigint} number
 * @param {string} text
 * @param {Model} model
 * @param {number} [waitMs]
 * @returns {Facts}
 */
export function factsOf(pool, range, number, text, model, waitMs = 0) {
  return factsAt(pool, range, number, text, model, momentOf(pool, model, waitMs));
}

/**
 * The same, for whoever needs it for many addresses at once.
 * @param {Pool} pool
 * @param {PoolRange} range
 * @param {bigint} number
 * @param {string} text
 * @param {Model} model
 * @param {import('./pool.js').Moment} moment
 * @returns {Facts}
 */
export function factsAt(pool, range, number, text, model, moment) {
  const entry = model.directory(pool.layout.directory).addresses.get(text);
  const base = pool.base(range, number, text);
  const code = entry ? stateOf(base, entry, model, moment) : base;
  const holder = entry?.record === undefined ? undefined : holderOf(entry.record);
  const marker = markerIn(pool, range.set, model);
  return {
    address: text,
    state: STATES[code].name,
    title: STATES[code].title,
    owner: holder ? attachmentText(holder) : keyText(entry),
    since: entry?.record !== undefined ? sinceText(entry, model) : '',
    why: whyNot(pool, range, number, code, base, entry, holder, moment),
    isMarker: marker?.family === range.family && marker.number === number,
  };
}

/** @param {{container: string, interface: string}} holder */
export function attachmentText(holder) {
  return holder.interface === '' ? holder.container : `${holder.container}/${holder.interface}`;
}

/** @param {Entry | undefined} entry */
function keyText(entry) {
  return entry?.past?.key ? `last had by ${entry.past.key}` : '';
}

/**
 * @param {Entry} entry
 * @param {Model} model
 */
function sinceText(entry, model) {
  if (entry.since === 0) return 'before the first operation';
  const frame = model.frames[entry.since - 1];
  return `operation ${entry.since}, ${clockText(model.startMs + frame.ms)}`;
}

/**
 * @param {Pool} pool
 * @param {PoolRange} range
 * @param {bigint} number
 * @param {number} code
 * @param {number} base
 * @param {Entry | undefined} entry
 * @param {{container: string, interface: string} | undefined} holder
 * @param {import('./pool.js').Moment} moment
 */
function whyNot(pool, range, number, code, base, entry, holder, moment) {
  if (code === CODE.reserved || code === CODE.stale) {
    const by = holder ? `held by container ${holder.container}${holder.interface === '' ? '' : `, interface ${holder.interface}`}` : 'held';
    return code === CODE.stale
      ? `${by}, which went with a reboot: GC releases it`
      : by;
  }
  if (code === CODE.foreign) return 'a file that is no record has its name';
  if (base === CODE.gateway) return 'is a gateway: never given';
  if (base === CODE.barred) return `is the network or broadcast address of ${range.subnet}: never given`;
  if (base === CODE.outside) {
    return `is not in the range ${blockEnds(range.family, range)}`;
  }
  if (base === CODE.excluded) return `is excluded${spanText(pool.exclude, range, number)}: never given unasked`;
  const isStatic = base === CODE.static
    ? [`is static${spanText(pool.static, range, number)}: given only to those who request it`]
    : [];
  if (!entry) return isStatic.join('; ');
  const held = heldBack(entry, moment);
  const reasons = [...isStatic];
  if (held.cooling > 0) {
    const unless = pool.layout.whenFull === 'use' ? ', unless nothing else is free' : '';
    reasons.push(`was released ${durationText(held.ago)} ago and cools for another ${durationText(held.cooling)}${unless}`);
  }
  if (held.kept > 0) {
    reasons.push(`is kept for ${entry.past?.key} for another ${durationText(held.kept)}, unless nothing else is free`);
  }
  if (reasons.length === 0 && entry.past && moment.cooldownMs > 0) {
    reasons.push('has cooled; addresses that were never used come first');
  }
  return reasons.join('; ');
}

/**
 * @param {import('./numbers.js').Family} family
 * @param {{first: bigint, last: bigint}} span
 */
function blockEnds(family, span) {
  const [first, last] = [span.first, span.last].map((number) => blockText(family, { first: number, bits: 0 }));
  return first === last ? first : `${first}-${last}`;
}

/**
 * @param {import('./pool.js').Span[]} spans
 * @param {PoolRange} range
 * @param {bigint} number
 */
function spanText(spans, range, number) {
  const span = spanAt(spans, range.family, number);
  return span ? ` (${blockEnds(range.family, span)})` : '';
}

/**
 * What a cell of many addresses is.
 * @param {PoolRange} range
 * @param {Block} block
 * @param {number} cell
 * @param {number} count how many are reserved
 */
export function cellText(range, block, cell, count) {
  const own = cellBlock(block, cell);
  const size = lastOf(own) - own.first + 1n;
  return {
    name: blockText(range.family, own),
    text: `${count.toLocaleString('en')} of ${countText(size)} addresses reserved`,
  };
}
