//! What a file of the cache looks like: a magic word, the key and the code, each
//! after its length, the code also after its checksum. Numbers are little-endian.

use std::env::consts::ARCH;

use xxhash_rust::xxh3::xxh3_128;

use crate::policy::digest::sha256;
use crate::policy::settings::REVISION;

const MAGIC: &[u8; 8] = b"wipamcw1";

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
            "{}-{}.cwasm",
            self.digest,
            others.get(..8).unwrap_or_default()
        )
    }

    /// The file for this code.
    pub(super) fn entry(&self, code: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.text.len() + code.len() + 64);
        bytes.extend(MAGIC);
        bytes.extend((self.text.len() as u64).to_le_bytes());
        bytes.extend(self.text.as_bytes());
        bytes.extend((code.len() as u64).to_le_bytes());
        bytes.extend(xxh3_128(code).to_le_bytes());
        bytes.extend(code);
        bytes
    }

    /// Where the code begins, if this is the file for this key, and whole. The
    /// checksum finds what a disk has done; nothing finds what somebody means
    /// to do, so who may write is looked at first.
    pub(super) fn start_of_code(&self, entry: &[u8]) -> Option<usize> {
        let key = entry.strip_prefix(MAGIC)?;
        let key = key.strip_prefix(&(self.text.len() as u64).to_le_bytes())?;
        let rest = key.strip_prefix(self.text.as_bytes())?;
        let (length, rest) = rest.split_first_chunk::<8>()?;
        let (checksum, code) = rest.split_first_chunk::<16>()?;
        let whole = u64::from_le_bytes(*length) == code.len() as u64
            && u128::from_le_bytes(*checksum) == xxh3_128(code);
        whole.then(|| entry.len() - code.len())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_entry_of_the_same_key_is_taken() {
        let key = Key::new(&sha256(b"component"));
        let entry = key.entry(b"code");
        let start = key.start_of_code(&entry).unwrap();
        assert_eq!(&entry[start..], b"code");

        assert!(Key::new(&sha256(b"other")).start_of_code(&entry).is_none());
        for length in 0..entry.len() {
            assert!(key.start_of_code(&entry[..length]).is_none(), "{length}");
        }
        for at in 0..entry.len() {
            let mut damaged = entry.clone();
            damaged[at] ^= 0x10;
            assert!(key.start_of_code(&damaged).is_none(), "{at}");
        }
        let mut longer = entry;
        longer.push(0);
        assert!(key.start_of_code(&longer).is_none());
    }
}
