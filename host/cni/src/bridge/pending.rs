//! A note of what an ADD in progress changes for others, so that DEL can take
//! it back if the ADD is killed.
//!
//! What belongs to the attachment alone needs no note: DEL finds it by the
//! attachment's own ids. There is a note only while an ADD runs that makes the
//! bridge, its address or the like, which most do not.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use wipam_core::names::Attachment;
use wipam_core::names::NetworkName;
use wipam_net::{Kernel, Namespace, NetError};
use xxhash_rust::xxh3::xxh3_128;

use super::undo::{Undone, Undos};

/// The note of one ADD.
pub(crate) struct Pending {
    file: PathBuf,
    note: Note,
    written: bool,
}

/// What is in the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Note {
    pub(crate) network: String,
    pub(crate) container: String,
    pub(crate) interface: String,
    /// `CNI_NETNS`
    pub(crate) netns: String,
    /// The host's network namespace: device and inode.
    pub(crate) host: (u64, u64),
    pub(crate) undo: Undos,
}

fn directory(state: &Path) -> PathBuf {
    state.join("pending")
}

fn file_of(state: &Path, host: (u64, u64), attachment: &Attachment) -> PathBuf {
    let key = format!(
        "{} {} {} {}",
        host.0, host.1, attachment.container, attachment.interface
    );
    directory(state).join(format!("{:032x}.json", xxh3_128(key.as_bytes())))
}

impl Pending {
    pub(crate) fn new(
        state: &Path,
        host: &Namespace,
        network: &NetworkName,
        attachment: &Attachment,
        netns: &str,
    ) -> Result<Self, NetError> {
        let identity = host.identity()?;
        Ok(Self {
            file: file_of(state, identity, attachment),
            note: Note {
                network: network.to_string(),
                container: attachment.container.to_string(),
                interface: attachment.interface.to_string(),
                netns: netns.to_owned(),
                host: identity,
                undo: Undos::default(),
            },
            written: false,
        })
    }

    /// Notes what would have to be undone, before it is done.
    pub(crate) fn note(&mut self, undo: &Undos) -> io::Result<()> {
        self.note.undo.clone_from(undo);
        if let Some(directory) = self.file.parent() {
            fs::create_dir_all(directory)?;
        }
        let text = serde_json::to_string(&self.note)?;
        let new = self.file.with_extension("new");
        let mut file = fs::File::create(&new)?;
        file.write_all(text.as_bytes())?;
        fs::rename(&new, &self.file)?;
        self.written = true;
        Ok(())
    }

    /// Nothing is pending any more.
    pub(crate) fn done(&mut self) {
        if self.written {
            // One that stays would have the bridge removed with the last
            // container: a nuisance, and not worth failing for.
            let _ = fs::remove_file(&self.file);
            self.written = false;
        }
    }
}

/// Takes back what an ADD of this attachment changed for others before it was
/// killed.
pub(crate) fn take_back(
    state: &Path,
    host: &Namespace,
    attachment: &Attachment,
    container: Option<&Namespace>,
    warn: &mut dyn FnMut(&str),
) -> Result<(), NetError> {
    let file = file_of(state, host.identity()?, attachment);
    match read(&file) {
        Some(note) => note.take_back(&file, host, container, warn),
        None => Ok(()),
    }
}

impl Note {
    /// Undoes what it says, and removes it, unless somebody is at work here.
    pub(crate) fn take_back(
        &self,
        file: &Path,
        host: &Namespace,
        container: Option<&Namespace>,
        warn: &mut dyn FnMut(&str),
    ) -> Result<(), NetError> {
        let undone = self
            .undo
            .run(host, &mut Kernel::open()?, container, &mut |undo, error| {
                warn(&format!("undoing an ADD that never ended: {undo}: {error}"));
            });
        if undone == Undone::Finished {
            let _ = fs::remove_file(file);
        }
        Ok(())
    }
}

/// The notes of this host's namespace that a network has.
pub(crate) fn of_network(
    state: &Path,
    host: &Namespace,
    network: &NetworkName,
) -> Vec<(PathBuf, Note)> {
    let (Ok(identity), Ok(entries)) = (host.identity(), fs::read_dir(directory(state))) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let file = entry.path();
            // Not those that were being written when their ADD was killed.
            if file.extension().is_none_or(|extension| extension != "json") {
                return None;
            }
            let note = read(&file)?;
            (note.host == identity && note.network == network.as_str()).then_some((file, note))
        })
        .collect()
}

/// One that cannot be read says nothing that could be done.
fn read(file: &Path) -> Option<Note> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}
