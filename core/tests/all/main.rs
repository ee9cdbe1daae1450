//! Properties of the allocator, against a naive model and a store that counts
//! and fails.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

mod cost;
mod cycle;
mod faults;
mod model;
mod plans;
mod rules;
mod world;
