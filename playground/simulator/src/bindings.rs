//! Generated from `wit/`.

#![allow(
    missing_docs,
    unreachable_pub,
    unsafe_code,
    clippy::all,
    clippy::allow_attributes_without_reason,
    reason = "generated code; the calls across the boundary are unsafe by nature"
)]

wit_bindgen::generate!({
    world: "simulator",
    path: "wit",
});

use crate::Simulator;
export!(Simulator with_types_in crate::bindings);
