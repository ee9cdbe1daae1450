//! CNI errors, and the one table that gives every fault its code.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

use serde::Serialize;

use crate::allocate::AllocateError;
use crate::config::ConfigError;
use crate::json::JsonError;
use crate::names::{NameError, NetworkName};
use crate::result::ResultError;
use crate::store::{StoreError, StoreErrorKind};
use crate::version::{Version, VersionError};

/// Codes of the specification (1.1, "Error"), of libcni, and ours from 100.
pub mod code {
    /// `cniVersion` does not fit.
    pub const INCOMPATIBLE_VERSION: u32 = 1;
    /// A `CNI_*` variable is missing or unusable.
    pub const ENVIRONMENT: u32 = 4;
    /// Reading or writing failed.
    pub const IO: u32 = 5;
    /// Standard input is no JSON, or a field of its frame has the wrong type.
    pub const DECODE: u32 = 6;
    /// The network configuration cannot be used.
    pub const CONFIG: u32 = 7;
    /// libcni's: the name space is the plugin's own.
    pub const NETNS: u32 = 8;
    /// May work later: the lock is held, or no address is free.
    pub const TRY_AGAIN: u32 = 11;
    /// STATUS: an ADD would not work.
    pub const UNAVAILABLE: u32 = 50;
    /// Spec: nobody can be attached now, and those who are may have lost the
    /// network.
    pub const LIMITED: u32 = 51;
    /// Ours: the component crashed.
    pub const COMPONENT_TRAPPED: u32 = 100;
    /// Ours: the component exceeded a limit.
    pub const COMPONENT_OVERRAN: u32 = 101;
    /// Ours: the component could not be loaded.
    pub const COMPONENT_UNUSABLE: u32 = 102;
    /// Ours: the policy of the configuration failed.
    pub const POLICY_FAILED: u32 = 103;
    /// libcni's code for what has none. The reference uses it for a repeated
    /// ADD and for a CHECK that finds nothing, and so do we.
    pub const INTERNAL: u32 = 999;
}

/// What makes an invocation fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A variable is not set.
    MissingVariables(String),
    /// A variable holds no name.
    Variable(NameError),
    /// `CNI_COMMAND` is none we know.
    UnknownCommand(String),
    /// Standard input is no JSON object.
    Document(JsonError),
    /// `cniVersion` is no text.
    VersionType(JsonError),
    /// `cniVersion` does not fit.
    Version(VersionError),
    /// `name` is missing.
    NoNetworkName,
    /// `name` is no network name.
    NetworkName(NameError),
    /// The rest of the configuration.
    Config(ConfigError),
    /// The name space is the plugin's own.
    OwnNamespace(String),
    /// The store failed.
    Store(StoreError),
    /// No allocation was possible.
    Allocate {
        /// Where.
        network: NetworkName,
        /// Why.
        cause: AllocateError,
    },
    /// A result cannot be read, or not be said in a version.
    Result(ResultError),
    /// CHECK found no reservation.
    NotReserved {
        /// The container.
        container: String,
        /// What was looked for, and where.
        sought: String,
    },
    /// GC came without a list of valid attachments, or with an unreadable one.
    ValidAttachments(String),
    /// STATUS found that an ADD would not work.
    Unavailable(String),
}

impl From<ConfigError> for Fault {
    fn from(error: ConfigError) -> Self {
        Self::Config(error)
    }
}

impl From<ResultError> for Fault {
    fn from(error: ResultError) -> Self {
        Self::Result(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl Fault {
    /// The table.
    pub fn code(&self) -> u32 {
        match self {
            Self::MissingVariables(_) | Self::Variable(_) | Self::UnknownCommand(_) => {
                code::ENVIRONMENT
            }
            Self::Document(_) | Self::VersionType(_) => code::DECODE,
            Self::Version(VersionError::Unreadable(_)) => code::DECODE,
            Self::Version(_) => code::INCOMPATIBLE_VERSION,
            Self::NoNetworkName | Self::NetworkName(_) => code::CONFIG,
            Self::Config(ConfigError::Args(_)) => code::ENVIRONMENT,
            Self::Config(_) | Self::ValidAttachments(_) => code::CONFIG,
            Self::OwnNamespace(_) => code::NETNS,
            Self::Store(error) => store_code(error),
            Self::Allocate { cause, .. } => match cause {
                AllocateError::Exhausted { .. }
                | AllocateError::Taken { .. }
                | AllocateError::Denied { .. } => code::TRY_AGAIN,
                AllocateError::Policy { .. } => code::POLICY_FAILED,
                AllocateError::Gateway { .. }
                | AllocateError::SubnetAddress { .. }
                | AllocateError::Excluded { .. }
                | AllocateError::Unfulfilled { .. } => code::CONFIG,
                AllocateError::Duplicate { .. } => code::INTERNAL,
                AllocateError::Store { cause } => store_code(cause),
            },
            Self::Result(ResultError::Field(_) | ResultError::Version { .. }) => code::DECODE,
            Self::Result(ResultError::NoAddress(_)) => code::CONFIG,
            Self::NotReserved { .. } => code::INTERNAL,
            Self::Unavailable(_) => code::UNAVAILABLE,
        }
    }

    /// What was found, or more than fits a line.
    fn details(&self) -> String {
        match self {
            Self::Variable(error) | Self::NetworkName(error) => error.details().to_owned(),
            Self::Version(VersionError::Incompatible(found)) => {
                let known: alloc::vec::Vec<_> = Version::ALL
                    .iter()
                    .map(|v| format!("{:?}", v.as_str()))
                    .collect();
                format!("config is {found:?}, plugin supports [{}]", known.join(" "))
            }
            Self::NotReserved { sought, .. } => sought.clone(),
            Self::Allocate { network, .. } => format!("network {network}"),
            _ => String::new(),
        }
    }
}

fn store_code(error: &StoreError) -> u32 {
    match error.kind {
        StoreErrorKind::Busy => code::TRY_AGAIN,
        StoreErrorKind::Io => code::IO,
        StoreErrorKind::Location => code::CONFIG,
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingVariables(names) => write!(f, "required env variables [{names}] missing"),
            Self::Variable(error) | Self::NetworkName(error) => error.fmt(f),
            Self::UnknownCommand(command) => write!(f, "unknown CNI_COMMAND: {command}"),
            Self::Document(error) => write!(f, "error unmarshall network config: {error}"),
            Self::VersionType(error) => {
                write!(f, "decoding version from network config: {error}")
            }
            Self::Version(error) => error.fmt(f),
            Self::NoNetworkName => f.write_str("missing network name"),
            Self::Config(error) => error.fmt(f),
            Self::OwnNamespace(path) => write!(
                f,
                "plugin's netns and netns from CNI_NETNS should not be the same: {path} is the \
                 name space this plugin runs in"
            ),
            Self::Store(error) => error.fmt(f),
            Self::Allocate { cause, .. } => cause.fmt(f),
            Self::Result(error) => error.fmt(f),
            Self::NotReserved { container, .. } => {
                write!(
                    f,
                    "host-local: Failed to find address added by container {container}"
                )
            }
            Self::ValidAttachments(cause) => f.write_str(cause),
            Self::Unavailable(cause) => f.write_str(cause),
        }
    }
}

impl core::error::Error for Fault {}

/// An error as it goes to standard output: spec 1.1, "Error".
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CniError {
    /// The version the configuration asked for, where it is one of ours.
    #[serde(rename = "cniVersion")]
    pub cni_version: &'static str,
    /// Code, by [`Fault::code`].
    pub code: u32,
    /// For people: lower case, no full stop.
    pub msg: String,
    /// More of it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub details: String,
}

impl CniError {
    /// The error object for a fault.
    pub fn new(version: Version, fault: &Fault) -> Self {
        Self {
            cni_version: version.as_str(),
            code: fault.code(),
            msg: fault.to_string(),
            details: fault.details(),
        }
    }
}
