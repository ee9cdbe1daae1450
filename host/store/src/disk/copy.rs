//! A network's directory as a network in memory, for trying what would be.

use std::time::SystemTime;

use wipam_core::store::{Access, Location, StoreError};

use super::beside::Aside;
use super::folder::{Folder, IndexUse};
use super::place::Place;
use super::read::Reader;
use super::{Settings, open};
use crate::beside::{Beside, Content, Kept};
use crate::directory::{Directory, Found, Item};
use crate::memory::{MemoryFile, MemoryNetwork};
use crate::moment::Moment;
use wipam_core::record::Name;

/// No file that is kept is longer.
const MOST_BYTES: u64 = 256 << 20;

impl MemoryNetwork {
    /// A copy of what a location has on disk, which is read under its lock;
    /// nothing is written. Where there is no such network, an empty one. It is
    /// the moment there at which it was copied.
    pub fn copy_of(location: &Location) -> Result<Self, StoreError> {
        let copy = Self::default();
        copy.set_moment(Moment::now());
        let place = Place::new(location)?;
        let settings = Settings::new(SystemTime::now());
        let Some(locked) = open(&place, location, Access::Read, &settings)? else {
            return Ok(copy);
        };
        let mut aside = Aside::new(locked.opened.data.clone(), &place, false, None);
        let reader = Reader::new(locked.opened, place, locked.session);
        // An index would be brought up to date in being used.
        let mut folder = Folder::new(reader, IndexUse::Never, false);
        for name in folder.list()? {
            if let Some(file) = as_file(name, folder.read(name)?) {
                copy.files.borrow_mut().insert(name.to_string(), file);
            }
        }
        let mut kept = |what| match aside.load(what, MOST_BYTES) {
            Ok(Content::All(bytes)) => Some(bytes),
            _ => None,
        };
        copy.set_history(kept(Kept::History));
        copy.set_policy_state(kept(Kept::State).unwrap_or_default());
        Ok(copy)
    }
}

/// What counts as the same in memory.
fn as_file(name: Name, item: Item) -> Option<MemoryFile> {
    match item {
        Item::Missing => None,
        Item::File { content, .. } => Some(MemoryFile::Content(content)),
        Item::Linked { content } => {
            let linked = Item::Linked {
                content: content.clone(),
            };
            let counts = match name {
                Name::Record(_) => Found::from(linked) != Found::Foreign,
                Name::Temporary(_) => false,
                Name::Marker(_) => true,
            };
            Some(match counts {
                true => MemoryFile::Content(content),
                false => MemoryFile::DanglingLink,
            })
        }
        Item::Other => Some(MemoryFile::Directory),
    }
}
