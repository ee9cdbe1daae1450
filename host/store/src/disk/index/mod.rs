//! An index of a large directory, so that a call costs the same with 60,000
//! records as with none.
//!
//! It is a cache beside the directory and never the truth: a record that it
//! names is read before it is believed. That a container has *no* record is
//! believed only while a token proves that nobody else changed the directory
//! since (see `token`); otherwise all names are compared with it (see `sync`).
//! What cannot be proved by that is an edit of a record in place, which moves
//! no stamp of the directory; a GC, which reads everything, finds it.
//!
//! The order of writing is: the directory, the pages, the pins, the stamps of
//! pins and directory, the header. A kill in between leaves stamps that do not
//! match.

mod bytes;
mod entry;
mod header;
mod known;
mod page;
mod pages;
mod pins;
mod sync;
mod token;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::FileExt;

use cap_std::fs::{Dir, OpenOptions};
use rustix::fs::{AtFlags, FileType, statat};
use wipam_core::names::ContainerId;

use super::beside;
use crate::directory::{Extras, Found};
use entry::{Entry, Key, Kind};
use header::{Header, Markers};
use pages::Pages;
use pins::Pins;
use token::{Identity, Stamp, nonce};
use wipam_core::record::Name;

pub(super) use sync::sync;

const NAME: &str = "index";
const NEW_NAME: &str = "index.new";

/// An index that agrees with its directory.
#[derive(Debug)]
pub(super) struct Index {
    folder: Dir,
    pins: Option<Pins>,
    pages: Pages,
    header: Header,
    /// Every entry, where a comparison has just gone through them.
    entries: Option<Vec<Entry>>,
    /// Whether a stamp may be set again after a change: not if links are
    /// about, whose targets change unseen, or somebody works without the lock.
    provable: bool,
}

/// What is there of an index.
#[derive(Debug)]
pub(super) enum State {
    /// Nothing.
    Missing,
    /// It agrees with the directory.
    Current(Index),
    /// It is to be compared with the directory, if it is not damaged.
    Stale(Option<Index>),
}

impl Index {
    /// Looks for the index of a network.
    pub(super) fn open(data: &Dir, name: &str, network: &Dir) -> State {
        let Ok(folder) = data.open_dir(beside::folder(name)) else {
            return State::Missing;
        };
        let mut options = OpenOptions::new();
        let file = folder.open_with(NAME, options.read(true).write(true));
        // For a CHECK on a read-only file system.
        let file = file.or_else(|_| folder.open(NAME));
        let file = match file {
            Ok(file) => file.into_std(),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return State::Missing,
            Err(_) => return State::Stale(None),
        };
        let mut bytes = [0; header::SIZE];
        let header = file
            .read_exact_at(&mut bytes, 0)
            .ok()
            .and(Header::decode(&bytes));
        let Some(header) = header else {
            return State::Stale(None);
        };
        // Of another directory, or of another boot: nothing in it is known.
        if Identity::of(network).ok() != Some(header.identity) {
            return State::Stale(None);
        }
        let pages = Pages::open(file, header.pages, header.salt);
        let index = Self {
            folder,
            pins: None,
            pages,
            header,
            entries: None,
            provable: true,
        };
        if index.agrees(network) {
            State::Current(index)
        } else {
            State::Stale(Some(index))
        }
    }

    fn agrees(&self, network: &Dir) -> bool {
        self.header.stamp.is_some() && self.header.stamp == Stamp::of(network).ok()
    }

    /// Where records of the container may be.
    pub(super) fn candidates(&mut self, container: &ContainerId) -> io::Result<Vec<IpAddr>> {
        let entries = self.pages.find(entry::hash(container))?;
        let owned = entries.iter().filter(|entry| entry.key.kind == Kind::Owned);
        Ok(owned.map(|entry| entry.address).collect())
    }

    /// The addresses that are not free.
    pub(super) fn taken(&mut self) -> io::Result<BTreeSet<IpAddr>> {
        let all = match self.entries.take() {
            Some(all) => all,
            None => self.pages.all()?,
        };
        let taken = all.iter().filter(|entry| entry.key.kind != Kind::Torn);
        Ok(taken.map(|entry| entry.address).collect())
    }

    /// The other names, if few enough to be known.
    pub(super) fn extras(&self) -> Option<Extras> {
        if self.header.temporaries {
            return None;
        }
        let markers = self.header.markers.known()?;
        Some(Extras {
            markers,
            temporaries: BTreeSet::new(),
        })
    }

    /// Whether the index says what a full reading found.
    pub(super) fn matches(&mut self, records: &BTreeMap<IpAddr, Found>) -> bool {
        let Ok(all) = self.pages.all() else {
            return false;
        };
        let known: BTreeMap<IpAddr, Key> =
            all.iter().map(|entry| (entry.address, entry.key)).collect();
        let found = records
            .iter()
            .filter_map(|(address, found)| Some((*address, Key::of(*address, found)?)));
        all.len() == known.len() && found.eq(known)
    }

    /// To be called before each change of the directory.
    pub(super) fn before_change(&mut self, network: &Dir) {
        self.provable &= self.agrees(network);
    }

    /// Follows a change of a record.
    pub(super) fn record_changed(
        &mut self,
        network: &Dir,
        address: IpAddr,
        before: &Found,
        after: &Found,
    ) -> io::Result<()> {
        let pins = match self.pins.take() {
            Some(pins) => pins,
            None => Pins::open_or_create(&self.folder)?,
        };
        self.entries = None;
        let mut pinned = pins.begin(self.header.pins)?;
        if let Some(key) = Key::of(address, before) {
            // Not where it should be: a record that was edited in place.
            let known = self.pages.remove(address, key.hash)?;
            self.provable &= known;
            self.header.records = self.header.records.saturating_sub(u64::from(known));
        }
        if let Some(key) = Key::of(address, after) {
            let stat = statat(network, address.to_string(), AtFlags::SYMLINK_NOFOLLOW)?;
            self.pages.insert(Entry {
                address,
                inode: stat.st_ino,
                key,
                is_file: FileType::from_raw_mode(stat.st_mode).is_file(),
            })?;
            self.header.records += 1;
        }
        // Pages first: a pin says that the entry of its record is right.
        self.pages.flush()?;
        pinned &= match after {
            Found::Nothing => pins.unpin(address),
            _ => pins.pin(network, address),
        };
        // Otherwise entries of records that are gone may be left, without a pin.
        self.header.pins = if pinned && self.provable {
            pins.vouch()
        } else {
            None
        };
        self.pins = Some(pins);
        if self.pages.is_crowded(self.header.records) {
            let all = self.pages.all()?;
            self.rebuild(&all)?;
        }
        self.seal(network)
    }

    /// Follows a change of another name.
    pub(super) fn other_changed(&mut self, network: &Dir, name: Name) -> io::Result<()> {
        if let Name::Marker(index) = name {
            self.header.markers.insert(index);
        }
        self.seal(network)
    }

    /// Writes everything, and that it agrees with the directory.
    fn seal(&mut self, network: &Dir) -> io::Result<()> {
        self.pages.flush()?;
        // Where the stamp cannot be set, the index is only compared each time.
        let stamp = if self.provable {
            Stamp::set(network).unwrap_or(None)
        } else {
            None
        };
        self.header.stamp = stamp;
        self.pages.file().write_all_at(&self.header.encode(), 0)
    }

    /// Makes the pages anew, in a new file that takes the place of the old.
    fn rebuild(&mut self, entries: &[Entry]) -> io::Result<()> {
        let identity = self.header.identity;
        let (pages, mut header) = build(&self.folder, entries, identity)?;
        header.markers = self.header.markers;
        header.temporaries = self.header.temporaries;
        header.pins = self.header.pins;
        self.pages = pages;
        self.header = header;
        Ok(())
    }

    /// Removes the index, which is damaged or wrong: the next call makes it
    /// anew. Pins stay, and save it reading the directory's inodes again.
    pub(super) fn condemn(self) {
        // Where it cannot be removed, at least nobody is to believe it.
        if self.folder.remove_file(NAME).is_err() {
            let _ = self.pages.file().write_all_at(&[0; header::SIZE], 0);
        }
    }
}

/// Writes a new index and puts it in the place of an old one. It proves
/// nothing until it is sealed.
fn build(folder: &Dir, entries: &[Entry], identity: Identity) -> io::Result<(Pages, Header)> {
    let _ = folder.remove_file(NEW_NAME);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    let file = folder.open_with(NEW_NAME, &options)?.into_std();
    let made = || {
        // Another one for each index, so that no page of an older one fits.
        let mut pages = Pages::build(file, nonce(), entries)?;
        let header = Header {
            pages: pages.count(),
            salt: pages.salt(),
            records: entries.len() as u64,
            identity,
            stamp: None,
            pins: None,
            markers: Markers::default(),
            temporaries: false,
        };
        pages.flush()?;
        pages.file().write_all_at(&header.encode(), 0)?;
        folder.rename(NEW_NAME, folder, NAME)?;
        Ok((pages, header))
    };
    let made = made();
    if made.is_err() {
        let _ = folder.remove_file(NEW_NAME);
    }
    made
}
