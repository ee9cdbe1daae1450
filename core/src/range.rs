//! Spans of addresses and the ranges of a network configuration.

use core::fmt;
use core::net::{IpAddr, Ipv4Addr};

use alloc::vec::Vec;

use ipnet::IpNet;

use crate::span::{Span, from_number, to_number};
use crate::spans::Spans;

/// A range as it is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeSpec {
    /// `subnet`, in CIDR notation without host bits.
    pub subnet: IpNet,
    /// `rangeStart`, inclusive. Default: the first address of the subnet that
    /// can be given.
    pub start: Option<IpAddr>,
    /// `rangeEnd`, inclusive. Default: the last one.
    pub end: Option<IpAddr>,
    /// `gateway`. Default: the address after the network address, where the
    /// subnet has more than two addresses.
    pub gateway: Option<IpAddr>,
    /// `gatewayOnLink`: the gateway may lie outside the subnet.
    pub gateway_on_link: bool,
}

/// A range that can be allocated from. An invalid one cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    subnet: IpNet,
    span: Span,
    gateway: Option<IpAddr>,
    /// What nobody gets unasked.
    barred: Spans,
}

/// Why a range is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RangeError {
    /// `subnet` is an address within a subnet.
    HostBits {
        /// As configured.
        subnet: IpNet,
    },
    /// `rangeStart` is not in `subnet`.
    StartOutside {
        /// As configured.
        start: IpAddr,
        /// The subnet.
        subnet: IpNet,
    },
    /// `rangeEnd` is not in `subnet`, or before its first address.
    EndOutside {
        /// As configured.
        end: IpAddr,
        /// The subnet.
        subnet: IpNet,
    },
    /// `rangeEnd` is before `rangeStart`.
    Reversed {
        /// As configured.
        start: IpAddr,
        /// As configured.
        end: IpAddr,
        /// The subnet.
        subnet: IpNet,
    },
    /// `rangeStart` is after the last address that the subnet can give.
    StartAfterLast {
        /// As configured.
        start: IpAddr,
        /// The last address.
        last: IpAddr,
        /// The subnet.
        subnet: IpNet,
    },
    /// `gateway` is not in `subnet` and nothing says that it is on the link.
    GatewayOutside {
        /// As configured.
        gateway: IpAddr,
        /// The subnet.
        subnet: IpNet,
    },
    /// `gateway` is of the other address family.
    GatewayFamily {
        /// As configured.
        gateway: IpAddr,
        /// The subnet.
        subnet: IpNet,
    },
}

impl fmt::Display for RangeError {
    // Where the reference has a text of its own, it is part of ours: people
    // and scripts look for it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HostBits { subnet } => write!(
                f,
                "Network has host bits set. For a subnet mask of length {} the network address is {}",
                subnet.prefix_len(),
                subnet.network()
            ),
            Self::StartOutside { start, subnet } => {
                write!(f, "RangeStart {start} not in network {subnet}")
            }
            Self::EndOutside { end, subnet } => {
                write!(
                    f,
                    "RangeEnd {end} not in network {subnet}, or before its first address"
                )
            }
            Self::Reversed { start, end, subnet } => write!(
                f,
                "RangeStart {start} not in network {subnet} up to rangeEnd: rangeEnd {end} lies \
                 before rangeStart {start}"
            ),
            Self::StartAfterLast {
                start,
                last,
                subnet,
            } => write!(
                f,
                "rangeStart {start} lies after {last}, the last address {subnet} can give"
            ),
            Self::GatewayOutside { gateway, subnet } => write!(
                f,
                "gateway {gateway} is not in subnet {subnet}; set gatewayOnLink if the containers \
                 reach it on their link"
            ),
            Self::GatewayFamily { gateway, subnet } => write!(
                f,
                "gateway {gateway} and subnet {subnet} are of different address families"
            ),
        }
    }
}

impl core::error::Error for RangeError {}

/// Whether the subnet is so small that it has neither a network nor a
/// broadcast address: /31 and /32 (RFC 3021), /127 and /128 (RFC 6164).
fn is_tiny(subnet: &IpNet) -> bool {
    subnet.max_prefix_len() - subnet.prefix_len() < 2
}

impl Range {
    /// Checks a range and fills in its defaults.
    pub fn new(spec: &RangeSpec) -> Result<Self, RangeError> {
        let subnet = spec.subnet;
        if subnet.addr() != subnet.network() {
            return Err(RangeError::HostBits { subnet });
        }
        let (network, broadcast) = (subnet.network(), subnet.broadcast());
        // OK because a subnet that is not tiny has at least four addresses.
        let inner = |base: IpAddr, step: i128| {
            from_number(base, to_number(base).wrapping_add_signed(step)).unwrap_or(base)
        };
        let first = if is_tiny(&subnet) {
            network
        } else {
            inner(network, 1)
        };
        // IPv6 has no broadcast: the all-ones address is an ordinary one.
        let last = match broadcast {
            IpAddr::V4(_) if !is_tiny(&subnet) => inner(broadcast, -1),
            _ => broadcast,
        };
        let start = spec.start.unwrap_or(first);
        let end = spec.end.unwrap_or(last);
        if !subnet.contains(&start) {
            return Err(RangeError::StartOutside { start, subnet });
        }
        if !subnet.contains(&end) {
            return Err(RangeError::EndOutside { end, subnet });
        }
        let span = Span::new(start, end).ok_or(match (spec.start, spec.end) {
            (Some(_), Some(_)) => RangeError::Reversed { start, end, subnet },
            (None, _) => RangeError::EndOutside { end, subnet },
            (Some(_), None) => RangeError::StartAfterLast {
                start,
                last,
                subnet,
            },
        })?;
        let gateway = match spec.gateway {
            None => (!is_tiny(&subnet)).then_some(first),
            Some(gateway) if gateway.is_ipv4() != network.is_ipv4() => {
                return Err(RangeError::GatewayFamily { gateway, subnet });
            }
            Some(gateway) => {
                // A link-local router is how IPv6 does it: on the link always.
                let on_link = spec.gateway_on_link
                    || matches!(gateway, IpAddr::V6(v6) if v6.is_unicast_link_local());
                if !subnet.contains(&gateway) && !on_link {
                    return Err(RangeError::GatewayOutside { gateway, subnet });
                }
                Some(gateway)
            }
        };
        let mut range = Self {
            subnet,
            span,
            gateway,
            barred: Spans::default(),
        };
        range.bar([]);
        Ok(range)
    }

    /// Bars addresses, besides the gateway, the network and broadcast address
    /// of the subnet, and IPv6 addresses that stand for IPv4 ones: wherever
    /// one of those is read as text, it is an IPv4 address. What was barred
    /// before is forgotten.
    pub fn bar(&mut self, more: impl IntoIterator<Item = Span>) {
        let single = |address| Span::new(address, address);
        let mapped = [Ipv4Addr::UNSPECIFIED, Ipv4Addr::BROADCAST]
            .map(|address| IpAddr::V6(address.to_ipv6_mapped()));
        let addresses = self.subnet_addresses().into_iter().chain([self.gateway]);
        self.barred = addresses
            .flatten()
            .filter_map(single)
            .chain(Span::new(mapped[0], mapped[1]))
            .chain(more)
            .filter(|barred| barred.overlaps(&self.span))
            .collect();
    }

    /// What of `span` may be given to those who ask for no address by name.
    pub fn givable(&self, span: Span) -> Vec<Span> {
        self.barred.left_of(span)
    }

    /// Whether `address` may be given to those who ask for none by name.
    pub fn may_give(&self, address: IpAddr) -> bool {
        self.span.contains(address) && !self.barred.contains(address)
    }

    /// The subnet, whose prefix length goes with every address given.
    pub fn subnet(&self) -> IpNet {
        self.subnet
    }

    /// From `rangeStart` to `rangeEnd`.
    pub fn span(&self) -> Span {
        self.span
    }

    /// The gateway that goes with every address given.
    pub fn gateway(&self) -> Option<IpAddr> {
        self.gateway
    }

    /// The addresses that mean the subnet as such: network and broadcast.
    pub fn subnet_addresses(&self) -> [Option<IpAddr>; 2] {
        match self.subnet {
            IpNet::V4(_) if !is_tiny(&self.subnet) => {
                [Some(self.subnet.network()), Some(self.subnet.broadcast())]
            }
            _ => [None, None],
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.span.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::{parse_address, parse_prefix};

    fn range(subnet: &str, start: &str, end: &str, gateway: &str) -> Result<Range, RangeError> {
        let address = |text: &str| parse_address(text).ok();
        Range::new(&RangeSpec {
            subnet: parse_prefix(subnet).unwrap_or_default(),
            start: address(start),
            end: address(end),
            gateway: address(gateway),
            gateway_on_link: false,
        })
    }

    fn text(range: Result<Range, RangeError>) -> alloc::string::String {
        match range {
            Ok(range) => alloc::format!("{range} gateway {:?}", range.gateway),
            Err(error) => alloc::format!("{error}"),
        }
    }

    #[test]
    fn defaults_at_both_ends_of_the_number_space() {
        for (subnet, wanted) in [
            ("10.1.2.0/24", "10.1.2.1-10.1.2.254 gateway Some(10.1.2.1)"),
            ("0.0.0.0/0", "0.0.0.1-255.255.255.254 gateway Some(0.0.0.1)"),
            (
                "255.255.255.252/30",
                "255.255.255.253-255.255.255.254 gateway Some(255.255.255.253)",
            ),
            (
                "255.255.255.254/31",
                "255.255.255.254-255.255.255.255 gateway None",
            ),
            (
                "255.255.255.255/32",
                "255.255.255.255-255.255.255.255 gateway None",
            ),
            (
                "::/0",
                "::1-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff gateway Some(::1)",
            ),
            (
                "2001:db8::/126",
                "2001:db8::1-2001:db8::3 gateway Some(2001:db8::1)",
            ),
            ("2001:db8::7/128", "2001:db8::7-2001:db8::7 gateway None"),
        ] {
            assert_eq!(text(range(subnet, "", "", "")), wanted);
        }
    }

    #[test]
    fn what_is_refused_says_why() {
        for (found, wanted) in [
            (
                range("10.1.3.0/23", "", "", ""),
                "the network address is 10.1.2.0",
            ),
            (
                range("10.1.2.0/24", "10.1.3.1", "", ""),
                "RangeStart 10.1.3.1 not in network",
            ),
            (
                range("10.1.2.0/24", "::1", "", ""),
                "RangeStart ::1 not in network",
            ),
            (
                range("10.1.2.0/24", "", "10.1.2.0", ""),
                "RangeEnd 10.1.2.0 not in network",
            ),
            (
                range("10.1.2.0/24", "10.1.2.50", "10.1.2.49", ""),
                "lies before rangeStart",
            ),
            (
                range("255.255.255.0/24", "255.255.255.255", "", ""),
                "rangeStart 255.255.255.255 lies",
            ),
            (
                range("10.1.2.0/24", "", "", "192.0.2.1"),
                "gateway 192.0.2.1 is not in subnet",
            ),
            (
                range("10.1.2.0/24", "", "", "fe80::1"),
                "different address families",
            ),
        ] {
            assert!(
                text(found.clone()).contains(wanted),
                "{found:?} does not say {wanted}"
            );
        }
        assert!(range("2001:db8::/64", "", "", "fe80::1").is_ok());
    }

    #[test]
    fn leaving_out_an_address_never_overflows() {
        let all = |a: &str, b: &str| Span::new(parse_address(a).ok()?, parse_address(b).ok()?);
        let whole = all("0.0.0.0", "255.255.255.255");
        let ends = |at: &str| whole.zip(parse_address(at).ok()).map(|(s, a)| s.without(a));
        assert_eq!(
            ends("0.0.0.0"),
            Some([None, all("0.0.0.1", "255.255.255.255")])
        );
        assert_eq!(
            ends("255.255.255.255"),
            Some([all("0.0.0.0", "255.255.255.254"), None])
        );
        assert_eq!(ends("::1"), Some([whole, None]));
    }
}
