//! `wipam-core` as a component. It converts between WIT and core types and
//! decides nothing.

#![cfg_attr(target_arch = "wasm32", no_std)]

extern crate alloc;

mod bindings;
mod convert;
mod environment;
#[cfg(target_arch = "wasm32")]
mod runtime;

use alloc::string::String;
use alloc::vec::Vec;

use bindings::exports::wipam::ipam::cni::{Guest, Invocation};
use environment::Imports;

struct Plugin;

impl Guest for Plugin {
    fn invoke(invocation: Invocation) -> Result<String, String> {
        wipam_core::invoke::invoke(&convert::invocation(invocation), &mut Imports)
    }

    fn explain(config: Vec<u8>) -> Result<String, String> {
        wipam_core::explain::explain(&config)
    }
}
