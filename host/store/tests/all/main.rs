//! The file store as others see it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

mod copy;
mod format;
mod history;
mod history_files;
mod history_model;
mod large;
mod model;
mod mounts;
mod networks;
mod open;
mod state;
mod support;
mod twins;
