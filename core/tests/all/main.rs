//! Properties of the allocator, against a naive model and a store that counts
//! and fails; and the shapes of results.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

mod chances;
mod choosing;
mod cost;
mod cycle;
mod faults;
mod model;
mod net;
mod plans;
mod policies;
mod results;
mod rules;
mod settings;
mod sticky;
mod world;
