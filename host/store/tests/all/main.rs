//! The file store as others see it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

mod format;
mod large;
mod model;
mod mounts;
mod open;
mod support;
