//! Loading code that was compiled before.

use wasmtime::component::Component;
use wasmtime::{Engine, Result};

/// Code from this program's own read-only data.
#[allow(unsafe_code, reason = "machine code cannot be checked; it has to be trusted")]
pub(crate) fn trusted(engine: &Engine, compiled: &'static [u8]) -> Result<Component> {
    // SAFETY: `deserialize` asks that the bytes come from `precompile_component`
    // unchanged, and checks version, target and settings itself. These are
    // `'static`: part of the executable, put there by the build script of
    // `wipam-artifact`. Whoever can change them can change this function, too.
    unsafe { Component::deserialize(engine, compiled) }
}
