//! What an invocation has reserved, so that it can be undone from outside.

use std::cell::RefCell;
use std::io::{Write, stderr};
use std::net::IpAddr;
use std::rc::Rc;
use std::time::SystemTime;

use wipam_core::names::{Attachment, ContainerId};
use wipam_core::range::Span;
use wipam_core::store::{Access, Holder, Location, Owner, Reservation, Store, StoreError};
use wipam_store::{DiskStore, Settings};

/// Reservations made so far. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Journal(Rc<RefCell<Entries>>);

#[derive(Default)]
struct Entries {
    location: Option<Location>,
    reserved: Vec<(IpAddr, Owner)>,
}

impl Journal {
    pub(crate) fn opened(&self, location: &Location) {
        self.0.borrow_mut().location = Some(location.clone());
    }

    /// Releases what is still reserved. Failures are told: there is nobody
    /// else to turn to.
    pub(crate) fn undo(&self, name: &str) {
        let Entries { location, reserved } = self.0.take();
        let Some(location) = location.filter(|_| !reserved.is_empty()) else { return };
        if let Err(error) = release(&location, &reserved) {
            let _ = writeln!(stderr(), "{name}: undoing the reservation: {error}");
        }
    }
}

fn release(location: &Location, reserved: &[(IpAddr, Owner)]) -> Result<(), StoreError> {
    let settings = Settings { started: SystemTime::now() };
    let Some(mut store) = DiskStore::open(location, Access::Release, &settings)? else {
        return Ok(());
    };
    let mut outcome = Ok(());
    for (address, owner) in reserved {
        outcome = outcome.and(store.release(*address, owner).map(|_| ()));
    }
    outcome
}

/// A store that keeps the journal.
pub(crate) struct JournaledStore {
    store: DiskStore,
    journal: Journal,
}

impl JournaledStore {
    pub(crate) fn new(store: DiskStore, journal: Journal) -> Self {
        Self { store, journal }
    }
}

impl Store for JournaledStore {
    fn held_by(&mut self, container: &ContainerId) -> Result<Vec<Reservation>, StoreError> {
        self.store.held_by(container)
    }

    fn holder(&mut self, address: IpAddr) -> Result<Holder, StoreError> {
        self.store.holder(address)
    }

    fn next_free(&mut self, span: Span) -> Result<Option<IpAddr>, StoreError> {
        self.store.next_free(span)
    }

    fn reserve(&mut self, address: IpAddr, owner: &Attachment) -> Result<bool, StoreError> {
        let reserved = self.store.reserve(address, owner)?;
        if reserved {
            let owner = Owner {
                container: owner.container.clone(),
                interface: Some(owner.interface.clone()),
            };
            self.journal.0.borrow_mut().reserved.push((address, owner));
        }
        Ok(reserved)
    }

    fn release(&mut self, address: IpAddr, owner: &Owner) -> Result<bool, StoreError> {
        let released = self.store.release(address, owner)?;
        if released {
            self.journal.0.borrow_mut().reserved.retain(|(known, _)| *known != address);
        }
        Ok(released)
    }

    fn last_reserved(&mut self, index: u32) -> Result<Option<IpAddr>, StoreError> {
        self.store.last_reserved(index)
    }

    fn all_last_reserved(&mut self) -> Result<Vec<IpAddr>, StoreError> {
        self.store.all_last_reserved()
    }

    fn set_last_reserved(&mut self, index: u32, address: IpAddr) -> Result<(), StoreError> {
        self.store.set_last_reserved(index, address)
    }

    fn reservations(&mut self, after: Option<IpAddr>) -> Result<Vec<Reservation>, StoreError> {
        self.store.reservations(after)
    }

    fn reclaim(&mut self) -> Result<Vec<IpAddr>, StoreError> {
        self.store.reclaim()
    }
}
