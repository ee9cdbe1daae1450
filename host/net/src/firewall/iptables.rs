//! iptables and ip6tables: what they are, running them, the rules they list.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::FirewallError;
use super::nfnetlink::{Family, TableName};
use super::rule::{Rule, words};
use super::run::run;
use super::tools::find;

/// Seconds to wait for another process to let go of the lock.
const WAIT: &str = "5";

/// Whose packets a program sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    V4,
    V6,
}

impl Protocol {
    pub(super) const BOTH: [Self; 2] = [Self::V4, Self::V6];

    pub(super) fn program(self) -> &'static str {
        match self {
            Self::V4 => "iptables",
            Self::V6 => "ip6tables",
        }
    }

    pub(super) fn of(self, address: &ipnet::IpNet) -> bool {
        matches!(
            (self, address),
            (Self::V4, ipnet::IpNet::V4(_)) | (Self::V6, ipnet::IpNet::V6(_))
        )
    }

    /// Where the nft variant keeps a table.
    pub(super) fn nft_table(self, name: &'static str) -> TableName {
        let family = match self {
            Self::V4 => Family::Ip,
            Self::V6 => Family::Ip6,
        };
        TableName { family, name }
    }

    /// What holds the names of the legacy variant's tables, in the namespace
    /// of this thread.
    pub(super) fn legacy_tables(self) -> &'static str {
        match self {
            Self::V4 => "/proc/thread-self/net/ip_tables_names",
            Self::V6 => "/proc/thread-self/net/ip6_tables_names",
        }
    }
}

/// Which of the kernel's two packet filters a program writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variant {
    Nft,
    Legacy,
}

impl Variant {
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Self::Nft => "nft",
            Self::Legacy => "legacy",
        }
    }
}

/// How rules are written in one go.
#[derive(Clone, Debug)]
enum Restore {
    /// The file behind the program is all programs of its family and goes by
    /// the name it is called.
    Called(PathBuf),
    /// A program of its own.
    Program(PathBuf),
    /// There is none: rule by rule.
    None,
}

/// One of the programs.
#[derive(Clone, Debug)]
pub(super) struct Iptables {
    path: PathBuf,
    protocol: Protocol,
    variant: Option<Variant>,
    restore: Restore,
}

impl Iptables {
    pub(super) fn new(path: PathBuf, protocol: Protocol, search: &OsStr) -> Self {
        let real = path.canonicalize().unwrap_or_else(|_| path.clone());
        let file = real.file_name().and_then(OsStr::to_str).unwrap_or("");
        let multi = file.starts_with("xtables-") && file.ends_with("multi");
        let variant = match file {
            "xtables-nft-multi" => Some(Variant::Nft),
            // Before there were two.
            "xtables-legacy-multi" | "xtables-multi" => Some(Variant::Legacy),
            _ => None,
        };
        let restore = if multi {
            Restore::Called(real)
        } else {
            let name = path.file_name().and_then(OsStr::to_str).unwrap_or("");
            let name = format!("{name}-restore");
            let beside = path.parent().unwrap_or(Path::new("/"));
            find(beside.as_os_str(), &name)
                .or_else(|| find(search, &name))
                .map_or(Restore::None, Restore::Program)
        };
        Self {
            path,
            protocol,
            variant,
            restore,
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn variant(&self) -> Option<Variant> {
        self.variant
    }

    /// The rules of a table, or of one of its chains, and the names of the
    /// chains that are not the kernel's.
    pub(super) fn list(&self, table: &str, chain: Option<&str>) -> Result<Listing, FirewallError> {
        let mut command = Command::new(&self.path);
        command.args(["-w", WAIT, "-t", table, "-S"]).args(chain);
        let printed = run(&mut command, b"", "list rules")?;
        Ok(Listing::read(&String::from_utf8_lossy(&printed)))
    }

    /// Applies a text as iptables-restore reads it to what there is.
    pub(super) fn restore(&self, text: &str) -> Result<(), FirewallError> {
        let mut command = match &self.restore {
            Restore::Called(file) => {
                let mut command = Command::new(file);
                command.arg0(format!("{}-restore", self.protocol.program()));
                command
            }
            Restore::Program(file) => Command::new(file),
            Restore::None => return self.one_by_one(text),
        };
        command.args(["--noflush", "--wait", WAIT]);
        run(&mut command, text.as_bytes(), "apply rules").map(drop)
    }

    fn one_by_one(&self, text: &str) -> Result<(), FirewallError> {
        let mut table = "";
        for line in text.lines().filter(|&line| line != "COMMIT") {
            if let Some(name) = line.strip_prefix('*') {
                table = name;
            } else if let Some(chain) = line.strip_prefix(':') {
                let name = chain.split(' ').next().unwrap_or(chain).to_owned();
                if self.call(table, &["-F".to_owned(), name.clone()]).is_err() {
                    self.call(table, &["-N".to_owned(), name])?;
                }
            } else {
                self.call(table, &words(line))?;
            }
        }
        Ok(())
    }

    fn call(&self, table: &str, arguments: &[String]) -> Result<(), FirewallError> {
        let mut command = Command::new(&self.path);
        command.args(["-w", WAIT, "-t", table]).args(arguments);
        run(&mut command, b"", "apply rules").map(drop)
    }
}

/// What `iptables -S` prints.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) chains: Vec<String>,
    pub(super) rules: Vec<Rule>,
}

impl Listing {
    fn read(printed: &str) -> Self {
        let mut listing = Self::default();
        for line in printed.lines() {
            if let Some(chain) = line.strip_prefix("-N ") {
                listing.chains.push(chain.to_owned());
            } else if let Some(rule) = line.strip_prefix("-A ") {
                listing.rules.push(Rule::read(rule));
            }
        }
        listing
    }

    /// The rules of a chain.
    pub(super) fn of<'a>(&'a self, chain: &'a str) -> impl Iterator<Item = &'a Rule> {
        self.rules.iter().filter(move |rule| rule.chain == chain)
    }
}
