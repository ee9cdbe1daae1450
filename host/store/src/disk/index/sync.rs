//! Comparing an index with its directory after somebody else changed it.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;

use cap_std::fs::Dir;
use rustix::fs::FileType;
use wipam_core::store::StoreError;

use super::super::listing::{Listed, list};
use super::super::read::Reader;
use super::entry::{Entry, Key};
use super::header::Markers;
use super::pins::Pins;
use super::token::{Identity, Stamp};
use super::{Index, build, make_folder};
use crate::directory::{Found, Item};
use crate::record::Name;

/// Brings an index in line with its directory, of which only the records that
/// the index does not know are read; makes it if there is none. `None` where
/// it cannot be written: the store works without it.
pub(in crate::disk) fn sync(
    reader: &Reader,
    old: Option<Index>,
) -> Result<Option<Index>, StoreError> {
    // Set before anything is listed: what changes meanwhile shows.
    let Ok(stamp) = Stamp::set(&reader.network) else {
        return Ok(None);
    };
    let Ok(mut plan) = Plan::new(reader, old, stamp) else {
        return Ok(None);
    };
    for item in list(&reader.network, reader.path())? {
        match item.name {
            Name::Record(address) => plan.compare(reader, address, &item)?,
            Name::Marker(index) => plan.markers.insert(index),
            Name::Temporary(_) => plan.temporaries = true,
        }
    }
    Ok(plan.carry_out(&reader.network).ok())
}

/// What is known, and what is to be done.
struct Plan {
    folder: Dir,
    identity: Identity,
    old: Option<Index>,
    /// The directory's, before it was listed.
    stamp: Option<Stamp>,
    pins: Pins,
    /// Pins of no record, as far as the directory has been gone through.
    pinned: HashMap<IpAddr, u64>,
    /// Known and not yet found in the directory.
    known: HashMap<IpAddr, Entry>,
    kept: Vec<Entry>,
    gone: Vec<Entry>,
    new: Vec<Entry>,
    to_pin: Vec<IpAddr>,
    /// Whether there are links, or things that may be.
    links: bool,
    markers: Markers,
    temporaries: bool,
}

impl Plan {
    fn new(reader: &Reader, old: Option<Index>, stamp: Option<Stamp>) -> io::Result<Self> {
        let identity = Identity::of(&reader.network)?;
        let folder = make_folder(&reader.data, reader.name())?;
        let pins = Pins::open_or_create(&folder)?;
        let pinned = pins.all()?;
        let (old, known) = match old.map(known) {
            Some(Some((old, known))) => (Some(old), known),
            _ => (None, HashMap::new()),
        };
        Ok(Self {
            folder,
            identity,
            old,
            stamp,
            pins,
            pinned,
            known,
            kept: Vec::new(),
            gone: Vec::new(),
            new: Vec::new(),
            to_pin: Vec::new(),
            links: false,
            markers: Markers::default(),
            temporaries: false,
        })
    }

    fn compare(
        &mut self,
        reader: &Reader,
        address: IpAddr,
        item: &Listed,
    ) -> Result<(), StoreError> {
        let known = self.known.remove(&address);
        let pin = self.pinned.remove(&address);
        let is_pinned = pin == Some(item.inode);
        if let Some(entry) = known {
            // The same name on the same inode, which a pin kept from being
            // given to another file: the same record.
            if entry.inode == item.inode && is_pinned {
                self.kept.push(entry);
                return Ok(());
            }
            self.gone.push(entry);
        }
        let read = reader.read(item.name)?;
        let is_file = matches!(read, Item::File { .. });
        // Some file systems do not tell the type of what they list.
        self.links |= !is_file && matches!(item.kind, FileType::Symlink | FileType::Unknown);
        if is_file && !is_pinned {
            self.to_pin.push(address);
        } else if let Some(pin) = pin.filter(|_| !is_file) {
            self.pinned.insert(address, pin);
        }
        if let Some(key) = Key::of(address, &Found::from(read)) {
            self.new.push(Entry {
                address,
                inode: item.inode,
                key,
            });
        }
        Ok(())
    }

    fn carry_out(mut self, network: &Dir) -> io::Result<Index> {
        self.gone.extend(self.known.values());
        let records = self.kept.len() + self.new.len();
        let old = self
            .old
            .take()
            .filter(|old| !old.pages.is_crowded(records as u64));
        let (pages, header) = match old {
            Some(mut old) => {
                for entry in &self.gone {
                    old.pages.remove(entry.address, entry.key.hash)?;
                }
                for entry in &self.new {
                    old.pages.insert(*entry)?;
                }
                old.pages.flush()?;
                (old.pages, old.header)
            }
            None => {
                let all = [self.kept, self.new].concat();
                build(&self.folder, &all, self.identity)?
            }
        };
        // Pages first: a pin says that the entry of its record is right.
        for address in self.pinned.keys() {
            self.pins.unpin(*address);
        }
        for address in &self.to_pin {
            self.pins.pin(network, *address);
        }
        let unchanged = self.stamp.is_some() && self.stamp == Stamp::of(network).ok();
        let provable = unchanged && !self.links;
        let pins = Some(self.pins);
        let mut index = Index {
            folder: self.folder,
            pins,
            pages,
            header,
            provable,
        };
        index.header.records = records as u64;
        index.header.markers = self.markers;
        index.header.temporaries = self.temporaries;
        index.seal(network)?;
        Ok(index)
    }
}

/// What an index knows; `None` if it is damaged, or knows an address twice.
fn known(mut index: Index) -> Option<(Index, HashMap<IpAddr, Entry>)> {
    let all = index.pages.all().ok()?;
    let count = all.len();
    let known: HashMap<_, _> = all
        .into_iter()
        .map(|entry| (entry.address, entry))
        .collect();
    (known.len() == count).then_some((index, known))
}
