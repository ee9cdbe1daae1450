//! Allocation policies for wipam, in Rust.
//!
//! A policy is a function from a [`Request`] and a [`Pool`] to an [`Answer`],
//! and [`policy!`] makes a component of it:
//!
//! ```
//! # #![no_std]
//! use wipam_policy::prelude::*;
//!
//! /// The highest range that has room: for networks that fill from the end.
//! fn choose(_: &Request, pool: &Pool) -> Answer {
//!     let spans = pool.spans();
//!     match spans.iter().rev().find_map(|span| pool.next_free_in(span)) {
//!         Some(address) => address.into(),
//!         None => Answer::YouDecide,
//!     }
//! }
//!
//! wipam_policy::policy!(choose);
//! # fn main() {}
//! ```
//!
//! The same source builds twice. For wasm32-unknown-unknown the crate binds the
//! imports of `wit/`, allocates and handles panics: a policy stays `no_std`,
//! and asks its host for nothing but what its world names. Anywhere else a
//! double takes the place of the imports: [`cases::run`] puts recorded cases to
//! a policy, and [`TestPool`] makes a pool for a test of your own.
//!
//! Equal requests, pools and states must give equal answers. There is no clock
//! and no chance but [`Request::time_ms`] and [`Request::seed`].

#![cfg_attr(target_arch = "wasm32", no_std)]

extern crate alloc;

#[cfg(not(target_arch = "wasm32"))]
pub mod cases;
#[cfg(not(target_arch = "wasm32"))]
#[doc(hidden)]
#[path = "double.rs"]
pub mod host;
#[cfg(target_arch = "wasm32")]
#[doc(hidden)]
#[path = "guest.rs"]
pub mod host;
mod pool;
mod span;
mod types;

pub use pool::{Pool, Reservations, State};
pub use span::{Span, SpanError};
pub use types::{Answer, Attachment, Notice, Owner, Pod, Range, Request, Reservation};

#[cfg(not(target_arch = "wasm32"))]
pub use host::TestPool;

/// Tells people something: a line on standard error.
pub fn log(message: &str) {
    host::log(message);
}

/// What nearly every policy uses, and of the standard library what a `no_std`
/// crate has to ask for.
pub mod prelude {
    pub use crate::{Answer, Notice, Pool, Request, Span, State, log};
    pub use alloc::borrow::ToOwned;
    pub use alloc::collections::{BTreeMap, BTreeSet};
    pub use alloc::string::{String, ToString};
    pub use alloc::vec::Vec;
    pub use alloc::{format, vec};
    pub use core::net::IpAddr;
}
