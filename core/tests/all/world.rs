//! A world for `invoke`: a memory store that counts its calls, fails one of
//! them, and holds what `MemoryStore` alone cannot.
//!
//! The fuzz targets include this file, so that they judge by the same rules.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::IpAddr;
use std::rc::Rc;

use wipam_core::environment::{Environment, Inputs};
use wipam_core::invoke::invoke;
use wipam_core::memory::MemoryStore;
use wipam_core::names::{Attachment, ContainerId, InterfaceName};
use wipam_core::parameters::Invocation;
use wipam_core::policy::{Answer, Decision, Notice, PolicyFailure, Request, Setting, View};
use wipam_core::span::Span;
use wipam_core::store::{
    Access, Holder, Location, Owner, Past, Reservation, Store, StoreError, StoreErrorKind,
};

/// Who holds an address: container, and interface where one is recorded.
pub(crate) type Held = (String, Option<String>);

/// What a store holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    pub(crate) reserved: BTreeMap<IpAddr, Held>,
    pub(crate) marks: BTreeMap<u32, IpAddr>,
}

/// Every clone is the same store.
#[derive(Clone, Debug, Default)]
pub(crate) struct TestStore {
    memory: MemoryStore,
    extras: Rc<RefCell<Extras>>,
}

#[derive(Debug, Default)]
struct Extras {
    /// Records that name no interface.
    old: BTreeSet<IpAddr>,
    /// Records made after the invocation began.
    newer: BTreeSet<IpAddr>,
    /// Addresses that look free and cannot be reserved: somebody came first
    /// without the lock, or something that is no record stands there.
    foreign: BTreeSet<IpAddr>,
    /// The calls of the last invocation.
    calls: Vec<&'static str>,
    /// Which of them fails.
    fail_at: Option<usize>,
}

impl TestStore {
    fn call(&self, name: &'static str) -> Result<(), StoreError> {
        let mut extras = self.extras.borrow_mut();
        extras.calls.push(name);
        if extras.fail_at == Some(extras.calls.len() - 1) {
            return Err(StoreError {
                kind: StoreErrorKind::Io,
                message: format!("{name} failed on purpose"),
            });
        }
        Ok(())
    }

    fn dressed(&self, mut reservation: Reservation) -> Reservation {
        let extras = self.extras.borrow();
        if extras.old.contains(&reservation.address) {
            reservation.owner.interface = None;
        }
        reservation.newer = extras.newer.contains(&reservation.address);
        reservation
    }

    /// Puts a record in place; without an interface it is one of the old
    /// kind. What already stands there stays.
    pub(crate) fn put(&self, address: IpAddr, container: &str, interface: Option<&str>) {
        let attachment = attachment(container, interface.unwrap_or("unknown"));
        let fresh = !self.extras.borrow().foreign.contains(&address)
            && self.memory.clone().reserve(address, &attachment) == Ok(true);
        if fresh && interface.is_none() {
            self.extras.borrow_mut().old.insert(address);
        }
    }

    /// Puts something at a free address that is no record.
    pub(crate) fn put_foreign(&self, address: IpAddr) {
        if self.memory.clone().holder(address) == Ok(Holder::Nobody) {
            self.extras.borrow_mut().foreign.insert(address);
        }
    }

    /// Makes the record at `address` younger than the next invocation.
    pub(crate) fn make_newer(&self, address: IpAddr) {
        if self.memory.clone().holder(address) != Ok(Holder::Nobody) {
            self.extras.borrow_mut().newer.insert(address);
        }
    }

    /// Sets what time it is, and what chance says.
    pub(crate) fn set_inputs(&self, time_ms: u64, seed: u64) {
        self.memory.set_inputs(Inputs { time_ms, seed });
    }

    pub(crate) fn mark(&self, index: u32, address: IpAddr) {
        self.memory
            .clone()
            .set_last_reserved(index, address)
            .unwrap();
    }

    pub(crate) fn contents(&self) -> Contents {
        let mut memory = self.memory.clone();
        let mut contents = Contents::default();
        let mut after = None;
        loop {
            let page = memory.reservations(after).unwrap();
            let Some(last) = page.last() else { break };
            after = Some(last.address);
            for Reservation { address, owner, .. } in page.into_iter().map(|r| self.dressed(r)) {
                let interface = owner.interface.map(|i| i.to_string());
                let held = (owner.container.to_string(), interface);
                contents.reserved.insert(address, held);
            }
        }
        for index in 0..16 {
            if let Some(address) = memory.last_reserved(index).unwrap() {
                contents.marks.insert(index, address);
            }
        }
        contents
    }
}

impl Store for TestStore {
    fn held_by(&mut self, container: &ContainerId) -> Result<Vec<Reservation>, StoreError> {
        self.call("held_by")?;
        let held = self.memory.held_by(container)?;
        Ok(held.into_iter().map(|r| self.dressed(r)).collect())
    }

    fn holder(&mut self, address: IpAddr) -> Result<Holder, StoreError> {
        self.call("holder")?;
        if self.extras.borrow().foreign.contains(&address) {
            return Ok(Holder::Foreign);
        }
        let mut holder = self.memory.holder(address)?;
        if let Holder::Owner(owner) = &mut holder
            && self.extras.borrow().old.contains(&address)
        {
            owner.interface = None;
        }
        Ok(holder)
    }

    fn next_free(&mut self, span: Span) -> Result<Option<IpAddr>, StoreError> {
        self.call("next_free")?;
        self.memory.next_free(span)
    }

    fn reserve(&mut self, address: IpAddr, owner: &Attachment) -> Result<bool, StoreError> {
        self.call("reserve")?;
        if self.extras.borrow().foreign.contains(&address) {
            return Ok(false);
        }
        self.memory.reserve(address, owner)
    }

    fn release(&mut self, address: IpAddr, owner: &Owner) -> Result<bool, StoreError> {
        self.call("release")?;
        let Holder::Owner(stored) = self.memory.holder(address)? else {
            return Ok(false);
        };
        let shown = self.dressed(Reservation {
            address,
            owner: stored.clone(),
            newer: false,
        });
        if shown.owner != *owner {
            return Ok(false);
        }
        let mut extras = self.extras.borrow_mut();
        extras.old.remove(&address);
        extras.newer.remove(&address);
        self.memory.release(address, &stored)
    }

    fn last_reserved(&mut self, index: u32) -> Result<Option<IpAddr>, StoreError> {
        self.call("last_reserved")?;
        self.memory.last_reserved(index)
    }

    fn all_last_reserved(&mut self) -> Result<Vec<IpAddr>, StoreError> {
        self.call("all_last_reserved")?;
        self.memory.all_last_reserved()
    }

    fn set_last_reserved(&mut self, index: u32, address: IpAddr) -> Result<(), StoreError> {
        self.call("set_last_reserved")?;
        self.memory.set_last_reserved(index, address)
    }

    fn reservations(&mut self, after: Option<IpAddr>) -> Result<Vec<Reservation>, StoreError> {
        self.call("reservations")?;
        let page = self.memory.reservations(after)?;
        Ok(page.into_iter().map(|r| self.dressed(r)).collect())
    }

    fn reclaim(&mut self) -> Result<Vec<IpAddr>, StoreError> {
        self.call("reclaim")?;
        self.memory.reclaim()
    }

    fn next_unused(&mut self, span: Span) -> Result<Option<IpAddr>, StoreError> {
        self.call("next_unused")?;
        self.memory.next_unused(span)
    }

    fn past(&mut self, address: IpAddr) -> Result<Option<Past>, StoreError> {
        self.call("past")?;
        self.memory.past(address)
    }

    fn released(&mut self, skip: u32) -> Result<Vec<Past>, StoreError> {
        self.call("released")?;
        Store::released(&mut self.memory, skip)
    }

    fn remembered(&mut self, key: &str) -> Result<Option<IpAddr>, StoreError> {
        self.call("remembered")?;
        self.memory.remembered(key)
    }

    fn remember(&mut self, address: IpAddr, key: &str) -> Result<(), StoreError> {
        self.call("remember")?;
        self.memory.remember(address, key)
    }

    fn keep_state(&mut self) -> Result<(), StoreError> {
        self.call("keep_state")?;
        self.memory.keep_state()
    }
}

pub(crate) fn attachment(container: &str, interface: &str) -> Attachment {
    Attachment {
        container: ContainerId::new(container).unwrap(),
        interface: InterfaceName::new(interface).unwrap(),
    }
}

/// One network and everything an invocation can ask of its surroundings.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) store: TestStore,
    pub(crate) warnings: Vec<String>,
    pub(crate) notes: Vec<String>,
    /// Whether nobody wants notes: taking them costs calls of their own.
    pub(crate) quiet: bool,
    /// What the policy answers next.
    pub(crate) answers: VecDeque<Result<Answer, String>>,
    /// Why it could not answer, if it could not.
    pub(crate) unready: Option<String>,
    /// What it was asked.
    pub(crate) asked: Vec<(Request, View)>,
    /// What it was told.
    pub(crate) told: Vec<Notice>,
}

impl Environment for World {
    type Store = TestStore;

    fn open(
        &mut self,
        location: &Location,
        access: Access,
    ) -> Result<Option<TestStore>, StoreError> {
        self.store.call("open")?;
        self.store.memory.open(location, access)?;
        Ok(Some(self.store.clone()))
    }

    fn resolv_conf(&mut self, _: &str) -> Result<String, StoreError> {
        Ok("nameserver 192.0.2.53\n".to_owned())
    }

    fn warn(&mut self, message: &str) {
        self.warnings.push(message.to_owned());
    }

    fn inputs(&mut self) -> Inputs {
        self.store.memory.inputs()
    }

    fn noting(&mut self) -> bool {
        !self.quiet
    }

    fn note(&mut self, message: &str) {
        self.notes.push(message.to_owned());
    }

    fn choose(
        &mut self,
        store: &mut TestStore,
        _: &Setting,
        request: &Request,
        view: &View,
    ) -> Result<Decision, PolicyFailure> {
        self.asked.push((request.clone(), view.clone()));
        store.call("choose").map_err(PolicyFailure::Store)?;
        let answer = self.answers.pop_front();
        answer
            .unwrap_or(Err("has no answer".to_owned()))
            .map(|answer| Decision {
                answer,
                by: "policy /p.wasm".to_owned(),
            })
            .map_err(PolicyFailure::Policy)
    }

    fn ready(&mut self, _: &Setting) -> Result<(), PolicyFailure> {
        match &self.unready {
            None => Ok(()),
            Some(text) => Err(PolicyFailure::Policy(text.clone())),
        }
    }

    fn released(
        &mut self,
        store: &mut TestStore,
        _: &Setting,
        notice: &Notice,
    ) -> Result<(), PolicyFailure> {
        self.told.push(notice.clone());
        store.call("notice").map_err(PolicyFailure::Store)
    }
}

/// An error: its code and message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) code: u64,
    pub(crate) message: String,
}

impl World {
    /// Runs an invocation. What comes out must be what the specification
    /// allows to come out of one.
    pub(crate) fn run(&mut self, invocation: &Invocation) -> Result<Vec<IpAddr>, Refused> {
        self.warnings.clear();
        self.notes.clear();
        self.asked.clear();
        self.told.clear();
        self.store.extras.borrow_mut().calls.clear();
        let outcome = invoke(invocation, self);
        self.store.extras.borrow_mut().fail_at = None;
        match outcome {
            Ok(text) if text.is_empty() => {
                assert!(!matches!(invocation.command.as_str(), "ADD" | "VERSION"));
                Ok(Vec::new())
            }
            Ok(text) => {
                assert!(matches!(invocation.command.as_str(), "ADD" | "VERSION"));
                let result: serde_json::Value = serde_json::from_str(&text).unwrap();
                assert!(result["cniVersion"].is_string(), "{text}");
                Ok(addresses(&result))
            }
            Err(text) => {
                let error: serde_json::Value = serde_json::from_str(&text).unwrap();
                assert!(error["cniVersion"].is_string(), "{text}");
                let code = error["code"].as_u64().unwrap();
                let message = error["msg"].as_str().unwrap().to_owned();
                assert!(code != 0 && !message.is_empty(), "{text}");
                Err(Refused { code, message })
            }
        }
    }

    /// As [`World::run`], and the store call at `index` fails.
    pub(crate) fn run_failing(
        &mut self,
        invocation: &Invocation,
        index: usize,
    ) -> Result<Vec<IpAddr>, Refused> {
        self.store.extras.borrow_mut().fail_at = Some(index);
        self.run(invocation)
    }

    /// The store calls of the last run.
    pub(crate) fn calls(&self) -> Vec<&'static str> {
        self.store.extras.borrow().calls.clone()
    }
}

/// The addresses of a result of any version, in its order.
fn addresses(result: &serde_json::Value) -> Vec<IpAddr> {
    let mut texts: Vec<_> = ["ip4", "ip6"]
        .iter()
        .filter_map(|family| result[family]["ip"].as_str())
        .collect();
    texts.extend(
        result["ips"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|ip| ip["address"].as_str()),
    );
    let address = |text: &str| text.split_once('/').unwrap().0.parse().unwrap();
    texts.into_iter().map(address).collect()
}
