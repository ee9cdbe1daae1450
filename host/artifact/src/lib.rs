//! The component that `plugin-wasm` makes, as bytes.
//!
//! The build script is the only one of the workspace: it builds `plugin-wasm`
//! for wasm32-unknown-unknown, makes a component of it and compiles that with
//! the settings that `wipam-engine` runs with, for the target's baseline
//! processor. Nothing that is shipped contains a compiler.

/// The component, portable.
pub static COMPONENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/host-local.wasm"));

/// The same, compiled. Only an engine with the same settings and version
/// takes it. It begins at a page boundary, so that it can be executed where it
/// is.
pub static COMPILED: &[u8] = &Pages(*include_bytes!(concat!(
    env!("OUT_DIR"),
    "/host-local.cwasm"
)))
.0;

/// Aligned for the largest pages that the target's kernels use.
#[cfg_attr(target_arch = "x86_64", repr(C, align(4096)))]
#[cfg_attr(not(target_arch = "x86_64"), repr(C, align(65536)))]
struct Pages<T>(T);
