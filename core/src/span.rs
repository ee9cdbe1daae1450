//! Addresses as numbers, and spans of them.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An address as a number, so that both families share one arithmetic.
/// 128 bits hold either.
pub fn to_number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}

/// The address of the same family as `like` with this number, or `None`
/// where the family has no such address.
pub fn from_number(like: IpAddr, number: u128) -> Option<IpAddr> {
    match like {
        IpAddr::V4(_) => Some(IpAddr::V4(Ipv4Addr::from_bits(u32::try_from(number).ok()?))),
        IpAddr::V6(_) => Some(IpAddr::V6(Ipv6Addr::from_bits(number))),
    }
}

/// Addresses of one family from `first` to `last`, both inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    first: IpAddr,
    last: IpAddr,
}

impl Span {
    /// `None` where `last` is before `first` or of the other family.
    pub fn new(first: IpAddr, last: IpAddr) -> Option<Self> {
        (first.is_ipv4() == last.is_ipv4() && first <= last).then_some(Self { first, last })
    }

    /// The lowest address.
    pub fn first(&self) -> IpAddr {
        self.first
    }

    /// The highest address, inclusive.
    pub fn last(&self) -> IpAddr {
        self.last
    }

    /// Whether `address` lies in it.
    pub fn contains(&self, address: IpAddr) -> bool {
        // `IpAddr` orders every IPv4 address before every IPv6 one, so an
        // address of the other family is outside either end.
        self.first <= address && address <= self.last
    }

    /// Whether the two have an address in common.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }

    /// How many addresses it holds; the one span that holds 2^128 counts one
    /// less.
    pub fn count(&self) -> u128 {
        (to_number(self.last) - to_number(self.first)).saturating_add(1)
    }

    /// What lies before and after `address`, leaving it out.
    pub fn without(&self, address: IpAddr) -> [Option<Self>; 2] {
        if !self.contains(address) {
            return [Some(*self), None];
        }
        let number = to_number(address);
        let before = number.checked_sub(1).and_then(|n| from_number(address, n));
        let after = number.checked_add(1).and_then(|n| from_number(address, n));
        [
            before.and_then(|last| Self::new(self.first, last)),
            after.and_then(|first| Self::new(first, self.last)),
        ]
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

/// What of `span` lies before `address`.
pub(crate) fn before(address: IpAddr, span: Span) -> Option<Span> {
    let last = from_number(address, to_number(address).checked_sub(1)?)?;
    Span::new(span.first(), last)
}

/// What of `span` lies behind `address`.
pub(crate) fn behind(address: IpAddr, span: Span) -> Option<Span> {
    let next = from_number(address, to_number(address).checked_add(1)?)?;
    Span::new(next, span.last())
}
