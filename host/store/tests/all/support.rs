//! A data directory to try things in, and a way to write as the Go plugin.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tempfile::TempDir;
use wipam_core::names::{Attachment, ContainerId, InterfaceName, NetworkName};
use wipam_core::span::Span;
use wipam_core::store::{Access, Location, Owner, Reservation, Store, StoreError};
use wipam_store::{DiskStore, Settings};

pub(crate) fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

pub(crate) fn span(first: &str, last: &str) -> Span {
    Span::new(address(first), address(last)).unwrap()
}

pub(crate) fn container(text: &str) -> ContainerId {
    ContainerId::new(text).unwrap()
}

pub(crate) fn attachment(id: &str, interface: &str) -> Attachment {
    Attachment {
        container: container(id),
        interface: InterfaceName::new(interface).unwrap(),
    }
}

pub(crate) fn owner(id: &str) -> Owner {
    Owner {
        container: container(id),
        interface: Some(InterfaceName::new("eth0").unwrap()),
    }
}

/// The address of a number in 10.0.0.0/8.
pub(crate) fn nth(number: u32) -> IpAddr {
    IpAddr::V4(std::net::Ipv4Addr::from_bits(0x0a00_0000 + number))
}

pub(crate) struct Place {
    _folder: TempDir,
    pub(crate) data: PathBuf,
    pub(crate) net: PathBuf,
}

impl Place {
    /// With an empty network directory.
    pub(crate) fn new() -> Self {
        let place = Self::bare();
        fs::create_dir_all(&place.net).unwrap();
        place
    }

    /// With nothing in it.
    pub(crate) fn bare() -> Self {
        let folder = TempDir::new().unwrap();
        let data = folder.path().join("data");
        Self {
            net: data.join("net"),
            data,
            _folder: folder,
        }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.net.join(name)
    }

    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.file(name), content).unwrap();
    }

    /// A record as the Go plugin makes it.
    pub(crate) fn record(&self, address: IpAddr, id: &str) {
        self.put(&address.to_string(), format!("{id}\r\neth0"));
    }

    pub(crate) fn content(&self, name: &str) -> String {
        String::from_utf8(fs::read(self.file(name)).unwrap()).unwrap()
    }

    /// The names in the network's directory, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        names(&self.net)
    }

    pub(crate) fn index_exists(&self) -> bool {
        self.data.join(".wipam").exists()
    }

    pub(crate) fn index(&self) -> PathBuf {
        self.data.join(".wipam/net")
    }

    pub(crate) fn try_open(&self, access: Access) -> Result<Option<DiskStore>, StoreError> {
        open(self.data.to_str().unwrap(), access)
    }

    pub(crate) fn open(&self, access: Access) -> DiskStore {
        self.try_open(access).unwrap().unwrap()
    }

    /// As an ADD: the address it got.
    pub(crate) fn add(&self, id: &str, from: Span) -> Option<IpAddr> {
        let mut store = self.open(Access::Reserve);
        assert_eq!(store.held_by(&container(id)).unwrap(), []);
        let free = store.next_free(from).unwrap()?;
        assert!(store.reserve(free, &attachment(id, "eth0")).unwrap());
        store.set_last_reserved(0, free).unwrap();
        Some(free)
    }

    /// As a DEL: how many addresses it released.
    pub(crate) fn del(&self, id: &str) -> usize {
        let mut store = self.open(Access::Release);
        let held = store.held_by(&container(id)).unwrap();
        for reservation in &held {
            assert!(
                store
                    .release(reservation.address, &reservation.owner)
                    .unwrap()
            );
        }
        held.len()
    }

    /// As a CHECK: what it holds.
    pub(crate) fn held(&self, id: &str) -> Vec<IpAddr> {
        let held = self.open(Access::Read).held_by(&container(id)).unwrap();
        held.into_iter()
            .map(|reservation| reservation.address)
            .collect()
    }
}

pub(crate) fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

pub(crate) fn location(data_dir: &str) -> Location {
    Location {
        data_dir: data_dir.to_owned(),
        network: NetworkName::new("net").unwrap(),
        lock_wait_ms: 20_000,
        sync: false,
        history: false,
    }
}

pub(crate) fn open(data_dir: &str, access: Access) -> Result<Option<DiskStore>, StoreError> {
    open_at(&location(data_dir), access)
}

pub(crate) fn open_at(
    location: &Location,
    access: Access,
) -> Result<Option<DiskStore>, StoreError> {
    let settings = Settings::new(SystemTime::now());
    DiskStore::open(location, access, &settings)
}

/// Everything, whatever the size of a page.
pub(crate) fn all(store: &mut DiskStore) -> Vec<Reservation> {
    let mut all: Vec<Reservation> = Vec::new();
    loop {
        let after = all.last().map(|reservation| reservation.address);
        let page = store.reservations(after).unwrap();
        if page.is_empty() {
            return all;
        }
        all.extend(page);
    }
}

/// xorshift64*: the same sequence on every machine.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        ((self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % u64::from(limit)) as u32
    }
}
