//! One address from each range set, or none at all.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;

use crate::config::{Config, RepeatedAdd, Request};
use crate::names::Attachment;
use crate::range::{Range, Span};
use crate::range_set::RangeSet;
use crate::store::{Holder, Owner, Reservation, Store, StoreError};

/// An address that an attachment got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The address.
    pub address: IpAddr,
    /// Prefix length of its subnet.
    pub prefix_len: u8,
    /// Gateway of its range.
    pub gateway: Option<IpAddr>,
}

impl Allocation {
    fn new(address: IpAddr, range: &Range) -> Self {
        Self {
            address,
            prefix_len: range.subnet().prefix_len(),
            gateway: range.gateway(),
        }
    }

    /// Address and prefix length together.
    pub fn in_cidr(&self) -> IpNet {
        // OK because the length is one of the address's own family.
        IpNet::new(self.address, self.prefix_len).unwrap_or_else(|_| self.address.into())
    }
}

/// Why nothing was allocated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllocateError {
    /// No address of the set is free.
    Exhausted {
        /// Number of the set, from 0.
        set: usize,
        /// Its ranges.
        ranges: String,
        /// Whether there is nothing in it that could ever be given.
        hollow: bool,
    },
    /// A requested address is held, or something else is in its place.
    Taken {
        /// Number of the set, from 0.
        set: usize,
        /// Its ranges.
        ranges: String,
        /// The address.
        address: IpAddr,
        /// What stands there.
        holder: Holder,
    },
    /// A requested address is a gateway.
    Gateway {
        /// Number of the set, from 0.
        set: usize,
        /// The address.
        address: IpAddr,
    },
    /// A requested address is the network or broadcast address.
    SubnetAddress {
        /// Number of the set, from 0.
        set: usize,
        /// The address.
        address: IpAddr,
        /// Its subnet.
        subnet: IpNet,
    },
    /// Requested addresses that no range set has room for: outside all of
    /// them, or the second one of a set.
    Unfulfilled {
        /// The addresses.
        addresses: Vec<IpAddr>,
        /// The ranges of each set.
        sets: Vec<String>,
    },
    /// The attachment already holds an address of the set.
    Duplicate {
        /// Number of the set, from 0.
        set: usize,
        /// The address it holds.
        address: IpAddr,
        /// Who asked.
        attachment: Attachment,
    },
    /// The store failed.
    Store {
        /// What it said.
        cause: StoreError,
    },
}

impl fmt::Display for AllocateError {
    // The words of the reference come first; scripts look for them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exhausted {
                set,
                ranges,
                hollow,
            } => write!(
                f,
                "failed to allocate for range {set}: no IP addresses available in range set: \
                 {ranges} ({})",
                if *hollow {
                    "rangeStart and rangeEnd leave nothing but gateway, network and broadcast \
                     addresses"
                } else {
                    "every address is reserved"
                }
            ),
            Self::Taken {
                set,
                ranges,
                address,
                holder,
            } => {
                write!(
                    f,
                    "failed to allocate for range {set}: requested IP address {address} is not \
                     available in range set {ranges}"
                )?;
                match holder {
                    Holder::Owner(owner) => write!(f, ": held by {owner}"),
                    Holder::Foreign => f.write_str(": a file that is no record has its name"),
                    Holder::Nobody => Ok(()),
                }
            }
            Self::Gateway { set, address } => write!(
                f,
                "failed to allocate for range {set}: requested ip {address} is subnet's gateway"
            ),
            Self::SubnetAddress {
                set,
                address,
                subnet,
            } => write!(
                f,
                "failed to allocate for range {set}: requested ip {address} is the network or \
                 broadcast address of {subnet}"
            ),
            Self::Unfulfilled { addresses, sets } => {
                f.write_str("failed to allocate all requested IPs:")?;
                for address in addresses {
                    write!(f, " {address}")?;
                }
                f.write_str(" (wanted at most one in each range set:")?;
                for ranges in sets {
                    write!(f, " [{ranges}]")?;
                }
                f.write_str(")")
            }
            Self::Duplicate {
                set,
                address,
                attachment,
            } => write!(
                f,
                "failed to allocate for range {set}: {address} has been allocated to {}, \
                 duplicate allocation is not allowed (interface {}; DEL it first)",
                attachment.container, attachment.interface
            ),
            Self::Store { cause } => cause.fmt(f),
        }
    }
}

impl core::error::Error for AllocateError {}

impl From<StoreError> for AllocateError {
    fn from(cause: StoreError) -> Self {
        Self::Store { cause }
    }
}

/// Gives `attachment` one address from each range set of `config`. If any of
/// them cannot be had, what was taken for the others is given back; what the
/// attachment held before is never touched.
pub fn allocate<S: Store>(
    config: &Config,
    attachment: &Attachment,
    store: &mut S,
    warn: impl FnOnce(String),
) -> Result<Vec<Allocation>, AllocateError> {
    let chosen = assign(&config.sets, &config.requests)?;
    let mut taken = Taken {
        store,
        attachment,
        addresses: Vec::new(),
    };
    match taken.fill(config, &chosen) {
        Ok(allocations) => Ok(allocations),
        Err(error) => {
            if let Err(cause) = taken.give_back() {
                warn(format!("after a failed ADD: {cause}"));
            }
            Err(error)
        }
    }
}

/// The request that each set is to fulfil. Every request must find a set, and
/// a set has room for one.
fn assign(sets: &[RangeSet], requests: &[Request]) -> Result<Vec<Option<IpAddr>>, AllocateError> {
    let mut chosen = Vec::new();
    chosen.resize(sets.len(), None);
    let mut left = Vec::new();
    for request in requests {
        let at = sets
            .iter()
            .position(|set| set.find(request.address).is_some());
        match at.and_then(|at| chosen.get_mut(at)) {
            Some(free @ None) => *free = Some(request.address),
            _ => left.push(request.address),
        }
    }
    if left.is_empty() {
        Ok(chosen)
    } else {
        Err(AllocateError::Unfulfilled {
            addresses: left,
            sets: sets.iter().map(RangeSet::to_string).collect(),
        })
    }
}

/// What this ADD has taken so far.
struct Taken<'a, S: Store> {
    store: &'a mut S,
    attachment: &'a Attachment,
    addresses: Vec<IpAddr>,
}

impl<S: Store> Taken<'_, S> {
    fn fill(
        &mut self,
        config: &Config,
        chosen: &[Option<IpAddr>],
    ) -> Result<Vec<Allocation>, AllocateError> {
        let held = self.store.held_by(&self.attachment.container)?;
        let mut allocations = Vec::with_capacity(config.sets.len());
        for (index, (set, request)) in config.sets.iter().zip(chosen).enumerate() {
            let allocation = match self.held_in(&held, set) {
                Some((address, range))
                    if config.repeated_add == RepeatedAdd::Return
                        && request.is_none_or(|request| request == address) =>
                {
                    Allocation::new(address, range)
                }
                before => {
                    let before = before.map(|(address, _)| address);
                    self.one(&config.sets, index, set, *request, before)?
                }
            };
            allocations.push(allocation);
        }
        // Only now: a failed ADD must not move the round robin.
        for (index, allocation) in allocations.iter().enumerate() {
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            if self.addresses.contains(&allocation.address) {
                self.store.set_last_reserved(index, allocation.address)?;
            }
        }
        Ok(allocations)
    }

    /// What the attachment holds of a set. A record without an interface
    /// stands for all interfaces of its container.
    fn held_in<'s>(&self, held: &[Reservation], set: &'s RangeSet) -> Option<(IpAddr, &'s Range)> {
        let ours = |owner: &Owner| owner.interface.is_none() || owner.is(self.attachment);
        let mut exact_first: Vec<_> = held.iter().filter(|r| ours(&r.owner)).collect();
        exact_first.sort_by_key(|reservation| reservation.owner.interface.is_none());
        exact_first
            .iter()
            .find_map(|r| Some((r.address, set.find(r.address)?)))
    }

    fn one(
        &mut self,
        sets: &[RangeSet],
        index: usize,
        set: &RangeSet,
        request: Option<IpAddr>,
        before: Option<IpAddr>,
    ) -> Result<Allocation, AllocateError> {
        if let Some((address, range)) = request.and_then(|a| Some((a, set.find(a)?))) {
            return self.requested(sets, index, set, address, range, before);
        }
        if let Some(address) = before {
            return Err(self.duplicate(index, address));
        }
        let last = self.last_reserved(index, set)?;
        let mut hollow = true;
        for (span, range) in set.from_after(last) {
            for part in usable(sets, range, span) {
                hollow = false;
                if let Some(address) = self.first_free(part)? {
                    return Ok(Allocation::new(address, range));
                }
            }
        }
        Err(AllocateError::Exhausted {
            set: index,
            ranges: set.to_string(),
            hollow,
        })
    }

    fn requested(
        &mut self,
        sets: &[RangeSet],
        set_index: usize,
        set: &RangeSet,
        address: IpAddr,
        range: &Range,
        before: Option<IpAddr>,
    ) -> Result<Allocation, AllocateError> {
        if gateways(sets).any(|gateway| gateway == address) {
            return Err(AllocateError::Gateway {
                set: set_index,
                address,
            });
        }
        if range.subnet_addresses().contains(&Some(address)) {
            let subnet = range.subnet();
            return Err(AllocateError::SubnetAddress {
                set: set_index,
                address,
                subnet,
            });
        }
        // The address itself first: "held by" says more than "duplicate".
        let holder = self.store.holder(address)?;
        if holder == Holder::Nobody {
            if let Some(before) = before {
                return Err(self.duplicate(set_index, before));
            }
            if self.reserve(address)? {
                return Ok(Allocation::new(address, range));
            }
        }
        Err(AllocateError::Taken {
            set: set_index,
            ranges: set.to_string(),
            address,
            holder,
        })
    }

    fn duplicate(&self, set: usize, address: IpAddr) -> AllocateError {
        AllocateError::Duplicate {
            set,
            address,
            attachment: self.attachment.clone(),
        }
    }

    /// Where the round robin of a set stands. Its own marker counts; but sets
    /// that come and go with `ipRanges` shift the numbers, so one left under
    /// another number will do, too.
    fn last_reserved(
        &mut self,
        index: usize,
        set: &RangeSet,
    ) -> Result<Option<IpAddr>, StoreError> {
        let own = self
            .store
            .last_reserved(u32::try_from(index).unwrap_or(u32::MAX))?;
        if own.is_none_or(|address| set.find(address).is_some()) {
            return Ok(own);
        }
        let others = self.store.all_last_reserved()?;
        Ok(others
            .into_iter()
            .find(|address| set.find(*address).is_some()))
    }

    fn first_free(&mut self, part: Span) -> Result<Option<IpAddr>, StoreError> {
        let mut rest = Some(part);
        while let Some(span) = rest {
            let Some(address) = self.store.next_free(span)? else {
                return Ok(None);
            };
            if self.reserve(address)? {
                return Ok(Some(address));
            }
            // Somebody took it without the lock: on to what lies behind.
            let [_, behind] =
                Span::new(address, span.last()).map_or([None; 2], |s| s.without(address));
            rest = behind;
        }
        Ok(None)
    }

    fn reserve(&mut self, address: IpAddr) -> Result<bool, StoreError> {
        let reserved = self.store.reserve(address, self.attachment)?;
        if reserved {
            self.addresses.push(address);
        }
        Ok(reserved)
    }

    fn give_back(self) -> Result<(), StoreError> {
        let owner = self.attachment.into();
        let mut outcome = Ok(());
        for address in self.addresses {
            outcome = outcome.and(self.store.release(address, &owner).map(|_| ()));
        }
        outcome
    }
}

fn gateways(sets: &[RangeSet]) -> impl Iterator<Item = IpAddr> {
    sets.iter()
        .flat_map(RangeSet::ranges)
        .filter_map(Range::gateway)
}

/// What of `span` may be given: all but gateways (of any set, since sets may
/// share a subnet), the network and broadcast addresses of its subnet, and
/// IPv6 addresses that stand for IPv4 ones.
pub(crate) fn usable(sets: &[RangeSet], range: &Range, span: Span) -> Vec<Span> {
    let mut barred: Vec<_> = gateways(sets)
        .chain(range.subnet_addresses().into_iter().flatten())
        .collect();
    barred.retain(|address| span.contains(*address));
    barred.sort_unstable();
    let mut parts = Vec::new();
    let mut rest = Some(span);
    for address in barred {
        let Some(span) = rest else { break };
        // A gateway named by two ranges comes twice.
        if !span.contains(address) {
            continue;
        }
        let [before, after] = span.without(address);
        parts.extend(before);
        rest = after;
    }
    parts.extend(rest);
    parts.into_iter().flat_map(unmapped).flatten().collect()
}

/// What lies before and after the IPv4-mapped addresses (`::ffff:0:0/96`):
/// wherever one of those is read as text, it is an IPv4 address.
fn unmapped(span: Span) -> [Option<Span>; 2] {
    let first = IpAddr::V6(Ipv4Addr::UNSPECIFIED.to_ipv6_mapped());
    let last = IpAddr::V6(Ipv4Addr::BROADCAST.to_ipv6_mapped());
    if span.last() < first || last < span.first() {
        return [Some(span), None];
    }
    [
        Span::new(span.first(), first).and_then(|span| span.without(first)[0]),
        Span::new(last, span.last()).and_then(|span| span.without(last)[1]),
    ]
}
