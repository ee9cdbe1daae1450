//! Policies, written by hand: no compiler and no bindings stand between a test
//! and what it means to do.
//!
//! How the canonical ABI lays out what is passed: a request begins at the
//! address that `choose` is called with, its number of the set at 64, the
//! remembered address at 76, time at 104 and seed at 112. An answer is its
//! case, and at 4 and 8 where a list or text is and how long. An address is
//! its case, and from 4 on the bits.

use std::path::Path;

use wit_component::{ComponentEncoder, StringEncoding};
use wit_parser::Resolve;

/// A component of a module that fits a world of this repository.
fn component(world: &str, module: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit");
    let (package, _) = resolve.push_dir(wit).unwrap();
    let world = resolve.select_world(&[package], Some(world)).unwrap();
    let mut module = wat::parse_str(module).unwrap();
    wit_component::embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)
        .unwrap();
    ComponentEncoder::default()
        .validate(true)
        .module(&module)
        .unwrap()
        .encode()
        .unwrap()
}

/// What every guest has: imports, memory, and a heap that only grows and is
/// ever so small. `rest` are its other functions and fields.
fn module(rest: &str) -> String {
    format!(
        r#"(module
            (import "wipam:ipam/pool@0.1.0" "is-reserved"
                (func $is-reserved (param i32 i32 i32 i32 i32) (result i32)))
            (import "wipam:ipam/pool@0.1.0" "next-free"
                (func $next-free (param i32 i32 i32 i32 i32 i32)))
            (import "wipam:ipam/pool@0.1.0" "reservations"
                (func $reservations (param i32 i32 i32 i32 i32 i32 i32)))
            (import "wipam:ipam/pool@0.1.0" "spans" (func $spans (param i32)))
            (import "wipam:ipam/state@0.1.0" "get" (func $get (param i32 i32 i32)))
            (import "wipam:ipam/state@0.1.0" "set"
                (func $set (param i32 i32 i32 i32 i32)))
            (import "wipam:ipam/log@0.1.0" "write" (func $log (param i32 i32)))
            (memory (export "memory") 2)
            (global $top (mut i32) (i32.const 4096))
            (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
                (local $at i32)
                (local.set $at (i32.and
                    (i32.add (global.get $top) (i32.const 7)) (i32.const -8)))
                (global.set $top (i32.add (local.get $at) (local.get 3)))
                (local.get $at))
            {rest})"#
    )
}

/// A policy whose `choose` has this body. It gets the request in `$request`,
/// has a local `$n`, and gives back where its answer is; there is room for one
/// at 1024, and for an address at 2048.
pub(crate) fn policy(body: &str) -> Vec<u8> {
    policy_with("", body)
}

/// The same, with other fields in the module.
pub(crate) fn policy_with(fields: &str, body: &str) -> Vec<u8> {
    component("policy", &module(&format!("{fields} {}", choose(body))))
}

/// A policy that is told of releases.
pub(crate) fn policy_with_releases(body: &str, released: &str) -> Vec<u8> {
    let released = format!(
        r#"(func (export "wipam:ipam/releases@0.1.0#released")
            (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i64) {released})"#
    );
    component(
        "policy-with-releases",
        &module(&format!("{} {released}", choose(body))),
    )
}

fn choose(body: &str) -> String {
    format!(
        r#"(func $choose (export "wipam:ipam/choice@0.1.0#choose")
            (param $request i32) (result i32) (local $n i32) {body})"#
    )
}

/// A component that is written out as such.
pub(crate) fn text(component: &str) -> Vec<u8> {
    wat::parse_str(component).unwrap()
}

/// Answers that the built-in strategy may decide.
pub(crate) const YOU_DECIDE: &str = "(i32.store8 (i32.const 1024) (i32.const 2)) (i32.const 1024)";

/// Answers the next free address at or after 10.1.0.50.
pub(crate) const NEXT_FREE: &str = "
    (call $next-free (i32.const 0) (i32.const 0x0a010032) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 2044))
    (i32.store8 (i32.const 1024) (i32.const 0))
    (i32.store (i32.const 1028) (i32.const 2048))
    (i32.store (i32.const 1032) (i32.load8_u (i32.const 2044)))
    (i32.const 1024)";

/// An answer with a list or text at an address, of a length.
pub(crate) fn answer(case: u8, at: u32, length: u32) -> String {
    format!(
        "(i32.store8 (i32.const 1024) (i32.const {case}))
         (i32.store (i32.const 1028) (i32.const {at}))
         (i32.store (i32.const 1032) (i32.const {length}))
         (i32.const 1024)"
    )
}
