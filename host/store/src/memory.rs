//! Reservations in memory, laid out and treated as on disk: for replaying
//! recorded cases and for trying policies.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use wipam_core::store::{Access, StoreError};

use crate::beside::{Beside, Content, Kept};
use crate::delegate::store_by_ledger;
use crate::directory::{Directory, Item};
use crate::error;
use crate::journal::Journal;
use crate::ledger::{Ledger, Rights};
use crate::moment::Moment;
use wipam_core::record::Name;

/// What a name of a [`MemoryDirectory`] stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MemoryFile {
    /// A regular file with its content.
    Content(Vec<u8>),
    /// A directory. What lies in it does not matter: nothing looks there.
    Directory,
    /// A symbolic link that leads nowhere.
    DanglingLink,
}

impl From<&str> for MemoryFile {
    fn from(content: &str) -> Self {
        Self::Content(content.into())
    }
}

/// A network's directory: file name to content, as on disk. It outlives the
/// stores that work on it.
pub type MemoryDirectory = BTreeMap<String, MemoryFile>;

/// A network in memory: its directory, and what is kept beside it. It outlives
/// the stores that work on it; clones are the same network.
#[derive(Clone, Debug, Default)]
pub struct MemoryNetwork {
    /// The files in its directory.
    pub files: Rc<RefCell<MemoryDirectory>>,
    aside: Rc<RefCell<Aside>>,
}

#[derive(Debug, Default)]
struct Aside {
    history: Option<Vec<u8>>,
    state: Option<Vec<u8>>,
    moment: Moment,
}

impl MemoryNetwork {
    /// One with this directory, which others may look at and use.
    pub fn new(files: Rc<RefCell<MemoryDirectory>>) -> Self {
        Self {
            files,
            aside: Rc::default(),
        }
    }

    /// Sets what moment it is: here, time does not pass by itself.
    pub fn set_moment(&self, moment: Moment) {
        self.aside.borrow_mut().moment = moment;
    }

    /// The content of its history, if it has one; in the format of the file.
    pub fn history(&self) -> Option<Vec<u8>> {
        self.aside.borrow().history.clone()
    }

    /// Gives it a history, or none.
    pub fn set_history(&self, content: Option<Vec<u8>>) {
        self.aside.borrow_mut().history = content;
    }

    /// What a policy remembers; empty where it is nothing.
    pub fn policy_state(&self) -> Vec<u8> {
        self.aside.borrow().state.clone().unwrap_or_default()
    }

    /// Sets that.
    pub fn set_policy_state(&self, bytes: Vec<u8>) {
        self.aside.borrow_mut().state = Some(bytes);
    }
}

/// A store in memory: one session, as an invocation has it, and so are its
/// clones. Several may be opened on one network, one after another; there is
/// no lock. What is reserved and released again in one session was never used.
#[derive(Clone, Debug)]
pub struct MemoryStore {
    ledger: Rc<RefCell<Ledger<Shared, MemoryNetwork>>>,
}

impl MemoryStore {
    /// A store on a directory of its own.
    pub fn fresh() -> Self {
        Self::new(Rc::default())
    }

    /// A store on a directory that others may look at and use later. What is
    /// kept beside it is gone with the store.
    pub fn new(directory: Rc<RefCell<MemoryDirectory>>) -> Self {
        Self::open(&MemoryNetwork::new(directory), Access::Reserve, false)
    }

    /// A store on a network, with `access`; `history` as in
    /// [`Location`](wipam_core::store::Location).
    pub fn open(network: &MemoryNetwork, access: Access, history: bool) -> Self {
        let ledger = Ledger::new(
            Shared(Rc::clone(&network.files)),
            network.clone(),
            Rights::new(access, history),
            Journal::default(),
        );
        Self {
            ledger: Rc::new(RefCell::new(ledger)),
        }
    }
}

store_by_ledger!(MemoryStore);

impl Beside for MemoryNetwork {
    fn place(&self, what: Kept) -> String {
        what.name().to_owned()
    }

    fn now(&mut self) -> Moment {
        self.aside.borrow().moment
    }

    fn load(&mut self, what: Kept, most: u64) -> Result<Content, StoreError> {
        Ok(match self.aside.borrow_mut().file(what) {
            None => Content::Missing,
            Some(bytes) if bytes.len() as u64 > most => Content::TooMuch,
            Some(bytes) => Content::All(bytes.clone()),
        })
    }

    fn append(&mut self, what: Kept, bytes: &[u8], begin: bool) -> Result<(), StoreError> {
        let mut aside = self.aside.borrow_mut();
        let file = aside.file(what);
        match (file, begin) {
            (Some(file), _) => file.extend(bytes),
            (file, true) => *file = Some(bytes.to_owned()),
            (None, false) => {
                let name = what.name();
                return Err(error::other(format!("append to {name}: there is none")));
            }
        }
        Ok(())
    }

    fn replace(&mut self, what: Kept, bytes: &[u8]) -> Result<(), StoreError> {
        *self.aside.borrow_mut().file(what) = Some(bytes.to_owned());
        Ok(())
    }

    fn remove(&mut self, what: Kept) -> Result<(), StoreError> {
        *self.aside.borrow_mut().file(what) = None;
        Ok(())
    }
}

impl Aside {
    fn file(&mut self, what: Kept) -> &mut Option<Vec<u8>> {
        match what {
            Kept::History => &mut self.history,
            Kept::State => &mut self.state,
        }
    }
}

#[derive(Debug)]
struct Shared(Rc<RefCell<MemoryDirectory>>);

impl Directory for Shared {
    fn list(&mut self) -> Result<Vec<Name>, StoreError> {
        Ok(self
            .0
            .borrow()
            .keys()
            .filter_map(|name| Name::parse(name))
            .collect())
    }

    fn read(&mut self, name: Name) -> Result<Item, StoreError> {
        Ok(match self.0.borrow().get(&name.to_string()) {
            None => Item::Missing,
            Some(MemoryFile::Content(content)) => Item::File {
                content: content.clone(),
                newer: false,
            },
            Some(MemoryFile::Directory | MemoryFile::DanglingLink) => Item::Other,
        })
    }

    fn create(&mut self, name: Name, content: &str) -> Result<bool, StoreError> {
        let mut files = self.0.borrow_mut();
        let name = name.to_string();
        if files.contains_key(&name) {
            return Ok(false);
        }
        files.insert(name, content.into());
        Ok(true)
    }

    fn replace(&mut self, name: Name, content: &str) -> Result<(), StoreError> {
        let mut files = self.0.borrow_mut();
        if files.get(&name.to_string()) == Some(&MemoryFile::Directory) {
            return Err(error::other(format!("replace {name}: is a directory")));
        }
        files.insert(name.to_string(), content.into());
        Ok(())
    }

    fn remove(&mut self, name: Name) -> Result<bool, StoreError> {
        Ok(self.0.borrow_mut().remove(&name.to_string()).is_some())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::net::IpAddr;

    use wipam_core::names::{Attachment, ContainerId, InterfaceName};
    use wipam_core::span::Span;
    use wipam_core::store::{Holder, Store};

    use super::*;

    fn attachment(container: &str) -> Attachment {
        Attachment {
            container: ContainerId::new(container).unwrap(),
            interface: InterfaceName::new("eth0").unwrap(),
        }
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn span(first: &str, last: &str) -> Span {
        Span::new(address(first), address(last)).unwrap()
    }

    fn store(files: &[(&str, MemoryFile)]) -> (MemoryStore, Rc<RefCell<MemoryDirectory>>) {
        let files = files
            .iter()
            .map(|(name, file)| ((*name).to_owned(), file.clone()));
        let directory = Rc::new(RefCell::new(files.collect()));
        (MemoryStore::new(Rc::clone(&directory)), directory)
    }

    #[test]
    fn writes_what_the_go_plugin_writes() {
        let (mut store, directory) = store(&[]);
        assert!(
            store
                .reserve(address("10.1.2.2"), &attachment("c1"))
                .unwrap()
        );
        store.set_last_reserved(0, address("10.1.2.2")).unwrap();
        assert!(
            !store
                .reserve(address("10.1.2.2"), &attachment("c2"))
                .unwrap()
        );
        let expected: MemoryDirectory = [
            ("10.1.2.2".to_owned(), "c1\r\neth0".into()),
            ("last_reserved_ip.0".to_owned(), "10.1.2.2".into()),
        ]
        .into();
        assert_eq!(*directory.borrow(), expected);
    }

    #[test]
    fn gaps_are_found_and_foreign_things_are_in_the_way() {
        let (mut store, _) = store(&[
            ("10.1.2.2", "a\r\neth0".into()),
            ("10.1.2.3", MemoryFile::Directory),
            ("10.1.2.4", "three\r\nlines\r\nhere".into()),
            ("10.1.2.5", MemoryFile::DanglingLink),
            ("10.1.2.6", "".into()),
        ]);
        assert_eq!(
            store.next_free(span("10.1.2.2", "10.1.2.254")).unwrap(),
            Some(address("10.1.2.6"))
        );
        assert_eq!(store.next_free(span("10.1.2.2", "10.1.2.5")).unwrap(), None);
        assert_eq!(store.holder(address("10.1.2.3")).unwrap(), Holder::Foreign);
        assert_eq!(store.holder(address("10.1.2.6")).unwrap(), Holder::Nobody);
    }

    #[test]
    fn the_last_address_of_all_is_no_problem() {
        let last = "255.255.255.255";
        let (mut store, _) = store(&[(last, "a".into())]);
        assert_eq!(store.next_free(span(last, last)).unwrap(), None);
        store.reservations(None).unwrap();
        assert_eq!(store.next_free(span(last, last)).unwrap(), None);
    }

    #[test]
    fn torn_records_are_replaced_or_reclaimed() {
        let (mut store, directory) = store(&[
            ("10.1.2.2", "".into()),
            ("10.1.2.3", " \n".into()),
            ("10.1.2.4", "c1".into()),
        ]);
        assert!(
            store
                .reserve(address("10.1.2.2"), &attachment("c1"))
                .unwrap()
        );
        assert_eq!(store.reclaim().unwrap(), [address("10.1.2.3")]);
        assert_eq!(store.reclaim().unwrap(), Vec::<IpAddr>::new());
        let left: Vec<_> = directory.borrow().keys().cloned().collect();
        assert_eq!(left, ["10.1.2.2", "10.1.2.4"]);
    }

    #[test]
    fn release_frees_only_what_the_owner_has() {
        let (mut store, directory) = store(&[
            (".10.1.2.2.tmp", "c1\r\neth0".into()),
            (".10.1.2.4.tmp", "c2\r\neth0".into()),
            ("10.1.2.2", "c2\r\neth0".into()),
            ("10.1.2.3", "c1\r\neth0".into()),
        ]);
        let held = store.held_by(&attachment("c1").container).unwrap();
        assert_eq!(held.len(), 1);
        assert!(!store.release(address("10.1.2.2"), &held[0].owner).unwrap());
        assert!(store.release(address("10.1.2.3"), &held[0].owner).unwrap());
        assert!(!store.release(address("10.1.2.3"), &held[0].owner).unwrap());
        let left: Vec<_> = directory.borrow().keys().cloned().collect();
        assert_eq!(left, [".10.1.2.4.tmp", "10.1.2.2"]);
    }

    #[test]
    fn markers_come_in_the_order_of_their_sets() {
        let (mut store, _) = store(&[
            ("last_reserved_ip.10", "10.0.0.10".into()),
            ("last_reserved_ip.2", "10.0.0.2".into()),
            ("last_reserved_ip.3", " 10.0.0.3".into()),
            ("last_reserved_ip", "10.0.0.1".into()),
        ]);
        let all = store.all_last_reserved().unwrap();
        assert_eq!(all, [address("10.0.0.2"), address("10.0.0.10")]);
    }
}
