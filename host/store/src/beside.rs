//! What is kept beside a network's directory, whose format has no place for
//! it. All of it may be gone at any time.

use wipam_core::store::StoreError;

use crate::moment::Moment;

/// Something that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// What is remembered of released addresses.
    History,
    /// What a policy remembers.
    State,
}

impl Kept {
    /// Name of its file.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::History => "history",
            Self::State => "state",
        }
    }
}

/// What was found of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Nothing, or something that is no file.
    Missing,
    /// More than was asked for.
    TooMuch,
    /// All of it.
    All(Vec<u8>),
}

/// The place beside a directory of records.
pub(crate) trait Beside {
    /// Where it is, for messages.
    fn place(&self, what: Kept) -> String;

    /// This moment.
    fn now(&mut self) -> Moment;

    /// What is kept there, if it is at most so many bytes.
    fn load(&mut self, what: Kept, most: u64) -> Result<Content, StoreError>;

    /// Adds to its end, with one write; fails where there is nothing, unless
    /// it is to be begun.
    fn append(&mut self, what: Kept, bytes: &[u8], begin: bool) -> Result<(), StoreError>;

    /// Puts a file in its place, in one step.
    fn replace(&mut self, what: Kept, bytes: &[u8]) -> Result<(), StoreError>;

    /// Removes it, if it is there.
    fn remove(&mut self, what: Kept) -> Result<(), StoreError>;
}
