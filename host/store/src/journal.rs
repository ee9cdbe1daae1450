//! What a session has reserved, for whoever may have to undo it.

use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;

use wipam_core::names::Attachment;
use wipam_core::store::{Store, StoreError};

/// What was reserved and not released again. Clones share it, so it can be
/// kept while the store is with somebody else.
#[derive(Clone, Debug, Default)]
pub struct Journal(Rc<RefCell<Vec<(IpAddr, Attachment)>>>);

impl Journal {
    /// Whether there is nothing to undo.
    pub fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// Releases all of it through `store`. Every one is tried; the first
    /// failure is the answer.
    pub fn undo(&self, store: &mut impl Store) -> Result<(), StoreError> {
        let mut outcome = Ok(());
        for (address, attachment) in self.0.take() {
            let released = store.release(address, &(&attachment).into());
            outcome = outcome.and(released.map(|_| ()));
        }
        outcome
    }

    pub(crate) fn reserved(&self, address: IpAddr, attachment: &Attachment) {
        self.0.borrow_mut().push((address, attachment.clone()));
    }

    pub(crate) fn released(&self, address: IpAddr) {
        self.0
            .borrow_mut()
            .retain(|(reserved, _)| *reserved != address);
    }
}
