//! Comparing an index with its directory after somebody else changed it.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;

use cap_std::fs::Dir;
use rustix::fs::FileType;
use wipam_core::store::StoreError;

use super::super::beside;
use super::super::listing::{Listed, list};
use super::super::read::Reader;
use super::entry::{Entry, Key};
use super::header::Markers;
use super::known::Known;
use super::pins::Pins;
use super::token::{Identity, Stamp, nonce};
use super::{Index, build};
use crate::directory::{Found, Item};
use wipam_core::record::Name;

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
    /// That of the pins, before they were listed, or since they are vouched
    /// for.
    pins_stamp: Option<Stamp>,
    /// Pins of no record, as far as the directory has been gone through;
    /// `None`: those of the files that are known.
    pinned: Option<HashMap<IpAddr, u64>>,
    known: Known,
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
        let folder = beside::make_folder(&reader.data, reader.name())?;
        let pins = Pins::open_or_create(&folder)?;
        let (old, known) = match old.and_then(known) {
            Some((old, known)) => (Some(old), known),
            None => (None, Known::default()),
        };
        let vouched = old.as_ref().and_then(|old| old.header.pins);
        let (pinned, pins_stamp) = if pins.have(vouched) {
            (None, vouched)
        } else {
            let (pinned, stamp) = pins.all()?;
            (Some(pinned), stamp)
        };
        Ok(Self {
            folder,
            identity,
            old,
            stamp,
            pins,
            pins_stamp,
            pinned,
            known,
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
        let known = self.known.find(address).filter(|(_, entry)| entry.is_file);
        let pin = match &mut self.pinned {
            Some(pinned) => pinned.remove(&address),
            None => known.map(|(_, entry)| entry.inode),
        };
        let is_pinned = pin == Some(item.inode);
        // The same name on the same inode, which a pin kept from being given
        // to another file: the same record.
        if let Some((position, entry)) = known
            && entry.inode == item.inode
            && is_pinned
        {
            self.known.keep(position);
            return Ok(());
        }
        let read = reader.read(item.name)?;
        let is_file = matches!(read, Item::File { .. });
        // Some file systems do not tell the type of what they list.
        self.links |= !is_file && matches!(item.kind, FileType::Symlink | FileType::Unknown);
        if let (Some(pinned), Some(pin), false) = (&mut self.pinned, pin, is_file) {
            pinned.insert(address, pin);
        }
        if let Some(key) = Key::of(address, &Found::from(read)) {
            self.new.push(Entry {
                address,
                inode: item.inode,
                key,
                is_file,
            });
            if is_file && !is_pinned {
                self.to_pin.push(address);
            }
        }
        Ok(())
    }

    fn carry_out(self, network: &Dir) -> io::Result<Index> {
        let (mut entries, gone) = self.known.divide();
        let to_unpin: Vec<IpAddr> = match self.pinned {
            Some(pinned) => pinned.into_keys().collect(),
            None => {
                let pinned = gone.iter().filter(|entry| entry.is_file);
                pinned.map(|entry| entry.address).collect()
            }
        };
        entries.extend(&self.new);
        let records = entries.len() as u64;
        let mut pinned = self.pins.begin(self.pins_stamp)?;
        let old = self.old.filter(|old| !old.pages.is_crowded(records));
        let (pages, header) = match old {
            Some(mut old) => {
                for entry in &gone {
                    old.pages.remove(entry.address, entry.key.hash)?;
                }
                for entry in &self.new {
                    old.pages.insert(*entry)?;
                }
                old.pages.flush()?;
                (old.pages, old.header)
            }
            None => build(&self.folder, &entries, self.identity)?,
        };
        // Pages first: a pin says that the entry of its record is right.
        for address in to_unpin {
            pinned &= self.pins.unpin(address);
        }
        for address in self.to_pin {
            pinned &= self.pins.pin(network, address);
        }
        // If not, other files may be pinned than were listed.
        let unchanged = self.stamp.is_some() && self.stamp == Stamp::of(network).ok();
        let mut index = Index {
            folder: self.folder,
            pages,
            header,
            entries: Some(entries),
            provable: unchanged && !self.links,
            pins: None,
        };
        index.header.records = records;
        index.header.markers = self.markers;
        index.header.temporaries = self.temporaries;
        index.header.pins = if pinned && unchanged {
            self.pins.vouch()
        } else {
            None
        };
        index.pins = Some(self.pins);
        index.seal(network)?;
        Ok(index)
    }
}

/// What an index knows; `None` if it is damaged, or knows an address twice.
fn known(index: Index) -> Option<(Index, Known)> {
    let all = index.pages.all().ok()?;
    Some((index, Known::new(all, nonce())?))
}
