//! Taking back what an invocation reserved.

use std::cell::RefCell;
use std::io::{Write, stderr};
use std::rc::Rc;
use std::time::SystemTime;

use wipam_core::store::{Access, Location, StoreError};
use wipam_store::{DiskStore, Journal, Settings};

/// What an invocation has reserved, and where. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Undo {
    pub(crate) journal: Journal,
    location: Rc<RefCell<Option<Location>>>,
}

impl Undo {
    pub(crate) fn opened(&self, location: &Location) {
        self.location.replace(Some(location.clone()));
    }

    /// Releases what is still reserved. A failure is told: there is nobody
    /// else to turn to.
    pub(crate) fn run(&self, name: &str) {
        let Some(location) = self.location.take().filter(|_| !self.journal.is_empty()) else {
            return;
        };
        if let Err(error) = self.release(&location) {
            let _ = writeln!(stderr(), "{name}: undoing the reservation: {error}");
        }
    }

    fn release(&self, location: &Location) -> Result<(), StoreError> {
        let settings = Settings::new(SystemTime::now());
        match DiskStore::open(location, Access::Release, &settings)? {
            Some(mut store) => store.undo(&self.journal),
            None => Ok(()),
        }
    }
}
