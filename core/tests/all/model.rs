//! What is right, said a second time and naively: every address of every range
//! is written out, so nothing here can be clever at the edges.
//!
//! The fuzz targets include this file, so that they judge by the same rules.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use wipam_core::parameters::Invocation;

use crate::world::{Contents, Held, World};

/// A range as it is configured, small enough to write out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spec {
    pub(crate) v6: bool,
    /// First address of the subnet, as a number.
    pub(crate) base: u128,
    /// How many bits the subnet leaves to hosts: 8 at most.
    pub(crate) host_bits: u8,
    pub(crate) start: Option<u128>,
    pub(crate) end: Option<u128>,
    pub(crate) gateway: Option<u128>,
    pub(crate) on_link: bool,
}

/// Eight places in the number space: both ends, and some in the middle.
pub(crate) const PLACES: u8 = 8;

/// The highest number of a family.
fn highest(v6: bool) -> u128 {
    if v6 { u128::MAX } else { u32::MAX.into() }
}

pub(crate) fn address(v6: bool, number: u128) -> IpAddr {
    if v6 {
        Ipv6Addr::from(number).into()
    } else {
        Ipv4Addr::from(u32::try_from(number).unwrap()).into()
    }
}

impl Spec {
    /// A subnet at one of the places.
    pub(crate) fn at(v6: bool, place: u8, host_bits: u8) -> Self {
        let size = 1_u128 << host_bits;
        let base = match (place % PLACES, v6) {
            (0, _) => 0,
            (7, _) => highest(v6) - (size - 1),
            // Signed and unsigned 32 or 64 bits differ from here on.
            (6, false) => 1 << 31,
            (6, true) => (0xfd00 << 112) | (1 << 63),
            (5, true) => (0xfd00 << 112) | (u128::from(u64::MAX) - 255),
            (n, false) => 0x0a01_0000 | u128::from(n) << 8,
            (n, true) => (0xfd00 << 112) | u128::from(n) << 8,
        };
        Self {
            v6,
            base,
            host_bits,
            start: None,
            end: None,
            gateway: None,
            on_link: false,
        }
    }

    /// An address of the subnet, or now and then the one after it.
    pub(crate) fn nth(&self, n: u8) -> u128 {
        let offset = u128::from(n) % ((1 << self.host_bits) + 1);
        self.base.saturating_add(offset).min(highest(self.v6))
    }

    fn last(&self) -> u128 {
        self.base + ((1 << self.host_bits) - 1)
    }

    fn is_tiny(&self) -> bool {
        self.host_bits < 2
    }

    fn gateway(&self) -> Option<u128> {
        self.gateway.or((!self.is_tiny()).then(|| self.base + 1))
    }

    /// First and last of the addresses between `rangeStart` and `rangeEnd`,
    /// or `None` where that makes no range.
    pub(crate) fn bounds(&self) -> Option<(u128, u128)> {
        let within = |n| (self.base..=self.last()).contains(&n);
        let first = self.base + u128::from(!self.is_tiny());
        let last = self.last() - u128::from(!self.is_tiny() && !self.v6);
        let (start, end) = (self.start.unwrap_or(first), self.end.unwrap_or(last));
        let gateway_fits = self.on_link || self.gateway.is_none_or(within);
        (within(start) && within(end) && start <= end && gateway_fits).then_some((start, end))
    }

    fn addresses(&self) -> Vec<IpAddr> {
        let (start, end) = self.bounds().unwrap();
        (start..=end).map(|n| address(self.v6, n)).collect()
    }

    fn has(&self, candidate: IpAddr) -> bool {
        self.bounds().is_some_and(|(start, end)| {
            (address(self.v6, start)..=address(self.v6, end)).contains(&candidate)
        })
    }

    fn is_of_subnet(&self, candidate: IpAddr) -> bool {
        !self.v6
            && !self.is_tiny()
            && [self.base, self.last()]
                .iter()
                .any(|n| address(self.v6, *n) == candidate)
    }

    pub(crate) fn prefix_len(&self) -> u8 {
        (if self.v6 { 128 } else { 32 }) - self.host_bits
    }

    fn json(&self) -> String {
        let mut text = format!(
            r#"{{"subnet":"{}/{}""#,
            address(self.v6, self.base),
            self.prefix_len()
        );
        for (key, value) in [
            ("rangeStart", self.start),
            ("rangeEnd", self.end),
            ("gateway", self.gateway),
        ] {
            if let Some(number) = value {
                write!(text, r#","{key}":"{}""#, address(self.v6, number)).unwrap();
            }
        }
        if self.on_link {
            text.push_str(r#","gatewayOnLink":true"#);
        }
        text + "}"
    }
}

pub(crate) type Sets = [Vec<Spec>];

/// Whether ADD can work with these range sets.
pub(crate) fn is_valid(sets: &Sets) -> bool {
    let all: Vec<_> = sets.iter().flatten().collect();
    let shares = |a: &Spec, b: &Spec| {
        let (Some(a_bounds), Some(b_bounds)) = (a.bounds(), b.bounds()) else {
            return false;
        };
        a.v6 == b.v6 && a_bounds.0 <= b_bounds.1 && b_bounds.0 <= a_bounds.1
    };
    !sets.is_empty()
        && sets.iter().all(|set| !set.is_empty())
        && sets
            .iter()
            .all(|set| set.iter().all(|spec| spec.v6 == set[0].v6))
        && all.iter().all(|spec| spec.bounds().is_some())
        && (0..all.len()).all(|a| (0..a).all(|b| !shares(all[a], all[b])))
}

/// Every address between the bounds of a set's ranges, in order.
pub(crate) fn written_out(set: &[Spec]) -> Vec<IpAddr> {
    set.iter().flat_map(Spec::addresses).collect()
}

fn is_gateway(sets: &Sets, candidate: IpAddr) -> bool {
    let mut gateways = sets
        .iter()
        .flatten()
        .filter_map(|spec| Some((spec.v6, spec.gateway()?)));
    gateways.any(|(v6, gateway)| address(v6, gateway) == candidate)
}

/// Whether an address of `set` may ever be given.
fn may_be_given(sets: &Sets, set: &[Spec], candidate: IpAddr) -> bool {
    let range = set.iter().find(|spec| spec.has(candidate)).unwrap();
    !is_gateway(sets, candidate) && !range.is_of_subnet(candidate)
}

/// The addresses of a set that may be given, in order.
pub(crate) fn usable(sets: &Sets, set: &[Spec]) -> Vec<IpAddr> {
    let mut addresses = written_out(set);
    addresses.retain(|candidate| may_be_given(sets, set, *candidate));
    addresses
}

/// The round robin: from the one after `last`, around to `last` itself.
pub(crate) fn turned(mut addresses: Vec<IpAddr>, last: Option<IpAddr>) -> Vec<IpAddr> {
    if let Some(at) = last.and_then(|last| addresses.iter().position(|a| *a == last)) {
        addresses.rotate_left(at + 1);
    }
    addresses
}

/// The ways to ask for an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Via {
    CniArgs,
    Args,
    Runtime,
}

/// One thing that happens to a network. Numbers pick from the small alphabets
/// of [`Plan`], modulo their size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Add {
        who: u8,
        requests: Vec<(Via, Pick)>,
        again: bool,
    },
    Del {
        who: u8,
        previous: Vec<Pick>,
    },
    Gc {
        valid: Vec<u8>,
        early_key: bool,
    },
    Check {
        who: u8,
    },
    Status,
    /// Somebody wrote a marker.
    Mark {
        index: u8,
        at: Pick,
    },
    /// A record from before interfaces were recorded.
    Old {
        who: u8,
        at: Pick,
    },
    /// Something that is no record.
    Foreign {
        at: Pick,
    },
    /// The record there, if any, is younger than the next invocation.
    Newer {
        at: Pick,
    },
}

/// An address: of a range, or one of a few odd ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pick {
    pub(crate) range: u8,
    pub(crate) nth: u8,
}

impl Pick {
    fn of(self, sets: &Sets) -> IpAddr {
        let all: Vec<_> = sets.iter().flatten().collect();
        // One more than there are ranges: the odd ones.
        match all.get(usize::from(self.range) % (all.len() + 1)) {
            Some(spec) => address(spec.v6, spec.nth(self.nth)),
            None => match self.nth % 6 {
                0 => address(false, 0),
                1 => address(false, highest(false)),
                2 => address(true, 0),
                3 => address(true, highest(true)),
                4 => Ipv4Addr::new(192, 0, 2, 1).into(),
                _ => address(true, 0x2001_0db8 << 96),
            },
        }
    }
}

/// Three containers with two interfaces each.
const ATTACHMENTS: [(&str, &str); 6] = [
    ("a", "eth0"),
    ("b", "eth0"),
    ("a", "net1"),
    ("c", "eth0"),
    ("b", "net1"),
    ("c", "net1"),
];

fn attachment(who: u8) -> (&'static str, &'static str) {
    ATTACHMENTS[usize::from(who) % ATTACHMENTS.len()]
}

fn listed(items: impl IntoIterator<Item = String>) -> String {
    items.into_iter().collect::<Vec<_>>().join(",")
}

fn quoted(text: impl std::fmt::Display) -> String {
    format!("\"{text}\"")
}

/// A configuration with these range sets; `ipam` and `top` are more members,
/// each with a comma in front.
pub(crate) fn config(sets: &Sets, ipam: &str, top: &str) -> Vec<u8> {
    let sets = listed(
        sets.iter()
            .map(|set| format!("[{}]", listed(set.iter().map(Spec::json)))),
    );
    format!(
        r#"{{"cniVersion":"1.1.0","name":"net","ipam":{{"type":"host-local","ranges":[{sets}]{ipam}}}{top}}}"#
    )
    .into_bytes()
}

pub(crate) fn invocation(
    command: &str,
    container: &str,
    interface: &str,
    config: Vec<u8>,
) -> Invocation {
    Invocation {
        command: command.to_owned(),
        container_id: container.to_owned(),
        interface_name: interface.to_owned(),
        netns: "/run/netns/x".to_owned(),
        path: "/opt/cni/bin".to_owned(),
        config,
        ..Invocation::default()
    }
}

/// Range sets and what happens on them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) sets: Vec<Vec<Spec>>,
    pub(crate) steps: Vec<Step>,
}

/// What should be the case.
#[derive(Debug, Default)]
pub(crate) struct Model {
    contents: Contents,
    foreign: BTreeSet<IpAddr>,
    newer: BTreeSet<IpAddr>,
}

impl Plan {
    /// Carries the plan out, and after each step compares answer and store
    /// with the model. Leaves the world as it is then.
    pub(crate) fn run(&self) -> World {
        let mut world = World::default();
        let mut model = Model::default();
        for step in &self.steps {
            self.step(step, &mut world, &mut model);
            assert_eq!(world.store.contents(), model.contents, "after {step:?}");
        }
        world
    }

    /// A step as an invocation, where it is one.
    pub(crate) fn invocation(&self, step: &Step) -> Option<Invocation> {
        let sets = self.sets.as_slice();
        Some(match step {
            Step::Add {
                who,
                requests,
                again,
            } => {
                let (container, interface) = attachment(*who);
                let of = |via| {
                    let asked = requests.iter().filter(move |(v, _)| *v == via);
                    // Written with and without a prefix length.
                    asked.map(|(_, pick)| match pick.of(sets) {
                        address if pick.nth % 2 == 0 => address.to_string(),
                        address => {
                            format!("{address}/{}", if address.is_ipv4() { 32 } else { 128 })
                        }
                    })
                };
                let top = format!(
                    r#","args":{{"cni":{{"ips":[{}]}}}},"runtimeConfig":{{"ips":[{}]}}"#,
                    listed(of(Via::Args).map(quoted)),
                    listed(of(Via::Runtime).map(quoted))
                );
                let ipam = if *again {
                    r#","repeatedAdd":"return""#
                } else {
                    ""
                };
                let mut add = invocation("ADD", container, interface, config(sets, ipam, &top));
                add.args = of(Via::CniArgs)
                    .next_back()
                    .map_or_else(String::new, |ip| format!("IP={ip}"));
                add
            }
            Step::Del { who, previous } => {
                let (container, interface) = attachment(*who);
                let ips = previous
                    .iter()
                    .map(|pick| format!(r#"{{"address":"{}"}}"#, pick.of(sets)));
                let top = format!(r#","prevResult":{{"ips":[{}]}}"#, listed(ips));
                invocation("DEL", container, interface, config(sets, "", &top))
            }
            Step::Gc { valid, early_key } => {
                let key = if *early_key {
                    "cni.dev/attachments"
                } else {
                    "cni.dev/valid-attachments"
                };
                let valid = valid.iter().map(|who| {
                    let (container, interface) = attachment(*who);
                    format!(r#"{{"containerID":"{container}","ifname":"{interface}"}}"#)
                });
                let top = format!(r#","{key}":[{}]"#, listed(valid));
                invocation("GC", "", "", config(sets, "", &top))
            }
            Step::Check { who } => {
                let (container, interface) = attachment(*who);
                invocation("CHECK", container, interface, config(sets, "", ""))
            }
            Step::Status => invocation("STATUS", "", "", config(sets, "", "")),
            _ => return None,
        })
    }

    fn step(&self, step: &Step, world: &mut World, model: &mut Model) {
        let sets = self.sets.as_slice();
        if let Some(invocation) = self.invocation(step) {
            let found = world.run(&invocation).map_err(|refused| refused.code);
            assert_eq!(found, model.invocation(self, step), "{step:?}");
            return;
        }
        match step {
            Step::Mark { index, at } => {
                let (index, address) = (u32::from(index % 4), at.of(sets));
                world.store.mark(index, address);
                model.contents.marks.insert(index, address);
            }
            Step::Old { who, at } => {
                let (container, _) = attachment(*who);
                world.store.put(at.of(sets), container, None);
                if model.is_free(at.of(sets)) {
                    let held = (container.to_owned(), None);
                    model.contents.reserved.insert(at.of(sets), held);
                }
            }
            Step::Foreign { at } => {
                world.store.put_foreign(at.of(sets));
                if model.is_free(at.of(sets)) {
                    model.foreign.insert(at.of(sets));
                }
            }
            Step::Newer { at } => {
                world.store.make_newer(at.of(sets));
                if model.contents.reserved.contains_key(&at.of(sets)) {
                    model.newer.insert(at.of(sets));
                }
            }
            _ => unreachable!("an invocation"),
        }
    }
}

/// Addresses, or the code of the error.
type Answer = Result<Vec<IpAddr>, u64>;

impl Model {
    fn is_free(&self, address: IpAddr) -> bool {
        !self.contents.reserved.contains_key(&address) && !self.foreign.contains(&address)
    }

    fn invocation(&mut self, plan: &Plan, step: &Step) -> Answer {
        let sets = plan.sets.as_slice();
        match step {
            Step::Add {
                who,
                requests,
                again,
            } => self.add(sets, attachment(*who), &asked(sets, requests), *again),
            Step::Del { who, previous } => {
                let previous: Vec<_> = previous.iter().map(|pick| pick.of(sets)).collect();
                self.del(attachment(*who), &previous);
                Ok(Vec::new())
            }
            Step::Gc { valid, .. } => {
                let valid: Vec<_> = valid.iter().map(|who| attachment(*who)).collect();
                let newer = self.newer.clone();
                self.keep(|address, (container, interface)| {
                    newer.contains(&address)
                        || valid.iter().any(|(c, i)| {
                            c == container && interface.as_deref().is_none_or(|known| known == *i)
                        })
                });
                Ok(Vec::new())
            }
            Step::Check { .. } if !is_valid(sets) => Err(7),
            Step::Check { who } => match self.held(attachment(*who)).is_empty() {
                true => Err(999),
                false => Ok(Vec::new()),
            },
            // STATUS only looks, and so does not meet what is in the way.
            Step::Status => {
                let has_room = |set: &Vec<Spec>| {
                    usable(sets, set)
                        .iter()
                        .any(|a| !self.contents.reserved.contains_key(a))
                };
                match is_valid(sets) && sets.iter().all(has_room) {
                    true => Ok(Vec::new()),
                    false => Err(50),
                }
            }
            _ => unreachable!("no invocation"),
        }
    }

    fn keep(&mut self, keep: impl Fn(IpAddr, &Held) -> bool) {
        self.contents
            .reserved
            .retain(|address, held| keep(*address, held));
        let reserved = &self.contents.reserved;
        self.newer.retain(|address| reserved.contains_key(address));
    }

    /// What counts as held by an attachment: its own first.
    fn held(&self, (container, interface): (&str, &str)) -> Vec<IpAddr> {
        let of = |wanted: Option<&str>| {
            let found = self
                .contents
                .reserved
                .iter()
                .filter(|(_, (c, i))| c == container && i.as_deref() == wanted)
                .map(|(address, _)| *address);
            found.collect::<Vec<_>>()
        };
        [of(Some(interface)), of(None)].concat()
    }

    fn add(&mut self, sets: &Sets, who: (&str, &str), requests: &[IpAddr], again: bool) -> Answer {
        if !is_valid(sets) {
            return Err(7);
        }
        let mut chosen = BTreeMap::new();
        for request in requests {
            let at = sets
                .iter()
                .position(|set| written_out(set).contains(request))
                .ok_or(7_u64)?;
            if chosen.insert(at, *request).is_some() {
                return Err(7);
            }
        }
        let held = self.held(who);
        let mut fresh = BTreeMap::new();
        let mut given = Vec::new();
        for (index, set) in sets.iter().enumerate() {
            let all = written_out(set);
            let before = held.iter().find(|address| all.contains(address));
            let address = match (before, chosen.get(&index)) {
                (Some(before), wanted) if again && wanted.is_none_or(|w| w == before) => {
                    given.push(*before);
                    continue;
                }
                (_, Some(wanted)) if !may_be_given(sets, set, *wanted) => return Err(7),
                (_, Some(wanted)) if !self.is_free(*wanted) => return Err(11),
                (Some(_), _) => return Err(999),
                (None, Some(wanted)) => *wanted,
                (None, None) => {
                    let last = self.last_in(u32::try_from(index).unwrap(), &all);
                    turned(all, last)
                        .into_iter()
                        .find(|a| may_be_given(sets, set, *a) && self.is_free(*a))
                        .ok_or(11_u64)?
                }
            };
            fresh.insert(u32::try_from(index).unwrap(), address);
            given.push(address);
        }
        for (index, address) in fresh {
            let held = (who.0.to_owned(), Some(who.1.to_owned()));
            self.contents.reserved.insert(address, held);
            self.contents.marks.insert(index, address);
        }
        Ok(given)
    }

    /// The set's own marker; where that one is of elsewhere, any that fits.
    fn last_in(&self, index: u32, all: &[IpAddr]) -> Option<IpAddr> {
        let marks = &self.contents.marks;
        let own = marks.get(&index)?;
        std::iter::once(own)
            .chain(marks.values())
            .find(|mark| all.contains(mark))
            .copied()
    }

    fn del(&mut self, who: (&str, &str), previous: &[IpAddr]) {
        let own = (who.0.to_owned(), Some(who.1.to_owned()));
        if self.contents.reserved.values().any(|held| *held == own) {
            return self.keep(|_, held| *held != own);
        }
        let old = (who.0.to_owned(), None);
        let of = |is_ipv4| {
            let all = self.contents.reserved.iter();
            all.filter(|(a, held)| a.is_ipv4() == is_ipv4 && **held == old)
                .count()
        };
        let clear = of(true) <= 1 && of(false) <= 1;
        self.keep(|address, held| *held != old || !(clear || previous.contains(&address)));
    }
}

/// The requests in the order they are read: of `CNI_ARGS` the last one counts.
fn asked(sets: &Sets, requests: &[(Via, Pick)]) -> Vec<IpAddr> {
    let mut asked: Vec<IpAddr> = Vec::new();
    let of = |via| {
        let found = requests.iter().filter(move |(v, _)| *v == via);
        found.map(|(_, pick)| pick.of(sets)).collect::<Vec<_>>()
    };
    for address in of(Via::CniArgs)
        .into_iter()
        .last()
        .into_iter()
        .chain(of(Via::Args))
        .chain(of(Via::Runtime))
    {
        if !asked.contains(&address) {
            asked.push(address);
        }
    }
    asked
}
