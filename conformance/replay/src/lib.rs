//! Replays the cases of `conformance/host-local` without a file system: the
//! same core called natively and as a component, over a store in memory.
//!
//! The cases, their format and the rules of comparison are described in
//! `conformance/host-local/README.md`; `harness.py` beside it is the reference
//! for what is read and compared here.

mod case;
mod compare;
mod text;
mod tree;

pub use case::{Case, Step, load};
pub use compare::{Found, differences};
pub use tree::{DATA_DIR, Tree, World};
