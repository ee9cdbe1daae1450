//! The port through which allocation reads and changes reservations.
//!
//! An implementation is one network's reservations, held under that network's
//! lock from the moment it is opened until it is dropped. It answers and
//! obeys; which address to take, and whether a record may be released, is
//! decided on this side.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;

use crate::names::{Attachment, ContainerId, InterfaceName, NetworkName};
use crate::span::Span;

/// Who a reservation is for, as its record says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    /// Container id, as CNI passes it in `CNI_CONTAINERID`.
    pub container: ContainerId,
    /// Interface name, `CNI_IFNAME`. Records made before host-local 0.8 carry
    /// none; they stand for every interface of the container.
    pub interface: Option<InterfaceName>,
}

impl Owner {
    /// Whether this record belongs to exactly this attachment.
    pub fn is(&self, attachment: &Attachment) -> bool {
        self.container == attachment.container
            && self.interface.as_ref() == Some(&attachment.interface)
    }
}

impl From<&Attachment> for Owner {
    fn from(attachment: &Attachment) -> Self {
        Self {
            container: attachment.container.clone(),
            interface: Some(attachment.interface.clone()),
        }
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.interface {
            Some(interface) => write!(f, "container {}, interface {interface}", self.container),
            None => write!(f, "container {} (no interface recorded)", self.container),
        }
    }
}

/// One address and who holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// The reserved address.
    pub address: IpAddr,
    /// Who holds it.
    pub owner: Owner,
    /// Whether it was made after this invocation began, while it waited for
    /// the lock. Such a record cannot have been known to whoever wrote the
    /// list of valid attachments that a GC works from. Told only under
    /// [`Access::Collect`].
    pub newer: bool,
}

/// What stands at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Nothing: the address can be reserved. A record without an owner, as a
    /// writer that was killed leaves it, counts as nothing.
    Nobody,
    /// A reservation.
    Owner(Owner),
    /// Something that is no record but keeps the address from being used,
    /// such as a directory or a file of another program.
    Foreign,
}

/// What is remembered of an address that is free now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Past {
    /// The address.
    pub address: IpAddr,
    /// Who had it last, in the words of [`Store::remember`].
    pub key: Option<String>,
    /// Whether it is the last address that `key` had.
    pub latest: bool,
    /// Milliseconds since its release, as far as that is certain: after the
    /// clock was set or the machine booted, at least as many.
    pub released_ms_ago: u64,
}

/// One network's reservations, under its lock.
pub trait Store {
    /// Every reservation of a container, whatever its interface, in the order
    /// of their addresses.
    fn held_by(&mut self, container: &ContainerId) -> Result<Vec<Reservation>, StoreError>;

    /// What stands at `address`.
    fn holder(&mut self, address: IpAddr) -> Result<Holder, StoreError>;

    /// The lowest address of `span` (both ends inclusive) that can be
    /// reserved. The cost may grow with the number of reservations in the
    /// span, never with its size.
    fn next_free(&mut self, span: Span) -> Result<Option<IpAddr>, StoreError>;

    /// Reserves `address`, atomically and exclusively: `false` where something
    /// already stands there, and nothing has changed then.
    fn reserve(&mut self, address: IpAddr, owner: &Attachment) -> Result<bool, StoreError>;

    /// Frees `address` if `owner` holds it; `false` otherwise. Never removes
    /// anything that is no record of this owner.
    fn release(&mut self, address: IpAddr, owner: &Owner) -> Result<bool, StoreError>;

    /// The address last reserved for the range set at `index`. A hint:
    /// whatever cannot be read as an address is `None`.
    fn last_reserved(&mut self, index: u32) -> Result<Option<IpAddr>, StoreError>;

    /// The last reserved addresses of all indexes, in their order.
    fn all_last_reserved(&mut self) -> Result<Vec<IpAddr>, StoreError>;

    /// Remembers `address` as the one last reserved for the set at `index`.
    fn set_last_reserved(&mut self, index: u32, address: IpAddr) -> Result<(), StoreError>;

    /// The reservations at addresses higher than `after`, lowest first, a page
    /// at a time: nothing more follows an empty page. IPv4 comes before IPv6.
    fn reservations(&mut self, after: Option<IpAddr>) -> Result<Vec<Reservation>, StoreError>;

    /// Removes what a killed writer left behind: records without an owner.
    /// Returns the addresses that became free.
    fn reclaim(&mut self) -> Result<Vec<IpAddr>, StoreError>;

    /// The lowest address of `span` (both ends inclusive) that can be reserved
    /// and of which nothing is remembered.
    fn next_unused(&mut self, span: Span) -> Result<Option<IpAddr>, StoreError>;

    /// What is remembered of `address`; `None` where nothing is, or where it
    /// is not free.
    fn past(&mut self, address: IpAddr) -> Result<Option<Past>, StoreError>;

    /// What is remembered of the addresses that are free, those released first
    /// first, without the first `skip`, a page at a time: nothing more follows
    /// an empty page.
    fn released(&mut self, skip: u32) -> Result<Vec<Past>, StoreError>;

    /// The last address that `key` had, whether it is free or not.
    fn remembered(&mut self, key: &str) -> Result<Option<IpAddr>, StoreError>;

    /// Remembers that `key` has `address`: a text of at most [`LONGEST_KEY`]
    /// bytes without blanks and control characters.
    fn remember(&mut self, address: IpAddr, key: &str) -> Result<(), StoreError>;

    /// Makes what a policy has written in this invocation count.
    fn keep_state(&mut self) -> Result<(), StoreError>;
}

/// Most bytes of a key that [`Store::remember`] takes.
pub const LONGEST_KEY: usize = 512;

/// What a policy remembers of a network: bytes whose meaning is the policy
/// host's business. Only hosts have it; the component does not.
pub trait PolicyState {
    /// The bytes, as they were last set, or else as they are kept; empty where
    /// there are none.
    fn policy_state(&mut self) -> Result<Vec<u8>, StoreError>;

    /// Sets them. They count once [`Store::keep_state`] is called, and are
    /// forgotten with the store otherwise.
    fn set_policy_state(&mut self, bytes: Vec<u8>);
}

/// How a store failed. The difference matters to whoever decides to try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreErrorKind {
    /// The lock was not free in time.
    Busy,
    /// Reading or writing failed.
    Io,
    /// The location is not one a store can be at: not absolute, or no
    /// directory.
    Location,
}

/// Why a store could not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreError {
    /// What kind of failure it was.
    pub kind: StoreErrorKind,
    /// Operation, path and cause, for people.
    pub message: String,
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl core::error::Error for StoreError {}

/// What an invocation may do to a network's reservations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// STATUS: looks without the lock and changes nothing, but fails where
    /// [`Access::Reserve`] would.
    Inspect,
    /// CHECK: reads under the lock and creates nothing.
    Read,
    /// DEL: removes, and creates no directory to do so.
    Release,
    /// GC: as `Release`, and knows which records are newer than the
    /// invocation.
    Collect,
    /// ADD: creates what is missing.
    Reserve,
}

/// Where a network's reservations are, and how to get at them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// `ipam.dataDir`, an absolute path; empty for the built-in default.
    pub data_dir: String,
    /// The network.
    pub network: NetworkName,
    /// Longest wait for the lock, in milliseconds.
    pub lock_wait_ms: u32,
    /// Whether a reservation is on stable storage before it counts.
    pub sync: bool,
    /// Whether releases are remembered from now on, if the access creates what
    /// is missing. Where they are already, they go on to be.
    pub history: bool,
}
