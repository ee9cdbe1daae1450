//! Names that become file, link and directory names: checked once, here.

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;

/// Why a text is no name. The texts of the container id and network name
/// errors follow libcni, whose messages people search for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NameError {
    /// Not `[A-Za-z0-9][A-Za-z0-9_.-]*`.
    ContainerId(String),
    /// More than [`ContainerId::LONGEST`] bytes.
    ContainerIdTooLong(usize),
    /// Not `[A-Za-z0-9][A-Za-z0-9_.-]*`.
    NetworkName(String),
    /// 16 bytes or more: the kernel's `IFNAMSIZ` includes the terminator.
    InterfaceTooLong(String),
    /// `.` or `..`.
    InterfaceDots(String),
    /// A slash, a colon or white space.
    InterfaceCharacter(String),
    /// No characters at all.
    Empty,
}

impl fmt::Display for NameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ContainerId(_) => "invalid characters in containerID",
            Self::ContainerIdTooLong(found) => {
                return write!(
                    f,
                    "containerID is too long: wanted at most {} bytes, found {found}",
                    ContainerId::LONGEST
                );
            }
            Self::NetworkName(_) => "invalid characters found in network name",
            Self::InterfaceTooLong(_) => "interface name is too long",
            Self::InterfaceDots(_) => "interface name is . or ..",
            Self::InterfaceCharacter(_) => {
                "interface name contains / or : or whitespace characters"
            }
            Self::Empty => "name is empty",
        })
    }
}

impl core::error::Error for NameError {}

impl NameError {
    /// What was found, or the rule that was broken where the name says little.
    pub fn details(&self) -> &str {
        match self {
            Self::ContainerId(found) | Self::NetworkName(found) => found,
            Self::InterfaceTooLong(_) => "interface name should be less than 16 characters",
            Self::ContainerIdTooLong(_)
            | Self::InterfaceDots(_)
            | Self::InterfaceCharacter(_)
            | Self::Empty => "",
        }
    }
}

/// The rule of container ids and network names: spec 1.1, "Parameters" and
/// "Network configuration".
fn is_plain(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphanumeric())
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(String);

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name! {
    /// A container id: `CNI_CONTAINERID`. Letters, digits, `_`, `.` and `-`,
    /// beginning with a letter or digit.
    ContainerId
}

name! {
    /// A network name: `name` of the configuration. Letters, digits, `_`, `.`
    /// and `-`, beginning with a letter or digit; so never a path and never a
    /// hidden file.
    NetworkName
}

name! {
    /// An interface name: `CNI_IFNAME`. 1 to 15 bytes without slash, colon
    /// or white space, and neither `.` nor `..`.
    InterfaceName
}

impl ContainerId {
    /// Most bytes of an id. Runtimes use 64 or so; a record with more than
    /// this could not be told from a file of somebody else.
    pub const LONGEST: usize = 1024;

    /// Checks a text.
    pub fn new(text: &str) -> Result<Self, NameError> {
        match text {
            "" => Err(NameError::Empty),
            _ if text.len() > Self::LONGEST => Err(NameError::ContainerIdTooLong(text.len())),
            _ if is_plain(text) => Ok(Self(text.to_owned())),
            _ => Err(NameError::ContainerId(text.to_owned())),
        }
    }
}

impl NetworkName {
    /// Checks a text.
    pub fn new(text: &str) -> Result<Self, NameError> {
        match text {
            "" => Err(NameError::Empty),
            _ if is_plain(text) => Ok(Self(text.to_owned())),
            _ => Err(NameError::NetworkName(text.to_owned())),
        }
    }
}

impl InterfaceName {
    /// Checks a text.
    pub fn new(text: &str) -> Result<Self, NameError> {
        let owned = || text.to_owned();
        if text.is_empty() {
            Err(NameError::Empty)
        } else if text.len() > 15 {
            Err(NameError::InterfaceTooLong(owned()))
        } else if text == "." || text == ".." {
            Err(NameError::InterfaceDots(owned()))
        } else if text
            .chars()
            .any(|c| c == '/' || c == ':' || c.is_whitespace())
        {
            Err(NameError::InterfaceCharacter(owned()))
        } else {
            Ok(Self(owned()))
        }
    }
}

/// What CNI calls an attachment: one interface of one container.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attachment {
    /// The container.
    pub container: ContainerId,
    /// Its interface.
    pub interface: InterfaceName,
}

impl fmt::Display for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "container {}, interface {}",
            self.container, self.interface
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_no_names() {
        for text in [
            "../x", "a/b", ".a", "-a", "_a", "a b", "a\n", "a\0b", "é", "..",
        ] {
            assert!(NetworkName::new(text).is_err(), "{text:?}");
            assert!(ContainerId::new(text).is_err(), "{text:?}");
        }
        for text in ["0", "A.b-c_d", "a.."] {
            assert!(NetworkName::new(text).is_ok(), "{text:?}");
            assert!(ContainerId::new(text).is_ok(), "{text:?}");
        }
    }

    #[test]
    fn interfaces_are_what_the_kernel_takes() {
        assert!(InterfaceName::new("abcdefghijklmno").is_ok());
        assert!(InterfaceName::new("abcdefghijklmnop").is_err());
        for text in ["", ".", "..", "a/b", "a:b", "a b", "a\u{a0}b", "a\u{85}b"] {
            assert!(InterfaceName::new(text).is_err(), "{text:?}");
        }
    }
}
