// Addresses as one number and a family: what maps and tables count with.

import { format, fromNumber, parse, toNumber } from '../engine/address.js';

/** @typedef {'ipv4' | 'ipv6'} Family */

/**
 * @param {string} text
 * @returns {{family: Family, number: bigint} | undefined}
 */
export function numberOf(text) {
  const address = parse(text);
  return address && { family: address.tag, number: toNumber(address) };
}

/**
 * @param {Family} family
 * @param {bigint} number
 */
export function textOf(family, number) {
  return format(fromNumber(family, number));
}

/** @param {Family} family */
export function width(family) {
  return family === 'ipv4' ? 32 : 128;
}

/**
 * In CIDR notation, or the address alone.
 * @param {Family} family
 * @param {{first: bigint, bits: number}} block
 */
export function blockText(family, { first, bits }) {
  return bits === 0 ? textOf(family, first) : `${textOf(family, first)}/${width(family) - bits}`;
}

/**
 * A number of addresses: in full as long as people can read it.
 * @param {bigint} count
 */
export function countText(count) {
  if (count < 10_000_000n) {
    return Number(count).toLocaleString('en');
  }
  const bits = count.toString(2).length - 1;
  if (count === 1n << BigInt(bits)) return `2^${bits}`;
  return `about 2^${2n * count > 3n << BigInt(bits) ? bits + 1 : bits}`;
}
