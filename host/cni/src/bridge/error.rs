//! Why the `bridge` plugin fails, and the code each fault goes out with.

use std::net::IpAddr;

use ipnet::IpNet;
use wipam_core::error::{CniError, Fault, code};
use wipam_core::result::ResultError;
use wipam_core::version::Version;
use wipam_net::NetError;
use wipam_net::firewall::FirewallError;

use super::config::ConfigError;
use crate::failure::Failure;

/// What makes an invocation fail.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BridgeError {
    /// The protocol's parameters.
    #[error(transparent)]
    Parameters(#[from] Fault),
    /// Standard input, or the component.
    #[error(transparent)]
    Glue(#[from] Failure),
    /// The network configuration.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// An operation on the kernel.
    #[error(transparent)]
    Net(#[from] NetError),
    /// An operation on the firewall.
    #[error(transparent)]
    Firewall(#[from] FirewallError),
    /// The container's namespace cannot be used.
    #[error("failed to open netns {path:?}: {cause}")]
    Netns { path: String, cause: NetError },
    /// The name is another kind of interface's.
    #[error("{name:?} already exists but is not a bridge: it is a {kind} interface")]
    NotABridge { name: String, kind: String },
    /// The bridge does not tell VLANs apart.
    #[error(
        "bridge {0} has VLAN filtering off, so a VLAN would separate nothing: wanted it on (ip \
         link set {0} type bridge vlan_filtering 1)"
    )]
    NoVlanFiltering(String),
    /// The container has an interface of that name.
    #[error(
        "container interface name {name:?} already exists in {netns}: found a {kind} interface"
    )]
    InterfaceExists {
        name: String,
        netns: String,
        kind: String,
    },
    /// No name for the host end was free.
    #[error("no free name {prefix}XXXXXXXX for the host end: tried {tries}")]
    NoFreeName { prefix: String, tries: usize },
    /// The bridge has an address of another subnet.
    #[error(
        "failed to set bridge addr: {link:?} already has an IP address different from {wanted}: \
         found {found} (forceAddress replaces it)"
    )]
    OtherAddress {
        link: String,
        wanted: IpNet,
        found: IpNet,
    },
    /// The kernel is too old, or built without.
    #[error("sysctl {setting}: wanted {wanted}, but this kernel has no such setting")]
    NoSetting { setting: String, wanted: String },
    /// Duplicate address detection found one.
    #[error("address {address} of {link} is somebody else's already")]
    Duplicate { link: String, address: IpNet },
    /// There is no address left for the gateway.
    #[error(
        "no room for a gateway in the subnet of {0}: wanted a gateway from the IPAM plugin, or a \
         shorter prefix"
    )]
    NoRoomForGateway(IpNet),
    /// What the IPAM plugin gave cannot be used.
    #[error("result of the IPAM plugin {plugin}: {cause}")]
    IpamResult { plugin: String, cause: IpamFault },
    /// The IPAM plugin failed: its own error.
    #[error("{msg}")]
    Ipam {
        code: u32,
        msg: String,
        details: String,
    },
    /// The IPAM plugin cannot be run.
    #[error("{0}")]
    NoIpam(String),
    /// prevResult cannot be used.
    #[error("prevResult: {0}")]
    Previous(String),
    /// The result has no shape in the version asked for.
    #[error(transparent)]
    Shape(ResultError),
    /// CHECK found a difference.
    #[error("{0}")]
    Different(String),
    /// STATUS found that containers may have lost the network.
    #[error("{0}")]
    Limited(String),
    /// Several steps failed, each for a reason of its own.
    #[error("{}", join(.0))]
    Several(Vec<BridgeError>),
    /// Randomness cannot be had.
    #[error("random numbers: {0}")]
    Random(rustix::io::Errno),
    /// Nobody took the answer.
    #[error("the answer could not be written: {0}")]
    Undelivered(std::io::Error),
    /// A test wanted it.
    #[error("stopped before step {number}: {step}")]
    Stopped { number: usize, step: String },
}

/// What is wrong with a result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IpamFault {
    /// It is no result.
    #[error("{0}")]
    Unreadable(String),
    /// It has no address.
    #[error("wanted at least one address, found none (IPAM plugin returned missing IP config)")]
    NoAddress,
    /// An address no interface can have.
    #[error("ips[{number}].address: wanted a unicast address, found {found}")]
    Address { number: usize, found: IpNet },
    /// The same address again.
    #[error("ips[{number}].address: found {found} a second time")]
    Twice { number: usize, found: IpNet },
    /// A gateway of the other family.
    #[error("ips[{number}].gateway: wanted an address of the family of {address}, found {found}")]
    Gateway {
        number: usize,
        address: IpNet,
        found: IpAddr,
    },
    /// A destination that is an address, not a network.
    #[error("routes[{number}].dst: wanted {wanted}, found {found} (host bits are set)")]
    HostBits {
        number: usize,
        found: IpNet,
        wanted: IpNet,
    },
    /// The same route again.
    #[error("routes[{number}]: found the route to {dst} a second time")]
    RouteTwice { number: usize, dst: IpNet },
    /// A number that does not fit.
    #[error("routes[{number}].{field}: wanted 0 to {most}, found {found}")]
    Number {
        number: usize,
        field: &'static str,
        most: u32,
        found: i64,
    },
}

fn join(errors: &[BridgeError]) -> String {
    let texts: Vec<_> = errors.iter().map(ToString::to_string).collect();
    texts.join("; ")
}

impl From<ResultError> for BridgeError {
    fn from(error: ResultError) -> Self {
        Self::Shape(error)
    }
}

impl BridgeError {
    /// One error for all that went wrong; nothing if nothing did.
    pub(crate) fn all(mut errors: Vec<Self>) -> Result<(), Self> {
        match errors.len() {
            0 => Ok(()),
            1 => errors.pop().map_or(Ok(()), Err),
            _ => Err(Self::Several(errors)),
        }
    }

    /// Whether it is what the IPAM plugin allocated that cannot be used.
    pub(crate) fn is_of_allocation(&self) -> bool {
        matches!(
            self,
            Self::IpamResult { .. } | Self::OtherAddress { .. } | Self::NoRoomForGateway(_)
        )
    }

    /// The table: spec 1.1, "Error", and our own from 100 on.
    pub(crate) fn code(&self) -> u32 {
        match self {
            Self::Parameters(fault) => fault.code(),
            Self::Glue(failure) => failure.to_cni().code,
            Self::Config(ConfigError::Args(_)) => code::ENVIRONMENT,
            Self::Config(_) | Self::NoVlanFiltering(_) | Self::NoRoomForGateway(_) => code::CONFIG,
            Self::Netns { .. } => code::ENVIRONMENT,
            Self::Ipam { code: 0, .. } => code::INTERNAL,
            Self::Ipam { code, .. } => *code,
            Self::Limited(_) => code::LIMITED,
            Self::Several(errors) => errors.first().map_or(code::INTERNAL, Self::code),
            Self::Net(_)
            | Self::Firewall(_)
            | Self::NotABridge { .. }
            | Self::InterfaceExists { .. }
            | Self::NoFreeName { .. }
            | Self::OtherAddress { .. }
            | Self::NoSetting { .. }
            | Self::Duplicate { .. }
            | Self::IpamResult { .. }
            | Self::NoIpam(_)
            | Self::Previous(_)
            | Self::Shape(_)
            | Self::Different(_)
            | Self::Random(_)
            | Self::Undelivered(_)
            | Self::Stopped { .. } => code::INTERNAL,
        }
    }

    /// The error object to print.
    pub(crate) fn to_cni(&self, version: Version) -> CniError {
        if let Self::Parameters(fault) = self {
            return CniError::new(version, fault);
        }
        CniError {
            cni_version: version.as_str(),
            code: self.code(),
            msg: self.to_string(),
            details: match self {
                Self::Ipam { details, .. } => details.clone(),
                _ => String::new(),
            },
        }
    }
}
