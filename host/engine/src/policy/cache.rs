//! Compiled components, in a folder.
//!
//! The portable component is the truth. What is here is believed only if
//! nobody but root and this user can have written it, and if it is whole:
//! machine code cannot be checked. Everything else means compiling again, and
//! never a failure.

mod entry;
mod folder;
mod known;

use std::fs::File;
use std::path::Path;
use std::time::SystemTime;

use super::load::Source;
pub(super) use entry::Key;
use folder::Folder;
pub(super) use known::Known;

/// Where compiled components are unless a configuration says otherwise.
pub(super) const DEFAULT: &str = "/var/cache/wipam/policies";

/// Bounds of the folder. What was used last stays.
const MOST_FILES: usize = 64;
const MOST_BYTES: u64 = 256 << 20;

/// The folder that a configuration names; empty for the built-in default.
pub(super) fn path(setting: &str) -> &Path {
    Path::new(if setting.is_empty() { DEFAULT } else { setting })
}

/// The file with the code that was put there under this key, if it can be
/// believed. Nobody changes it: it is only ever replaced.
pub(super) fn get(folder: &Path, key: &Key) -> Option<File> {
    let folder = Folder::open(folder).ok()?;
    let (file, size, _) = folder.open_file(&key.file_name(), MOST_BYTES).ok()?;
    key.is_whole(&file, size).then_some(file)
}

/// Puts code there. A failure only means that it has to be compiled again.
pub(super) fn put(folder: &Path, key: &Key, code: &[u8]) -> std::io::Result<()> {
    let folder = Folder::create(folder)?;
    folder.write(&key.file_name(), &key.entry(code))?;
    folder.prune(entry::SUFFIX, MOST_FILES, MOST_BYTES)
}

/// What was noted of a component, if it is still the same file.
pub(super) fn recall(folder: &Path, source: &Source) -> Option<Known> {
    let folder = Folder::open(folder).ok()?;
    let (file, _, noted) = folder
        .open_file(&known::file_name(source), known::MOST)
        .ok()?;
    known::read(file, source, noted)
}

/// Notes what is known of a component, so that it need not be read the next
/// time. A failure only means that it has to be.
pub(super) fn note(folder: &Path, source: &Source, known: &Known) {
    if !known::is_settled(source, SystemTime::now()) {
        return;
    }
    if let Ok(folder) = Folder::create(folder) {
        let _ = folder.write(&known::file_name(source), &known::render(source, known));
        let _ = folder.prune(known::SUFFIX, MOST_FILES, MOST_BYTES);
    }
}
