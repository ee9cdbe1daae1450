// node test.mjs POLICY.js CASES.json...
//
// Puts recorded cases to a policy in node, without a component: the imports are
// a double. The numbers of node are as short as those of QuickJS.

import { readFileSync } from "node:fs";
import { register } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

// What is imported from wipam:ipam/NAME is globalThis.wipam[NAME].
const names = {
  pool: ["ranges", "spans", "isReserved", "nextFree", "lastReserved", "reservations"],
  state: ["get", "set", "remove", "keys"],
  log: ["write"],
};
const module = (code) => `data:text/javascript,${encodeURIComponent(code)}`;
const doubles = Object.entries(names).map(([name, functions]) => {
  const lines = functions.map((f) => `export const ${f} = (...all) => wipam.${name}.${f}(...all);`);
  return [`wipam:ipam/${name}@0.1.0`, module(lines.join("\n"))];
});
register(
  module(`
    const doubles = new Map(${JSON.stringify(doubles)});
    export async function resolve(name, context, next) {
      const url = doubles.get(name);
      return url ? { url, shortCircuit: true } : next(name, context);
    }
  `),
);

const [source, ...files] = process.argv.slice(2);
const { choice, releases } = await import(pathToFileURL(resolve(source)));
const { Address, Span, fromHost: fromPolicy, toHost: toPolicy } = await import("./wipam.mjs");

const address = (text) => {
  const found = Address.parse(text);
  if (!found) throw new Error(`${JSON.stringify(text)} is no address`);
  return found;
};
const spanToPolicy = ({ first, last }) => ({ first: toPolicy(first), last: toPolicy(last) });
const beside = ({ v6, number }, step) => new Address(v6, number + step);

// The rules of wipam: what a range has by default, and what is never given.
function rangeOf({ subnet, rangeStart, rangeEnd, gateway }) {
  const all = Span.parse(subnet);
  const tiny = all.last.number - all.first.number < 2n;
  const [first, last] = [all.first, all.last];
  const inner = tiny ? first : beside(first, 1n);
  const end = tiny || first.v6 ? last : beside(last, -1n);
  const span = new Span(
    rangeStart ? address(rangeStart) : inner,
    rangeEnd ? address(rangeEnd) : end,
  );
  const router = gateway ? address(gateway) : tiny ? undefined : inner;
  const never = tiny || first.v6 ? [] : [first, last];
  return {
    span,
    never: [...never, ...(router ? [router] : [])].map((at) => new Span(at, at)),
    told: {
      subnet: toPolicy(first),
      prefixLength: Number(subnet.split("/")[1]),
      span: spanToPolicy(span),
      gateway: router ? toPolicy(router) : null,
    },
  };
}

function without(spans, hole) {
  return spans.flatMap((span) => {
    if (!span.overlaps(hole)) return [span];
    const rest = [];
    if (span.first.isBefore(hole.first)) rest.push(new Span(span.first, beside(hole.first, -1n)));
    if (hole.last.isBefore(span.last)) rest.push(new Span(beside(hole.last, 1n), span.last));
    return rest;
  });
}

function imports(test) {
  const ranges = (test.ranges ?? []).map(rangeOf);
  const holes = [...ranges.flatMap((range) => range.never), ...(test.exclude ?? []).map(Span.parse)];
  const spans = holes.reduce(without, ranges.map((range) => range.span));
  const reserved = Object.entries(test.reservations ?? {})
    .map(([text, container]) => ({ at: address(text), container }))
    .sort((a, b) => (a.at.isBefore(b.at) ? -1 : 1));
  const taken = new Set(reserved.map(({ at }) => String(at)));
  const values = new Map(Object.entries(test.state ?? {}).map(([key, text]) => [key, Buffer.from(text)]));
  const lowest = (span, at) => {
    let found = span.first.isBefore(at) ? at : span.first;
    while (span.contains(found) && taken.has(String(found))) found = beside(found, 1n);
    return span.contains(found) ? [found] : [];
  };
  return {
    pool: {
      ranges: () => ranges.map((range) => range.told),
      spans: () => spans.map(spanToPolicy),
      isReserved: (at) => taken.has(String(fromPolicy(at))),
      nextFree: (from) => {
        const free = spans.flatMap((span) => lowest(span, fromPolicy(from)));
        return free.length ? toPolicy(free.reduce((a, b) => (b.isBefore(a) ? b : a))) : null;
      },
      lastReserved: () => (test.lastReserved ? toPolicy(address(test.lastReserved)) : null),
      // Pages are small: a policy that reads only the first one shows it.
      reservations: (after) =>
        reserved
          .filter(({ at }) => !after || fromPolicy(after).isBefore(at))
          .slice(0, 2)
          .map(({ at, container }) => ({
            address: toPolicy(at),
            owner: { container, interface: "eth0" },
            newer: false,
          })),
    },
    state: {
      get: (key) => values.get(key) ?? null,
      set: (key, value) => void values.set(key, Buffer.from(value)),
      remove: (key) => void values.delete(key),
      keys: () => [...values.keys()].sort(),
    },
    log: { write: (message) => console.error(message) },
    values,
  };
}

function ask(test) {
  const { container = "c1", interface: name = "eth0", network = "net" } = test.request ?? test.released;
  const config = JSON.stringify((test.request ?? test.released).config ?? null);
  if (test.released) {
    const { address: text, timeMs = 0 } = test.released;
    releases.released({
      network, address: toPolicy(address(text)), container, interface: name, config, timeMs,
    });
    return undefined;
  }
  const { pod, args = {}, set = 0, remembered, timeMs = 0, seed = 0 } = test.request;
  const answer = choice.choose({
    network,
    attachment: { container, interface: name },
    pod: pod ? { name: "", uid: null, ...pod } : null,
    args: Object.entries(args).sort(([a], [b]) => (a < b ? -1 : 1)),
    set,
    config,
    remembered: remembered ? toPolicy(address(remembered)) : null,
    timeMs,
    seed,
  });
  if (answer.tag === "candidates") {
    return { candidates: answer.val.map((at) => String(fromPolicy(at))) };
  }
  return answer.tag === "none" ? { none: answer.val } : "youDecide";
}

const text = (value) => JSON.stringify(value);
const sorted = (object) => text(Object.entries(object).sort());

function check(test) {
  globalThis.wipam = imports(test);
  const found = ask(test);
  const { want } = test;
  const same =
    want?.none === undefined ? text(found) === text(want) : found?.none?.includes(want.none);
  if (!same) return `wanted ${text(want)}, found ${text(found)}`;
  const kept = Object.fromEntries([...wipam.values].map(([key, value]) => [key, String(value)]));
  const wanted = test.stateAfter ?? test.state ?? {};
  if (sorted(kept) !== sorted(wanted)) return `wanted the state ${text(wanted)}, found ${text(kept)}`;
  return undefined;
}

const tests = files.flatMap((file) => JSON.parse(readFileSync(file, "utf8")));
let wrong = 0;
for (const test of tests) {
  let why;
  try {
    why = check(test);
  } catch (error) {
    why = error.stack;
  }
  if (why === undefined) continue;
  wrong += 1;
  console.error(`${test.name}: ${why}`);
}
console.log(`${tests.length} cases, ${wrong} wrong`);
process.exitCode = wrong || tests.length === 0 ? 1 : 0;
