//! Versions of the CNI specification.

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;

use serde::Serialize;

/// A version this plugin speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// 0.1.0
    V0_1_0,
    /// 0.2.0
    V0_2_0,
    /// 0.3.0: several addresses for each family.
    V0_3_0,
    /// 0.3.1
    V0_3_1,
    /// 0.4.0: CHECK.
    V0_4_0,
    /// 1.0.0
    V1_0_0,
    /// 1.1.0: GC and STATUS.
    V1_1_0,
}

impl Version {
    /// Every version, oldest first.
    pub const ALL: [Self; 7] = [
        Self::V0_1_0,
        Self::V0_2_0,
        Self::V0_3_0,
        Self::V0_3_1,
        Self::V0_4_0,
        Self::V1_0_0,
        Self::V1_1_0,
    ];

    /// As it is written in `cniVersion`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V0_1_0 => "0.1.0",
            Self::V0_2_0 => "0.2.0",
            Self::V0_3_0 => "0.3.0",
            Self::V0_3_1 => "0.3.1",
            Self::V0_4_0 => "0.4.0",
            Self::V1_0_0 => "1.0.0",
            Self::V1_1_0 => "1.1.0",
        }
    }

    /// The version of a configuration; none given means 0.1.0.
    pub fn of_config(text: &str) -> Result<Self, VersionError> {
        if text.is_empty() {
            return Ok(Self::V0_1_0);
        }
        Self::ALL
            .into_iter()
            .find(|version| version.as_str() == text)
            .ok_or_else(|| VersionError::Incompatible(text.to_owned()))
    }

    /// Whether a configuration of version `text` may be used for `command`,
    /// which came with `since`.
    pub fn allows(text: &str, command: &'static str, since: Self) -> Result<(), VersionError> {
        let asked = numbers(text).ok_or_else(|| VersionError::Unreadable(text.to_owned()))?;
        let known = |version: Self| numbers(version.as_str());
        if Some(asked) < known(since) {
            return Err(VersionError::ConfigTooOld(command));
        }
        if Some(asked) > known(Self::V1_1_0) {
            return Err(VersionError::PluginTooOld(command));
        }
        Self::of_config(text).map(|_| ())
    }
}

/// What VERSION prints: spec 1.1, "VERSION".
pub fn version_info() -> String {
    #[derive(Serialize)]
    struct Info {
        #[serde(rename = "cniVersion")]
        cni_version: &'static str,
        #[serde(rename = "supportedVersions")]
        supported_versions: [&'static str; Version::ALL.len()],
    }
    let info = Info {
        cni_version: Version::V1_1_0.as_str(),
        supported_versions: Version::ALL.map(Version::as_str),
    };
    // OK because it is made of texts.
    serde_json::to_string_pretty(&info).unwrap_or_default()
}

/// `MAJOR[.MINOR[.MICRO]]`; nothing at all is 0.1.0.
fn numbers(text: &str) -> Option<[u32; 3]> {
    if text.is_empty() {
        return Some([0, 1, 0]);
    }
    let mut parts = text.split('.');
    let mut found = [0; 3];
    for number in &mut found {
        match parts.next() {
            Some(part) => *number = part.parse().ok()?,
            None => break,
        }
    }
    parts.next().is_none().then_some(found)
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a version will not do. The texts are libcni's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VersionError {
    /// None of ours.
    Incompatible(String),
    /// Not a version at all.
    Unreadable(String),
    /// The command came with a later version than the configuration names.
    ConfigTooOld(&'static str),
    /// The configuration names a later version than the plugin knows.
    PluginTooOld(&'static str),
}

impl fmt::Display for VersionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Incompatible(_) => f.write_str("incompatible CNI versions"),
            Self::Unreadable(text) => {
                write!(
                    f,
                    "cniVersion {text:?}: wanted MAJOR.MINOR.MICRO in numbers"
                )
            }
            Self::ConfigTooOld(command) => write!(f, "config version does not allow {command}"),
            Self::PluginTooOld(command) => write!(f, "plugin version does not allow {command}"),
        }
    }
}

impl core::error::Error for VersionError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_have_a_first_version() {
        let status = |text| Version::allows(text, "STATUS", Version::V1_1_0);
        assert_eq!(status("1.1.0"), Ok(()));
        assert_eq!(status(""), Err(VersionError::ConfigTooOld("STATUS")));
        assert_eq!(status("1.0.0"), Err(VersionError::ConfigTooOld("STATUS")));
        assert_eq!(status("1.1.1"), Err(VersionError::PluginTooOld("STATUS")));
        assert!(matches!(status("x"), Err(VersionError::Unreadable(_))));
        assert!(matches!(
            status("1.1.0.0"),
            Err(VersionError::Unreadable(_))
        ));
        assert_eq!(Version::allows("0.4.0", "CHECK", Version::V0_4_0), Ok(()));
        let unknown = Version::allows("0.5.0", "CHECK", Version::V0_4_0);
        assert!(matches!(unknown, Err(VersionError::Incompatible(_))));
    }
}
