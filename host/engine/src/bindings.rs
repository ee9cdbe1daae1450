//! Generated from `wit/`.

#![allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::allow_attributes_without_reason,
    reason = "generated code"
)]

wasmtime::component::bindgen!({
    world: "plugin",
    path: "../../wit",
    imports: { default: trappable },
    with: { "wipam:ipam/storage.network": super::host::Network },
});
