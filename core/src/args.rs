//! `CNI_ARGS`: `KEY=VALUE` pairs, separated by semicolons.

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;

use crate::address::{AddressError, parse_request};

/// What `host-local` takes from `CNI_ARGS`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Args {
    /// `IP`: the address asked for, and the prefix length if one was written.
    pub ip: Option<(IpAddr, Option<u8>)>,
}

/// Why `CNI_ARGS` cannot be used. The texts are libcni's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgsError {
    /// Not `KEY=VALUE`.
    Pair(String),
    /// `IgnoreUnknown` is neither true nor false.
    IgnoreUnknown {
        /// The pair.
        pair: String,
        /// Its value.
        value: String,
    },
    /// `IP` is no address.
    Ip {
        /// The pair.
        pair: String,
        /// Its value.
        value: String,
        /// What is wrong with it.
        cause: AddressError,
    },
    /// Keys nobody knows, and `IgnoreUnknown` is not set.
    Unknown(Vec<String>),
}

impl fmt::Display for ArgsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pair(pair) => write!(f, "ARGS: invalid pair {}", Quoted(pair)),
            Self::IgnoreUnknown { pair, value } => write!(
                f,
                "ARGS: error parsing value of pair {}: boolean unmarshal error: invalid input {value}",
                Quoted(pair)
            ),
            Self::Ip { pair, value, cause } => {
                write!(
                    f,
                    "ARGS: error parsing value of pair {}: {cause} {value}",
                    Quoted(pair)
                )
            }
            Self::Unknown(pairs) => {
                f.write_str("ARGS: unknown args [")?;
                for (n, pair) in pairs.iter().enumerate() {
                    write!(f, "{}{}", if n == 0 { "" } else { " " }, Quoted(pair))?;
                }
                f.write_str("]")
            }
        }
    }
}

impl core::error::Error for ArgsError {}

/// A text in double quotes, with control characters made visible.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' | '\t' | '\n' | '\r' => write!(f, "{}", c.escape_default())?,
                c if c.is_control() => write!(f, "\\x{:02x}", u32::from(c))?,
                c => write!(f, "{c}")?,
            }
        }
        f.write_str("\"")
    }
}

impl Args {
    /// Reads the variable. Keys are case-sensitive, and those that are neither
    /// ours nor `known` to somebody else are an error unless `IgnoreUnknown` is
    /// true, wherever it stands.
    pub fn parse(text: &str, known: &[&str]) -> Result<Self, ArgsError> {
        let mut args = Self::default();
        let known: Vec<&str> = known.iter().copied().chain(["IP"]).collect();
        read(text, &known, |pair, key, value| {
            if key != "IP" {
                return Ok(());
            }
            args.ip = match value {
                "" => None,
                _ => Some(parse_request(value).map_err(|cause| ArgsError::Ip {
                    pair: pair.to_owned(),
                    value: value.to_owned(),
                    cause,
                })?),
            };
            Ok(())
        })?;
        Ok(args)
    }
}

/// The pairs whose keys are among `known`, in their order, for plugins with
/// other keys than host-local's. The rules are those of [`Args::parse`].
pub fn known_pairs(text: &str, known: &[&str]) -> Result<Vec<(String, String)>, ArgsError> {
    let mut pairs = Vec::new();
    read(text, known, |_, key, value| {
        pairs.push((key.to_owned(), value.to_owned()));
        Ok(())
    })?;
    Ok(pairs)
}

/// Every pair that is one, in their order, whatever its key.
pub fn pairs(text: &str) -> Vec<(String, String)> {
    let pairs = text.split(';').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect()
}

/// Hands each known pair to `take`: all of it, its key and its value.
fn read(
    text: &str,
    known: &[&str],
    mut take: impl FnMut(&str, &str, &str) -> Result<(), ArgsError>,
) -> Result<(), ArgsError> {
    let mut ignore_unknown = false;
    let mut unknown = Vec::new();
    if text.is_empty() {
        return Ok(());
    }
    for pair in text.split(';') {
        let (key, value) = pair
            .split_once('=')
            .filter(|(_, value)| !value.contains('='))
            .ok_or_else(|| ArgsError::Pair(pair.to_owned()))?;
        match key {
            "IgnoreUnknown" => {
                ignore_unknown = match value.to_ascii_lowercase().as_str() {
                    "1" | "true" => true,
                    "0" | "false" => false,
                    _ => {
                        return Err(ArgsError::IgnoreUnknown {
                            pair: pair.to_owned(),
                            value: value.to_owned(),
                        });
                    }
                }
            }
            _ if known.contains(&key) => take(pair, key, value)?,
            _ => unknown.push(pair.to_owned()),
        }
    }
    if !unknown.is_empty() && !ignore_unknown {
        return Err(ArgsError::Unknown(unknown));
    }
    Ok(())
}
