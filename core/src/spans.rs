//! Sets of addresses that are written as spans: what `exclude` and `static`
//! name. No cost depends on how large the spans are.

use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;

use ipnet::IpNet;

use crate::address::{AddressError, parse_address, parse_prefix};
use crate::span::{Span, before, behind, from_number, to_number};

/// Why a text names no span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SpanError {
    /// An address in it is none.
    Address(AddressError),
    /// A prefix with bits set beyond its length.
    HostBits(IpNet),
    /// The second address is before the first one, or of the other family.
    Reversed,
}

impl fmt::Display for SpanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(cause) => write!(
                f,
                "wanted an address, ADDRESS/LENGTH or FIRST-LAST: {cause}"
            ),
            Self::HostBits(subnet) => write!(
                f,
                "host bits are set: the network address is {}",
                subnet.network()
            ),
            Self::Reversed => f.write_str(
                "wanted FIRST-LAST, of one family and the last one not before the first",
            ),
        }
    }
}

impl core::error::Error for SpanError {}

/// An address, a prefix in CIDR notation, or `FIRST-LAST`, both inclusive.
pub fn parse_span(text: &str) -> Result<Span, SpanError> {
    let address = |text: &str| parse_address(text.trim()).map_err(SpanError::Address);
    if text.contains('/') {
        let subnet = parse_prefix(text).map_err(SpanError::Address)?;
        if subnet.addr() != subnet.network() {
            return Err(SpanError::HostBits(subnet));
        }
        return Span::new(subnet.network(), subnet.broadcast()).ok_or(SpanError::Reversed);
    }
    let (first, last) = match text.split_once('-') {
        Some((first, last)) => (address(first)?, address(last)?),
        None => (address(text)?, address(text)?),
    };
    Span::new(first, last).ok_or(SpanError::Reversed)
}

/// A set of addresses: spans in ascending order, none of which touches
/// another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spans(Vec<Span>);

impl FromIterator<Span> for Spans {
    fn from_iter<I: IntoIterator<Item = Span>>(spans: I) -> Self {
        let mut sorted: Vec<Span> = spans.into_iter().collect();
        sorted.sort_unstable_by_key(|span| (span.first(), span.last()));
        let mut merged: Vec<Span> = Vec::with_capacity(sorted.len());
        for span in sorted {
            match merged.last_mut() {
                Some(before) if before.overlaps(&span) || touches(before, &span) => {
                    let last = before.last().max(span.last());
                    // OK because `last` is of the family of both.
                    *before = Span::new(before.first(), last).unwrap_or(*before);
                }
                _ => merged.push(span),
            }
        }
        Self(merged)
    }
}

/// Whether `next` begins right behind `span`.
fn touches(span: &Span, next: &Span) -> bool {
    let behind = to_number(span.last()).checked_add(1);
    behind.and_then(|number| from_number(span.last(), number)) == Some(next.first())
}

impl Spans {
    /// The spans.
    pub fn iter(&self) -> impl Iterator<Item = Span> {
        self.0.iter().copied()
    }

    /// Whether there is no address in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The span that `address` lies in.
    pub fn find(&self, address: IpAddr) -> Option<Span> {
        let at = self.0.partition_point(|span| span.last() < address);
        self.0
            .get(at)
            .copied()
            .filter(|span| span.contains(address))
    }

    /// Whether `address` is in it.
    pub fn contains(&self, address: IpAddr) -> bool {
        self.find(address).is_some()
    }

    /// Those that have an address in common with `span`.
    pub fn overlapping(&self, span: Span) -> &[Span] {
        let from = self.0.partition_point(|s| s.last() < span.first());
        let rest = self.0.get(from..).unwrap_or_default();
        let count = rest.partition_point(|s| s.first() <= span.last());
        rest.get(..count).unwrap_or_default()
    }

    /// What of `span` is not in it, in ascending order.
    pub fn left_of(&self, span: Span) -> Vec<Span> {
        let mut left = Vec::new();
        let mut rest = Some(span);
        for barred in self.overlapping(span) {
            let Some(span) = rest else { break };
            left.extend(before(barred.first(), span));
            rest = if barred.last() < span.last() {
                behind(barred.last(), span)
            } else {
                None
            };
        }
        left.extend(rest);
        left
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use alloc::string::{String, ToString};

    use super::*;

    fn spans(texts: &[&str]) -> Spans {
        texts.iter().map(|text| parse_span(text).unwrap()).collect()
    }

    fn text(spans: &[Span]) -> String {
        let texts: Vec<String> = spans.iter().map(Span::to_string).collect();
        texts.join(" ")
    }

    #[test]
    fn spans_are_written_in_three_ways() {
        for (written, meant) in [
            ("10.1.0.4", "10.1.0.4-10.1.0.4"),
            ("10.1.0.2/31", "10.1.0.2-10.1.0.3"),
            ("10.1.0.2 - 10.1.0.9", "10.1.0.2-10.1.0.9"),
            ("::ffff:10.1.0.4", "10.1.0.4-10.1.0.4"),
            ("fd00::/64", "fd00::-fd00::ffff:ffff:ffff:ffff"),
            ("0.0.0.0/0", "0.0.0.0-255.255.255.255"),
        ] {
            assert_eq!(parse_span(written).unwrap().to_string(), meant);
        }
        for (written, complaint) in [
            ("", "invalid IP address"),
            ("10.1.0.3/31", "the network address is 10.1.0.2"),
            ("10.1.0.9-10.1.0.2", "wanted FIRST-LAST"),
            ("10.1.0.9-fd00::1", "wanted FIRST-LAST"),
            ("10.1.0.9/33", "invalid CIDR"),
            ("10.1.0.1-10.1.0.2-10.1.0.3", "invalid IP address"),
        ] {
            let error = parse_span(written).unwrap_err().to_string();
            assert!(error.contains(complaint), "{written}: {error}");
        }
    }

    #[test]
    fn spans_that_touch_or_overlap_are_one() {
        let set = spans(&["10.1.0.8/30", "10.1.0.4-10.1.0.7", "10.1.0.9", "10.1.0.20"]);
        assert_eq!(text(&set.0), "10.1.0.4-10.1.0.11 10.1.0.20-10.1.0.20");
        assert!(set.contains("10.1.0.11".parse().unwrap()));
        assert!(!set.contains("10.1.0.12".parse().unwrap()));
        assert!(!set.contains("::a01:b".parse().unwrap()));
        // The last IPv4 address does not touch the first IPv6 one.
        assert_eq!(spans(&["255.255.255.255", "::"]).0.len(), 2);
    }

    #[test]
    fn what_is_left_of_a_span() {
        let set = spans(&["10.1.0.0/32", "10.1.0.4-10.1.0.7", "10.1.0.255", "fd00::1"]);
        let left = |span: &str| text(&set.left_of(parse_span(span).unwrap()));
        assert_eq!(left("10.1.0.0/24"), "10.1.0.1-10.1.0.3 10.1.0.8-10.1.0.254");
        assert_eq!(left("10.1.0.5-10.1.0.6"), "");
        assert_eq!(left("10.1.0.6-10.1.0.8"), "10.1.0.8-10.1.0.8");
        assert_eq!(left("10.2.0.0/16"), "10.2.0.0-10.2.255.255");
        let all = spans(&["0.0.0.0/0", "::/0"]);
        assert_eq!(text(&all.left_of(parse_span("::/0").unwrap())), "");
        assert_eq!(text(&all.left_of(parse_span("0.0.0.0/0").unwrap())), "");
    }
}
