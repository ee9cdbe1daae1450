//! What is remembered of addresses, as the file store remembers it: what
//! happened last at each.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use core::net::IpAddr;

/// What happened last at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Event {
    /// Who has it or had it, where that is known.
    pub(super) key: Option<String>,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub(super) when: u64,
    /// Whether it was given, and not released.
    had: bool,
    /// Orders events of the same time.
    told: u64,
    /// Orders addresses by when they were given to their key.
    given: u64,
}

/// What happened last at each address.
#[derive(Clone, Debug, Default)]
pub(super) struct Pasts {
    events: BTreeMap<IpAddr, Event>,
    /// Those that are free.
    by_age: BTreeSet<(u64, u64, IpAddr)>,
    by_key: BTreeMap<String, BTreeSet<(u64, IpAddr)>>,
    told: u64,
}

impl Pasts {
    pub(super) fn of(&self, address: IpAddr) -> Option<&Event> {
        self.events.get(&address)
    }

    /// An address was given to a key.
    pub(super) fn given(&mut self, address: IpAddr, key: &str, when: u64) {
        self.told += 1;
        let event = Event {
            key: Some(key.into()),
            when,
            had: true,
            told: self.told,
            given: self.told,
        };
        self.set(address, Some(event));
    }

    /// An address was released. Who had it is known if it was given to them
    /// last, and not released since.
    pub(super) fn left(&mut self, address: IpAddr, when: u64) {
        self.told += 1;
        let had = self.of(address).filter(|event| event.had);
        let event = Event {
            key: had.and_then(|event| event.key.clone()),
            when,
            had: false,
            told: self.told,
            given: had.map_or(0, |event| event.given),
        };
        self.set(address, Some(event));
    }

    /// Sets what happened last at an address, or that nothing ever did.
    pub(super) fn set(&mut self, address: IpAddr, event: Option<Event>) {
        let free = self.taken(address);
        if let Some(Event {
            key: Some(key),
            given,
            ..
        }) = self.events.remove(&address)
            && let Some(places) = self.by_key.get_mut(&key)
        {
            places.remove(&(given, address));
            if places.is_empty() {
                self.by_key.remove(&key);
            }
        }
        if let Some(event) = event {
            if let Some(key) = &event.key {
                let places = self.by_key.entry(key.clone()).or_default();
                places.insert((event.given, address));
            }
            self.events.insert(address, event);
        }
        if free {
            self.freed(address);
        }
    }

    /// An address is not free any more. Says whether it was, and something is
    /// remembered of it.
    pub(super) fn taken(&mut self, address: IpAddr) -> bool {
        let event = self.events.get(&address);
        event.is_some_and(|event| self.by_age.remove(&(event.when, event.told, address)))
    }

    /// An address is free again.
    pub(super) fn freed(&mut self, address: IpAddr) {
        if let Some(event) = self.events.get(&address) {
            self.by_age.insert((event.when, event.told, address));
        }
    }

    /// Of the addresses that a key had last, the one that it got last.
    pub(super) fn last_of(&self, key: &str) -> Option<IpAddr> {
        let (_, address) = self.by_key.get(key)?.last()?;
        Some(*address)
    }

    /// The addresses that are free and of which something is remembered, that
    /// of the longest ago first.
    pub(super) fn by_age(&self) -> impl Iterator<Item = IpAddr> {
        self.by_age.iter().map(|(_, _, address)| *address)
    }
}
