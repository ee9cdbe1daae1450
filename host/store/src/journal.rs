//! What a session has reserved, for whoever may have to undo it.

use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;

use wipam_core::names::Attachment;

use crate::history::Added;
use crate::state::Changed;

/// What was reserved and not released again, and what changed for it beside
/// the records. Clones share it, so it can be kept while the store is with somebody
/// else.
#[derive(Clone, Debug, Default)]
pub struct Journal(Rc<RefCell<Entries>>);

/// What undoing needs to know.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    pub(crate) reserved: Vec<(IpAddr, Attachment)>,
    pub(crate) markers: Vec<Moved>,
    /// What was remembered, in the order in which it was.
    pub(crate) remembered: Vec<Added>,
    /// What the policy remembers.
    pub(crate) state: Option<Changed>,
}

/// A marker that was set.
#[derive(Debug)]
pub(crate) struct Moved {
    pub(crate) index: u32,
    pub(crate) before: Option<IpAddr>,
    pub(crate) after: IpAddr,
}

impl Journal {
    /// Whether there is nothing to undo.
    pub fn is_empty(&self) -> bool {
        self.0.borrow().reserved.is_empty()
    }

    pub(crate) fn reserved(&self, address: IpAddr, attachment: &Attachment) {
        let mut entries = self.0.borrow_mut();
        entries.reserved.push((address, attachment.clone()));
    }

    /// Whether an address was reserved and not released again.
    pub(crate) fn has(&self, address: IpAddr) -> bool {
        let entries = self.0.borrow();
        let mut reserved = entries.reserved.iter();
        reserved.any(|(reserved, _)| *reserved == address)
    }

    /// Gives back what was remembered of the address meanwhile.
    pub(crate) fn released(&self, address: IpAddr) -> Vec<Added> {
        let mut entries = self.0.borrow_mut();
        entries
            .reserved
            .retain(|(reserved, _)| *reserved != address);
        let of_it = |added: &mut Added| added.address == address;
        entries.remembered.extract_if(.., of_it).collect()
    }

    pub(crate) fn remembered(&self, added: Added) {
        self.0.borrow_mut().remembered.push(added);
    }

    pub(crate) fn kept(&self, changed: Changed) {
        let state = &mut self.0.borrow_mut().state;
        match state {
            Some(state) => state.after = changed.after,
            None => *state = Some(changed),
        }
    }

    pub(crate) fn moved(&self, index: u32, before: Option<IpAddr>, after: IpAddr) {
        self.0.borrow_mut().markers.push(Moved {
            index,
            before,
            after,
        });
    }

    pub(crate) fn take(&self) -> Entries {
        self.0.take()
    }
}
