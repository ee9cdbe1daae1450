//! The rules: what counts as a reservation, as free and as foreign, and what
//! is done to files when an address is reserved or released.

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests;
mod undo;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::ops::Bound;

use wipam_core::names::{Attachment, ContainerId};
use wipam_core::span::Span;
use wipam_core::store::{
    Access, Holder, LONGEST_KEY, Owner, Past, PolicyState, Reservation, Store, StoreError,
};

use crate::beside::Beside;
use crate::directory::{Directory, Extras, Found, Item};
use crate::error;
use crate::gap::{after, first_gap};
use crate::history::{self, History};
use crate::journal::Journal;
use crate::state::State;
use wipam_core::record::{self, Content, Name};

/// Looked at one by one before all addresses are asked for. Round robin finds
/// a free one at the first look as a rule. In all of a session: a
/// configuration may exclude a thousand addresses, and every span between two
/// of them is asked for by itself.
const PROBES: usize = 64;

/// How many reservations are handed out at once.
const PAGE: usize = 256;

/// What a session may write beside the records.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rights {
    /// Begin a history where there is none.
    pub(crate) begin_history: bool,
    /// Keep what a policy remembers.
    pub(crate) keep_state: bool,
}

impl Rights {
    /// What this access comes with, where a history is wanted or not.
    pub(crate) fn new(access: Access, history: bool) -> Self {
        Self {
            begin_history: history && access == Access::Reserve,
            keep_state: !matches!(access, Access::Inspect | Access::Read),
        }
    }
}

/// The reservations of one directory, and what is kept beside it.
#[derive(Debug)]
pub(crate) struct Ledger<D, B> {
    directory: D,
    beside: B,
    rights: Rights,
    /// Everything that stands at an address, once it had to be read.
    records: Option<BTreeMap<IpAddr, Found>>,
    /// The addresses that are not free, once they had to be known.
    taken: Option<BTreeSet<IpAddr>>,
    /// The other names, once they had to be known.
    extras: Option<Extras>,
    /// How many more addresses are looked at one by one.
    probes: usize,
    history: History,
    aged: Option<Aged>,
    state: State,
    journal: Journal,
}

/// The addresses that are remembered, those of the longest ago first, and how
/// far they were handed out: whoever asks for the next page goes on there.
#[derive(Debug)]
struct Aged {
    addresses: Vec<IpAddr>,
    /// So many free ones come before the address at `next`.
    passed: u32,
    next: usize,
}

impl<D: Directory, B: Beside> Ledger<D, B> {
    pub(crate) fn new(directory: D, beside: B, rights: Rights, journal: Journal) -> Self {
        Self {
            directory,
            beside,
            rights,
            records: None,
            taken: None,
            extras: None,
            probes: PROBES,
            history: History::new(rights.begin_history),
            aged: None,
            state: State::default(),
            journal,
        }
    }

    fn look(&mut self, address: IpAddr) -> Result<Found, StoreError> {
        self.directory.read(Name::Record(address)).map(Found::from)
    }

    /// Whether an address can be reserved, going by what was read if all was.
    fn is_free(&mut self, address: IpAddr) -> Result<bool, StoreError> {
        match &self.records {
            Some(records) => Ok(records.get(&address).is_none_or(Found::is_free)),
            None => Ok(self.look(address)?.is_free()),
        }
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
        self.aged = None;
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

    /// The record at `address`, if it is this owner's.
    fn record_of(&mut self, address: IpAddr, owner: &Owner) -> Result<Option<Found>, StoreError> {
        let found = self.look(address)?;
        let is_theirs = matches!(&found, Found::Owned { owner: holder, .. } if holder == owner);
        Ok(is_theirs.then_some(found))
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

    fn marker(&mut self, index: u32) -> Result<Option<IpAddr>, StoreError> {
        Ok(match self.directory.read(Name::Marker(index))? {
            Item::File { content, .. } | Item::Linked { content } => record::parse_marker(&content),
            Item::Missing | Item::Other => None,
        })
    }
}

impl<D: Directory, B: Beside> Store for Ledger<D, B> {
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
            while self.probes > 0 {
                self.probes -= 1;
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
            let taken = self.taken()?.range(from..=span.last());
            let Some(free) = first_gap(taken, from, span.last()) else {
                return Ok(None);
            };
            // An index that is not quite right must not stop anybody.
            if self.is_free(free)? {
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
        self.history.begin(&mut self.beside);
        Ok(true)
    }

    fn release(&mut self, address: IpAddr, owner: &Owner) -> Result<bool, StoreError> {
        let Some(before) = self.record_of(address, owner)? else {
            return Ok(false);
        };
        // Nobody has used what was reserved just now.
        if self.journal.has(address) {
            return self.withdraw(address, owner, &before);
        }
        self.aged = None;
        // First, so that no kill leaves an address free that nothing is
        // remembered of.
        let left = self.history.left(&mut self.beside, address);
        let removed = self.remove(address, &before);
        if let (Err(_), Some(left)) = (&removed, &left) {
            self.history.put_back(&mut self.beside, left);
        }
        let removed = removed?;
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

    fn next_unused(&mut self, span: Span) -> Result<Option<IpAddr>, StoreError> {
        let mut rest = Some(span);
        while let Some(span) = rest {
            // In turns: up to the next that is free and the next that is not
            // remembered, until they are the same.
            let unknown = self.history.first_unknown(&mut self.beside, span);
            let Some(span) = unknown.and_then(|first| Span::new(first, span.last())) else {
                break;
            };
            let Some(free) = self.next_free(span)? else {
                break;
            };
            if !self.history.knows(&mut self.beside, free) {
                return Ok(Some(free));
            }
            rest = Span::new(free, span.last());
        }
        Ok(None)
    }

    fn past(&mut self, address: IpAddr) -> Result<Option<Past>, StoreError> {
        match self.history.past(&mut self.beside, address) {
            Some(past) if self.is_free(address)? => Ok(Some(past)),
            _ => Ok(None),
        }
    }

    fn released(&mut self, skip: u32) -> Result<Vec<Past>, StoreError> {
        let mut aged = match self.aged.take() {
            Some(aged) if aged.passed <= skip => aged,
            aged => Aged {
                addresses: match aged {
                    Some(aged) => aged.addresses,
                    None => self.history.by_age(&mut self.beside),
                },
                passed: 0,
                next: 0,
            },
        };
        let mut page = Vec::new();
        while page.len() < PAGE
            && let Some(address) = aged.addresses.get(aged.next).copied()
        {
            aged.next += 1;
            if self.taken()?.contains(&address) {
                continue;
            }
            if aged.passed < skip {
                aged.passed += 1;
            } else if self.is_free(address)? {
                aged.passed += 1;
                page.extend(self.history.past(&mut self.beside, address));
            } else {
                self.taken()?.insert(address);
            }
        }
        self.aged = Some(aged);
        Ok(page)
    }

    fn remembered(&mut self, key: &str) -> Result<Option<IpAddr>, StoreError> {
        Ok(self.history.remembered(&mut self.beside, key))
    }

    /// That it cannot be written is no failure: with a full disk, an address
    /// is still better given than not.
    fn remember(&mut self, address: IpAddr, key: &str) -> Result<(), StoreError> {
        if !history::is_key(key) {
            return Err(error::other(format!(
                "remember who has {address}: {key:?} is not a word of 1 to {LONGEST_KEY} bytes"
            )));
        }
        self.aged = None;
        if let Some(added) = self.history.had(&mut self.beside, address, key) {
            self.journal.remembered(added);
        }
        Ok(())
    }

    fn keep_state(&mut self) -> Result<(), StoreError> {
        if self.rights.keep_state
            && let Some(changed) = self.state.keep(&mut self.beside)?
        {
            self.journal.kept(changed);
        }
        Ok(())
    }
}

impl<D: Directory, B: Beside> PolicyState for Ledger<D, B> {
    fn policy_state(&mut self) -> Result<Vec<u8>, StoreError> {
        self.state.get(&mut self.beside)
    }

    fn set_policy_state(&mut self, bytes: Vec<u8>) {
        self.state.set(bytes);
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
