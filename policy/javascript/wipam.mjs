// Allocation policies for wipam, in JavaScript.
//
// A policy is a function that chooses, and `policy` makes of it what the world
// exports:
//
//     import { policy, pool } from "./wipam-policy/wipam.mjs";
//
//     export const { choice } = policy((request) => pool.firstFree(pool.spans()));
//
// It gives an address, a list of them, or `undefined`: then the built-in
// strategy chooses. It throws a `Refusal` where there is to be no address; any
// other error is a fault of the policy. Equal requests, pools and states must
// give equal answers: use `request.timeMs` and `request.seed`, a whole number
// below 2 ** 32, and neither `Date` nor `Math.random`.

import * as hostPool from "wipam:ipam/pool@0.1.0";
import * as hostState from "wipam:ipam/state@0.1.0";
import { write } from "wipam:ipam/log@0.1.0";

/** No address for this one. The message says why, and is the answer. */
export class Refusal extends Error {}

/** An IP address: its family, and its number as a BigInt. */
export class Address {
  constructor(v6, number) {
    this.v6 = v6;
    this.number = number;
  }

  /** Reads a text; `undefined` where it is no address. */
  static parse(text) {
    const v4 = parseV4(text);
    if (v4 !== undefined) return new Address(false, v4);
    const v6 = parseV6(text);
    return v6 === undefined ? undefined : new Address(true, v6);
  }

  /** Whether this one is before the other; IPv4 comes before IPv6. */
  isBefore(other) {
    return this.v6 === other.v6 ? this.number < other.number : other.v6;
  }

  toString() {
    return this.v6 ? textV6(this.number) : textV4(this.number);
  }
}

/** Addresses of one family from `first` to `last`, both inclusive. */
export class Span {
  constructor(first, last) {
    this.first = first;
    this.last = last;
  }

  /**
   * Reads `ADDRESS`, `ADDRESS/LENGTH` or `ADDRESS-ADDRESS`, and refuses the
   * rest; `where` says where the text was found.
   */
  static parse(text, where = "") {
    const no = (wanted) => new Refusal(`${where}${JSON.stringify(text)} is no span: ${wanted}`);
    const address = (part) => {
      const found = Address.parse(part.trim());
      if (!found) throw no("wanted ADDRESS, ADDRESS/LENGTH or ADDRESS-ADDRESS");
      // No pool holds one: it would be IPv6 by its text and IPv4 on the wire.
      if (found.v6 && found.number >> 32n === 0xffffn) throw no("an IPv4-mapped IPv6 address");
      return found;
    };
    if (typeof text !== "string") throw no("wanted a text");
    if (text.includes("-")) {
      const [first, ...last] = text.split("-");
      const span = new Span(address(first), address(last.join("-")));
      if (span.first.v6 !== span.last.v6 || span.last.isBefore(span.first)) {
        throw no("the ends are reversed, or of two families");
      }
      return span;
    }
    const slash = text.indexOf("/");
    const first = address(slash < 0 ? text : text.slice(0, slash));
    if (slash < 0) return new Span(first, first);
    const length = text.slice(slash + 1);
    const bits = first.v6 ? 128 : 32;
    if (!/^[0-9]+$/.test(length) || Number(length) > bits) throw no("the prefix length is none");
    const host = (1n << BigInt(bits - Number(length))) - 1n;
    if (first.number & host) throw no("the address has host bits");
    return new Span(first, new Address(first.v6, first.number | host));
  }

  contains(address) {
    return !address.isBefore(this.first) && !this.last.isBefore(address);
  }

  overlaps(other) {
    return !other.last.isBefore(this.first) && !this.last.isBefore(other.first);
  }
}

/** The pool of the range set. Nothing here changes it. */
export const pool = {
  /** The ranges of the set: `subnet`, `prefixLength`, `span`, `gateway`. */
  ranges: () =>
    hostPool.ranges().map((range) => ({
      subnet: fromHost(range.subnet),
      // A u8 has a sign as well: of a /128 it would be negative.
      prefixLength: range.prefixLength & 255,
      span: spanFromHost(range.span),
      gateway: range.gateway ? fromHost(range.gateway) : undefined,
    })),

  /** What of them may be given, in the same order. */
  spans: () => hostPool.spans().map(spanFromHost),

  /** Whether something stands at an address. */
  isReserved: (address) => hostPool.isReserved(toHost(address)),

  /** The lowest address at or after `at` that can be given now, if any. */
  nextFree: (at) => optional(hostPool.nextFree(toHost(at))),

  /** The lowest address of a span that can be given now, if any. */
  nextFreeIn: (span) => {
    const found = pool.nextFree(span.first);
    return found && span.contains(found) ? found : undefined;
  },

  /** The same in the first of some spans that has one. */
  firstFree: (spans) => {
    for (const span of spans) {
      const found = pool.nextFreeIn(span);
      if (found) return found;
    }
    return undefined;
  },

  /** The address last given from this set, if any. A hint. */
  lastReserved: () => optional(hostPool.lastReserved()),

  /** The reservations of the network, lowest address first. */
  *reservations() {
    let after = null;
    for (;;) {
      const page = hostPool.reservations(after);
      if (page.length === 0) return;
      for (const { address, owner } of page) yield { address: fromHost(address), owner };
      after = page[page.length - 1].address;
    }
  },
};

/** What the policy remembers of the network: `get`, `set`, `remove`, `keys`. */
export const state = hostState;

/** Tells people something: a line on standard error. */
export const log = (message) => write(String(message));

/** `ipam.policy.config`, an object. It may have these fields, and no others. */
export function config(request, required, optional = []) {
  const found = JSON.parse(request.config) ?? {};
  if (typeof found !== "object" || Array.isArray(found)) {
    throw new Refusal("config: wanted an object");
  }
  for (const name of Object.keys(found)) {
    if (![...required, ...optional].includes(name)) {
      throw new Refusal(`config: unknown field \`${name}\``);
    }
  }
  for (const name of required) {
    if (!Object.hasOwn(found, name)) throw new Refusal(`config: missing field \`${name}\``);
  }
  return found;
}

/** The value of a key of `CNI_ARGS`, if it is there. */
export function arg(request, key) {
  return request.args.findLast(([name]) => name === key)?.[1];
}

/** What the world exports. */
export function policy(choose, released) {
  return {
    choice: {
      choose(asked) {
        try {
          const remembered = optional(asked.remembered);
          const request = { ...asked, remembered, seed: fold(asked.seed) };
          const answer = choose(request);
          if (answer === undefined) return { tag: "you-decide" };
          return { tag: "candidates", val: [answer].flat().map(toHost) };
        } catch (error) {
          if (error instanceof Refusal) return { tag: "none", val: error.message };
          fault(error);
        }
      },
    },
    releases: {
      released(notice) {
        try {
          released({ ...notice, address: fromHost(notice.address) });
        } catch (error) {
          fault(error);
        }
      },
    },
  };
}

// A component that throws traps, and the host cannot say why.
function fault(error) {
  log(`${error}\n${error.stack ?? ""}`.trim());
  throw error;
}

const optional = (address) => (address ? fromHost(address) : undefined);
const spanFromHost = (span) => new Span(fromHost(span.first), fromHost(span.last));

// To componentize-qjs a u32 has a sign: one whose highest bit is set is
// negative, and what is larger than 31 bits it does not take.
const unsigned = (part) => BigInt.asUintN(32, BigInt(part));
const signed = (number, shift) => Number(BigInt.asIntN(32, number >> shift));

/** An address of the interfaces. */
export function fromHost({ tag, val }) {
  if (tag === "ipv4") return new Address(false, unsigned(val));
  return new Address(true, val.reduce((number, part) => (number << 32n) | unsigned(part), 0n));
}

/** An address for the interfaces. */
export function toHost({ v6, number }) {
  if (!v6) return { tag: "ipv4", val: signed(number, 0n) };
  return { tag: "ipv6", val: [96n, 64n, 32n, 0n].map((shift) => signed(number, shift)) };
}

// componentize-qjs makes a double of a u64: the lower bits of most are lost.
// They are not to be what `%` sees.
function fold(seed) {
  const number = BigInt.asUintN(64, BigInt(seed));
  return Number(BigInt.asUintN(32, number ^ (number >> 32n)));
}

function parseV4(text) {
  const octets = text.split(".");
  if (octets.length !== 4 || !octets.every((octet) => /^(0|[1-9][0-9]{0,2})$/.test(octet))) {
    return undefined;
  }
  const numbers = octets.map(Number);
  if (numbers.some((number) => number > 255)) return undefined;
  return numbers.reduce((all, number) => (all << 8n) | BigInt(number), 0n);
}

function textV4(number) {
  return [24n, 16n, 8n, 0n].map((shift) => (number >> shift) & 255n).join(".");
}

function parseV6(text) {
  const parts = text.split("::");
  if (parts.length > 2) return undefined;
  const groups = parts.map((part) => (part === "" ? [] : part.split(":")));
  // The last 32 bits may be written as IPv4.
  const end = groups[groups.length - 1];
  const v4 = end.length > 0 ? parseV4(end[end.length - 1]) : undefined;
  if (v4 !== undefined) {
    end.splice(-1, 1, (v4 >> 16n).toString(16), (v4 & 0xffffn).toString(16));
  }
  const given = groups.flat();
  const missing = 8 - given.length;
  if (parts.length === 1 ? missing !== 0 : missing < 1) return undefined;
  if (!given.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return undefined;
  const all = parts.length === 1 ? given : [...groups[0], ...Array(missing).fill("0"), ...groups[1]];
  return all.reduce((number, group) => (number << 16n) | BigInt(`0x${group}`), 0n);
}

// RFC 5952: the longest run of zeros, if it is more than one, becomes `::`.
function textV6(number) {
  const groups = [];
  for (let shift = 112n; shift >= 0n; shift -= 16n) groups.push((number >> shift) & 0xffffn);
  let [best, length] = [0, 0];
  for (let start = 0; start < 8; start += 1) {
    let end = start;
    while (end < 8 && groups[end] === 0n) end += 1;
    if (end - start > length) [best, length] = [start, end - start];
  }
  const text = groups.map((group) => group.toString(16));
  if (length < 2) return text.join(":");
  return `${text.slice(0, best).join(":")}::${text.slice(best + length).join(":")}`;
}
