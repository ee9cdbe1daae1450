//! The component that `plugin-wasm` makes, as bytes.
//!
//! The build script is the only one of the workspace: it builds `plugin-wasm`
//! for wasm32-unknown-unknown, makes a component of it and compiles that with
//! the settings that `wipam-engine` runs with, for the target's baseline
//! processor. Nothing that is shipped contains a compiler.

/// The component, portable.
pub static COMPONENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/host-local.wasm"));

/// The same, compiled. Only an engine with the same settings and version
/// takes it.
pub static COMPILED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/host-local.cwasm"));
