//! The file store: reservations as files, byte for byte those of the Go
//! plugin, under the lock that it takes as well.

mod beside;
mod copy;
mod folder;
mod index;
mod inspect;
mod listing;
mod place;
mod publish;
mod read;

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime};

use wipam_core::store::{Access, Location, StoreError};

use crate::delegate::store_by_ledger;
use crate::journal::Journal;
use crate::ledger::{Ledger, Rights};
use crate::lock::{self, Lock, Outcome};
use crate::moment::Moment;
use beside::Aside;
use folder::{Folder, IndexUse};
use place::{LockFile, Opened, Place};
use read::{Reader, Session};

/// Where the Go plugin keeps its files unless told otherwise.
pub const DEFAULT_DATA_DIR: &str = "/var/lib/cni/networks";

/// What a store has to know about the invocation it serves.
#[derive(Clone, Debug)]
pub struct Settings {
    /// When the invocation began.
    pub started: SystemTime,
    /// Told what is reserved and released.
    pub journal: Journal,
    /// What moment it is, for tests; otherwise the system tells.
    pub moment: Option<Moment>,
}

impl Settings {
    /// For an invocation that began at this moment.
    pub fn new(started: SystemTime) -> Self {
        Self {
            started,
            journal: Journal::default(),
            moment: None,
        }
    }
}

/// One network's reservations on disk, locked until this and all its clones
/// are dropped, which are the same session.
#[derive(Clone, Debug)]
pub struct DiskStore {
    ledger: Rc<RefCell<Ledger<Folder, Aside>>>,
    _lock: Rc<Option<Lock>>,
}

impl DiskStore {
    /// Opens a network's reservations. `None`: there are none, and `access`
    /// does not allow to create what is missing.
    pub fn open(
        location: &Location,
        access: Access,
        settings: &Settings,
    ) -> Result<Option<Self>, StoreError> {
        let place = Place::new(location)?;
        if access == Access::Inspect {
            inspect::check(&place)?;
        }
        let Some(locked) = open(&place, location, access, settings)? else {
            return Ok(None);
        };
        let Locked {
            opened,
            session,
            lock,
        } = locked;
        let index = match (&lock, access) {
            (Some(lock), _) if !lock.excludes_others() => IndexUse::Never,
            (None, _) | (_, Access::Inspect) => IndexUse::Never,
            (_, Access::Read) => IndexUse::IfPresent,
            _ => IndexUse::Always,
        };
        let data = Rc::clone(&opened.data);
        let aside = Aside::new(data, &place, location.sync, settings.moment);
        let reader = Reader::new(opened, place, session);
        let ledger = Ledger::new(
            Folder::new(reader, index, location.sync),
            aside,
            Rights::new(access, location.history),
            settings.journal.clone(),
        );
        Ok(Some(Self {
            ledger: Rc::new(RefCell::new(ledger)),
            _lock: Rc::new(lock),
        }))
    }
}

/// A network's directory under its lock, or without one where that does.
struct Locked {
    opened: Opened,
    session: Session,
    lock: Option<Lock>,
}

fn open(
    place: &Place,
    location: &Location,
    access: Access,
    settings: &Settings,
) -> Result<Option<Locked>, StoreError> {
    let deadline = Instant::now() + Duration::from_millis(location.lock_wait_ms.into());
    // The lock file, or the whole directory, may be removed while we wait.
    loop {
        let opened = match access {
            Access::Reserve => Some(place.open_or_create()?),
            _ => place.open()?,
        };
        let Some(opened) = opened else {
            return Ok(None);
        };
        let mut session = Session::new(settings.started);
        let lock = match take_lock(place, &opened, access, deadline, &mut session)? {
            Some(Outcome::Stale) => continue,
            Some(Outcome::Locked(lock)) => Some(lock),
            None => None,
        };
        return Ok(Some(Locked {
            opened,
            session,
            lock,
        }));
    }
}

impl DiskStore {
    /// Undoes what a journal tells of another session with this network: it
    /// ends as if nothing had been reserved in it. Every reservation is tried;
    /// the first failure is the answer.
    pub fn undo(&mut self, journal: &Journal) -> Result<(), StoreError> {
        self.ledger.borrow_mut().undo(journal)
    }
}

store_by_ledger!(DiskStore);

/// `None`: goes on without a lock.
fn take_lock(
    place: &Place,
    opened: &Opened,
    access: Access,
    deadline: Instant,
    session: &mut Session,
) -> Result<Option<Outcome>, StoreError> {
    let file = match access {
        Access::Inspect => None,
        Access::Read => opened.lock_file(place, LockFile::IfReadable)?,
        Access::Release | Access::Collect => opened.lock_file(place, LockFile::IfPossible)?,
        Access::Reserve => opened.lock_file(place, LockFile::Required)?,
    };
    let Some(file) = file else { return Ok(None) };
    let before_waiting = || {
        if access == Access::Collect {
            // Without it, all that comes while waiting is told by its time
            // stamp alone, whose ticks are some milliseconds long.
            session.seen = listing::list(&opened.network, place.network())
                .ok()
                .map(|listed| listed.iter().filter_map(listing::Listed::address).collect());
        }
    };
    lock::acquire(file, &place.lock(), deadline, before_waiting).map(Some)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::fs;
    use std::net::{IpAddr, Ipv4Addr};

    use wipam_core::names::{Attachment, ContainerId, InterfaceName, NetworkName};
    use wipam_core::span::Span;
    use wipam_core::store::Store;

    use super::*;

    fn nth(number: u32) -> IpAddr {
        IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + number))
    }

    /// How often what `work` does lists a directory.
    fn listings(work: impl FnOnce()) -> usize {
        let before = listing::COUNT.get();
        work();
        listing::COUNT.get() - before
    }

    #[test]
    fn a_large_directory_is_listed_only_after_somebody_else_wrote() {
        let folder = tempfile::tempdir().unwrap();
        let network = folder.path().join("net");
        fs::create_dir(&network).unwrap();
        for number in 0..1000 {
            fs::write(network.join(nth(number).to_string()), format!("c{number}")).unwrap();
        }
        let location = Location {
            data_dir: folder.path().to_str().unwrap().to_owned(),
            network: NetworkName::new("net").unwrap(),
            lock_wait_ms: 10_000,
            sync: false,
            history: false,
        };
        let settings = Settings::new(SystemTime::now());
        let open = |access| {
            DiskStore::open(&location, access, &settings)
                .unwrap()
                .unwrap()
        };
        let new = Attachment {
            container: ContainerId::new("new").unwrap(),
            interface: InterfaceName::new("eth0").unwrap(),
        };
        let calls = || {
            let mut store = open(Access::Reserve);
            assert_eq!(store.held_by(&new.container).unwrap(), []);
            let rest = Span::new(nth(999), nth(2000)).unwrap();
            assert_eq!(store.next_free(rest).unwrap(), Some(nth(1000)));
            assert!(store.reserve(nth(1000), &new).unwrap());
            store.set_last_reserved(0, nth(1000)).unwrap();
            assert_eq!(store.all_last_reserved().unwrap(), [nth(1000)]);
            drop(store);
            assert_eq!(open(Access::Read).held_by(&new.container).unwrap().len(), 1);
            let mut store = open(Access::Release);
            for held in store.held_by(&new.container).unwrap() {
                assert!(store.release(held.address, &held.owner).unwrap());
            }
        };
        // To see that it is large, to fill the index, and the pins.
        assert_eq!(listings(calls), 3);
        assert_eq!(listings(calls), 0);
        fs::write(network.join(nth(1500).to_string()), "go").unwrap();
        assert_eq!(listings(calls), 1);
        assert_eq!(listings(calls), 0);
        // Pins are listed once more where a hand was at them.
        fs::remove_file(folder.path().join(".wipam/net/pins/10.0.0.7")).unwrap();
        for expected in [2, 1, 1] {
            fs::remove_file(network.join(nth(1500).to_string())).unwrap();
            fs::write(network.join(nth(1500).to_string()), "other").unwrap();
            assert_eq!(listings(calls), expected);
        }
        // Where every address is taken, the index knows them all.
        let full = || {
            let full = Span::new(nth(0), nth(999)).unwrap();
            assert_eq!(open(Access::Reserve).next_free(full).unwrap(), None);
        };
        assert_eq!(listings(full), 0);
    }
}
