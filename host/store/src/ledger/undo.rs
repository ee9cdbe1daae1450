//! Taking back what was reserved, as if it had never been.

use std::net::IpAddr;

use wipam_core::names::Attachment;
use wipam_core::store::{Owner, Store, StoreError};

use super::Ledger;
use crate::beside::Beside;
use crate::directory::{Directory, Found};
use crate::history::Added;
use crate::journal::{Journal, Moved};
use crate::state::State;
use wipam_core::record::Name;

impl<D: Directory, B: Beside> Ledger<D, B> {
    /// Releases what a journal has, and puts back what nobody changed since:
    /// markers, what was remembered, and what the policy remembers. All of it
    /// is tried; the first failure is the answer.
    pub(crate) fn undo(&mut self, journal: &Journal) -> Result<(), StoreError> {
        let entries = journal.take();
        let mut outcome = Ok(());
        for (address, attachment) in entries.reserved {
            outcome = outcome.and(self.withdraw_from(address, &attachment));
        }
        self.forget(entries.remembered);
        for moved in entries.markers.into_iter().rev() {
            outcome = outcome.and(self.put_back(&moved));
        }
        if let Some(changed) = entries.state {
            outcome = outcome.and(State::put_back(&mut self.beside, &changed));
        }
        outcome
    }

    fn withdraw_from(&mut self, address: IpAddr, whom: &Attachment) -> Result<(), StoreError> {
        let owner = whom.into();
        if let Some(before) = self.record_of(address, &owner)? {
            self.withdraw(address, &owner, &before)?;
        }
        Ok(())
    }

    /// Removes a record that was just found to be `before` and that nobody was
    /// told of: nothing is remembered of it.
    pub(super) fn withdraw(
        &mut self,
        address: IpAddr,
        owner: &Owner,
        before: &Found,
    ) -> Result<bool, StoreError> {
        let removed = self.remove(address, before)?;
        let remembered = self.journal.released(address);
        self.forget(remembered);
        self.sweep(owner)?;
        Ok(removed)
    }

    /// Takes back what was remembered, the last first.
    fn forget(&mut self, remembered: Vec<Added>) {
        self.aged = None;
        for added in remembered.iter().rev() {
            self.history.put_back(&mut self.beside, added);
        }
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
}
