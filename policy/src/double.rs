//! What stands in for the imports where there are none: in tests.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cell::RefCell;
use core::net::IpAddr;
use core::ops::Bound;

use crate::span::{Span, next};
use crate::types::{Owner, Range, Reservation};

/// Checks that functions are what a policy is made of; the component is made
/// where the target is wasm32.
#[macro_export]
macro_rules! policy {
    ($choose:path) => {
        const _: fn(&$crate::Request, &$crate::Pool) -> $crate::Answer =
            |request, pool| ::core::convert::Into::into($choose(request, pool));
    };
    ($choose:path, $released:path) => {
        $crate::policy!($choose);
        const _: fn(
            &$crate::Notice,
            &$crate::State,
        ) -> ::core::result::Result<(), $crate::prelude::String> = $released;
    };
}

#[allow(clippy::print_stderr, reason = "the host would print it there too")]
pub(crate) fn log(message: &str) {
    std::eprintln!("{message}");
}

/// Default of `ipam.policy.limits.state`.
const STATE_LIMIT: usize = 64 << 10;

/// Makes a pool for a test.
#[derive(Default)]
pub struct TestPool {
    ranges: Vec<Range>,
    exclude: Vec<Span>,
    reservations: BTreeMap<IpAddr, Owner>,
    last_reserved: Option<IpAddr>,
    state: BTreeMap<String, Vec<u8>>,
}

impl TestPool {
    /// A pool of these subnets, with the gateways and ends that they have by
    /// default.
    pub fn new(subnets: &[&str]) -> Result<Self, String> {
        let mut pool = Self::default();
        for subnet in subnets {
            pool = pool.range(subnet, None, None, None)?;
        }
        Ok(pool)
    }

    /// One more range: `subnet`, `rangeStart`, `rangeEnd`, `gateway`.
    pub fn range(
        mut self,
        subnet: &str,
        start: Option<IpAddr>,
        end: Option<IpAddr>,
        gateway: Option<IpAddr>,
    ) -> Result<Self, String> {
        let all: Span = subnet.parse().map_err(|error| format!("subnet: {error}"))?;
        let length = subnet.split_once('/').and_then(|(_, n)| n.parse().ok());
        let prefix_length = length.ok_or_else(|| format!("{subnet}: no prefix length"))?;
        // Two addresses or one have neither a network address nor a gateway.
        let inner = next(all.first())
            .filter(|second| *second < all.last())
            .unwrap_or(all.first());
        let gateway = gateway.or((inner != all.first()).then_some(inner));
        let last = match all.last() {
            IpAddr::V4(v4) if inner != all.first() => IpAddr::V4((v4.to_bits() - 1).into()),
            last => last,
        };
        let span = Span::new(start.unwrap_or(inner), end.unwrap_or(last))
            .filter(|span| all.contains(span.first()) && all.contains(span.last()))
            .ok_or_else(|| format!("{subnet}: rangeStart or rangeEnd is outside, or reversed"))?;
        self.ranges.push(Range {
            subnet: all.first(),
            prefix_length,
            span,
            gateway,
        });
        Ok(self)
    }

    /// Addresses of the ranges that are not to be given.
    pub fn exclude(mut self, span: Span) -> Self {
        self.exclude.push(span);
        self
    }

    /// `address` is held by interface eth0 of `container`.
    pub fn reserve(mut self, address: IpAddr, container: &str) -> Self {
        let owner = Owner {
            container: container.to_owned(),
            interface: Some("eth0".to_owned()),
        };
        self.reservations.insert(address, owner);
        self
    }

    /// The address last given.
    pub fn last_reserved(mut self, address: IpAddr) -> Self {
        self.last_reserved = Some(address);
        self
    }

    /// A value that the policy remembers.
    pub fn state(mut self, key: &str, value: &[u8]) -> Self {
        self.state.insert(key.to_owned(), value.to_vec());
        self
    }

    /// The pool, as a policy sees it.
    pub fn pool(self) -> crate::Pool {
        let gateways = self.ranges.iter().filter_map(|range| range.gateway);
        let mut holes: Vec<_> = gateways.filter_map(|at| Span::new(at, at)).collect();
        for range in &self.ranges {
            let length = range.prefix_length;
            if range.subnet.is_ipv4() && length < 31 {
                let IpAddr::V4(network) = range.subnet else {
                    continue;
                };
                let broadcast =
                    network.to_bits() | u32::MAX.checked_shr(length.into()).unwrap_or(0);
                let ends = [range.subnet, IpAddr::V4(broadcast.into())];
                holes.extend(ends.into_iter().filter_map(|at| Span::new(at, at)));
            }
        }
        holes.extend(self.exclude);
        let spans = holes.iter().fold(
            self.ranges.iter().map(|range| range.span).collect(),
            without,
        );
        let pool = Pool {
            ranges: self.ranges,
            spans,
            reservations: self.reservations,
            last_reserved: self.last_reserved,
        };
        crate::Pool::new(pool, crate::State::new(State(RefCell::new(self.state))))
    }
}

/// What of `spans` is not in `hole`.
fn without(spans: Vec<Span>, hole: &Span) -> Vec<Span> {
    let mut rest = Vec::new();
    for span in spans {
        if !span.overlaps(hole) {
            rest.push(span);
            continue;
        }
        let before = previous(hole.first()).and_then(|last| Span::new(span.first(), last));
        let behind = next(hole.last()).and_then(|first| Span::new(first, span.last()));
        rest.extend(before.into_iter().chain(behind));
    }
    rest
}

fn previous(address: IpAddr) -> Option<IpAddr> {
    Some(match address {
        IpAddr::V4(v4) => IpAddr::V4(v4.to_bits().checked_sub(1)?.into()),
        IpAddr::V6(v6) => IpAddr::V6(v6.to_bits().checked_sub(1)?.into()),
    })
}

pub struct Pool {
    ranges: Vec<Range>,
    spans: Vec<Span>,
    reservations: BTreeMap<IpAddr, Owner>,
    last_reserved: Option<IpAddr>,
}

impl Pool {
    pub(crate) fn ranges(&self) -> Vec<Range> {
        self.ranges.clone()
    }

    pub(crate) fn spans(&self) -> Vec<Span> {
        self.spans.clone()
    }

    pub(crate) fn is_reserved(&self, address: IpAddr) -> bool {
        self.reservations.contains_key(&address)
    }

    pub(crate) fn next_free(&self, at: IpAddr) -> Option<IpAddr> {
        let lowest = |span: &Span| {
            let mut address = at.max(span.first());
            while span.contains(address) {
                if !self.is_reserved(address) {
                    return Some(address);
                }
                address = next(address)?;
            }
            None
        };
        self.spans.iter().filter_map(lowest).min()
    }

    pub(crate) fn last_reserved(&self) -> Option<IpAddr> {
        self.last_reserved
    }

    /// Pages are small: a policy that reads only the first one shows it.
    pub(crate) fn reservations(&self, after: Option<IpAddr>) -> Vec<Reservation> {
        let after = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.reservations
            .range((after, Bound::Unbounded))
            .take(2)
            .map(|(address, owner)| Reservation {
                address: *address,
                owner: owner.clone(),
            })
            .collect()
    }
}

pub struct State(RefCell<BTreeMap<String, Vec<u8>>>);

impl State {
    pub(crate) fn get(&self, key: &str) -> Option<Vec<u8>> {
        self.0.borrow().get(key).cloned()
    }

    pub(crate) fn set(&self, key: &str, value: &[u8]) -> Result<(), String> {
        let mut values = self.0.borrow_mut();
        let others = values.iter().filter(|(other, _)| *other != key);
        let size: usize = others.map(|(key, value)| key.len() + value.len()).sum();
        if size + key.len() + value.len() > STATE_LIMIT {
            return Err("the state would become too large".to_string());
        }
        values.insert(key.to_owned(), value.to_vec());
        Ok(())
    }

    pub(crate) fn remove(&self, key: &str) {
        self.0.borrow_mut().remove(key);
    }

    pub(crate) fn keys(&self) -> Vec<String> {
        self.0.borrow().keys().cloned().collect()
    }
}
