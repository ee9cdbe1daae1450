//! Where reservations are kept: in files, shared with the Go `host-local`
//! plugin and with everybody who reads its directory, or in memory.
//!
//! Both are a [`Store`](wipam_core::store::Store) and both follow the same
//! rules, written once in `ledger`; what differs is how a directory is listed,
//! read and changed. Deciding which address to take, or whose records to
//! release, is not done here.
//!
//! The layout on disk, `<data dir>/<network>/`, is the Go plugin's: a file per
//! address with container id and interface, `last_reserved_ip.<index>`, `lock`.
//! What that layout cannot hold is kept in `<data dir>/.wipam/<network>/`: an
//! index of directories too large to be read at every call, what is remembered
//! of released addresses, and what a policy remembers. It may be deleted at any
//! time.

mod beside;
mod delegate;
mod directory;
mod disk;
mod error;
mod gap;
mod history;
mod journal;
mod ledger;
mod lock;
mod memory;
mod moment;
mod state;

pub use disk::{DEFAULT_DATA_DIR, DiskStore, Settings};
pub use journal::Journal;
pub use memory::{MemoryDirectory, MemoryFile, MemoryNetwork, MemoryStore};
pub use moment::Moment;
