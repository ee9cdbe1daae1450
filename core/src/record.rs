//! The files of a network's directory, as the Go plugin has them: which names
//! mean something, and what their contents say. Reading and writing them is the
//! business of stores.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use core::net::IpAddr;

use crate::names::{Attachment, ContainerId, InterfaceName};
use crate::store::Owner;

/// No record is longer: a container id has at most [`ContainerId::LONGEST`]
/// bytes and an interface name 15, with room for blanks around them. Whatever
/// is longer is not ours.
pub const LONGEST: usize = 4096;

/// Between container id and interface name, since host-local 0.8.
const LINE_BREAK: &str = "\r\n";

const MARKER: &str = "last_reserved_ip.";

/// A name in the directory that means something. All others are left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Name {
    /// The record of an address: its canonical text.
    Record(IpAddr),
    /// What an unfinished writer of another version left: `.<address>.tmp`.
    Temporary(IpAddr),
    /// The address last reserved for the range set of this index.
    Marker(u32),
}

impl Name {
    /// What a file name means, if anything.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(index) = text.strip_prefix(MARKER) {
            let index: u32 = index.parse().ok()?;
            return (Self::Marker(index).to_string() == text).then_some(Self::Marker(index));
        }
        match text.strip_prefix('.') {
            Some(rest) => rest
                .strip_suffix(".tmp")
                .and_then(canonical)
                .map(Self::Temporary),
            None => canonical(text).map(Self::Record),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record(address) => write!(f, "{address}"),
            Self::Temporary(address) => write!(f, ".{address}.tmp"),
            Self::Marker(index) => write!(f, "{MARKER}{index}"),
        }
    }
}

/// An address in the one form in which a record is named. `2001:DB8::1` is
/// another file than `2001:db8::1`, and nobody looks for it.
fn canonical(text: &str) -> Option<IpAddr> {
    // Most names in a large directory come through here: look before parsing.
    if !text
        .bytes()
        .all(|b| b.is_ascii_hexdigit() || b == b'.' || b == b':')
    {
        return None;
    }
    let address: IpAddr = text.parse().ok()?;
    match address {
        // The parser takes neither leading zeros nor short forms.
        IpAddr::V4(_) => Some(address),
        // A mapped address is an IPv4 address, and has that one's name.
        IpAddr::V6(v6) => {
            (v6.to_ipv4_mapped().is_none() && v6.to_string() == text).then_some(address)
        }
    }
}

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Somebody holds the address.
    Owner(Owner),
    /// Nothing: its writer was killed between creating and writing it.
    Nothing,
    /// Something, but no record.
    Unknown,
}

/// Reads the content of a record. Blanks around it do not count, as in Go.
pub fn parse(bytes: &[u8]) -> Content {
    if bytes.len() > LONGEST {
        return Content::Unknown;
    }
    let Ok(text) = core::str::from_utf8(bytes) else {
        return Content::Unknown;
    };
    let text = text.trim();
    if text.is_empty() {
        return Content::Nothing;
    }
    let owner = match text.split_once(LINE_BREAK) {
        None => ContainerId::new(text).map(|container| Owner {
            container,
            interface: None,
        }),
        Some((container, interface)) => ContainerId::new(container).and_then(|container| {
            let interface = Some(InterfaceName::new(interface)?);
            Ok(Owner {
                container,
                interface,
            })
        }),
    };
    owner.map_or(Content::Unknown, Content::Owner)
}

/// The content of the record of an attachment.
pub fn render(owner: &Attachment) -> String {
    format!("{}{LINE_BREAK}{}", owner.container, owner.interface)
}

/// Reads a marker. It is only a hint, so whatever is no address is nothing;
/// blanks are not skipped, as in Go.
pub fn parse_marker(bytes: &[u8]) -> Option<IpAddr> {
    let address: IpAddr = core::str::from_utf8(bytes).ok()?.parse().ok()?;
    Some(address.to_canonical())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn owner(id: &str, interface: Option<&str>) -> Content {
        Content::Owner(Owner {
            container: ContainerId::new(id).unwrap(),
            interface: interface.map(|name| InterfaceName::new(name).unwrap()),
        })
    }

    #[test]
    fn only_canonical_names_mean_something() {
        for text in [
            "10.1.2.2",
            "2001:db8::5",
            "::",
            ".10.1.2.2.tmp",
            "last_reserved_ip.10",
        ] {
            assert_eq!(Name::parse(text).unwrap().to_string(), text);
        }
        for text in [
            "lock",
            "10.1.2",
            "10.1.2.02",
            "10.1.2.2.bak",
            "2001:DB8::5",
            "2001:db8:0::5",
            ".nfs0",
            "..",
            ".",
            "",
            "last_reserved_ip",
            "last_reserved_ip.",
            "last_reserved_ip.01",
            "last_reserved_ip.+1",
            "10.1.2.2.tmp",
            ".tmp",
            "10.1.2.2 ",
            "fe80::1%eth0",
        ] {
            assert_eq!(Name::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn records_are_one_or_two_names() {
        assert_eq!(parse(b"c1\r\neth0"), owner("c1", Some("eth0")));
        assert_eq!(parse(b"c1"), owner("c1", None));
        assert_eq!(parse(b"c1\r\n"), owner("c1", None));
        assert_eq!(
            parse("\u{a0}d\r\neth0\u{2003}".as_bytes()),
            owner("d", Some("eth0"))
        );
        for content in [
            &b"c1\r\neth0\r\nextra"[..],
            b"\0\xff",
            b"a b",
            b"c1\neth0",
            b"../x",
        ] {
            assert_eq!(parse(content), Content::Unknown, "{content:?}");
        }
        assert_eq!(parse(b""), Content::Nothing);
        assert_eq!(parse(b" \r\n"), Content::Nothing);
        assert_eq!(parse(&[b'x'; LONGEST + 1]), Content::Unknown);
    }

    #[test]
    fn what_is_written_is_read() {
        let attachment = Attachment {
            container: ContainerId::new("c1").unwrap(),
            interface: InterfaceName::new("eth0").unwrap(),
        };
        assert_eq!(render(&attachment), "c1\r\neth0");
        assert_eq!(
            parse(render(&attachment).as_bytes()),
            owner("c1", Some("eth0"))
        );
    }

    #[test]
    fn markers_are_hints() {
        assert_eq!(parse_marker(b"10.1.2.3"), Some("10.1.2.3".parse().unwrap()));
        assert_eq!(
            parse_marker(b"2001:0DB8:0001:0000:0000:0000:0000:00FE"),
            Some("2001:db8:1::fe".parse().unwrap())
        );
        for content in [&b" 10.1.2.3"[..], b"10.1.2.3\n", b"", b"garbage", b"\xff"] {
            assert_eq!(parse_marker(content), None);
        }
    }
}
