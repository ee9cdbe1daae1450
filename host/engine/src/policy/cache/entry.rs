//! What a file of the cache looks like: the code, its length and checksum, the
//! key and its length, a magic word. Numbers are little-endian.

use std::env::consts::ARCH;
use std::fs::File;
use std::os::unix::fs::FileExt;

use xxhash_rust::xxh3::{Xxh3Default, xxh3_128};

use crate::policy::digest::sha256;
use crate::policy::settings::REVISION;

/// What names of these files end with.
pub(super) const SUFFIX: &str = ".cwasm";

const MAGIC: &[u8; 8] = b"wipamcw2";

/// What compiled code depends on.
#[derive(Debug)]
pub(in crate::policy) struct Key {
    digest: String,
    text: String,
}

impl Key {
    /// The key of the component with this SHA-256, for this program.
    pub(in crate::policy) fn new(digest: &str) -> Self {
        Self {
            digest: digest.to_owned(),
            text: format!("{digest} {ARCH} {REVISION}"),
        }
    }

    /// Begins with the component's digest, for those who look for it. Versions
    /// of this program do not take each other's files away.
    pub(super) fn file_name(&self) -> String {
        let others = sha256(self.text.as_bytes());
        format!(
            "{}-{}{SUFFIX}",
            self.digest,
            others.get(..8).unwrap_or_default()
        )
    }

    /// The file for this code. The code comes first: it is mapped as it is,
    /// and has to begin at a page.
    pub(super) fn entry(&self, code: &[u8]) -> Vec<u8> {
        let mut bytes = code.to_vec();
        bytes.extend(self.trailer(code.len() as u64, xxh3_128(code)));
        bytes
    }

    fn trailer(&self, length: u64, checksum: u128) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.text.len() + 40);
        bytes.extend(length.to_le_bytes());
        bytes.extend(checksum.to_le_bytes());
        bytes.extend(self.text.as_bytes());
        bytes.extend((self.text.len() as u64).to_le_bytes());
        bytes.extend(MAGIC);
        bytes
    }

    /// Whether this is the file for this key, and whole. The checksum finds
    /// what a disk has done; nothing finds what somebody means to do, so who
    /// may write is looked at first.
    ///
    /// It is read piece by piece: memory for all of it would cost more than
    /// reading.
    pub(super) fn is_whole(&self, file: &File, size: u64) -> bool {
        let trailer = self.trailer(0, 0).len() as u64;
        let Some(length) = size.checked_sub(trailer) else {
            return false;
        };
        let mut checksum = Xxh3Default::new();
        let mut piece = vec![0; PIECE];
        let mut at = 0;
        while at < length {
            let most = usize::try_from(length - at).unwrap_or(PIECE).min(PIECE);
            let read = piece.get_mut(..most).map(|piece| file.read_at(piece, at));
            match read {
                Some(Ok(read @ 1..)) => {
                    checksum.update(piece.get(..read).unwrap_or_default());
                    at += read as u64;
                }
                _ => return false,
            }
        }
        let wanted = self.trailer(length, checksum.digest128());
        let mut found = vec![0; wanted.len()];
        file.read_exact_at(&mut found, length).is_ok() && found == wanted
    }
}

/// Bytes that are read at once.
const PIECE: usize = 64 << 10;

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn is_whole(key: &Key, bytes: &[u8]) -> bool {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(bytes, 0).unwrap();
        key.is_whole(&file, bytes.len() as u64)
    }

    #[test]
    fn only_the_whole_entry_of_the_same_key_is_taken() {
        let key = Key::new(&sha256(b"component"));
        let entry = key.entry(b"code");
        assert!(entry.starts_with(b"code"));
        assert!(is_whole(&key, &entry));

        assert!(!is_whole(&Key::new(&sha256(b"other")), &entry));
        for length in 0..entry.len() {
            assert!(!is_whole(&key, &entry[..length]), "{length}");
        }
        for at in 0..entry.len() {
            let mut damaged = entry.clone();
            damaged[at] ^= 0x10;
            assert!(!is_whole(&key, &damaged), "{at}");
        }
        let mut longer = entry;
        longer.push(0);
        assert!(!is_whole(&key, &longer));
        let large = vec![7; 2 * PIECE + 1];
        let mut entry = key.entry(&large);
        assert!(is_whole(&key, &entry));
        entry[PIECE] ^= 1;
        assert!(!is_whole(&key, &entry));
    }
}
