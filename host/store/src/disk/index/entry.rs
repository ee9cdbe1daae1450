//! What the index remembers of one record.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use wipam_core::names::ContainerId;
use xxhash_rust::xxh3::xxh3_64;

use super::bytes::Input;
use crate::directory::Found;

/// What kind of thing has the name of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A reservation.
    Owned,
    /// An empty record: the address is free.
    Torn,
    /// No record: the address is taken, by nobody.
    Foreign,
}

/// Under what a record is found: the hash of its container, or of its address
/// where it has none, so that many such do not all meet in one page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) kind: Kind,
    pub(super) hash: u64,
}

impl Key {
    pub(super) fn of(address: IpAddr, found: &Found) -> Option<Self> {
        let kind = match found {
            Found::Nothing => return None,
            Found::Owned { owner, .. } => {
                return Some(Self {
                    kind: Kind::Owned,
                    hash: hash(&owner.container),
                });
            }
            Found::Torn => Kind::Torn,
            Found::Foreign => Kind::Foreign,
        };
        Some(Self {
            kind,
            hash: xxh3_64(&octets(address)),
        })
    }
}

/// The hash of a container. Two containers may share it.
pub(super) fn hash(container: &ContainerId) -> u64 {
    xxh3_64(container.as_str().as_bytes())
}

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) address: IpAddr,
    pub(super) inode: u64,
    pub(super) key: Key,
    /// Whether it is a regular file: what can be pinned.
    pub(super) is_file: bool,
}

impl Entry {
    /// Bytes of an encoded entry.
    pub(super) const SIZE: usize = 16 + 8 + 8 + 3;

    pub(super) fn encode(&self, output: &mut Vec<u8>) {
        output.extend(octets(self.address));
        output.extend(self.inode.to_le_bytes());
        output.extend(self.key.hash.to_le_bytes());
        output.push(match self.key.kind {
            Kind::Owned => 0,
            Kind::Torn => 1,
            Kind::Foreign => 2,
        });
        output.push(if self.address.is_ipv4() { 4 } else { 6 });
        output.push(u8::from(self.is_file));
    }

    pub(super) fn decode(input: &mut Input<'_>) -> Option<Self> {
        let number = u128::from_be_bytes(input.take()?);
        let inode = input.u64()?;
        let hash = input.u64()?;
        let kind = match input.u8()? {
            0 => Kind::Owned,
            1 => Kind::Torn,
            2 => Kind::Foreign,
            _ => return None,
        };
        let address = match input.u8()? {
            4 => IpAddr::V4(Ipv4Addr::from_bits(u32::try_from(number).ok()?)),
            6 => IpAddr::V6(Ipv6Addr::from_bits(number)),
            _ => return None,
        };
        Some(Self {
            address,
            inode,
            key: Key { kind, hash },
            is_file: input.u8()? != 0,
        })
    }
}

pub(super) fn octets(address: IpAddr) -> [u8; 16] {
    wipam_core::span::to_number(address).to_be_bytes()
}
