//! The programs that make rules.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::FirewallError;
use super::iptables::{Iptables, Protocol, Variant};
use super::run::run;

/// What masquerading is made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// iptables and ip6tables, whichever variant they are.
    Iptables,
    /// nft.
    Nftables,
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Iptables => "iptables",
            Self::Nftables => "nftables",
        })
    }
}

/// The programs of a search path.
#[derive(Clone, Debug)]
pub struct Tools {
    path: OsString,
    nft: Option<PathBuf>,
    iptables: Option<Iptables>,
    ip6tables: Option<Iptables>,
}

impl Tools {
    /// Looks for the programs in `path`, written like `PATH`.
    pub fn find(path: &OsStr) -> Self {
        let iptables = |protocol: Protocol| {
            Some(Iptables::new(
                find(path, protocol.program())?,
                protocol,
                path,
            ))
        };
        Self {
            nft: find(path, "nft"),
            iptables: iptables(Protocol::V4),
            ip6tables: iptables(Protocol::V6),
            path: path.to_owned(),
        }
    }

    /// What to masquerade addresses of these families with: what is asked
    /// for, or else iptables if it is there, or else nft. Nothing is touched.
    pub fn masquerade_backend(
        &self,
        asked: Option<Backend>,
        v4: bool,
        v6: bool,
    ) -> Result<Backend, FirewallError> {
        let absent = if v4 && self.iptables.is_none() {
            Some("iptables")
        } else if v6 && self.ip6tables.is_none() {
            Some("ip6tables")
        } else {
            None
        };
        match (asked, absent) {
            (Some(Backend::Iptables), Some(program)) => Err(FirewallError::Missing {
                program,
                wanted: "masquerading with iptables",
            }),
            (Some(Backend::Nftables), _) => {
                self.nft("masquerading with nftables")?;
                Ok(Backend::Nftables)
            }
            (_, None) => Ok(Backend::Iptables),
            (None, Some(_)) if self.nft.is_some() => Ok(Backend::Nftables),
            (None, Some(_)) => Err(FirewallError::NoBackend {
                iptables: match (v4, v6) {
                    (true, true) => "iptables and ip6tables",
                    (_, false) => "iptables",
                    (false, true) => "ip6tables",
                },
            }),
        }
    }

    /// Whether spoof checks can be made.
    pub fn for_spoof_check(&self) -> Result<(), FirewallError> {
        self.nft("checking MAC addresses").map(drop)
    }

    /// `nf_tables` or `legacy`: what `iptables` writes to. Asks the program
    /// only where its file's name does not say it.
    pub fn iptables_variant(&self) -> Option<&'static str> {
        let iptables = self.iptables.as_ref().or(self.ip6tables.as_ref())?;
        let variant = match iptables.variant() {
            Some(variant) => variant,
            None => {
                let mut ask = Command::new(iptables.path());
                let told = run(ask.arg("--version"), b"", "tell its version").ok()?;
                if String::from_utf8_lossy(&told).contains("nf_tables") {
                    Variant::Nft
                } else {
                    Variant::Legacy
                }
            }
        };
        Some(match variant {
            Variant::Nft => "nf_tables",
            Variant::Legacy => "legacy",
        })
    }

    pub(super) fn nft(&self, wanted: &'static str) -> Result<&Path, FirewallError> {
        self.nft.as_deref().ok_or(FirewallError::Missing {
            program: "nft",
            wanted,
        })
    }

    pub(super) fn iptables(&self, protocol: Protocol) -> Result<&Iptables, FirewallError> {
        let found = match protocol {
            Protocol::V4 => &self.iptables,
            Protocol::V6 => &self.ip6tables,
        };
        found.as_ref().ok_or(FirewallError::Missing {
            program: protocol.program(),
            wanted: "masquerading with iptables",
        })
    }

    /// The program that `iptables` is, if it may have written to `variant`,
    /// or else the one that goes by the variant's name.
    pub(super) fn iptables_of(&self, protocol: Protocol, variant: Variant) -> Option<Iptables> {
        if let Ok(usual) = self.iptables(protocol)
            && usual.variant().is_none_or(|v| v == variant)
        {
            return Some(usual.clone());
        }
        let name = format!("{}-{}", protocol.program(), variant.suffix());
        let found = Iptables::new(find(&self.path, &name)?, protocol, &self.path);
        (found.variant() == Some(variant)).then_some(found)
    }
}

/// The first program of that name.
pub(super) fn find(path: &OsStr, name: &str) -> Option<PathBuf> {
    std::env::split_paths(path)
        // A relative entry would mean something else in every directory.
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .find(|file| {
            file.metadata()
                .is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
        })
}
