//! A large directory under everything at once: our own calls, other writers
//! with and without the lock, and damage to the index. Every answer is
//! compared with what a table of the files says.

use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;

use wipam_core::span::Span;
use wipam_core::store::{Access, Holder, Store};
use wipam_store::DiskStore;

use crate::large::{DAMAGES, damage};
use crate::support::{Place, Random, all, attachment, container, nth, owner};

const ADDRESSES: u32 = 700;
const CONTAINERS: u32 = 150;
const CROWD: u32 = 200;

impl Random {
    fn address(&mut self) -> IpAddr {
        let number = self.below(ADDRESSES);
        // Few changes there: so many in a row are taken that they are not
        // looked at one by one.
        if number < CROWD && self.below(40) != 0 {
            self.address()
        } else {
            nth(number)
        }
    }

    fn container(&mut self) -> String {
        format!("c{}", self.below(CONTAINERS))
    }

    fn span(&mut self) -> Span {
        let (one, other) = (nth(self.below(ADDRESSES)), nth(self.below(ADDRESSES)));
        Span::new(one.min(other), one.max(other)).unwrap()
    }
}

/// What stands at an address.
#[derive(Clone, Debug, PartialEq)]
enum Thing {
    Record(String),
    Torn,
    Junk,
    Directory,
    /// To a file that says this.
    Link(String),
}

impl Thing {
    fn owner(&self) -> Option<&str> {
        match self {
            Self::Record(id) | Self::Link(id) => Some(id),
            _ => None,
        }
    }
}

struct World {
    place: Place,
    things: BTreeMap<IpAddr, Thing>,
    random: Random,
    links: u32,
}

impl World {
    fn new(seed: u64) -> Self {
        let (place, random) = (Place::new(), Random(seed));
        let mut world = Self {
            place,
            things: BTreeMap::new(),
            random,
            links: 0,
        };
        for number in 0..330 {
            let id = world.random.container();
            world.put(nth(number), Thing::Record(id));
        }
        world
    }

    fn file(&self, address: IpAddr) -> std::path::PathBuf {
        self.place.file(&address.to_string())
    }

    fn clear(&mut self, address: IpAddr) {
        match self.things.remove(&address) {
            None => {}
            Some(Thing::Directory) => fs::remove_dir(self.file(address)).unwrap(),
            Some(_) => fs::remove_file(self.file(address)).unwrap(),
        }
    }

    /// Makes a thing as somebody else would, in the place of any other.
    fn put(&mut self, address: IpAddr, thing: Thing) {
        self.clear(address);
        let path = self.file(address);
        match &thing {
            Thing::Record(id) => fs::write(path, format!("{id}\r\neth0")).unwrap(),
            Thing::Torn => fs::write(path, "").unwrap(),
            Thing::Junk => fs::write(path, "not\r\na\r\nrecord").unwrap(),
            Thing::Directory => fs::create_dir(path).unwrap(),
            Thing::Link(id) => {
                self.links += 1;
                let target = format!("target{}", self.links);
                fs::write(self.place.data.join(&target), format!("{id}\r\neth0")).unwrap();
                std::os::unix::fs::symlink(format!("../{target}"), path).unwrap();
            }
        }
        self.things.insert(address, thing);
    }

    /// Something that another writer does.
    fn foreign(&mut self) {
        let address = self.random.address();
        let id = self.random.container();
        match self.random.below(14) {
            0..=4 => self.put(address, Thing::Record(id)),
            5..=7 => self.clear(address),
            8 => self.put(address, Thing::Torn),
            9 => self.put(address, Thing::Junk),
            10 => self.put(address, Thing::Directory),
            11 if self.random.below(8) == 0 => self.put(address, Thing::Link(id)),
            11 => {
                // A record moves, with its inode, over another.
                let to = self.random.address();
                let from = self.things.get(&address).cloned();
                if let Some(Thing::Record(id)) = from
                    && to != address
                {
                    self.clear(to);
                    fs::rename(self.file(address), self.file(to)).unwrap();
                    self.things.remove(&address);
                    self.things.insert(to, Thing::Record(id));
                }
            }
            12 => {
                let index = self.random.below(70);
                self.place
                    .put(&format!("last_reserved_ip.{index}"), address.to_string());
            }
            _ => {
                // Two records swap their names and with them their inodes.
                let to = self.random.address();
                let (one, other) = (self.things.get(&address), self.things.get(&to));
                if let (Some(Thing::Record(one)), Some(Thing::Record(other))) = (one, other)
                    && to != address
                {
                    let (one, other) = (one.clone(), other.clone());
                    let aside = self.place.file("aside");
                    fs::rename(self.file(address), &aside).unwrap();
                    fs::rename(self.file(to), self.file(address)).unwrap();
                    fs::rename(aside, self.file(to)).unwrap();
                    self.things.insert(address, Thing::Record(other));
                    self.things.insert(to, Thing::Record(one));
                }
            }
        }
    }

    fn is_free(&self, address: IpAddr) -> bool {
        matches!(self.things.get(&address), None | Some(Thing::Torn))
    }

    fn held(&self, id: &str) -> Vec<IpAddr> {
        let held = self
            .things
            .iter()
            .filter(|(_, thing)| thing.owner() == Some(id));
        held.map(|(address, _)| *address).collect()
    }

    fn compare_one(&mut self, store: &mut DiskStore) {
        let (id, address, span) = (
            self.random.container(),
            self.random.address(),
            self.random.span(),
        );
        let held = store.held_by(&container(&id)).unwrap();
        let held: Vec<_> = held.iter().map(|reservation| reservation.address).collect();
        assert_eq!(held, self.held(&id), "{id}");
        let expected = match self.things.get(&address) {
            None | Some(Thing::Torn) => Holder::Nobody,
            Some(Thing::Junk | Thing::Directory) => Holder::Foreign,
            Some(Thing::Record(id) | Thing::Link(id)) => Holder::Owner(owner(id)),
        };
        assert_eq!(store.holder(address).unwrap(), expected, "{address}");
        let free = (0..ADDRESSES)
            .map(nth)
            .find(|at| span.contains(*at) && self.is_free(*at));
        assert_eq!(store.next_free(span).unwrap(), free, "{span}");
    }

    fn compare_all(&self, store: &mut DiskStore) {
        for number in 0..CONTAINERS {
            let id = format!("c{number}");
            let held = store.held_by(&container(&id)).unwrap();
            let held: Vec<_> = held.iter().map(|reservation| reservation.address).collect();
            assert_eq!(held, self.held(&id), "{id}");
        }
    }

    fn own(&mut self, store: &mut DiskStore) {
        let (id, address) = (self.random.container(), self.random.address());
        match self.random.below(6) {
            0..=2 => {
                let done = store.reserve(address, &attachment(&id, "eth0")).unwrap();
                assert_eq!(done, self.is_free(address), "{address}");
                if done {
                    self.things.insert(address, Thing::Record(id));
                }
            }
            3 => {
                for reservation in store.held_by(&container(&id)).unwrap() {
                    assert!(
                        store
                            .release(reservation.address, &reservation.owner)
                            .unwrap()
                    );
                    self.things.remove(&reservation.address);
                }
            }
            4 => {
                let index = self.random.below(3);
                store.set_last_reserved(index, address).unwrap();
                assert_eq!(store.last_reserved(index).unwrap(), Some(address));
            }
            _ => {
                let others = store.release(address, &owner(&id)).unwrap();
                let is_owner = self.things.get(&address).and_then(Thing::owner) == Some(&id);
                assert_eq!(others, is_owner, "{address}");
                if others {
                    self.things.remove(&address);
                }
            }
        }
    }

    /// One invocation of ours, as whatever command.
    fn session(&mut self) {
        if self.random.below(5) == 0 {
            let mut store = self.place.open(Access::Read);
            self.compare_one(&mut store);
            return;
        }
        let mut store = self.place.open(Access::Reserve);
        match self.random.below(40) {
            0 => {
                let torn = self
                    .things
                    .iter()
                    .filter(|(_, thing)| **thing == Thing::Torn);
                let torn: Vec<_> = torn.map(|(address, _)| *address).collect();
                assert_eq!(store.reclaim().unwrap(), torn);
                self.things.retain(|_, thing| *thing != Thing::Torn);
            }
            1 => {
                let all = all(&mut store);
                let all: Vec<_> = all.iter().map(|r| (r.address, r.owner.clone())).collect();
                let expected = self.things.iter();
                let expected: Vec<_> = expected
                    .filter_map(|(address, thing)| Some((*address, owner(thing.owner()?))))
                    .collect();
                assert_eq!(all, expected);
            }
            2 => {
                // Somebody does not mind the lock. What this session answers
                // from here on does not matter, what later ones do does.
                for _ in 0..self.random.below(3) + 1 {
                    if self.random.below(2) == 0 {
                        let _ = store.held_by(&container("c1"));
                    }
                    self.foreign();
                    let (id, address) = (self.random.container(), self.random.address());
                    if store.reserve(address, &attachment(&id, "eth0")).unwrap() {
                        self.things.insert(address, Thing::Record(id));
                    }
                }
                drop(store);
                self.compare_all(&mut self.place.open(Access::Reserve));
                return;
            }
            3 => damage(
                &self.place,
                self.random.below(DAMAGES as u32) as usize,
                self.random.0,
            ),
            _ => {}
        }
        for _ in 0..self.random.below(4) {
            self.compare_one(&mut store);
            self.own(&mut store);
        }
        self.compare_one(&mut store);
    }
}

#[test]
fn every_answer_agrees_with_the_files() {
    let steps: u32 = std::env::var("WIPAM_MODEL_STEPS").map_or(1500, |text| text.parse().unwrap());
    let first: u64 = std::env::var("WIPAM_MODEL_SEED").map_or(1, |text| text.parse().unwrap());
    for seed in first..first + 4 {
        // Shown if it fails.
        println!("seed {seed}");
        let mut world = World::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut indexed = 0;
        for step in 0..steps {
            match world.random.below(10) {
                0..=1 => {
                    for _ in 0..world.random.below(6) + 1 {
                        world.foreign();
                    }
                }
                2 if world.random.below(6) == 0 => {
                    let way = world.random.below(DAMAGES as u32) as usize;
                    damage(&world.place, way, world.random.0);
                }
                // Links keep the index from being believed: not for long.
                2 => {
                    let links = world.things.iter();
                    let links: Vec<_> = links
                        .filter(|(_, thing)| matches!(thing, Thing::Link(_)))
                        .map(|(address, _)| *address)
                        .collect();
                    links.into_iter().for_each(|address| world.clear(address));
                }
                _ => world.session(),
            }
            if step % 100 == 0 {
                let mut store = world.place.open(Access::Reserve);
                world.compare_all(&mut store);
            }
            indexed += u32::from(world.place.index().join("index").is_file());
        }
        assert!(
            indexed > steps / 2,
            "hardly ever an index: {indexed} of {steps}"
        );
    }
}
