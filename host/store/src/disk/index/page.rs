//! A page of the index: as much as is read to answer for one container.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::bytes::Input;
use super::entry::Entry;

/// Bytes of a page: what the kernel caches as one.
pub(super) const SIZE: usize = 4096;

/// Checksum, number of entries, overflow flag.
const HEAD: usize = 8 + 4 + 4;

/// Entries that a page holds.
pub(super) const CAPACITY: usize = (SIZE - HEAD) / Entry::SIZE;

/// One page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) entries: Vec<Entry>,
    /// Whether entries that belong here may be in the next page.
    pub(super) overflowed: bool,
}

impl Page {
    /// `seed` is different for each page of each index, so that a page in the
    /// wrong place is not taken for the right one.
    pub(super) fn encode(&self, seed: u64) -> Vec<u8> {
        let mut bytes = vec![0; 8];
        let count = u32::try_from(self.entries.len()).unwrap_or(u32::MAX);
        bytes.extend(count.to_le_bytes());
        bytes.extend(u32::from(self.overflowed).to_le_bytes());
        for entry in &self.entries {
            entry.encode(&mut bytes);
        }
        bytes.resize(SIZE, 0);
        let sum = xxh3_64_with_seed(bytes.get(8..).unwrap_or_default(), seed).to_le_bytes();
        bytes.splice(..8, sum);
        bytes
    }

    /// `None`: damaged.
    pub(super) fn decode(bytes: &[u8], seed: u64) -> Option<Self> {
        let mut entries = Vec::new();
        let overflowed = decode(bytes, seed, &mut entries)?;
        Some(Self {
            entries,
            overflowed,
        })
    }
}

/// Adds the entries of an encoded page to others, and tells whether it
/// overflowed; `None`: damaged.
pub(super) fn decode(bytes: &[u8], seed: u64, entries: &mut Vec<Entry>) -> Option<bool> {
    let mut input = Input(bytes);
    let sum = input.u64()?;
    if bytes.len() != SIZE || sum != xxh3_64_with_seed(input.0, seed) {
        return None;
    }
    let count = usize::try_from(input.u32()?)
        .ok()
        .filter(|count| *count <= CAPACITY)?;
    let overflowed = input.u32()? != 0;
    for _ in 0..count {
        entries.push(Entry::decode(&mut input)?);
    }
    Some(overflowed)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::super::entry::{Key, Kind};
    use super::*;

    #[test]
    fn what_is_written_is_read_and_damage_is_seen() {
        let entry = |address: &str, kind| Entry {
            address: address.parse().unwrap(),
            inode: u64::MAX,
            key: Key { kind, hash: 7 },
            is_file: kind != Kind::Foreign,
        };
        let entries = vec![
            entry("255.255.255.255", Kind::Owned),
            entry("::", Kind::Torn),
            entry("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", Kind::Foreign),
        ];
        let full = Page {
            entries: [entry("0.0.0.0", Kind::Owned)].repeat(CAPACITY),
            ..Page::default()
        };
        for page in [
            Page {
                entries,
                overflowed: true,
            },
            full,
            Page::default(),
        ] {
            let mut bytes = page.encode(1);
            assert_eq!(bytes.len(), SIZE);
            assert_eq!(Page::decode(&bytes, 1), Some(page));
            assert_eq!(Page::decode(&bytes, 2), None);
            assert_eq!(Page::decode(&bytes[..SIZE - 1], 1), None);
            for at in [0, 9, 20, SIZE - 1] {
                bytes[at] ^= 1;
                assert_eq!(Page::decode(&bytes, 1), None, "{at}");
                bytes[at] ^= 1;
            }
        }
        assert_eq!(Page::decode(&[0; SIZE], 0), None);
    }
}
