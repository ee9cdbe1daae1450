//! One address from each range set, or none at all.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;

use ipnet::IpNet;

use crate::choose::{Choice, Chooser};
use crate::config::{Config, RepeatedAdd, Request};
use crate::environment::Environment;
use crate::names::{Attachment, NetworkName};
use crate::pool::Seconds;
use crate::range::Range;
use crate::range_set::RangeSet;
use crate::span::Span;
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

/// Free addresses that are cooling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cooling {
    /// How many there are.
    pub count: u64,
    /// Milliseconds until the first of them can be given.
    pub next_ms: u64,
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
        /// Whether `exclude` or `static` keep some of it from being given.
        barred: bool,
        /// The free addresses that are cooling, if there are any.
        cooling: Option<Cooling>,
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
    /// A requested address is one of `exclude`.
    Excluded {
        /// Number of the set, from 0.
        set: usize,
        /// The address.
        address: IpAddr,
        /// The span that excludes it.
        span: Span,
    },
    /// The policy refuses.
    Denied {
        /// Number of the set, from 0.
        set: usize,
        /// The policy: path of its component.
        policy: String,
        /// Why, in its own words.
        reason: String,
    },
    /// The policy failed.
    Policy {
        /// Number of the set, from 0.
        set: usize,
        /// What failed; names the policy.
        failure: String,
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
                barred,
                cooling,
            } => {
                let rest = if *barred {
                    "reserved, excluded or static"
                } else {
                    "reserved"
                };
                write!(
                    f,
                    "failed to allocate for range {set}: no IP addresses available in range set: \
                     {ranges} ("
                )?;
                match cooling {
                    None if *hollow => f.write_str(
                        "rangeStart, rangeEnd, exclude and static leave nothing but gateway, \
                         network and broadcast addresses)",
                    ),
                    None => write!(f, "every address is {rest})"),
                    Some(Cooling { count, next_ms }) => write!(
                        f,
                        "{count} {}, the next can be given in {}; every other address is {rest})",
                        if *count == 1 {
                            "is cooling"
                        } else {
                            "are cooling"
                        },
                        Seconds(*next_ms)
                    ),
                }
            }
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
            Self::Excluded { set, address, span } => write!(
                f,
                "failed to allocate for range {set}: requested ip {address} is excluded ({span}; \
                 requestExcluded allows to ask for it)"
            ),
            Self::Denied {
                set,
                policy,
                reason,
            } => write!(
                f,
                "failed to allocate for range {set}: policy {policy} gives no address: {reason}"
            ),
            Self::Policy { set, failure } => {
                write!(f, "failed to allocate for range {set}: {failure}")
            }
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
pub fn allocate<E: Environment>(
    config: &Config,
    network: &NetworkName,
    attachment: &Attachment,
    environment: &mut E,
    store: &mut E::Store,
) -> Result<Vec<Allocation>, AllocateError> {
    let chosen = assign(&config.sets, &config.requests)?;
    let mut taken = Taken {
        chooser: Chooser {
            config,
            network,
            attachment,
            environment,
            store,
        },
        addresses: Vec::new(),
    };
    match taken.fill(&chosen) {
        Ok(allocations) => Ok(allocations),
        Err(error) => {
            taken.give_back();
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
struct Taken<'a, E: Environment> {
    chooser: Chooser<'a, E>,
    addresses: Vec<IpAddr>,
}

impl<'a, E: Environment> Taken<'a, E> {
    fn fill(&mut self, chosen: &[Option<IpAddr>]) -> Result<Vec<Allocation>, AllocateError> {
        let config = self.chooser.config;
        let attachment = self.chooser.attachment;
        let held = self.chooser.store.held_by(&attachment.container)?;
        let mut allocations = Vec::with_capacity(config.sets.len());
        for (index, (set, request)) in config.sets.iter().zip(chosen).enumerate() {
            let allocation = match held_in(&held, attachment, set) {
                Some((address, range))
                    if config.repeated_add == RepeatedAdd::Return
                        && request.is_none_or(|request| request == address) =>
                {
                    Allocation::new(address, range)
                }
                before => {
                    let before = before.map(|(address, _)| address);
                    let allocation = self.one(index, set, *request, before)?;
                    self.addresses.push(allocation.address);
                    allocation
                }
            };
            allocations.push(allocation);
        }
        // Only now: a failed ADD must not move the round robin, nor count for
        // whatever else is remembered.
        for (index, allocation) in allocations.iter().enumerate() {
            if self.addresses.contains(&allocation.address) {
                self.chooser.remember(index, allocation.address)?;
            }
        }
        if config.choosing.policy.is_some() {
            self.chooser.store.keep_state()?;
        }
        Ok(allocations)
    }

    fn one(
        &mut self,
        index: usize,
        set: &'a RangeSet,
        request: Option<IpAddr>,
        before: Option<IpAddr>,
    ) -> Result<Allocation, AllocateError> {
        if let Some((address, range)) = request.and_then(|a| Some((a, set.find(a)?))) {
            return self.requested(index, set, address, range, before);
        }
        if let Some(address) = before {
            return Err(self.duplicate(index, address));
        }
        match self.chooser.choose(index, set)? {
            Choice::Reserved(address, range) => Ok(Allocation::new(address, range)),
            Choice::Nothing { cooling } => Err(AllocateError::Exhausted {
                set: index,
                ranges: set.to_string(),
                hollow: set.givable().is_empty(),
                barred: self.chooser.config.bars_some_of(set),
                cooling,
            }),
        }
    }

    fn requested(
        &mut self,
        set_index: usize,
        set: &RangeSet,
        address: IpAddr,
        range: &Range,
        before: Option<IpAddr>,
    ) -> Result<Allocation, AllocateError> {
        let config = self.chooser.config;
        let ranges = config.sets.iter().flat_map(RangeSet::ranges);
        if ranges
            .filter_map(Range::gateway)
            .any(|gateway| gateway == address)
        {
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
        if let Some(span) = config.exclude.find(address)
            && !config.choosing.request_excluded
        {
            return Err(AllocateError::Excluded {
                set: set_index,
                address,
                span,
            });
        }
        // The address itself first: "held by" says more than "duplicate".
        let holder = self.chooser.store.holder(address)?;
        if holder == Holder::Nobody {
            if let Some(before) = before {
                return Err(self.duplicate(set_index, before));
            }
            if self.chooser.reserve(address)? {
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
            attachment: self.chooser.attachment.clone(),
        }
    }

    /// A failure is told: there is nobody else to turn to.
    fn give_back(self) {
        let owner = self.chooser.attachment.into();
        let mut outcome = Ok(());
        for address in self.addresses {
            let released = self.chooser.store.release(address, &owner);
            outcome = outcome.and(released.map(|_| ()));
        }
        if let Err(cause) = outcome {
            let text = alloc::format!("after a failed ADD: {cause}");
            self.chooser.environment.warn(&text);
        }
    }
}

/// What the attachment holds of a set. A record without an interface stands
/// for all interfaces of its container.
fn held_in<'s>(
    held: &[Reservation],
    attachment: &Attachment,
    set: &'s RangeSet,
) -> Option<(IpAddr, &'s Range)> {
    let ours = |owner: &Owner| owner.interface.is_none() || owner.is(attachment);
    let mut exact_first: Vec<_> = held.iter().filter(|r| ours(&r.owner)).collect();
    exact_first.sort_by_key(|reservation| reservation.owner.interface.is_none());
    exact_first
        .iter()
        .find_map(|r| Some((r.address, set.find(r.address)?)))
}
