//! A network's directory on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::IpAddr;

use wipam_core::names::ContainerId;
use wipam_core::store::StoreError;

use super::index::{self, Index};
use super::listing::{self, Listed};
use super::publish::{self, New};
use super::read::Reader;
use crate::directory::{Directory, Extras, Found, Item};
use crate::error;
use wipam_core::record::Name;

/// What the index may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IndexUse {
    /// Nothing: nobody is kept from changing things meanwhile.
    Never,
    /// If there is one, it is used and kept right.
    IfPresent,
    /// It is made where a directory is large.
    Always,
}

/// Names of addresses up to which a directory is simply read at every call.
/// Only larger ones get an index.
const SMALL: usize = 256;

/// A network's directory on disk.
#[derive(Debug)]
pub(super) struct Folder {
    reader: Reader,
    sync: bool,
    index_use: IndexUse,
    index: IndexState,
}

#[derive(Debug)]
enum IndexState {
    /// Not looked for yet.
    Unknown,
    /// None: what is to be known is to be read.
    Without {
        /// What looking for it has listed, if it did.
        listed: Option<Vec<Listed>>,
    },
    /// It agrees with the directory.
    With(Box<Index>),
}

impl Folder {
    pub(super) fn new(reader: Reader, index_use: IndexUse, sync: bool) -> Self {
        Self {
            reader,
            sync,
            index_use,
            index: IndexState::Unknown,
        }
    }

    /// The index, brought in line with the directory at the first call.
    fn index(&mut self) -> Result<Option<&mut Index>, StoreError> {
        if matches!(self.index, IndexState::Unknown) {
            self.index = self.find_index()?;
        }
        Ok(match &mut self.index {
            IndexState::With(index) => Some(index),
            _ => None,
        })
    }

    fn find_index(&self) -> Result<IndexState, StoreError> {
        let Reader { data, network, .. } = &self.reader;
        if self.index_use == IndexUse::Never {
            return Ok(IndexState::Without { listed: None });
        }
        let old = match Index::open(data, self.reader.name(), network) {
            index::State::Current(index) => return Ok(IndexState::With(Box::new(index))),
            index::State::Stale(old) => old,
            index::State::Missing => {
                let listed = listing::list(network, self.reader.path())?;
                let records = listed
                    .iter()
                    .filter(|listed| listed.address().is_some())
                    .count();
                if records <= SMALL || self.index_use != IndexUse::Always {
                    return Ok(IndexState::Without {
                        listed: Some(listed),
                    });
                }
                None
            }
        };
        Ok(match index::sync(&self.reader, old)? {
            Some(index) => IndexState::With(Box::new(index)),
            None => IndexState::Without { listed: None },
        })
    }

    /// Gives the index up if using it failed; then everything is read.
    fn unless_damaged<T>(&mut self, answer: Option<io::Result<T>>) -> Option<T> {
        match answer {
            Some(Ok(answer)) => Some(answer),
            Some(Err(_)) => {
                self.condemn();
                None
            }
            None => None,
        }
    }

    fn condemn(&mut self) {
        let without = IndexState::Without { listed: None };
        if let IndexState::With(index) = std::mem::replace(&mut self.index, without) {
            index.condemn();
        }
    }

    /// To be called before each change.
    fn before_change(&mut self) -> Result<(), StoreError> {
        self.index()?;
        match &mut self.index {
            IndexState::With(index) => index.before_change(&self.reader.network),
            IndexState::Without { listed } => *listed = None,
            IndexState::Unknown => {}
        }
        Ok(())
    }

    /// To be called after each change; those of records are told by the
    /// ledger, which knows their owners.
    fn after_change(&mut self, name: Name) {
        if let (IndexState::With(index), Name::Marker(_) | Name::Temporary(_)) =
            (&mut self.index, name)
        {
            let followed = index.other_changed(&self.reader.network, name);
            self.unless_damaged(Some(followed));
        }
    }

    fn publish(&mut self, name: Name, content: &str, replace: bool) -> Result<bool, StoreError> {
        self.before_change()?;
        let text = name.to_string();
        let content = content.as_bytes();
        let new = New {
            name: &text,
            content,
            replace,
            sync: self.sync,
        };
        let Reader { data, network, .. } = &self.reader;
        let made = publish::publish(data, network, self.reader.name(), new)
            .map_err(|cause| error::io("write", &self.reader.path().join(&text), cause))?;
        if made {
            self.after_change(name);
        }
        Ok(made)
    }
}

impl Directory for Folder {
    fn list(&mut self) -> Result<Vec<Name>, StoreError> {
        self.index()?;
        let listed = match &mut self.index {
            IndexState::Without { listed } => listed.take(),
            _ => None,
        };
        let listed = match listed {
            Some(listed) => listed,
            None => listing::list(&self.reader.network, self.reader.path())?,
        };
        Ok(listed.iter().map(|listed| listed.name).collect())
    }

    fn read(&mut self, name: Name) -> Result<Item, StoreError> {
        self.reader.read(name)
    }

    fn create(&mut self, name: Name, content: &str) -> Result<bool, StoreError> {
        self.publish(name, content, false)
    }

    fn replace(&mut self, name: Name, content: &str) -> Result<(), StoreError> {
        if let Name::Marker(_) = name {
            let (network, bytes) = (&self.reader.network, content.as_bytes());
            // What goes wrong here goes wrong below, where it is told.
            if let Ok(true) = publish::overwrite(network, &name.to_string(), bytes, self.sync) {
                return Ok(());
            }
        }
        if self.publish(name, content, true)? {
            return Ok(());
        }
        // Removed just now, and there again: somebody works without the lock.
        let path = self.reader.path().join(name.to_string());
        Err(error::io(
            "replace",
            &path,
            io::Error::from(io::ErrorKind::AlreadyExists),
        ))
    }

    fn remove(&mut self, name: Name) -> Result<bool, StoreError> {
        self.before_change()?;
        let text = name.to_string();
        let failed = |cause| error::io("remove", &self.reader.path().join(&text), cause);
        let removed = publish::remove(&self.reader.network, &text)
            .map_err(|cause| failed(io::Error::from(cause)))?;
        if removed && self.sync {
            publish::sync_directory(&self.reader.network).map_err(failed)?;
        }
        self.after_change(name);
        Ok(removed)
    }

    fn changed(&mut self, address: IpAddr, before: &Found, after: &Found) {
        if let IndexState::With(index) = &mut self.index {
            let followed = index.record_changed(&self.reader.network, address, before, after);
            self.unless_damaged(Some(followed));
        }
    }

    fn candidates(&mut self, container: &ContainerId) -> Result<Option<Vec<IpAddr>>, StoreError> {
        let answer = self.index()?.map(|index| index.candidates(container));
        Ok(self.unless_damaged(answer))
    }

    fn taken(&mut self) -> Result<Option<BTreeSet<IpAddr>>, StoreError> {
        let answer = self.index()?.map(Index::taken);
        Ok(self.unless_damaged(answer))
    }

    fn extras(&mut self) -> Result<Option<Extras>, StoreError> {
        Ok(self.index()?.and_then(|index| index.extras()))
    }

    fn observed(&mut self, records: &BTreeMap<IpAddr, Found>) {
        if let IndexState::With(index) = &mut self.index
            && !index.matches(records)
        {
            self.condemn();
        }
    }
}
