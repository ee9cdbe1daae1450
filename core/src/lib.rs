//! IP address allocation for CNI networks.
//!
//! Everything the `host-local` plugin decides is decided here: what a
//! configuration means, which address an attachment gets, when a reservation
//! may be released, and how the answer reads in each version of the CNI
//! specification. The crate has no I/O and no clock. What it needs from
//! outside are two ports, [`store::Store`] and [`environment::Environment`], so the
//! same code runs in a native process, in a WebAssembly component and in a
//! browser, and gives the same bytes.
//!
//! It does not touch files, links or name spaces, and it starts no programs.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod address;
pub mod allocate;
pub mod args;
pub mod config;
pub mod dns;
pub mod environment;
pub mod error;
pub mod explain;
pub mod invoke;
pub mod json;
pub mod memory;
pub mod names;
pub mod parameters;
pub mod policy;
pub mod pool;
pub mod range;
pub mod range_set;
pub mod record;
pub mod result;
pub mod route;
pub mod settings;
pub mod span;
pub mod spans;
pub mod store;
pub mod valid;
pub mod version;

mod ask;
mod choose;
mod commands;
mod notes;
mod render;
