//! The port through which an invocation learns what its parameters do not say.

use alloc::string::String;

use crate::store::{Access, Location, Store, StoreError};

/// What an invocation needs from outside besides its parameters.
pub trait Environment {
    /// A network's reservations, under their lock.
    type Store: Store;

    /// Opens the reservations of a network. `None` where there are none, and
    /// `access` does not create any.
    fn open(
        &mut self,
        location: &Location,
        access: Access,
    ) -> Result<Option<Self::Store>, StoreError>;

    /// The text of the file that `ipam.resolvConf` names.
    fn resolv_conf(&mut self, path: &str) -> Result<String, StoreError>;

    /// Tells people something; it changes nothing.
    fn warn(&mut self, message: &str);
}
