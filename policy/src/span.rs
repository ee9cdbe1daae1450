//! Spans of addresses, as configurations write them.

use alloc::string::{String, ToString};
use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::str::FromStr;

use serde::{Deserialize, Deserializer, de};

/// Addresses of one family from `first` to `last`, both inclusive. As text:
/// `10.1.2.3`, `10.1.2.0/24` or `10.1.2.3-10.1.2.9`.
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
}

/// The address behind this one, or `None` at the end of its family.
pub(crate) fn next(address: IpAddr) -> Option<IpAddr> {
    Some(match address {
        IpAddr::V4(v4) => Ipv4Addr::from_bits(v4.to_bits().checked_add(1)?).into(),
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits().checked_add(1)?).into(),
    })
}

/// All addresses with this prefix, and whether `address` is the first.
fn prefix(address: IpAddr, length: u32) -> Option<(Span, bool)> {
    let (first, last): (IpAddr, IpAddr) = match address {
        IpAddr::V4(v4) => {
            let host = u32::MAX.checked_shr(length).unwrap_or(0);
            let bits = v4.to_bits();
            (length <= 32).then_some((
                Ipv4Addr::from_bits(bits & !host).into(),
                Ipv4Addr::from_bits(bits | host).into(),
            ))?
        }
        IpAddr::V6(v6) => {
            let host = u128::MAX.checked_shr(length).unwrap_or(0);
            let bits = v6.to_bits();
            (length <= 128).then_some((
                Ipv6Addr::from_bits(bits & !host).into(),
                Ipv6Addr::from_bits(bits | host).into(),
            ))?
        }
    };
    Some((Span { first, last }, first == address))
}

/// Why a text is no span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanError {
    text: String,
    wanted: &'static str,
}

impl fmt::Display for SpanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" is no span: {}", self.text, self.wanted)
    }
}

impl core::error::Error for SpanError {}

impl FromStr for Span {
    type Err = SpanError;

    fn from_str(text: &str) -> Result<Self, SpanError> {
        let no = |wanted| SpanError {
            text: text.to_string(),
            wanted,
        };
        let address = |text: &str| {
            let address: IpAddr = text
                .trim()
                .parse()
                .map_err(|_| no("wanted ADDRESS, ADDRESS/LENGTH or ADDRESS-ADDRESS"))?;
            // No pool holds one: it would be IPv6 by its text and IPv4 on the
            // wire.
            if address.to_canonical() != address {
                return Err(no("an IPv4-mapped IPv6 address"));
            }
            Ok(address)
        };
        if let Some((first, last)) = text.split_once('-') {
            return Self::new(address(first)?, address(last)?)
                .ok_or_else(|| no("the ends are reversed, or of two families"));
        }
        let Some((first, length)) = text.split_once('/') else {
            let only = address(text)?;
            return Ok(Self {
                first: only,
                last: only,
            });
        };
        let first = address(first)?;
        let length = Some(length)
            .filter(|length| !length.is_empty() && length.bytes().all(|b| b.is_ascii_digit()))
            .and_then(|length| length.parse().ok());
        match length.and_then(|length| prefix(first, length)) {
            None => Err(no("the prefix length is none")),
            // `10.1.2.3/24` may mean the address as well as the subnet.
            Some((_, false)) => Err(no("the address has host bits")),
            Some((span, true)) => Ok(span),
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.first == self.last {
            return self.first.fmt(f);
        }
        write!(f, "{}-{}", self.first, self.last)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        text.parse::<Span>()
            .map_or_else(|error| error.to_string(), |span| span.to_string())
    }

    #[test]
    fn three_ways_to_write_one_and_both_ends_of_both_families() {
        for (text, wanted) in [
            ("10.1.2.3", "10.1.2.3"),
            ("10.1.2.0/24", "10.1.2.0-10.1.2.255"),
            ("10.1.2.3/32", "10.1.2.3"),
            ("0.0.0.0/0", "0.0.0.0-255.255.255.255"),
            ("10.1.2.3 - 10.1.2.9", "10.1.2.3-10.1.2.9"),
            ("::/0", "::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
            ("2001:db8::/64", "2001:db8::-2001:db8::ffff:ffff:ffff:ffff"),
            ("2001:db8::7/128", "2001:db8::7"),
        ] {
            assert_eq!(read(text), wanted);
        }
    }

    #[test]
    fn what_is_refused_says_why() {
        for (text, wanted) in [
            ("", "wanted ADDRESS"),
            ("10.1.2", "wanted ADDRESS"),
            ("10.1.2.0/", "prefix length"),
            ("10.1.2.0/+8", "prefix length"),
            ("10.1.2.0/33", "prefix length"),
            ("::/129", "prefix length"),
            ("::/99999999999", "prefix length"),
            ("10.1.2.3/24", "host bits"),
            ("10.1.2.9-10.1.2.3", "reversed"),
            ("10.1.2.9-::1", "two families"),
            ("::ffff:10.1.2.0/120", "IPv4-mapped"),
        ] {
            let found = read(text);
            assert!(found.contains(wanted), "{text:?}: {found}");
        }
    }

    #[test]
    fn nothing_is_behind_the_last_address_of_a_family() {
        for (address, wanted) in [
            ("10.1.2.255", Some("10.1.3.0")),
            ("255.255.255.255", None),
            ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", None),
        ] {
            let found = address.parse().ok().and_then(next);
            assert_eq!(found, wanted.and_then(|text| text.parse().ok()));
        }
    }
}
