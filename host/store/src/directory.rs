//! What the rules need from a directory, so that they are written once for
//! files and for memory.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use wipam_core::names::ContainerId;
use wipam_core::store::{Owner, StoreError};

use wipam_core::record::{self, Content, Name};

/// What lies under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// Nothing.
    Missing,
    /// A file: its content, of which anything beyond [`record::LONGEST`] and
    /// one byte may be left out.
    File {
        /// The bytes.
        content: Vec<u8>,
        /// Whether it was made after this invocation began.
        newer: bool,
    },
    /// A link that leads to a file within the data directory.
    Linked {
        /// The bytes of that file.
        content: Vec<u8>,
    },
    /// Anything else, such as a directory or a link to nowhere.
    Other,
}

/// What a record's name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The address is free.
    Nothing,
    /// The address is free, but an empty record must make room.
    Torn,
    /// A reservation.
    Owned {
        /// Whose.
        owner: Owner,
        /// Whether it was made after this invocation began.
        newer: bool,
    },
    /// No record, never touched, yet the address is taken.
    Foreign,
}

impl Found {
    /// Whether the address can be reserved.
    pub(crate) fn is_free(&self) -> bool {
        matches!(self, Self::Nothing | Self::Torn)
    }
}

impl From<Item> for Found {
    fn from(item: Item) -> Self {
        let (content, newer, linked) = match item {
            Item::Missing => return Self::Nothing,
            Item::Other => return Self::Foreign,
            Item::File { content, newer } => (content, newer, false),
            Item::Linked { content } => (content, false, true),
        };
        match record::parse(&content) {
            Content::Owner(owner) => Self::Owned { owner, newer },
            // Nobody who was killed leaves a link behind.
            Content::Nothing if !linked => Self::Torn,
            Content::Nothing | Content::Unknown => Self::Foreign,
        }
    }
}

/// Names beside the records, as far as they are known without listing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extras {
    /// The indexes that have a marker, in their order.
    pub(crate) markers: BTreeSet<u32>,
    /// The addresses that have a temporary.
    pub(crate) temporaries: BTreeSet<IpAddr>,
}

impl Extras {
    /// Those among these names.
    pub(crate) fn of(names: &[Name]) -> Self {
        let mut extras = Self::default();
        for name in names {
            match *name {
                Name::Record(_) => {}
                Name::Marker(index) => {
                    extras.markers.insert(index);
                }
                Name::Temporary(address) => {
                    extras.temporaries.insert(address);
                }
            }
        }
        extras
    }
}

/// A directory of records.
pub(crate) trait Directory {
    /// All names that mean something, in any order.
    fn list(&mut self) -> Result<Vec<Name>, StoreError>;

    /// What lies under a name.
    fn read(&mut self, name: Name) -> Result<Item, StoreError>;

    /// Makes a file, exclusively and at once with its content: `false` where
    /// something has the name, and nothing has changed then.
    fn create(&mut self, name: Name, content: &str) -> Result<bool, StoreError>;

    /// Puts a file in the place of whatever file has the name. There may be
    /// none for a moment; there is never one without its content.
    fn replace(&mut self, name: Name, content: &str) -> Result<(), StoreError>;

    /// Removes a file or link; `false` where there is none.
    fn remove(&mut self, name: Name) -> Result<bool, StoreError>;

    /// Told after each change of a record what stood there and what does now.
    fn changed(&mut self, address: IpAddr, before: &Found, after: &Found) {
        let _ = (address, before, after);
    }

    /// Where records of a container may be, if that can be told without
    /// reading all of them: no address of the container is left out.
    fn candidates(&mut self, container: &ContainerId) -> Result<Option<Vec<IpAddr>>, StoreError> {
        let _ = container;
        Ok(None)
    }

    /// The addresses that cannot be reserved, if that can be told likewise.
    fn taken(&mut self) -> Result<Option<BTreeSet<IpAddr>>, StoreError> {
        Ok(None)
    }

    /// Markers and temporaries, if that can be told without listing.
    fn extras(&mut self) -> Result<Option<Extras>, StoreError> {
        Ok(None)
    }

    /// Told what a full reading found, to compare it with what was believed.
    fn observed(&mut self, records: &BTreeMap<IpAddr, Found>) {
        let _ = records;
    }
}
