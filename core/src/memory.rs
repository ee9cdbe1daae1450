//! A store in memory, for tests, simulations and measurements.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::RefCell;
use core::net::IpAddr;
use core::ops::Bound;

use crate::environment::{Environment, Inputs};
use crate::names::{Attachment, ContainerId};
use crate::policy::{Decision, Notice, PolicyFailure, Request, Setting, View};
use crate::span::{Span, behind, from_number, to_number};
use crate::store::{
    Access, Holder, Location, Owner, Past, Reservation, Store, StoreError, StoreErrorKind,
};

/// How many reservations make a page.
const PAGE: usize = 256;

/// Reservations in a map. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore(Rc<RefCell<Network>>);

#[derive(Debug, Default)]
struct Network {
    owners: BTreeMap<IpAddr, Owner>,
    last_reserved: BTreeMap<u32, IpAddr>,
    /// Whether releases are remembered.
    history: bool,
    /// What was reserved since the store was opened: nobody has used it.
    fresh: BTreeSet<IpAddr>,
    /// The key that each address was remembered for since it was reserved.
    had: BTreeMap<IpAddr, String>,
    /// Who had an address last, and when that ended.
    pasts: BTreeMap<IpAddr, (Option<String>, u64)>,
    /// The last address of each key.
    keys: BTreeMap<String, IpAddr>,
    inputs: Inputs,
}

fn reservation((address, owner): (&IpAddr, &Owner)) -> Reservation {
    Reservation {
        address: *address,
        owner: owner.clone(),
        newer: false,
    }
}

impl MemoryStore {
    /// How many addresses are reserved.
    pub fn len(&self) -> usize {
        self.0.borrow().owners.len()
    }

    /// What time it is, and what chance says.
    pub fn inputs(&self) -> Inputs {
        self.0.borrow().inputs
    }

    /// Sets what time it is, and what chance says.
    pub fn set_inputs(&self, inputs: Inputs) {
        self.0.borrow_mut().inputs = inputs;
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The environment of invocations that are all about one network: whatever
/// they name it, they get this store. There are no files, and nobody listens.
impl Environment for MemoryStore {
    type Store = Self;

    fn open(&mut self, location: &Location, _: Access) -> Result<Option<Self>, StoreError> {
        let mut network = self.0.borrow_mut();
        network.history |= location.history;
        network.fresh.clear();
        Ok(Some(self.clone()))
    }

    fn resolv_conf(&mut self, path: &str) -> Result<String, StoreError> {
        Err(StoreError {
            kind: StoreErrorKind::Io,
            message: format!("reading resolvConf {path}: there are no files in memory"),
        })
    }

    fn warn(&mut self, _: &str) {}

    fn inputs(&mut self) -> Inputs {
        self.0.borrow().inputs
    }

    fn noting(&mut self) -> bool {
        false
    }

    fn note(&mut self, _: &str) {}

    fn choose(
        &mut self,
        _: &mut Self,
        setting: &Setting,
        _: &Request,
        _: &View,
    ) -> Result<Decision, PolicyFailure> {
        Err(no_policies(setting))
    }

    fn ready(&mut self, setting: &Setting) -> Result<(), PolicyFailure> {
        Err(no_policies(setting))
    }

    fn released(
        &mut self,
        _: &mut Self,
        setting: &Setting,
        _: &Notice,
    ) -> Result<(), PolicyFailure> {
        Err(no_policies(setting))
    }
}

fn no_policies(setting: &Setting) -> PolicyFailure {
    PolicyFailure::Policy(format!(
        "policy {}: nothing runs policies here",
        setting.component
    ))
}

impl Store for MemoryStore {
    fn held_by(&mut self, container: &ContainerId) -> Result<Vec<Reservation>, StoreError> {
        let network = self.0.borrow();
        let held = network
            .owners
            .iter()
            .filter(|(_, owner)| owner.container == *container);
        Ok(held.map(reservation).collect())
    }

    fn holder(&mut self, address: IpAddr) -> Result<Holder, StoreError> {
        Ok(self
            .0
            .borrow()
            .owners
            .get(&address)
            .cloned()
            .map_or(Holder::Nobody, Holder::Owner))
    }

    fn next_free(&mut self, span: Span) -> Result<Option<IpAddr>, StoreError> {
        let network = self.0.borrow();
        let mut free = span.first();
        for address in network
            .owners
            .range(span.first()..=span.last())
            .map(|(address, _)| *address)
        {
            if address != free {
                break;
            }
            match to_number(address)
                .checked_add(1)
                .and_then(|next| from_number(address, next))
            {
                Some(next) if next <= span.last() => free = next,
                _ => return Ok(None),
            }
        }
        Ok(Some(free))
    }

    fn reserve(&mut self, address: IpAddr, owner: &Attachment) -> Result<bool, StoreError> {
        let mut network = self.0.borrow_mut();
        if network.owners.contains_key(&address) {
            return Ok(false);
        }
        network.owners.insert(address, owner.into());
        network.fresh.insert(address);
        Ok(true)
    }

    fn release(&mut self, address: IpAddr, owner: &Owner) -> Result<bool, StoreError> {
        let mut network = self.0.borrow_mut();
        if network.owners.get(&address) != Some(owner) {
            return Ok(false);
        }
        let had = network.had.remove(&address);
        if !network.fresh.remove(&address) && network.history {
            let now = network.inputs.time_ms;
            network.pasts.insert(address, (had, now));
        }
        Ok(network.owners.remove(&address).is_some())
    }

    fn last_reserved(&mut self, index: u32) -> Result<Option<IpAddr>, StoreError> {
        Ok(self.0.borrow().last_reserved.get(&index).copied())
    }

    fn all_last_reserved(&mut self) -> Result<Vec<IpAddr>, StoreError> {
        Ok(self.0.borrow().last_reserved.values().copied().collect())
    }

    fn set_last_reserved(&mut self, index: u32, address: IpAddr) -> Result<(), StoreError> {
        self.0.borrow_mut().last_reserved.insert(index, address);
        Ok(())
    }

    fn reservations(&mut self, after: Option<IpAddr>) -> Result<Vec<Reservation>, StoreError> {
        let network = self.0.borrow();
        let rest = (
            after.map_or(Bound::Unbounded, Bound::Excluded),
            Bound::Unbounded,
        );
        Ok(network
            .owners
            .range::<IpAddr, _>(rest)
            .take(PAGE)
            .map(reservation)
            .collect())
    }

    fn reclaim(&mut self) -> Result<Vec<IpAddr>, StoreError> {
        Ok(Vec::new())
    }

    fn next_unused(&mut self, span: Span) -> Result<Option<IpAddr>, StoreError> {
        let mut rest = Some(span);
        while let Some(span) = rest {
            let Some(address) = self.next_free(span)? else {
                break;
            };
            if !self.0.borrow().pasts.contains_key(&address) {
                return Ok(Some(address));
            }
            rest = behind(address, span);
        }
        Ok(None)
    }

    fn past(&mut self, address: IpAddr) -> Result<Option<Past>, StoreError> {
        let network = self.0.borrow();
        Ok(network.past(address))
    }

    fn released(&mut self, skip: u32) -> Result<Vec<Past>, StoreError> {
        let network = self.0.borrow();
        let addresses = network.pasts.keys();
        let mut pasts: Vec<Past> = addresses.filter_map(|a| network.past(*a)).collect();
        pasts.sort_by_key(|past| core::cmp::Reverse(past.released_ms_ago));
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        Ok(pasts.into_iter().skip(skip).take(PAGE).collect())
    }

    fn remembered(&mut self, key: &str) -> Result<Option<IpAddr>, StoreError> {
        Ok(self.0.borrow().keys.get(key).copied())
    }

    fn remember(&mut self, address: IpAddr, key: &str) -> Result<(), StoreError> {
        let mut network = self.0.borrow_mut();
        network.keys.insert(key.into(), address);
        network.had.insert(address, key.into());
        Ok(())
    }

    fn keep_state(&mut self) -> Result<(), StoreError> {
        Ok(())
    }
}

impl Network {
    fn past(&self, address: IpAddr) -> Option<Past> {
        let (key, then) = self.pasts.get(&address)?;
        if self.owners.contains_key(&address) {
            return None;
        }
        let last = key.as_ref().and_then(|key| self.keys.get(key));
        Some(Past {
            address,
            key: key.clone(),
            latest: last == Some(&address),
            released_ms_ago: self.inputs.time_ms.saturating_sub(*then),
        })
    }
}
