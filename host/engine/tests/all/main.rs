//! The component in the engine.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod limits;
mod world;
