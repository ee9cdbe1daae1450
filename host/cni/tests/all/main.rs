//! The `host-local` binary, run as a runtime runs it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod bad_input;
mod concurrency;
mod delivery;
mod field_reports;
mod plugin;
mod status;
