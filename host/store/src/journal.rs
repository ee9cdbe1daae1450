//! What a session has reserved, for whoever may have to undo it.

use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;

use wipam_core::names::Attachment;

/// What was reserved and not released again, and the markers that moved for
/// it. Clones share it, so it can be kept while the store is with somebody
/// else.
#[derive(Clone, Debug, Default)]
pub struct Journal(Rc<RefCell<Entries>>);

/// What undoing needs to know.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    pub(crate) reserved: Vec<(IpAddr, Attachment)>,
    pub(crate) markers: Vec<Moved>,
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

    pub(crate) fn released(&self, address: IpAddr) {
        let mut entries = self.0.borrow_mut();
        entries
            .reserved
            .retain(|(reserved, _)| *reserved != address);
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
