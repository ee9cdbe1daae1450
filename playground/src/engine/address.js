// IP addresses as numbers and as text. Names of records are the canonical
// text (RFC 5952), so both directions have to agree with the native store.

/**
 * `ip-address` of the WIT package.
 * @typedef {{tag: 'ipv4', val: number} | {tag: 'ipv6', val: [number, number, number, number]}} Address
 */

/**
 * An address as a number: a `number` is one of IPv4, a `bigint` one of IPv6.
 * So IPv4 does not pay for the 128 bits of the other, and as keys of a map the
 * two are never the same.
 * @typedef {number | bigint} Key
 */

/**
 * @param {Address} address
 * @returns {Key}
 */
export function toKey({ tag, val }) {
  return tag === 'ipv4'
    ? val
    : (BigInt(val[0]) << 96n) | (BigInt(val[1]) << 64n) | (BigInt(val[2]) << 32n) | BigInt(val[3]);
}

/**
 * @param {Key} key
 * @returns {Address}
 */
export function fromKey(key) {
  return typeof key === 'number'
    ? { tag: 'ipv4', val: key }
    : { tag: 'ipv6', val: [part(key, 96n), part(key, 64n), part(key, 32n), part(key, 0n)] };
}

/**
 * @param {bigint} key
 * @param {bigint} shift
 */
function part(key, shift) {
  return Number(BigInt.asUintN(32, key >> shift));
}

/**
 * The number after this one; behind the last address of all it is none.
 * @param {Key} key
 * @returns {Key}
 */
export function next(key) {
  return typeof key === 'number' ? key + 1 : key + 1n;
}

/**
 * @param {Key} key
 * @returns {Key}
 */
export function previous(key) {
  return typeof key === 'number' ? key - 1 : key - 1n;
}

/**
 * For sorting: IPv4 before IPv6, then by number.
 * @param {Key} a
 * @param {Key} b
 */
export function compareKeys(a, b) {
  if (typeof a !== typeof b) {
    return typeof a === 'number' ? -1 : 1;
  }
  return a < b ? -1 : Number(a > b);
}

/** @param {Address} address */
export function toNumber(address) {
  return BigInt(toKey(address));
}

/**
 * @param {Address['tag']} tag
 * @param {bigint} number
 * @returns {Address}
 */
export function fromNumber(tag, number) {
  return fromKey(tag === 'ipv4' ? Number(number) : number);
}

/** @param {Address} address */
export function format(address) {
  return formatKey(toKey(address));
}

/** @param {Key} key */
export function formatKey(key) {
  return typeof key === 'number' ? formatIpv4(key) : formatIpv6(key);
}

/** @param {number} bits */
function formatIpv4(bits) {
  return `${bits >>> 24}.${(bits >>> 16) & 255}.${(bits >>> 8) & 255}.${bits & 255}`;
}

/** @param {bigint} number */
function formatIpv6(number) {
  if (isMapped(number)) {
    return `::ffff:${formatIpv4(Number(number & 0xffffffffn))}`;
  }
  const hex = number.toString(16).padStart(32, '0').match(/.{4}/g) ?? [];
  const groups = hex.map((group) => group.replace(/^0{1,3}/, ''));
  let start = 0;
  let length = 0;
  for (let at = 0; at < 8; at++) {
    let end = at;
    while (groups[end] === '0') end++;
    if (end - at > length) {
      [start, length] = [at, end - at];
    }
  }
  if (length < 2) {
    return groups.join(':');
  }
  return `${groups.slice(0, start).join(':')}::${groups.slice(start + length).join(':')}`;
}

/** @param {bigint} number */
function isMapped(number) {
  return number >> 32n === 0xffffn;
}

/**
 * An IPv4-mapped IPv6 address is the IPv4 address it stands for.
 * @param {Key} key
 * @returns {Key}
 */
export function unmapped(key) {
  return typeof key === 'bigint' && isMapped(key) ? Number(key & 0xffffffffn) : key;
}

/**
 * @param {string} text
 * @returns {Address | undefined}
 */
export function parse(text) {
  const key = parseKey(text);
  return key === undefined ? undefined : fromKey(key);
}

/**
 * @param {string} text
 * @returns {Key | undefined}
 */
export function parseKey(text) {
  return text.includes(':') ? parseIpv6(text) : parseIpv4(text);
}

const ZERO = 48;
const DOT = 46;

/**
 * Four decimal octets without leading zeros. By hand: all names of a large
 * directory come through here.
 * @param {string} text
 * @returns {number | undefined}
 */
function parseIpv4(text) {
  if (text.length > 15) {
    return undefined;
  }
  let bits = 0;
  let octet = 0;
  let digits = 0;
  let dots = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === DOT) {
      if (digits === 0) {
        return undefined;
      }
      bits = bits * 256 + octet;
      dots += 1;
      octet = 0;
      digits = 0;
    } else {
      if (code < ZERO || code > ZERO + 9 || (digits > 0 && octet === 0)) {
        return undefined;
      }
      octet = octet * 10 + code - ZERO;
      digits += 1;
      if (octet > 255) {
        return undefined;
      }
    }
  }
  return dots === 3 && digits > 0 ? bits * 256 + octet : undefined;
}

/**
 * @param {string} text
 * @returns {bigint | undefined}
 */
function parseIpv6(text) {
  const dotted = /^(.*:)([^:]*\.[^:]*)$/.exec(text);
  if (dotted) {
    const tail = parseIpv4(dotted[2]);
    if (tail === undefined) {
      return undefined;
    }
    text = `${dotted[1]}${(tail >>> 16).toString(16)}:${(tail & 0xffff).toString(16)}`;
  }
  const halves = text.split('::').map((half) => (half === '' ? [] : half.split(':')));
  const count = halves.flat().length;
  // A double colon stands for at least one group.
  const valid = (halves.length === 1 ? count === 8 : halves.length === 2 && count < 8)
    && halves.flat().every((group) => /^[0-9a-fA-F]{1,4}$/.test(group));
  if (!valid) {
    return undefined;
  }
  const [head, tail = []] = halves;
  const groups = [...head, ...Array(8 - count).fill('0'), ...tail];
  return BigInt(`0x${groups.map((group) => group.padStart(4, '0')).join('')}`);
}
