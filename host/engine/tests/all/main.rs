//! Components in the engine: the built-in one, and policies of others.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

mod limits;
mod policy;
mod session;
mod world;
