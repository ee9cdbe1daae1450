//! The store of simulations, in core, and that of files: the same random
//! sessions on both, with the same answers. So what a simulation says is what
//! a host would do.

use std::collections::BTreeSet;
use std::net::IpAddr;

use wipam_core::environment::{Environment, Inputs};
use wipam_core::memory::MemoryStore;
use wipam_core::store::{Access, Location, Past, PolicyState, Reservation, Store};
use wipam_store::MemoryNetwork;

use crate::networks::{Network, Session, moment};
use crate::support::{Random, attachment, container, location, nth, owner, span};

const ADDRESSES: u32 = 40;

struct Twins {
    plain: MemoryStore,
    files: Network,
    random: Random,
    boot: u64,
    booted: u64,
    now: u64,
}

impl Twins {
    fn open(&self, access: Access, history: bool) -> (MemoryStore, Box<dyn Session>) {
        self.plain.set_inputs(Inputs {
            time_ms: self.now,
            seed: 0,
        });
        let location = Location {
            history,
            ..location("/data")
        };
        let plain = self.plain.clone().open(&location, access).unwrap().unwrap();
        let moment = moment(self.boot, self.now - self.booted);
        (plain, self.files.open(access, history, moment))
    }

    fn address(&mut self) -> IpAddr {
        nth(self.random.below(ADDRESSES))
    }

    fn compare(&mut self, plain: &mut MemoryStore, files: &mut dyn Session) {
        let id = container(&format!("c{}", self.random.below(6)));
        assert_eq!(
            known(plain.held_by(&id).unwrap()),
            known(files.held_by(&id).unwrap())
        );
        let (address, other) = (self.address(), self.address());
        assert_eq!(plain.holder(address), files.holder(address));
        assert_eq!(plain.past(address), files.past(address), "{address}");
        let span = span(
            &address.min(other).to_string(),
            &address.max(other).to_string(),
        );
        assert_eq!(plain.next_free(span), files.next_free(span));
        assert_eq!(plain.next_unused(span), files.next_unused(span));
        let key = format!("k{}", self.random.below(6));
        assert_eq!(plain.remembered(&key), files.remembered(&key), "{key}");
        let (ours, theirs) = (Store::released(plain, 0), files.released(0));
        let ours = ours.unwrap();
        assert_eq!(in_time(&ours), in_time(&theirs.unwrap()));
        let rest = Store::released(plain, 3).unwrap();
        assert!(rest.iter().eq(ours.iter().skip(3)));
        let after = Some(address).filter(|_| self.random.below(3) > 0);
        let (ours, theirs) = (plain.reservations(after), files.reservations(after));
        assert_eq!(known(ours.unwrap()), known(theirs.unwrap()));
        assert_eq!(plain.all_last_reserved(), files.all_last_reserved());
        assert_eq!(plain.policy_state(), files.policy_state());
    }

    fn step(&mut self) {
        // Two things never happen in one millisecond: their order would be
        // that of the file's lines, which a rewrite may change.
        self.now += 1 + u64::from(self.random.below(3));
        match self.random.below(20) {
            0 => {
                self.boot += 1;
                self.booted = self.now;
                self.plain.set_inputs(Inputs {
                    time_ms: self.now,
                    seed: 0,
                });
                self.plain.reboot();
            }
            1..=9 => self.add(),
            _ => self.del(),
        }
    }

    fn add(&mut self) {
        let history = self.random.below(4) > 0;
        let (mut plain, mut files) = self.open(Access::Reserve, history);
        self.compare(&mut plain, &mut *files);
        let id = format!("c{}", self.random.below(6));
        let address = self.address();
        let who = attachment(&id, "eth0");
        let done = plain.reserve(address, &who);
        assert_eq!(done, files.reserve(address, &who));
        if !done.unwrap() {
            return;
        }
        let told = history && self.random.below(3) > 0;
        if told {
            let key = format!("k{}", self.random.below(6));
            plain.remember(address, &key).unwrap();
            files.remember(address, &key).unwrap();
        }
        match self.random.below(4) {
            // It is taken back. Once somebody was told to have it, nothing in
            // a simulation can fail any more.
            0 if !told => {
                assert!(plain.release(address, &owner(&id)).unwrap());
                assert!(files.release(address, &owner(&id)).unwrap());
            }
            n => {
                let state = vec![b'a'; n as usize];
                plain.set_last_reserved(n, address).unwrap();
                files.set_last_reserved(n, address).unwrap();
                plain.set_policy_state(state.clone());
                files.set_policy_state(state);
                if n > 1 {
                    plain.keep_state().unwrap();
                    files.keep_state().unwrap();
                }
            }
        }
        self.compare(&mut plain, &mut *files);
    }

    fn del(&mut self) {
        let (mut plain, mut files) = self.open(Access::Release, true);
        let id = container(&format!("c{}", self.random.below(6)));
        let held = plain.held_by(&id).unwrap();
        assert_eq!(held, files.held_by(&id).unwrap());
        for reservation in held {
            let (address, owner) = (reservation.address, &reservation.owner);
            assert!(plain.release(address, owner).unwrap());
            assert!(files.release(address, owner).unwrap());
        }
        self.compare(&mut plain, &mut *files);
    }
}

/// Whether a reservation is newer than its invocation is told to GC only.
fn known(mut reservations: Vec<Reservation>) -> Vec<Reservation> {
    reservations.iter_mut().for_each(|one| one.newer = false);
    reservations
}

/// Of what was released at the same time, the order does not matter.
fn in_time(page: &[Past]) -> Vec<(u64, BTreeSet<String>)> {
    let mut groups: Vec<(u64, BTreeSet<String>)> = Vec::new();
    for past in page {
        let age = past.released_ms_ago;
        let text = format!("{past:?}");
        match groups.last_mut() {
            Some((same, group)) if *same == age => {
                group.insert(text);
            }
            _ => groups.push((age, [text].into())),
        }
    }
    groups
}

#[test]
fn a_simulation_answers_as_files_do() {
    for seed in 1..5 {
        // Shown if it fails.
        println!("seed {seed}");
        let mut twins = Twins {
            plain: MemoryStore::default(),
            files: Network::Memory(MemoryNetwork::default()),
            random: Random(seed),
            boot: 1,
            booted: 0,
            now: 0,
        };
        for _ in 0..1_500 {
            twins.step();
        }
    }
}
