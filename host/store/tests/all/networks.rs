//! A network on disk and one in memory, for what must be the same in both.

use std::fs;
use std::net::IpAddr;
use std::time::SystemTime;

use wipam_core::store::{Access, Location, Past, PolicyState, Store};
use wipam_store::{DiskStore, Journal, MemoryNetwork, MemoryStore, Moment, Settings};

use crate::support::{Place, attachment, location, owner};

pub(crate) trait Session: Store + PolicyState {}
impl<S: Store + PolicyState> Session for S {}

pub(crate) enum Network {
    Disk(Place),
    Memory(MemoryNetwork),
}

pub(crate) fn both() -> [Network; 2] {
    [
        Network::Disk(Place::new()),
        Network::Memory(MemoryNetwork::default()),
    ]
}

pub(crate) fn moment(boot: u64, since_boot_ms: u64) -> Moment {
    Moment {
        boot,
        since_boot_ms,
    }
}

pub(crate) fn on_disk(
    place: &Place,
    access: Access,
    history: bool,
    moment: Moment,
    journal: &Journal,
) -> DiskStore {
    let location = Location {
        history,
        ..location(place.data.to_str().unwrap())
    };
    let settings = Settings {
        journal: journal.clone(),
        moment: Some(moment),
        ..Settings::new(SystemTime::now())
    };
    DiskStore::open(&location, access, &settings)
        .unwrap()
        .unwrap()
}

impl Network {
    pub(crate) fn open(&self, access: Access, history: bool, moment: Moment) -> Box<dyn Session> {
        match self {
            Self::Disk(place) => {
                let journal = Journal::default();
                Box::new(on_disk(place, access, history, moment, &journal))
            }
            Self::Memory(network) => {
                network.set_moment(moment);
                Box::new(MemoryStore::open(network, access, history))
            }
        }
    }

    /// As an ADD with a key, of a configuration that wants a history.
    pub(crate) fn add(&self, address: IpAddr, id: &str, key: &str, moment: Moment) {
        let mut store = self.open(Access::Reserve, true, moment);
        assert!(store.reserve(address, &attachment(id, "eth0")).unwrap());
        store.remember(address, key).unwrap();
    }

    /// As one whose configuration says nothing about it.
    pub(crate) fn plain_add(&self, address: IpAddr, id: &str, moment: Moment) {
        let mut store = self.open(Access::Reserve, false, moment);
        assert!(store.reserve(address, &attachment(id, "eth0")).unwrap());
    }

    /// As a DEL whose configuration says nothing about it.
    pub(crate) fn del(&self, address: IpAddr, id: &str, moment: Moment) {
        let mut store = self.open(Access::Release, false, moment);
        assert!(store.release(address, &owner(id)).unwrap());
    }

    pub(crate) fn past(&self, address: IpAddr, moment: Moment) -> Option<Past> {
        self.open(Access::Read, false, moment)
            .past(address)
            .unwrap()
    }

    pub(crate) fn remembered(&self, key: &str, moment: Moment) -> Option<IpAddr> {
        let mut store = self.open(Access::Read, false, moment);
        store.remembered(key).unwrap()
    }

    /// Every page.
    pub(crate) fn released(&self, moment: Moment) -> Vec<Past> {
        let mut store = self.open(Access::Read, false, moment);
        let mut all = Vec::new();
        loop {
            let page = store.released(all.len().try_into().unwrap()).unwrap();
            if page.is_empty() {
                return all;
            }
            all.extend(page);
        }
    }

    /// Removes a record as the Go plugin does, or a hand.
    pub(crate) fn remove(&self, address: IpAddr) {
        match self {
            Self::Disk(place) => fs::remove_file(place.file(&address.to_string())).unwrap(),
            Self::Memory(network) => {
                let removed = network.files.borrow_mut().remove(&address.to_string());
                assert!(removed.is_some());
            }
        }
    }

    /// Puts something in an address's place that is no record.
    pub(crate) fn obstruct(&self, address: IpAddr) {
        let text = "no\r\nrecord\r\n";
        match self {
            Self::Disk(place) => place.put(&address.to_string(), text),
            Self::Memory(network) => {
                let mut files = network.files.borrow_mut();
                files.insert(address.to_string(), text.into());
            }
        }
    }

    /// The file as it is.
    pub(crate) fn history(&self) -> Option<String> {
        let bytes = match self {
            Self::Disk(place) => fs::read(place.index().join("history")).ok(),
            Self::Memory(network) => network.history(),
        };
        bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    pub(crate) fn set_history(&self, bytes: &[u8]) {
        match self {
            Self::Disk(place) => {
                fs::create_dir_all(place.index()).unwrap();
                fs::write(place.index().join("history"), bytes).unwrap();
            }
            Self::Memory(network) => network.set_history(Some(bytes.to_owned())),
        }
    }

    /// Deletes everything that is kept beside the directory.
    pub(crate) fn forget(&self) {
        match self {
            Self::Disk(place) => {
                let _ = fs::remove_dir_all(place.data.join(".wipam"));
            }
            Self::Memory(network) => {
                network.set_history(None);
                network.set_policy_state(Vec::new());
            }
        }
    }
}
