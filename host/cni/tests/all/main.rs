//! The `host-local` binary, run as a runtime runs it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests fail by panicking, and say what they skip"
)]

mod bad_input;
mod choosing;
mod concurrency;
mod delivery;
mod field_reports;
mod plugin;
mod policy;
mod status;
