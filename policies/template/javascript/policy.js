// Pods of one namespace have addresses of their own; the rest is left to the
// built-in strategy.

import { Refusal, Span, config, policy, pool } from "./wipam-policy/wipam.mjs";

function choose(request) {
  const { namespace, spans } = config(request, ["namespace", "spans"]);
  if (!Array.isArray(spans)) throw new Refusal("config: spans: wanted a list");
  if (request.pod?.namespace !== namespace) return undefined;
  const address = pool.firstFree(spans.map((text) => Span.parse(text, "config: ")));
  if (!address) throw new Refusal(`no address is free for ${namespace}`);
  return address;
}

export const { choice } = policy(choose);
