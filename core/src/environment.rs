//! The port through which an invocation learns what its parameters do not say.

use alloc::string::String;

use crate::policy::{Decision, Notice, PolicyFailure, Request, Setting, View};
use crate::store::{Access, Location, Store, StoreError};

/// What chance and time have to say about an invocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub time_ms: u64,
    /// A number that differs from invocation to invocation.
    pub seed: u64,
}

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

    /// Time and seed; the same at every call within an invocation.
    fn inputs(&mut self) -> Inputs;

    /// Whether anybody wants to be told by [`Self::note`].
    fn noting(&mut self) -> bool;

    /// Tells how an address came to be chosen, and why others were not.
    fn note(&mut self, message: &str);

    /// Puts a request to a policy.
    fn choose(
        &mut self,
        store: &mut Self::Store,
        setting: &Setting,
        request: &Request,
        view: &View,
    ) -> Result<Decision, PolicyFailure>;

    /// Whether a policy can be put a request to. It is not asked anything.
    fn ready(&mut self, setting: &Setting) -> Result<(), PolicyFailure>;

    /// Tells a policy of a release, if it wants to know.
    fn released(
        &mut self,
        store: &mut Self::Store,
        setting: &Setting,
        notice: &Notice,
    ) -> Result<(), PolicyFailure>;
}
