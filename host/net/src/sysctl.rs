//! Kernel settings of a network namespace, below /proc/sys/net.

use std::fs;
use std::path::PathBuf;

use crate::error::NetError;

/// A setting of the thread's namespace, such as `ipv4/ip_forward`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sysctl(String);

impl Sysctl {
    /// A setting by its path below /proc/sys/net.
    pub fn new(path: impl Into<String>) -> Self {
        Self(path.into())
    }

    /// A setting of an interface: `family` is `ipv4` or `ipv6`.
    pub fn of_link(family: &str, link: &str, name: &str) -> Self {
        Self(format!("{family}/conf/{link}/{name}"))
    }

    /// Its path below /proc/sys/net.
    pub fn path(&self) -> &str {
        &self.0
    }

    /// The value; nothing if the kernel has no such setting, as without IPv6.
    pub fn read(&self) -> Result<Option<String>, NetError> {
        match fs::read_to_string(self.file()) {
            Ok(text) => Ok(Some(text.trim().to_owned())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed("reading", error)),
        }
    }

    /// Sets the value. One that is right already is not written: /proc/sys may
    /// be read-only. Returns the value it had if it was changed.
    pub fn set(&self, value: &str) -> Result<Option<String>, NetError> {
        let old = self.read()?;
        if old.as_deref() == Some(value) {
            return Ok(None);
        }
        fs::write(self.file(), value)
            .map_err(|error| self.failed(&format!("writing {value}"), error))?;
        Ok(old)
    }

    fn file(&self) -> PathBuf {
        PathBuf::from("/proc/sys/net").join(&self.0)
    }

    fn failed(&self, action: &str, cause: std::io::Error) -> NetError {
        NetError::Sysctl {
            path: format!("net/{}", self.0),
            action: action.to_owned(),
            cause,
        }
    }
}

impl std::fmt::Display for Sysctl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "net/{}", self.0)
    }
}
