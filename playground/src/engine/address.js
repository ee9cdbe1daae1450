// IP addresses as numbers and as text. Names of records are the canonical
// text (RFC 5952), so both directions have to agree with the native store.

/**
 * `ip-address` of the WIT package.
 * @typedef {{tag: 'ipv4', val: number} | {tag: 'ipv6', val: [number, number, number, number]}} Address
 */

/**
 * @param {Address} address
 * @returns {bigint}
 */
export function toNumber({ tag, val }) {
  return tag === 'ipv4'
    ? BigInt(val)
    : val.reduce((number, part) => (number << 32n) | BigInt(part), 0n);
}

/**
 * @param {Address['tag']} tag
 * @param {bigint} number
 * @returns {Address}
 */
export function fromNumber(tag, number) {
  return tag === 'ipv4'
    ? { tag, val: Number(number) }
    : { tag, val: [96n, 64n, 32n, 0n].map((shift) => Number(BigInt.asUintN(32, number >> shift))) };
}

/**
 * For sorting: IPv4 before IPv6, then by number.
 * @param {Address} a
 * @param {Address} b
 */
export function compare(a, b) {
  if (a.tag !== b.tag) {
    return a.tag === 'ipv4' ? -1 : 1;
  }
  const [x, y] = [toNumber(a), toNumber(b)];
  return x < y ? -1 : Number(x > y);
}

/** @param {Address} address */
export function format(address) {
  return address.tag === 'ipv4' ? formatIpv4(address.val) : formatIpv6(toNumber(address));
}

/** @param {number} bits */
function formatIpv4(bits) {
  return [24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join('.');
}

/** @param {bigint} number */
function formatIpv6(number) {
  if (isMapped(number)) {
    return `::ffff:${formatIpv4(Number(number & 0xffffffffn))}`;
  }
  const hex = number.toString(16).padStart(32, '0').match(/.{4}/g);
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
 * @param {Address} address
 * @returns {Address}
 */
export function unmapped(address) {
  const number = toNumber(address);
  return address.tag === 'ipv6' && isMapped(number)
    ? fromNumber('ipv4', number & 0xffffffffn)
    : address;
}

/**
 * @param {string} text
 * @returns {Address | undefined}
 */
export function parse(text) {
  return text.includes(':') ? parseIpv6(text) : parseIpv4(text);
}

/**
 * Four decimal octets without leading zeros.
 * @param {string} text
 * @returns {Address | undefined}
 */
function parseIpv4(text) {
  const octets = text.split('.');
  const valid = octets.length === 4
    && octets.every((octet) => /^(?:0|[1-9]\d{0,2})$/.test(octet) && Number(octet) <= 255);
  if (!valid) {
    return undefined;
  }
  const bits = octets.reduce((sum, octet) => sum * 256 + Number(octet), 0);
  return { tag: 'ipv4', val: bits };
}

/**
 * @param {string} text
 * @returns {Address | undefined}
 */
function parseIpv6(text) {
  const dotted = /^(.*:)([^:]*\.[^:]*)$/.exec(text);
  if (dotted) {
    const tail = parseIpv4(dotted[2]);
    if (!tail) {
      return undefined;
    }
    text = `${dotted[1]}${(tail.val >>> 16).toString(16)}:${(tail.val & 0xffff).toString(16)}`;
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
  const hex = groups.map((group) => group.padStart(4, '0')).join('');
  return fromNumber('ipv6', BigInt(`0x${hex}`));
}
