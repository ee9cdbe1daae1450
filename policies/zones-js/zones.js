// Zones, racks, departments: each has spans of its own. It answers as the
// policy `zones` does.

import { Refusal, Span, arg, config, policy, pool } from "../../policy/javascript/wipam.mjs";

function read(request) {
  const { arg, zones, default: other } = config(request, ["zones"], ["arg", "default"]);
  const spans = (name, list) => {
    if (!Array.isArray(list)) throw new Refusal(`config: ${name}: wanted a list of spans`);
    return list.map((text) => Span.parse(text, "config: "));
  };
  if (typeof (arg ?? "") !== "string") throw new Refusal("config: arg: wanted a text");
  if (Object(zones) !== zones) throw new Refusal("config: zones: wanted an object");
  const entries = Object.entries(zones).map(([name, list]) => [name, spans(name, list)]);
  return { arg, zones: new Map(entries), other: other && spans("default", other) };
}

function choose(request) {
  const { arg: key, zones, other } = read(request);
  const what = key ?? "namespace";
  const zone = (key ? arg(request, key) : request.pod?.namespace) ?? "";
  const spans = zones.get(zone) ?? other;
  if (!spans) throw new Refusal(`${what} "${zone}" is no zone, and there is no default`);

  // A zone may have spans of both families, for two range sets.
  const givable = pool.spans();
  if (!spans.some((span) => givable.some((other) => span.overlaps(other)))) {
    throw new Refusal(`config: no span of ${what} "${zone}" is in range set ${request.set}`);
  }
  const { remembered } = request;
  if (remembered && spans.some((span) => span.contains(remembered))) return remembered;
  const address = pool.firstFree(spans);
  if (!address) throw new Refusal(`no address is free for ${what} "${zone}"`);
  return address;
}

export const { choice } = policy(choose);
