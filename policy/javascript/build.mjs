// node build.mjs POLICY.js WIT-FOLDER OUT.wasm [WORLD]
//
// Run it where node_modules has componentize-qjs.

import { mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, resolve } from "node:path";

const [source, wit, out, world = "policy"] = process.argv.slice(2);
if (!out) {
  console.error("usage: node build.mjs POLICY.js WIT-FOLDER OUT.wasm [WORLD]");
  process.exit(2);
}
const { componentize } = createRequire(resolve("package.json"))("componentize-qjs");

const { component } = await componentize({
  witPath: resolve(wit),
  world,
  jsSource: readFileSync(source, "utf8"),
  jsPath: realpathSync(source),
  // What the policy imports may be anywhere: only what is imported gets in.
  moduleRoot: "/",
  // A policy has no clock, no files and no chance; wipam links none of them.
  stubWasi: true,
  // The other runtime wants imports that wipam does not link.
  sync: true,
  optSize: true,
});
mkdirSync(dirname(resolve(out)), { recursive: true });
writeFileSync(out, component);
console.log(`${out}: ${component.length} bytes`);
