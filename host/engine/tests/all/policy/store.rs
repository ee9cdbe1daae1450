//! A store for policies: the one in memory, with what policies remember, and
//! broken on demand.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::rc::Rc;

use wipam_core::memory::MemoryStore;
use wipam_core::names::{Attachment, ContainerId, InterfaceName};
use wipam_core::span::Span;
use wipam_core::store::{
    Holder, Owner, Past, PolicyState, Reservation, Store, StoreError, StoreErrorKind,
};

/// Clones share what they hold.
#[derive(Clone, Default)]
pub(crate) struct Network {
    held: MemoryStore,
    state: Rc<RefCell<Vec<u8>>>,
    broken: Rc<Cell<bool>>,
    changeable: Rc<Cell<bool>>,
}

impl Network {
    /// Reserves an address.
    pub(crate) fn hold(&self, address: &str) {
        let owner = Attachment {
            container: ContainerId::new("somebody").unwrap(),
            interface: InterfaceName::new("eth0").unwrap(),
        };
        let address = address.parse().unwrap();
        assert!(self.held.clone().reserve(address, &owner).unwrap());
    }

    /// From now on, everything fails.
    pub(crate) fn break_down(&self) {
        self.broken.set(true);
    }

    /// From now on, it can be changed: not by policies, but by others.
    pub(crate) fn let_change(&self) {
        self.changeable.set(true);
    }

    pub(crate) fn state(&self) -> String {
        String::from_utf8(self.state.borrow().clone()).unwrap()
    }

    pub(crate) fn set_state(&self, bytes: &[u8]) {
        *self.state.borrow_mut() = bytes.to_vec();
    }

    fn change<T>(
        &mut self,
        question: impl FnOnce(&mut MemoryStore) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        assert!(self.changeable.get(), "a policy changed the pool");
        self.ask(question)
    }

    fn ask<T>(
        &mut self,
        question: impl FnOnce(&mut MemoryStore) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if self.broken.get() {
            return Err(broken());
        }
        question(&mut self.held)
    }
}

pub(crate) fn broken() -> StoreError {
    StoreError {
        kind: StoreErrorKind::Io,
        message: "the disk is gone".into(),
    }
}

impl PolicyState for Network {
    fn policy_state(&mut self) -> Result<Vec<u8>, StoreError> {
        if self.broken.get() {
            return Err(broken());
        }
        Ok(self.state.borrow().clone())
    }

    fn set_policy_state(&mut self, bytes: Vec<u8>) {
        *self.state.borrow_mut() = bytes;
    }
}

impl Store for Network {
    fn held_by(&mut self, container: &ContainerId) -> Result<Vec<Reservation>, StoreError> {
        self.ask(|store| store.held_by(container))
    }

    fn holder(&mut self, address: IpAddr) -> Result<Holder, StoreError> {
        self.ask(|store| store.holder(address))
    }

    fn next_free(&mut self, span: Span) -> Result<Option<IpAddr>, StoreError> {
        self.ask(|store| store.next_free(span))
    }

    fn reserve(&mut self, address: IpAddr, owner: &Attachment) -> Result<bool, StoreError> {
        self.change(|store| store.reserve(address, owner))
    }

    fn release(&mut self, address: IpAddr, owner: &Owner) -> Result<bool, StoreError> {
        self.change(|store| store.release(address, owner))
    }

    fn last_reserved(&mut self, index: u32) -> Result<Option<IpAddr>, StoreError> {
        self.ask(|store| store.last_reserved(index))
    }

    fn all_last_reserved(&mut self) -> Result<Vec<IpAddr>, StoreError> {
        self.ask(MemoryStore::all_last_reserved)
    }

    fn set_last_reserved(&mut self, index: u32, address: IpAddr) -> Result<(), StoreError> {
        self.change(|store| store.set_last_reserved(index, address))
    }

    fn reservations(&mut self, after: Option<IpAddr>) -> Result<Vec<Reservation>, StoreError> {
        self.ask(|store| store.reservations(after))
    }

    fn reclaim(&mut self) -> Result<Vec<IpAddr>, StoreError> {
        self.change(MemoryStore::reclaim)
    }

    fn next_unused(&mut self, span: Span) -> Result<Option<IpAddr>, StoreError> {
        self.ask(|store| store.next_unused(span))
    }

    fn past(&mut self, address: IpAddr) -> Result<Option<Past>, StoreError> {
        self.ask(|store| store.past(address))
    }

    fn released(&mut self, skip: u32) -> Result<Vec<Past>, StoreError> {
        self.ask(|store| store.released(skip))
    }

    fn remembered(&mut self, key: &str) -> Result<Option<IpAddr>, StoreError> {
        self.ask(|store| store.remembered(key))
    }

    fn remember(&mut self, address: IpAddr, key: &str) -> Result<(), StoreError> {
        self.change(|store| store.remember(address, key))
    }

    fn keep_state(&mut self) -> Result<(), StoreError> {
        self.change(MemoryStore::keep_state)
    }
}
