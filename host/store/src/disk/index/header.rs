//! The first page of the index.

use std::collections::BTreeSet;

use xxhash_rust::xxh3::xxh3_64;

use super::bytes::Input;
use super::token::{Identity, Stamp};

/// Name and version of the format. Another version is damage like any other:
/// the index is made anew.
const MAGIC: &[u8; 8] = b"wipamix2";

/// Bytes of an encoded header.
pub(super) const SIZE: usize = 256;

/// The marker indexes that are kept in bits; the highest bit stands for all
/// others.
const BITS: u32 = 63;

/// What is known of the whole index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) pages: u32,
    pub(super) salt: u64,
    pub(super) records: u64,
    pub(super) identity: Identity,
    /// The directory's stamp after the last change that the index knows of;
    /// `None` where no stamp would prove anything.
    pub(super) stamp: Option<Stamp>,
    /// The stamp of the directory of pins while it holds, under the name of
    /// each record that is a file, the inode that its entry names, and no
    /// other; `None` where that is not known.
    pub(super) pins: Option<Stamp>,
    pub(super) markers: Markers,
    /// Whether there are temporaries.
    pub(super) temporaries: bool,
}

/// Which range sets have a marker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Markers(u64);

impl Markers {
    pub(super) fn insert(&mut self, index: u32) {
        self.0 |= 1 << index.min(BITS);
    }

    /// `None`: there are more than can be told.
    pub(super) fn known(self) -> Option<BTreeSet<u32>> {
        let others = self.0 >> BITS != 0;
        (!others).then(|| (0..BITS).filter(|index| self.0 >> index & 1 != 0).collect())
    }
}

impl Header {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.pages.to_le_bytes());
        bytes.extend(self.salt.to_le_bytes());
        bytes.extend(self.records.to_le_bytes());
        bytes.extend(self.markers.0.to_le_bytes());
        bytes.push(u8::from(self.temporaries));
        self.identity.encode(&mut bytes);
        for stamp in [self.stamp, self.pins] {
            bytes.push(u8::from(stamp.is_some()));
            if let Some(stamp) = stamp {
                stamp.encode(&mut bytes);
            }
        }
        bytes.resize(SIZE - 8, 0);
        bytes.extend(xxh3_64(&bytes).to_le_bytes());
        bytes
    }

    /// `None`: damaged.
    pub(super) fn decode(bytes: &[u8; SIZE]) -> Option<Self> {
        let (content, sum) = bytes.split_last_chunk::<8>()?;
        let mut input = Input(content);
        if xxh3_64(content) != u64::from_le_bytes(*sum) || input.take()? != *MAGIC {
            return None;
        }
        let pages = input.u32()?;
        Some(Self {
            pages: (pages > 0).then_some(pages)?,
            salt: input.u64()?,
            records: input.u64()?,
            markers: Markers(input.u64()?),
            temporaries: input.u8()? != 0,
            identity: Identity::decode(&mut input)?,
            stamp: stamp(&mut input)?,
            pins: stamp(&mut input)?,
        })
    }
}

/// A stamp, if there is one; `None`: damaged.
fn stamp(input: &mut Input<'_>) -> Option<Option<Stamp>> {
    if input.u8()? == 0 {
        return Some(None);
    }
    Stamp::decode(input).map(Some)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use cap_std::ambient_authority;
    use cap_std::fs::Dir;

    use super::*;

    #[test]
    fn what_is_written_is_read_and_damage_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let directory = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        let mut markers = Markers::default();
        markers.insert(0);
        markers.insert(62);
        assert_eq!(markers.known(), Some(BTreeSet::from([0, 62])));
        let stamp = Some(Stamp::of(&directory).unwrap());
        for (stamp, pins) in [(None, None), (stamp, None), (None, stamp), (stamp, stamp)] {
            let header = Header {
                pages: 5,
                salt: u64::MAX,
                records: 60_000,
                identity: Identity::of(&directory).unwrap(),
                stamp,
                pins,
                markers,
                temporaries: true,
            };
            let mut bytes: [u8; SIZE] = header.encode().try_into().unwrap();
            assert_eq!(Header::decode(&bytes), Some(header));
            for at in 0..SIZE {
                bytes[at] ^= 0x10;
                assert_eq!(Header::decode(&bytes), None, "{at}");
                bytes[at] ^= 0x10;
            }
        }
        markers.insert(4_000_000_000);
        assert_eq!(markers.known(), None);
    }
}
