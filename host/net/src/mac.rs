//! Ethernet addresses.

use std::fmt;
use std::str::FromStr;

use rustix::rand::{GetRandomFlags, getrandom};
use serde::{Serialize, Serializer};

/// A 48-bit Ethernet address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mac(pub [u8; 6]);

/// Why a text is no Ethernet address.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum MacError {
    /// Not pairs of hexadecimal digits.
    #[error("wanted six pairs of hexadecimal digits such as 02:00:5e:10:00:01")]
    Format,
    /// More or less than six bytes.
    #[error("wanted six bytes, found {0}")]
    Length(usize),
}

impl Mac {
    /// A random, locally administered unicast address. An address that is set
    /// by whoever makes an interface stays: tools that give interfaces stable
    /// addresses leave it alone.
    pub fn random() -> Result<Self, rustix::io::Errno> {
        let mut bytes = [0; 6];
        getrandom(&mut bytes, GetRandomFlags::empty())?;
        bytes[0] = bytes[0] & 0xfe | 0x02;
        Ok(Self(bytes))
    }

    /// From the bytes of a netlink attribute, if they are six.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Mac {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for Mac {
    type Err = MacError;

    /// Bytes separated by colons or dashes, or pairs of bytes by dots: the
    /// notations the Go plugin takes.
    fn from_str(text: &str) -> Result<Self, MacError> {
        let (separator, digits) = match text {
            _ if text.contains(':') => (':', 2),
            _ if text.contains('-') => ('-', 2),
            _ => ('.', 4),
        };
        let mut bytes = Vec::new();
        for group in text.split(separator) {
            if group.len() != digits || !group.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Err(MacError::Format);
            }
            for pair in group.as_bytes().chunks(2) {
                let pair = std::str::from_utf8(pair).map_err(|_| MacError::Format)?;
                bytes.push(u8::from_str_radix(pair, 16).map_err(|_| MacError::Format)?);
            }
        }
        Self::from_bytes(&bytes).ok_or(MacError::Length(bytes.len()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn notations() {
        let mac = Mac([2, 0, 0x5e, 0x10, 0, 1]);
        for text in ["02:00:5e:10:00:01", "02-00-5E-10-00-01", "0200.5e10.0001"] {
            assert_eq!(text.parse(), Ok(mac), "{text}");
        }
        assert_eq!(mac.to_string(), "02:00:5e:10:00:01");
        for text in [
            "",
            "02:00",
            "2:0:5e:10:0:1",
            "02:00:5e:10:00:0g",
            "02005e100001",
        ] {
            assert!(text.parse::<Mac>().is_err(), "{text}");
        }
        assert_eq!(
            "02:00:5e:10:00:00:00:01".parse::<Mac>(),
            Err(MacError::Length(8))
        );
    }

    #[test]
    fn random_ones_are_local_and_unicast() {
        for _ in 0..64 {
            assert_eq!(Mac::random().unwrap().0[0] & 3, 2);
        }
    }
}
