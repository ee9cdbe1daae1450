//! What only shows with a directory that counts or fails.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::rc::Rc;

use wipam_core::names::{ContainerId, InterfaceName};

use super::*;
use crate::beside::{Content, Kept};
use crate::error;
use crate::memory::MemoryNetwork;
use crate::moment::Moment;

fn nth(number: u32) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + number))
}

fn attachment() -> Attachment {
    Attachment {
        container: ContainerId::new("c").unwrap(),
        interface: InterfaceName::new("eth0").unwrap(),
    }
}

/// Counts what is asked for, and may refuse to remove anything.
#[derive(Default)]
struct Watched {
    files: BTreeMap<Name, String>,
    reads: Rc<Cell<usize>>,
    keeps: Rc<Cell<bool>>,
}

impl Directory for Watched {
    fn list(&mut self) -> Result<Vec<Name>, StoreError> {
        Ok(self.files.keys().copied().collect())
    }

    fn read(&mut self, name: Name) -> Result<Item, StoreError> {
        self.reads.set(self.reads.get() + 1);
        Ok(match self.files.get(&name) {
            Some(content) => Item::File {
                content: content.clone().into_bytes(),
                newer: false,
            },
            None => Item::Missing,
        })
    }

    fn create(&mut self, name: Name, content: &str) -> Result<bool, StoreError> {
        Ok(self.files.insert(name, content.to_owned()).is_none())
    }

    fn replace(&mut self, name: Name, content: &str) -> Result<(), StoreError> {
        self.files.insert(name, content.to_owned());
        Ok(())
    }

    fn remove(&mut self, name: Name) -> Result<bool, StoreError> {
        if self.keeps.get() {
            return Err(error::other(format!("remove {name}: no")));
        }
        Ok(self.files.remove(&name).is_some())
    }
}

/// A disk that is full.
#[derive(Default)]
struct Full {
    history: Option<Vec<u8>>,
    /// How much of a line it still takes.
    room: usize,
    tries: Rc<Cell<usize>>,
}

impl Beside for Full {
    fn place(&self, what: Kept) -> String {
        what.name().to_owned()
    }

    fn now(&mut self) -> Moment {
        Moment::default()
    }

    fn load(&mut self, _: Kept, _: u64) -> Result<Content, StoreError> {
        Ok(self.history.clone().map_or(Content::Missing, Content::All))
    }

    fn append(&mut self, _: Kept, bytes: &[u8], _: bool) -> Result<(), StoreError> {
        self.tries.set(self.tries.get() + 1);
        let history = self.history.get_or_insert_default();
        history.extend(bytes.iter().take(self.room));
        Err(error::other("full".to_owned()))
    }

    fn replace(&mut self, _: Kept, _: &[u8]) -> Result<(), StoreError> {
        Err(error::other("full".to_owned()))
    }

    fn remove(&mut self, _: Kept) -> Result<(), StoreError> {
        Ok(())
    }
}

fn ledger<B: Beside>(directory: Watched, beside: B) -> Ledger<Watched, B> {
    let rights = Rights::new(Access::Reserve, true);
    Ledger::new(directory, beside, rights, Journal::default())
}

#[test]
fn a_thousand_little_spans_do_not_open_a_thousand_files() {
    let mut directory = Watched::default();
    for number in 0..200 {
        let name = Name::Record(nth(number));
        directory.files.insert(name, "c\r\neth0".to_owned());
    }
    let reads = Rc::clone(&directory.reads);
    let mut ledger = ledger(directory, MemoryNetwork::default());
    for _ in 0..5 {
        for number in 0..200 {
            let one = Span::new(nth(number), nth(number)).unwrap();
            assert_eq!(ledger.next_free(one).unwrap(), None);
        }
    }
    // Those that were looked at one by one, and then each once.
    assert_eq!(reads.get(), PROBES + 200);
}

#[test]
fn round_robin_looks_at_one_address() {
    let directory = Watched::default();
    let reads = Rc::clone(&directory.reads);
    let mut ledger = ledger(directory, MemoryNetwork::default());
    let all = Span::new(nth(0), nth(1000)).unwrap();
    assert_eq!(ledger.next_free(all).unwrap(), Some(nth(0)));
    assert_eq!(reads.get(), 1);
}

#[test]
fn a_record_that_could_not_be_removed_was_not_released() {
    let network = MemoryNetwork::default();
    let line = "10.0.0.1 had 0000000000000000 0 key\n";
    network.set_history(Some(line.as_bytes().to_vec()));
    let mut directory = Watched::default();
    let record = (Name::Record(nth(1)), "c\r\neth0".to_owned());
    directory.files.extend([record]);
    let keeps = Rc::clone(&directory.keeps);
    let mut ledger = ledger(directory, network);
    let owner = (&attachment()).into();
    for refused in [true, true, false] {
        keeps.set(refused);
        assert_eq!(ledger.release(nth(1), &owner).is_err(), refused);
    }
    // However often it was tried, it is known who had it.
    let past = ledger.past(nth(1)).unwrap().unwrap();
    assert_eq!(past.key.as_deref(), Some("key"));
}

#[test]
fn a_full_disk_keeps_no_address_from_being_given_or_freed() {
    let tries = Rc::new(Cell::new(0));
    for history in [None, Some(Vec::new())] {
        let beside = Full {
            history,
            room: 20,
            tries: Rc::clone(&tries),
        };
        let mut ledger = ledger(Watched::default(), beside);
        assert!(ledger.reserve(nth(1), &attachment()).unwrap());
        ledger.remember(nth(1), "key").unwrap();
        assert_eq!(ledger.remembered("key").unwrap(), None);
        // As another session.
        ledger.journal = Journal::default();
        let owner = (&attachment()).into();
        assert!(ledger.release(nth(1), &owner).unwrap());
        assert_eq!(ledger.past(nth(1)).unwrap(), None);
    }
    // Once where it could not even be begun; else each of the two lines.
    assert_eq!(tries.get(), 3);
}

#[test]
fn the_line_after_a_torn_one_is_whole() {
    let network = MemoryNetwork::default();
    network.set_history(Some(b"10.0.0.1 left 0000000000000000 0 ke".to_vec()));
    let mut ledger = ledger(Watched::default(), network.clone());
    ledger.remember(nth(2), "key").unwrap();
    ledger.remember(nth(3), "key").unwrap();
    let text = String::from_utf8(network.history().unwrap()).unwrap();
    let lines: Vec<_> = text.lines().skip(1).collect();
    let expected = [
        "10.0.0.2 had 0000000000000000 0 key",
        "10.0.0.3 had 0000000000000000 0 key",
    ];
    assert_eq!(lines, expected);
}
