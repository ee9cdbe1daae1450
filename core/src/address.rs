//! Addresses and prefixes as text.

use core::fmt;
use core::net::IpAddr;

use ipnet::IpNet;

/// Why a text is no address or no prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AddressError {
    /// Not an IPv4 or IPv6 address: octets with leading zeros, zones and
    /// blanks are refused as well.
    Address,
    /// Not `ADDRESS/LENGTH`, or the length is more than the family has.
    Prefix,
    /// An IPv4-mapped IPv6 prefix (`::ffff:0:0/96` and longer): as a range it
    /// would be IPv6 by its text and IPv4 on the wire.
    Mapped,
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Address => "invalid IP address",
            Self::Prefix => "invalid CIDR address",
            Self::Mapped => "invalid CIDR address: IPv4-mapped IPv6 prefix",
        })
    }
}

impl core::error::Error for AddressError {}

/// An address. An IPv4-mapped IPv6 address is the IPv4 address it stands for.
pub fn parse_address(text: &str) -> Result<IpAddr, AddressError> {
    text.parse::<IpAddr>()
        .map(|address| address.to_canonical())
        .map_err(|_| AddressError::Address)
}

/// A prefix in CIDR notation; host bits are kept.
pub fn parse_prefix(text: &str) -> Result<IpNet, AddressError> {
    let (address, length) = text.split_once('/').ok_or(AddressError::Prefix)?;
    let address: IpAddr = address.parse().map_err(|_| AddressError::Prefix)?;
    if length.is_empty() || !length.bytes().all(|b| b.is_ascii_digit()) {
        return Err(AddressError::Prefix);
    }
    // Leading zeros are fine here, as they are for Go's parser.
    let length: u8 = length.parse().map_err(|_| AddressError::Prefix)?;
    if matches!(address, IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some()) {
        return Err(AddressError::Mapped);
    }
    IpNet::new(address, length).map_err(|_| AddressError::Prefix)
}

/// An address with or without a prefix length, as requests are written.
pub fn parse_request(text: &str) -> Result<(IpAddr, Option<u8>), AddressError> {
    match text.split_once('/') {
        None => Ok((parse_address(text)?, None)),
        Some((address, _)) => {
            let mapped = address
                .parse::<IpAddr>()
                .is_ok_and(|a| a.is_ipv6() && a.to_canonical().is_ipv4());
            if mapped {
                return Err(AddressError::Mapped);
            }
            let prefix = parse_prefix(text).map_err(|_| AddressError::Address)?;
            Ok((prefix.addr(), Some(prefix.prefix_len())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_read_as_go_reads_them() {
        for text in [
            "",
            "10.1.2.0",
            "10.1.2/24",
            "10.1.2.0/33",
            "10.1.2.0/-1",
            "10.1.2.0/",
            "/24",
            "10.1.2.0/255.255.255.0",
            "010.1.2.0/24",
            "10.1.2.0 /24",
            "fe80::%eth0/64",
            "::/129",
            "10.1.2.0/+4",
            "10.1.2.0/4294967297",
        ] {
            assert!(parse_prefix(text).is_err(), "{text:?}");
        }
        for text in [
            "10.1.2.0/024",
            "2001:0db8::0000/64",
            "0.0.0.0/0",
            "::/0",
            "10.9.8.7/8",
        ] {
            assert!(parse_prefix(text).is_ok(), "{text:?}");
        }
        assert_eq!(
            parse_prefix("::ffff:10.0.0.0/104"),
            Err(AddressError::Mapped)
        );
    }

    #[test]
    fn a_mapped_address_is_an_ipv4_address() {
        let v4: IpAddr = [10, 1, 2, 7].into();
        assert_eq!(parse_address("::ffff:10.1.2.7"), Ok(v4));
        assert_eq!(parse_request("10.1.2.7/16"), Ok((v4, Some(16))));
        assert_eq!(parse_request("10.1.2.7/33"), Err(AddressError::Address));
    }
}
