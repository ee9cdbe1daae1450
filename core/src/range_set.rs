//! Range sets: each gives an attachment one address.

use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;

use crate::range::Range;
use crate::span::{Span, from_number, to_number};

/// Ranges of one family without overlap, used one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeSet(Vec<Range>);

/// Why ranges make no set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RangeSetError {
    /// No range at all.
    Empty,
    /// IPv4 and IPv6 in one set.
    MixedFamilies,
    /// Two ranges share addresses.
    Overlap(Range, Range),
}

impl fmt::Display for RangeSetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("empty range set"),
            Self::MixedFamilies => f.write_str("mixed address families"),
            Self::Overlap(a, b) => write!(f, "subnets {a} and {b} overlap"),
        }
    }
}

impl core::error::Error for RangeSetError {}

impl RangeSet {
    /// Checks that the ranges can stand in one set.
    pub fn new(ranges: Vec<Range>) -> Result<Self, RangeSetError> {
        let first = ranges.first().ok_or(RangeSetError::Empty)?;
        let is_ipv4 = first.span().first().is_ipv4();
        if ranges
            .iter()
            .any(|range| range.span().first().is_ipv4() != is_ipv4)
        {
            return Err(RangeSetError::MixedFamilies);
        }
        for (n, a) in ranges.iter().enumerate() {
            for b in &ranges[n + 1..] {
                if a.span().overlaps(&b.span()) {
                    return Err(RangeSetError::Overlap(a.clone(), b.clone()));
                }
            }
        }
        Ok(Self(ranges))
    }

    /// The ranges, in the order of the configuration.
    pub fn ranges(&self) -> &[Range] {
        &self.0
    }

    /// Bars addresses in each of the ranges: see [`Range::bar`].
    pub(crate) fn bar(&mut self, more: &[Span]) {
        for range in &mut self.0 {
            range.bar(more.iter().copied());
        }
    }

    /// What may be given to those who ask for no address by name, in the order
    /// of the ranges.
    pub fn givable(&self) -> Vec<Span> {
        let parts = self.0.iter().map(|range| range.givable(range.span()));
        parts.flatten().collect()
    }

    /// Whether the set is of IPv4 addresses.
    pub fn is_ipv4(&self) -> bool {
        self.0.iter().any(|range| range.span().first().is_ipv4())
    }

    /// The range that `address` lies in.
    pub fn find(&self, address: IpAddr) -> Option<&Range> {
        self.0.iter().find(|range| range.span().contains(address))
    }

    /// Whether the two sets share addresses.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.0
            .iter()
            .any(|a| other.0.iter().any(|b| a.span().overlaps(&b.span())))
    }

    /// The set's addresses in the order a round robin visits them: from the
    /// one after `last` to the end of its range, through the ranges that
    /// follow, around to `last` itself, each once. Without a `last` in the
    /// set, from the start.
    pub fn from_after(&self, last: Option<IpAddr>) -> Vec<(Span, &Range)> {
        let at = last.and_then(|last| {
            self.0
                .iter()
                .position(|range| range.span().contains(last))
                .zip(Some(last))
        });
        let Some((index, last)) = at else {
            return self.0.iter().map(|range| (range.span(), range)).collect();
        };
        let (before, rest) = self.0.split_at(index);
        let mut order = Vec::with_capacity(self.0.len() + 1);
        if let Some((range, after)) = rest.split_first() {
            let next = to_number(last)
                .checked_add(1)
                .and_then(|n| from_number(last, n));
            let tail = next.and_then(|next| Span::new(next, range.span().last()));
            order.extend(tail.map(|tail| (tail, range)));
            order.extend(
                after
                    .iter()
                    .chain(before)
                    .map(|range| (range.span(), range)),
            );
            order.extend(Span::new(range.span().first(), last).map(|head| (head, range)));
        }
        order
    }
}

impl fmt::Display for RangeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, range) in self.0.iter().enumerate() {
            write!(f, "{}{range}", if n == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}
