// Policies, written by hand: no compiler and no bindings stand between a test
// and what it means to do. They are those of host/engine/tests/all/policy.
//
// How the canonical ABI lays out what is passed: a request begins at the
// address that `choose` is called with. An answer is its case, and at 4 and 8
// where a list or text is and how long. An address is its case, and from 4 on
// the bits.

import { readFile, readdir } from 'node:fs/promises';

import { componentEmbed, componentNew, parse } from '@bytecodealliance/jco';

const WIT = new URL('../../../wit/', import.meta.url);

/** All of the package as one text: what names it has to come first. */
async function wit() {
  const names = (await readdir(WIT)).filter((name) => name !== 'types.wit').sort();
  const texts = await Promise.all(
    ['types.wit', ...names].map((name) => readFile(new URL(name, WIT), 'utf8')));
  return texts.join('\n');
}

const source = wit();

/**
 * A component of a module that fits a world of this repository.
 * @param {string} world
 * @param {string} module
 */
async function component(world, module) {
  const embedded = await componentEmbed({
    binary: await parse(module),
    witSource: await source,
    world,
    stringEncoding: 'utf8',
  });
  return new Uint8Array(await componentNew(embedded, []));
}

/**
 * What every guest has: imports, memory, and a heap that only grows and is
 * ever so small. `rest` are its other functions and fields.
 * @param {string} rest
 */
function module(rest) {
  return `(module
    (import "wipam:ipam/pool@0.1.0" "is-reserved"
        (func $is-reserved (param i32 i32 i32 i32 i32) (result i32)))
    (import "wipam:ipam/pool@0.1.0" "next-free"
        (func $next-free (param i32 i32 i32 i32 i32 i32)))
    (import "wipam:ipam/pool@0.1.0" "reservations"
        (func $reservations (param i32 i32 i32 i32 i32 i32 i32)))
    (import "wipam:ipam/pool@0.1.0" "spans" (func $spans (param i32)))
    (import "wipam:ipam/state@0.1.0" "get" (func $get (param i32 i32 i32)))
    (import "wipam:ipam/state@0.1.0" "set" (func $set (param i32 i32 i32 i32 i32)))
    (import "wipam:ipam/log@0.1.0" "write" (func $log (param i32 i32)))
    (memory (export "memory") 2)
    (global $top (mut i32) (i32.const 4096))
    (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
        (local $at i32)
        (local.set $at (i32.and
            (i32.add (global.get $top) (i32.const 7)) (i32.const -8)))
        (global.set $top (i32.add (local.get $at) (local.get 3)))
        (local.get $at))
    ${rest})`;
}

/**
 * A policy whose `choose` has this body. It gets the request in `$request`,
 * has a local `$n`, and gives back where its answer is; there is room for one
 * at 1024, and for an address at 2048.
 * @param {string} body
 * @param {string} [fields] of the module
 */
export function policy(body, fields = '') {
  return component('policy', module(`${fields} ${choose(body)}`));
}

/**
 * A policy that is told of releases.
 * @param {string} body
 * @param {string} released
 */
export function policyWithReleases(body, released) {
  return component('policy-with-releases', module(`${choose(body)}
    (func (export "wipam:ipam/releases@0.1.0#released")
        (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i64) ${released})`));
}

/** @param {string} body */
function choose(body) {
  return `(func $choose (export "wipam:ipam/choice@0.1.0#choose")
    (param $request i32) (result i32) (local $n i32) ${body})`;
}

/**
 * A component that is written out as such.
 * @param {string} wat
 */
export async function text(wat) {
  return new Uint8Array(await parse(wat));
}

/**
 * A component whose `choose` is of another type, for what happens before that
 * matters.
 * @param {string} more
 */
export function starting(more) {
  return exporting('wipam:ipam/choice@0.1.0', '', more);
}

/**
 * A component that exports something under this name, and imports what is
 * written out.
 * @param {string} name
 * @param {string} imports
 * @param {string} [more]
 */
export function exporting(name, imports, more = '') {
  return text(`(component
    ${imports}
    (core module $module (func (export "choose")))
    (core instance $instance (instantiate $module))
    (func $choose (canon lift (core func $instance "choose")))
    (instance $choice (export "choose" (func $choose)))
    (export "${name}" (instance $choice))
    ${more})`);
}

/** Answers that the built-in strategy may decide. */
export const YOU_DECIDE = '(i32.store8 (i32.const 1024) (i32.const 2)) (i32.const 1024)';

/** Answers the next free address at or after 10.1.0.50. */
export const NEXT_FREE = `
  (call $next-free (i32.const 0) (i32.const 0x0a010032) (i32.const 0) (i32.const 0)
      (i32.const 0) (i32.const 2044))
  (i32.store8 (i32.const 1024) (i32.const 0))
  (i32.store (i32.const 1028) (i32.const 2048))
  (i32.store (i32.const 1032) (i32.load8_u (i32.const 2044)))
  (i32.const 1024)`;

/**
 * An answer with a list or text at an address, of a length.
 * @param {number} kind
 * @param {number} at
 * @param {number} length
 */
export function answer(kind, at, length) {
  return `(i32.store8 (i32.const 1024) (i32.const ${kind}))
    (i32.store (i32.const 1028) (i32.const ${at}))
    (i32.store (i32.const 1032) (i32.const ${length}))
    (i32.const 1024)`;
}

/** @param {string} what */
export function repeated(what) {
  return `(loop $again ${what} (br $again)) (unreachable)`;
}
