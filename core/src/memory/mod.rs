//! A store in memory, for tests, simulations and measurements.

mod past;
mod runs;

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
use crate::span::Span;
use crate::store::{
    Access, Holder, Location, Owner, Past, PolicyState, Reservation, Store, StoreError,
    StoreErrorKind,
};
use past::{Event, Pasts};
use runs::Runs;

/// How many reservations make a page.
const PAGE: usize = 256;

/// Reservations in memory, and what is remembered of addresses, by the rules
/// of the file store. What an operation costs hardly grows with their number.
/// Clones share them.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore(Rc<RefCell<Network>>);

#[derive(Debug, Default)]
struct Network {
    owners: BTreeMap<IpAddr, Owner>,
    /// The addresses of each container.
    held: BTreeMap<ContainerId, BTreeSet<IpAddr>>,
    reserved: Runs,
    /// Addresses that are reserved, or of which something is remembered.
    used: Runs,
    last_reserved: BTreeMap<u32, IpAddr>,
    /// Whether releases are remembered, and whether they are to be once the
    /// next address is reserved.
    history: bool,
    begins_history: bool,
    pasts: Pasts,
    /// What was reserved since the store was opened, and what was remembered
    /// of it before it was remembered again: nobody has used it.
    fresh: BTreeMap<IpAddr, Option<Option<Event>>>,
    changes: Changes,
    inputs: Inputs,
    /// When the machine booted.
    booted: u64,
    state: Vec<u8>,
    pending: Option<Vec<u8>>,
}

/// What became of addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Those that became reserved.
    pub reserved: Vec<IpAddr>,
    /// Those that became free.
    pub released: Vec<IpAddr>,
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

    /// Says that the machine boots: what was remembered before counts from now.
    pub fn reboot(&self) {
        let mut network = self.0.borrow_mut();
        network.booted = network.inputs.time_ms;
    }

    /// Puts a record in its place, as if it had always been there; `false`
    /// where there is one already.
    pub fn put(&self, address: IpAddr, owner: Owner) -> bool {
        self.0.borrow_mut().put(address, owner)
    }

    /// What became of addresses since this was asked last.
    pub fn take_changes(&self) -> Changes {
        core::mem::take(&mut self.0.borrow_mut().changes)
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

    fn open(&mut self, location: &Location, access: Access) -> Result<Option<Self>, StoreError> {
        let mut network = self.0.borrow_mut();
        network.begins_history = location.history && access == Access::Reserve;
        network.fresh.clear();
        network.pending = None;
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
        let held = network.held.get(container).into_iter().flatten();
        let owners = held.filter_map(|address| network.owners.get_key_value(address));
        Ok(owners.map(reservation).collect())
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
        Ok(self.0.borrow().reserved.first_gap(span))
    }

    fn reserve(&mut self, address: IpAddr, owner: &Attachment) -> Result<bool, StoreError> {
        let mut network = self.0.borrow_mut();
        if !network.put(address, owner.into()) {
            return Ok(false);
        }
        network.fresh.insert(address, None);
        network.history |= network.begins_history;
        network.changes.reserved.push(address);
        Ok(true)
    }

    fn release(&mut self, address: IpAddr, owner: &Owner) -> Result<bool, StoreError> {
        let mut network = self.0.borrow_mut();
        if network.owners.get(&address) != Some(owner) {
            return Ok(false);
        }
        network.remove(address);
        match network.fresh.remove(&address) {
            Some(remembered) => {
                network.changes.reserved.retain(|fresh| *fresh != address);
                if let Some(before) = remembered {
                    network.pasts.set(address, before);
                }
            }
            None => {
                network.changes.released.push(address);
                if network.history {
                    let now = network.inputs.time_ms;
                    network.pasts.left(address, now);
                }
            }
        }
        network.pasts.freed(address);
        network.forget_use(address);
        Ok(true)
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
        Ok(self.0.borrow().used.first_gap(span))
    }

    fn past(&mut self, address: IpAddr) -> Result<Option<Past>, StoreError> {
        Ok(self.0.borrow().past(address))
    }

    fn released(&mut self, skip: u32) -> Result<Vec<Past>, StoreError> {
        let network = self.0.borrow();
        let pasts = network.pasts.by_age().filter_map(|a| network.past(a));
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        Ok(pasts.skip(skip).take(PAGE).collect())
    }

    fn remembered(&mut self, key: &str) -> Result<Option<IpAddr>, StoreError> {
        Ok(self.0.borrow().pasts.last_of(key))
    }

    fn remember(&mut self, address: IpAddr, key: &str) -> Result<(), StoreError> {
        let mut network = self.0.borrow_mut();
        network.history |= network.begins_history;
        if !network.history {
            return Ok(());
        }
        let before = network.pasts.of(address).cloned();
        if let Some(remembered @ None) = network.fresh.get_mut(&address) {
            *remembered = Some(before);
        }
        let now = network.inputs.time_ms;
        network.pasts.given(address, key, now);
        network.used.insert(address);
        Ok(())
    }

    fn keep_state(&mut self) -> Result<(), StoreError> {
        let mut network = self.0.borrow_mut();
        if let Some(state) = network.pending.take() {
            network.state = state;
        }
        Ok(())
    }
}

impl PolicyState for MemoryStore {
    fn policy_state(&mut self) -> Result<Vec<u8>, StoreError> {
        let network = self.0.borrow();
        Ok(network.pending.as_ref().unwrap_or(&network.state).clone())
    }

    fn set_policy_state(&mut self, bytes: Vec<u8>) {
        self.0.borrow_mut().pending = Some(bytes);
    }
}

impl Network {
    fn put(&mut self, address: IpAddr, owner: Owner) -> bool {
        if self.owners.contains_key(&address) {
            return false;
        }
        let held = self.held.entry(owner.container.clone()).or_default();
        held.insert(address);
        self.owners.insert(address, owner);
        self.reserved.insert(address);
        self.used.insert(address);
        self.pasts.taken(address);
        true
    }

    fn remove(&mut self, address: IpAddr) {
        if let Some(owner) = self.owners.remove(&address)
            && let Some(held) = self.held.get_mut(&owner.container)
        {
            held.remove(&address);
            if held.is_empty() {
                self.held.remove(&owner.container);
            }
        }
        self.reserved.remove(address);
    }

    /// An address that is free is not used if nothing is remembered of it.
    fn forget_use(&mut self, address: IpAddr) {
        if self.pasts.of(address).is_none() {
            self.used.remove(address);
        }
    }

    fn past(&self, address: IpAddr) -> Option<Past> {
        let event = self.pasts.of(address)?;
        if self.owners.contains_key(&address) {
            return None;
        }
        let last = event.key.as_ref().and_then(|key| self.pasts.last_of(key));
        Some(Past {
            address,
            key: event.key.clone(),
            latest: last == Some(address),
            released_ms_ago: self
                .inputs
                .time_ms
                .saturating_sub(event.when.max(self.booted)),
        })
    }
}
