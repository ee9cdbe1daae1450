//! Random sessions at random moments of random boots, on disk and in memory.
//! Every answer is compared with that of a model which forgets nothing.

use std::collections::BTreeMap;
use std::net::IpAddr;

use wipam_core::store::{Access, Past};
use wipam_store::{Journal, MemoryNetwork, Moment};

use crate::networks::{Network, Session, moment, on_disk};
use crate::support::{Place, Random, attachment, nth, owner, span};

const ADDRESSES: u32 = 300;
const KEYS: u32 = 60;

/// The last that is known of an address.
#[derive(Clone, Debug)]
struct Known {
    key: Option<String>,
    held: bool,
    /// Of its boot, in the order of boots.
    boot: usize,
    at: u64,
    /// When its key got it: boot and time.
    given: (usize, u64),
    /// To tell what happened in the same millisecond.
    turn: u64,
}

#[derive(Clone, Debug, Default)]
struct Model {
    owners: BTreeMap<IpAddr, String>,
    known: BTreeMap<IpAddr, Known>,
    begun: bool,
    state: Vec<u8>,
}

struct World {
    network: Network,
    model: Model,
    random: Random,
    boots: Vec<u64>,
    at: u64,
    turn: u64,
}

impl World {
    /// Begins a history that is nearly long enough to be rewritten.
    fn begin(&mut self) {
        self.network.set_history("no line\n".repeat(900).as_bytes());
        self.model.begun = true;
    }

    fn address(&mut self) -> IpAddr {
        nth(self.random.below(ADDRESSES))
    }

    fn key(&mut self) -> String {
        format!("ns/k{}", self.random.below(KEYS))
    }

    fn now(&self) -> Moment {
        moment(*self.boots.last().unwrap(), self.at)
    }

    fn know(&mut self, address: IpAddr, key: Option<String>, held: bool) {
        self.turn += 1;
        let now = (self.boots.len(), self.at);
        let had = self.model.known.get(&address).filter(|known| known.held);
        let known = Known {
            given: had.filter(|_| !held).map_or(now, |had| had.given),
            key,
            held,
            boot: self.boots.len(),
            at: self.at,
            turn: self.turn,
        };
        self.model.known.insert(address, known);
    }

    fn leave(&mut self, address: IpAddr) {
        self.model.owners.remove(&address);
        if self.model.begun {
            let known = self.model.known.get(&address);
            let key = known.filter(|k| k.held).and_then(|k| k.key.clone());
            self.know(address, key, false);
        }
    }

    /// The address that a key got last, of those that nobody had since.
    fn remembered(&self, key: &str) -> Option<IpAddr> {
        let known = self.model.known.iter();
        let theirs = known.filter(|(_, known)| known.key.as_deref() == Some(key));
        let last = theirs.max_by_key(|(_, known)| (known.given, known.turn));
        last.map(|(address, _)| *address)
    }

    fn past(&self, address: IpAddr) -> Option<Past> {
        let known = self.model.known.get(&address)?;
        if self.model.owners.contains_key(&address) {
            return None;
        }
        let key = known.key.clone();
        let latest = key.as_deref().and_then(|key| self.remembered(key));
        let this = known.boot == self.boots.len();
        let since = if this { known.at } else { 0 };
        Some(Past {
            address,
            latest: latest == Some(address),
            key,
            released_ms_ago: self.at.saturating_sub(since),
        })
    }

    fn compare(&mut self, store: &mut dyn Session) {
        let (address, key) = (self.address(), self.key());
        assert_eq!(
            store.past(address).unwrap(),
            self.past(address),
            "{address}"
        );
        assert_eq!(
            store.remembered(&key).unwrap(),
            self.remembered(&key),
            "{key}"
        );
        let (one, other) = (self.address(), self.address());
        let span = span(&one.min(other).to_string(), &one.max(other).to_string());
        let unused = (0..ADDRESSES).map(nth).find(|at| {
            let free = !self.model.owners.contains_key(at) && !self.model.known.contains_key(at);
            free && span.contains(*at)
        });
        assert_eq!(store.next_unused(span).unwrap(), unused, "{span}");
        if self.random.below(4) == 0 {
            let mut ages: Vec<_> = self.model.known.iter().collect();
            ages.sort_by_key(|(_, known)| (known.boot, known.at, known.turn));
            let addresses = ages.into_iter().map(|(address, _)| *address);
            let expected: Vec<Past> = addresses.filter_map(|at| self.past(at)).collect();
            let skip = self.random.below(280);
            let page = store.released(skip).unwrap();
            let expected: Vec<Past> = expected.into_iter().skip(skip as usize).take(256).collect();
            assert_eq!(page, expected);
        }
        assert_eq!(store.policy_state().unwrap(), self.model.state);
    }

    /// Takes addresses: those told of, the last first; `None` where it gave
    /// all of them back.
    fn add(&mut self, store: &mut dyn Session, wanted: bool) -> Option<Vec<IpAddr>> {
        self.compare(store);
        let before = self.model.clone();
        let (mut taken, mut told) = (Vec::new(), Vec::new());
        for _ in 0..=self.random.below(3) {
            let (address, id) = (self.address(), format!("c{}", self.random.below(5)));
            let free = !self.model.owners.contains_key(&address);
            let done = store.reserve(address, &attachment(&id, "eth0")).unwrap();
            assert_eq!(done, free, "{address}");
            if !free {
                continue;
            }
            self.model.begun |= wanted;
            self.model.owners.insert(address, id.clone());
            taken.push((address, id));
            if self.random.below(3) > 0 {
                let key = self.key();
                store.remember(address, &key).unwrap();
                if self.model.begun {
                    self.know(address, Some(key), true);
                    told.push(address);
                }
            }
        }
        if self.random.below(3) == 0 {
            self.model.state = vec![self.random.below(3) as u8; self.random.below(3) as usize];
            store.set_policy_state(self.model.state.clone());
            store.keep_state().unwrap();
        }
        self.compare(store);
        if self.random.below(5) == 0 {
            for (address, id) in taken {
                assert!(store.release(address, &owner(&id)).unwrap());
            }
            let state = std::mem::take(&mut self.model.state);
            self.restore(before, &told);
            self.model.state = state;
            self.compare(store);
            return None;
        }
        told.reverse();
        Some(told)
    }

    /// As it was before; of what was told meanwhile, former lines are repeated.
    fn restore(&mut self, before: Model, told: &[IpAddr]) {
        let begun = self.model.begun;
        self.model = Model { begun, ..before };
        for address in told {
            self.turn += 1;
            if let Some(known) = self.model.known.get_mut(address) {
                known.turn = self.turn;
                // When it was given in an earlier boot is forgotten.
                if known.given.0 != known.boot {
                    known.given = (known.boot, known.at);
                }
            }
        }
    }

    fn del(&mut self, store: &mut dyn Session) {
        for _ in 0..=self.random.below(3) {
            let address = self.address();
            if let Some(id) = self.model.owners.get(&address).cloned() {
                assert!(store.release(address, &owner(&id)).unwrap());
                self.leave(address);
            }
            self.compare(store);
        }
    }

    fn step(&mut self) {
        self.at += u64::from(self.random.below(3));
        match self.random.below(200) {
            0 => {
                // Names of boots say nothing about their order.
                self.boots.push(u64::from(self.random.below(1 << 30)) << 20);
                self.at = u64::from(self.random.below(1000));
            }
            1 if self.random.below(8) == 0 => {
                self.network.forget();
                self.model.known.clear();
                self.model.begun = false;
                self.model.state.clear();
                if self.random.below(2) == 0 {
                    self.begin();
                }
            }
            2..=9 => {
                let address = self.address();
                if self.model.owners.remove(&address).is_some() {
                    self.network.remove(address);
                }
            }
            10..=29 => self.undone(),
            30..=59 => {
                let mut store = self.network.open(Access::Read, true, self.now());
                self.compare(&mut *store);
            }
            60..=129 => {
                let wanted = self.random.below(3) > 0;
                let mut store = self.network.open(Access::Reserve, wanted, self.now());
                self.add(&mut *store, wanted);
            }
            _ => {
                let mut store = self.network.open(Access::Release, true, self.now());
                self.del(&mut *store);
            }
        }
    }

    fn undone(&mut self) {
        let Network::Disk(place) = &self.network else {
            return;
        };
        let journal = Journal::default();
        let mut store = on_disk(place, Access::Reserve, true, self.now(), &journal);
        let before = self.model.clone();
        let told = self.add(&mut store, true);
        drop(store);
        match told {
            Some(told) => self.restore(before, &told),
            None => self.model.state = before.state,
        }
        self.at += 1;
        let Network::Disk(place) = &self.network else {
            return;
        };
        let own = Journal::default();
        let mut store = on_disk(place, Access::Release, true, self.now(), &own);
        store.undo(&journal).unwrap();
        self.compare(&mut store);
    }
}

#[test]
fn every_answer_agrees_with_a_model() {
    let steps: u32 = std::env::var("WIPAM_MODEL_STEPS").map_or(700, |text| text.parse().unwrap());
    let first: u64 = std::env::var("WIPAM_MODEL_SEED").map_or(1, |text| text.parse().unwrap());
    let mut rewritten = 0;
    for seed in first..first + 4 {
        // Shown if it fails.
        println!("seed {seed}");
        let network = match seed % 2 {
            0 => Network::Memory(MemoryNetwork::default()),
            _ => Network::Disk(Place::new()),
        };
        let mut world = World {
            network,
            model: Model::default(),
            random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            boots: vec![1],
            at: 0,
            turn: 0,
        };
        world.begin();
        let mut lines = 0;
        for _ in 0..steps {
            world.step();
            let now = world
                .network
                .history()
                .map_or(0, |text| text.lines().count());
            rewritten += u32::from(now < lines && now > 0);
            lines = now;
        }
    }
    assert!(rewritten > 0, "never rewritten");
}
