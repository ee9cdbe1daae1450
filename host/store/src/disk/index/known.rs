//! What an index knew of a directory, to be compared with what is there.

use std::net::IpAddr;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::entry::{Entry, octets};

/// Entries by their addresses, and which of them are still right. A table of
/// positions, since 60,000 entries in a map of the standard library cost as
/// much as listing the directory.
#[derive(Debug, Default)]
pub(super) struct Known {
    entries: Vec<Entry>,
    kept: Vec<bool>,
    /// A power of two of positions plus one, at least twice as many as there
    /// are entries; 0 is nothing.
    slots: Vec<u32>,
    seed: u64,
}

impl Known {
    /// `None`: an address is there twice. `seed` is one that nobody could
    /// know when the addresses were chosen.
    pub(super) fn new(entries: Vec<Entry>, seed: u64) -> Option<Self> {
        let mut known = Self {
            kept: vec![false; entries.len()],
            slots: vec![0; (2 * entries.len()).next_power_of_two()],
            entries,
            seed,
        };
        for (position, entry) in (1..).zip(&known.entries) {
            let (slot, found) = known.look_up(entry.address)?;
            if found.is_some() {
                return None;
            }
            *known.slots.get_mut(slot)? = position;
        }
        Some(known)
    }

    /// The slot of an address, and the position that it has; or the slot where
    /// it would be.
    fn look_up(&self, address: IpAddr) -> Option<(usize, Option<usize>)> {
        let mask = self.slots.len().checked_sub(1)?;
        let mut slot = xxh3_64_with_seed(&octets(address), self.seed) as usize & mask;
        loop {
            let position = (*self.slots.get(slot)? as usize).checked_sub(1);
            let Some(position) = position else {
                return Some((slot, None));
            };
            if self.entries.get(position)?.address == address {
                return Some((slot, Some(position)));
            }
            slot = (slot + 1) & mask;
        }
    }

    /// The entry of an address, and where it is.
    pub(super) fn find(&self, address: IpAddr) -> Option<(usize, Entry)> {
        let (_, position) = self.look_up(address)?;
        Some((position?, *self.entries.get(position?)?))
    }

    /// Marks the entry at a position as right.
    pub(super) fn keep(&mut self, position: usize) {
        if let Some(kept) = self.kept.get_mut(position) {
            *kept = true;
        }
    }

    /// Those that are right, and those that are not.
    pub(super) fn divide(self) -> (Vec<Entry>, Vec<Entry>) {
        let Self {
            mut entries, kept, ..
        } = self;
        let mut gone = Vec::new();
        let mut kept = kept.into_iter();
        entries.retain(|entry| {
            let keep = kept.next() == Some(true);
            if !keep {
                gone.push(*entry);
            }
            keep
        });
        (entries, gone)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::super::entry::{Key, Kind};
    use super::*;

    fn entry(address: IpAddr) -> Entry {
        Entry {
            address,
            inode: 1,
            key: Key {
                kind: Kind::Owned,
                hash: 2,
            },
            is_file: true,
        }
    }

    #[test]
    fn each_is_found_and_what_is_not_kept_is_gone() {
        let v4 = (0..1000).map(|number| IpAddr::V4(Ipv4Addr::from_bits(number)));
        // The same numbers, which are other addresses.
        let v6 = (0..1000).map(|number| IpAddr::V6(Ipv6Addr::from_bits(number)));
        let all: Vec<Entry> = v4.chain(v6).map(entry).collect();
        for count in [0, 1, 2, 3, 2000] {
            let some = all.get(..count).unwrap().to_vec();
            let mut known = Known::new(some, 7).unwrap();
            for (at, entry) in all.iter().enumerate() {
                let found = (at < count).then_some((at, *entry));
                assert_eq!(known.find(entry.address), found);
                if at % 3 == 0 {
                    known.keep(at);
                }
            }
            let (kept, gone) = known.divide();
            assert_eq!(
                (kept.len(), gone.len()),
                (count.div_ceil(3), count - count.div_ceil(3))
            );
            assert!(kept.iter().all(|entry| !gone.contains(entry)));
        }
        let twice = [&all[..], &all[5..6]].concat();
        assert!(Known::new(twice, 7).is_none());
        assert_eq!(Known::default().find(all[0].address), None);
    }
}
