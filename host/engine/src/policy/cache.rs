//! Compiled components, in a folder.
//!
//! The portable component is the truth. What is here is believed only if
//! nobody but root and this user can have written it, and if it is whole:
//! machine code cannot be checked. Everything else means compiling again, and
//! never a failure.

mod entry;
mod folder;

use std::path::Path;

pub(super) use entry::Key;
use folder::Folder;

/// Where compiled components are unless a configuration says otherwise.
pub(super) const DEFAULT: &str = "/var/cache/wipam/policies";

/// Bounds of the folder. What was used last stays.
const MOST_FILES: usize = 64;
const MOST_BYTES: u64 = 256 << 20;

/// The folder that a configuration names; empty for the built-in default.
pub(super) fn path(setting: &str) -> &Path {
    Path::new(if setting.is_empty() { DEFAULT } else { setting })
}

/// Code that was put there under this key, if it can be believed.
pub(super) fn get(folder: &Path, key: &Key) -> Option<Code> {
    let folder = Folder::open(folder).ok()?;
    let bytes = folder.read(&key.file_name(), MOST_BYTES).ok()?;
    let start = key.start_of_code(&bytes)?;
    Some(Code { bytes, start })
}

/// Puts code there. A failure only means that it has to be compiled again.
pub(super) fn put(folder: &Path, key: &Key, code: &[u8]) -> std::io::Result<()> {
    let folder = Folder::create(folder)?;
    folder.write(&key.file_name(), &key.entry(code))?;
    folder.prune(MOST_FILES, MOST_BYTES)
}

/// Code, as it was put there.
pub(super) struct Code {
    bytes: Vec<u8>,
    start: usize,
}

impl AsRef<[u8]> for Code {
    fn as_ref(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }
}
