//! What people see.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests fail by panicking, and say what they skip"
)]

mod bridge;
#[allow(
    dead_code,
    reason = "these are the tests' of the engine, and not all are needed here"
)]
#[path = "../../../engine/tests/all/policy/guest.rs"]
mod guest;
mod policy;
mod simulate;
