//! The rules: what counts as a reservation, as free and as foreign, and what
//! is done to files when an address is reserved or released.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::ops::Bound;

use wipam_core::names::{Attachment, ContainerId};
use wipam_core::range::{Span, from_number, to_number};
use wipam_core::store::{Holder, Owner, Reservation, Store, StoreError};

use crate::directory::{Directory, Extras, Found, Item};
use crate::journal::{Journal, Moved};
use crate::record::{self, Content, Name};

/// Looked at one by one before all addresses are asked for. Round robin finds
/// a free one at the first look as a rule.
const PROBES: usize = 64;

/// How many reservations are handed out at once.
const PAGE: usize = 256;

/// The reservations of one directory.
#[derive(Debug)]
pub(crate) struct Ledger<D> {
    directory: D,
    /// Everything that stands at an address, once it had to be read.
    records: Option<BTreeMap<IpAddr, Found>>,
    /// The addresses that are not free, once they had to be known.
    taken: Option<BTreeSet<IpAddr>>,
    /// The other names, once they had to be known.
    extras: Option<Extras>,
    journal: Journal,
}

impl<D: Directory> Ledger<D> {
    pub(crate) fn new(directory: D, journal: Journal) -> Self {
        Self {
            directory,
            records: None,
            taken: None,
            extras: None,
            journal,
        }
    }

    fn look(&mut self, address: IpAddr) -> Result<Found, StoreError> {
        self.directory.read(Name::Record(address)).map(Found::from)
    }

    /// Lists everything and reads every record.
    fn scan(&mut self) -> Result<(), StoreError> {
        let mut records = BTreeMap::new();
        let names = self.directory.list()?;
        for name in &names {
            if let Name::Record(address) = *name {
                let found = self.look(address)?;
                // Gone since it was listed: somebody works without the lock.
                if found != Found::Nothing {
                    records.insert(address, found);
                }
            }
        }
        self.directory.observed(&records);
        self.extras = Some(Extras::of(&names));
        self.records = Some(records);
        Ok(())
    }

    fn records(&mut self) -> Result<&BTreeMap<IpAddr, Found>, StoreError> {
        if self.records.is_none() {
            self.scan()?;
        }
        Ok(self.records.get_or_insert_default())
    }

    fn extras(&mut self) -> Result<&mut Extras, StoreError> {
        if self.extras.is_none() {
            self.extras = Some(match self.directory.extras()? {
                Some(extras) => extras,
                None => Extras::of(&self.directory.list()?),
            });
        }
        Ok(self.extras.get_or_insert_default())
    }

    /// The addresses that are not free, if they can be told without reading
    /// every record; else those of the records.
    fn taken(&mut self) -> Result<&mut BTreeSet<IpAddr>, StoreError> {
        if self.taken.is_none() {
            let known = if self.records.is_none() {
                self.directory.taken()?
            } else {
                None
            };
            self.taken = Some(match known {
                Some(taken) => taken,
                None => {
                    let occupied = self.records()?.iter().filter(|(_, found)| !found.is_free());
                    occupied.map(|(address, _)| *address).collect()
                }
            });
        }
        Ok(self.taken.get_or_insert_default())
    }

    /// Keeps what was read in step with what was done.
    fn note(&mut self, address: IpAddr, before: &Found, after: Found) {
        self.directory.changed(address, before, &after);
        if let Some(taken) = &mut self.taken {
            if after.is_free() {
                taken.remove(&address);
            } else {
                taken.insert(address);
            }
        }
        if let Some(records) = &mut self.records {
            if after == Found::Nothing {
                records.remove(&address);
            } else {
                records.insert(address, after);
            }
        }
    }

    /// Removes a record that was just found to be `before`.
    fn remove(&mut self, address: IpAddr, before: &Found) -> Result<bool, StoreError> {
        let removed = self.directory.remove(Name::Record(address))?;
        self.note(address, before, Found::Nothing);
        Ok(removed)
    }

    /// Removes the temporaries in which a writer that was killed had begun a
    /// record of this owner.
    fn sweep(&mut self, owner: &Owner) -> Result<(), StoreError> {
        let temporaries: Vec<IpAddr> = self.extras()?.temporaries.iter().copied().collect();
        for address in temporaries {
            let name = Name::Temporary(address);
            if let Item::File { content, .. } = self.directory.read(name)?
                && record::parse(&content) == Content::Owner(owner.clone())
            {
                self.directory.remove(name)?;
                self.extras()?.temporaries.remove(&address);
            }
        }
        Ok(())
    }

    /// Releases what a journal has, and puts markers back that nobody moved
    /// since. Every one is tried; the first failure is the answer.
    pub(crate) fn undo(&mut self, journal: &Journal) -> Result<(), StoreError> {
        let entries = journal.take();
        let mut outcome = Ok(());
        for (address, attachment) in entries.reserved {
            let released = self.release(address, &(&attachment).into());
            outcome = outcome.and(released.map(|_| ()));
        }
        for moved in entries.markers.into_iter().rev() {
            outcome = outcome.and(self.put_back(&moved));
        }
        outcome
    }

    fn put_back(&mut self, moved: &Moved) -> Result<(), StoreError> {
        if self.marker(moved.index)? != Some(moved.after) {
            return Ok(());
        }
        match moved.before {
            Some(before) => self.set_last_reserved(moved.index, before),
            None => {
                self.directory.remove(Name::Marker(moved.index))?;
                if let Some(extras) = &mut self.extras {
                    extras.markers.remove(&moved.index);
                }
                Ok(())
            }
        }
    }

    fn marker(&mut self, index: u32) -> Result<Option<IpAddr>, StoreError> {
        Ok(match self.directory.read(Name::Marker(index))? {
            Item::File { content, .. } | Item::Linked { content } => record::parse_marker(&content),
            Item::Missing | Item::Other => None,
        })
    }
}

impl<D: Directory> Store for Ledger<D> {
    fn held_by(&mut self, container: &ContainerId) -> Result<Vec<Reservation>, StoreError> {
        let candidates = match self.records {
            Some(_) => None,
            None => self.directory.candidates(container)?,
        };
        let Some(mut candidates) = candidates else {
            return Ok(self
                .records()?
                .iter()
                .filter_map(reservation)
                .filter(|reservation| reservation.owner.container == *container)
                .collect());
        };
        candidates.sort_unstable();
        candidates.dedup();
        let mut held = Vec::new();
        for address in candidates {
            // What the index says is no more than where to look.
            if let Found::Owned { owner, newer } = self.look(address)?
                && owner.container == *container
            {
                held.push(Reservation {
                    address,
                    owner,
                    newer,
                });
            }
        }
        Ok(held)
    }

    fn holder(&mut self, address: IpAddr) -> Result<Holder, StoreError> {
        let found = match &self.records {
            Some(records) => records.get(&address).cloned().unwrap_or(Found::Nothing),
            None => self.look(address)?,
        };
        Ok(match found {
            Found::Nothing | Found::Torn => Holder::Nobody,
            Found::Owned { owner, .. } => Holder::Owner(owner),
            Found::Foreign => Holder::Foreign,
        })
    }

    fn next_free(&mut self, span: Span) -> Result<Option<IpAddr>, StoreError> {
        let mut from = span.first();
        if self.records.is_none() && self.taken.is_none() {
            for _ in 0..PROBES {
                if self.look(from)?.is_free() {
                    return Ok(Some(from));
                }
                match after(from).filter(|next| span.contains(*next)) {
                    Some(next) => from = next,
                    None => return Ok(None),
                }
            }
        }
        loop {
            let Some(free) = first_gap(self.taken()?, from, span.last()) else {
                return Ok(None);
            };
            // An index that is not quite right must not stop anybody.
            if self.records.is_some() || self.look(free)?.is_free() {
                return Ok(Some(free));
            }
            self.taken()?.insert(free);
            from = free;
        }
    }

    fn reserve(&mut self, address: IpAddr, owner: &Attachment) -> Result<bool, StoreError> {
        let name = Name::Record(address);
        let content = record::render(owner);
        let before = self.look(address)?;
        match before {
            Found::Nothing => {
                if !self.directory.create(name, &content)? {
                    return Ok(false);
                }
            }
            Found::Torn => self.directory.replace(name, &content)?,
            Found::Owned { .. } | Found::Foreign => return Ok(false),
        }
        let made = owner.into();
        self.note(
            address,
            &before,
            Found::Owned {
                owner: made,
                newer: true,
            },
        );
        self.journal.reserved(address, owner);
        Ok(true)
    }

    fn release(&mut self, address: IpAddr, owner: &Owner) -> Result<bool, StoreError> {
        let before = self.look(address)?;
        match &before {
            Found::Owned { owner: holder, .. } if holder == owner => {}
            _ => return Ok(false),
        }
        let removed = self.remove(address, &before)?;
        self.journal.released(address);
        self.sweep(owner)?;
        Ok(removed)
    }

    fn last_reserved(&mut self, index: u32) -> Result<Option<IpAddr>, StoreError> {
        self.marker(index)
    }

    fn all_last_reserved(&mut self) -> Result<Vec<IpAddr>, StoreError> {
        let indexes: Vec<u32> = self.extras()?.markers.iter().copied().collect();
        let mut addresses = Vec::new();
        for index in indexes {
            addresses.extend(self.marker(index)?);
        }
        Ok(addresses)
    }

    fn set_last_reserved(&mut self, index: u32, address: IpAddr) -> Result<(), StoreError> {
        let content = address.to_string();
        let name = Name::Marker(index);
        let old = self.directory.read(name)?;
        if let Item::File { content: old, .. } = &old
            && old == content.as_bytes()
        {
            return Ok(());
        }
        self.directory.replace(name, &content)?;
        let before = match old {
            Item::File { content, .. } | Item::Linked { content } => record::parse_marker(&content),
            Item::Missing | Item::Other => None,
        };
        self.journal.moved(index, before, address);
        if let Some(extras) = &mut self.extras {
            extras.markers.insert(index);
        }
        Ok(())
    }

    fn reservations(&mut self, after: Option<IpAddr>) -> Result<Vec<Reservation>, StoreError> {
        let rest = (
            after.map_or(Bound::Unbounded, Bound::Excluded),
            Bound::Unbounded,
        );
        let rest = self.records()?.range::<IpAddr, _>(rest);
        Ok(rest.filter_map(reservation).take(PAGE).collect())
    }

    fn reclaim(&mut self) -> Result<Vec<IpAddr>, StoreError> {
        let torn = self
            .records()?
            .iter()
            .filter(|(_, found)| **found == Found::Torn);
        let torn: Vec<IpAddr> = torn.map(|(address, _)| *address).collect();
        let mut freed = Vec::new();
        for address in torn {
            if self.look(address)? == Found::Torn && self.remove(address, &Found::Torn)? {
                freed.push(address);
            }
        }
        Ok(freed)
    }
}

fn reservation((address, found): (&IpAddr, &Found)) -> Option<Reservation> {
    match found {
        Found::Owned { owner, newer } => Some(Reservation {
            address: *address,
            owner: owner.clone(),
            newer: *newer,
        }),
        _ => None,
    }
}

fn after(address: IpAddr) -> Option<IpAddr> {
    from_number(address, to_number(address).checked_add(1)?)
}

/// The lowest address between the two, both inclusive, that is not in the set:
/// walks the set, never the addresses.
fn first_gap(taken: &BTreeSet<IpAddr>, first: IpAddr, last: IpAddr) -> Option<IpAddr> {
    let mut free = first;
    for address in taken.range(first..=last) {
        if *address != free {
            break;
        }
        free = after(free).filter(|next| *next <= last)?;
    }
    Some(free)
}
