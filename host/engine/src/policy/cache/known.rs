//! What is known of a component without reading it: its digest, as long as the
//! file is the one that was read.
//!
//! Reading and hashing take longer than everything else that is done with a
//! component whose code is in the cache. That a file is the same is told by its
//! device, number, size and times, as git tells it: whoever writes to it moves
//! the time of its last change, which nobody can set.

use std::fs::File;
use std::io::Read;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::policy::digest::sha256;
use crate::policy::load::Source;

/// What names of notes end with.
pub(super) const SUFFIX: &str = ".known";

/// Most bytes of a note.
pub(super) const MOST: u64 = 16 << 10;

/// Times of files move in ticks. A note that was made this long after the
/// component was changed last was not made in the same tick.
const TICK: Duration = Duration::from_secs(2);

/// What is known of a component.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::policy) struct Known {
    /// Its SHA-256.
    pub(in crate::policy) digest: String,
    /// Whether fuel alone does not bound it.
    pub(in crate::policy) watched: bool,
    /// Whether it wants to be told of releases: if not, a DEL need not load it.
    pub(in crate::policy) told: bool,
}

#[derive(Serialize, Deserialize)]
struct Note {
    path: String,
    file: [i64; 7],
    known: Known,
}

/// One for each path: who replaces a component has the old note replaced.
pub(super) fn file_name(source: &Source) -> String {
    let digits = xxhash_rust::xxh3::xxh3_128(source.path.as_bytes());
    format!("{digits:032x}{SUFFIX}")
}

/// Whether a component was changed so long before this that no later change
/// can have the same time.
pub(super) fn is_settled(source: &Source, noted: SystemTime) -> bool {
    noted
        .duration_since(source.changed())
        .is_ok_and(|passed| passed >= TICK)
}

pub(super) fn render(source: &Source, known: &Known) -> Vec<u8> {
    let note = Note {
        path: source.path.clone(),
        file: source.file,
        known: known.clone(),
    };
    // Texts and numbers: nothing of it can fail.
    serde_json::to_vec(&note).unwrap_or_default()
}

pub(super) fn read(mut file: File, source: &Source, noted: SystemTime) -> Option<Known> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    let note: Note = serde_json::from_slice(&bytes).ok()?;
    let is_digest = note.known.digest.len() == sha256(b"").len();
    (is_settled(source, noted) && is_digest && note.path == source.path && note.file == source.file)
        .then_some(note.known)
}
