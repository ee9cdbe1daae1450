//! The result of an ADD as plugins hand it on: read from the shape of any
//! version of the specification, and printed in that of any other.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;

use ipnet::IpNet;

use crate::address::{parse_address, parse_prefix};
use crate::allocate::Allocation;
use crate::config::ConfigError;
use crate::dns::Dns;
use crate::json::{Field, JsonError, Object};
use crate::route::Route;
use crate::version::Version;

/// A result: spec 1.1, "Success".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Success {
    /// The interfaces of the attachment, on the host and in the container.
    /// IPAM plugins name none.
    pub interfaces: Vec<Interface>,
    /// The addresses of the attachment.
    pub ips: Vec<Ip>,
    /// The routes of the attachment.
    pub routes: Vec<Route>,
    /// Name resolution settings.
    pub dns: Dns,
}

/// An interface: spec 1.1, "Success", `interfaces`. Empty texts are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// Its hardware address, as it was written.
    pub mac: Option<String>,
    /// Largest packet, in bytes. Since 1.1.0.
    pub mtu: Option<i64>,
    /// The network name space it is in; empty on the host.
    pub sandbox: String,
    /// Path of the socket behind it. Since 1.1.0.
    pub socket_path: Option<String>,
    /// The PCI device behind it. Since 1.1.0.
    pub pci_id: Option<String>,
}

/// An address: spec 1.1, "Success", `ips`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ip {
    /// Number of its interface in `interfaces`, as it was written: nobody
    /// checked that there is one.
    pub interface: Option<i64>,
    /// The address with the length of its subnet; host bits are kept.
    pub address: IpNet,
    /// Gateway of the subnet.
    pub gateway: Option<IpAddr>,
}

impl From<&Allocation> for Ip {
    fn from(allocation: &Allocation) -> Self {
        Self {
            interface: None,
            address: allocation.in_cidr(),
            gateway: allocation.gateway,
        }
    }
}

/// Why a result cannot be read, or not printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResultError {
    /// A field is of the wrong type, or no address.
    Field(ConfigError),
    /// `cniVersion` is none of ours, so the shape is not known.
    Version {
        /// The field.
        path: String,
        /// What it holds.
        found: String,
    },
    /// A result without addresses, before version 0.3.0.
    NoAddress(Version),
}

impl fmt::Display for ResultError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(error) => error.fmt(f),
            Self::Version { path, found } => {
                write!(f, "{path}: wanted one of")?;
                for version in Version::ALL {
                    write!(f, " {version}")?;
                }
                write!(f, ", found {found:?}")
            }
            Self::NoAddress(version) => write!(
                f,
                "cannot convert: no valid IP addresses, and a result of version {version} has to \
                 have one"
            ),
        }
    }
}

impl core::error::Error for ResultError {}

impl From<ConfigError> for ResultError {
    fn from(error: ConfigError) -> Self {
        Self::Field(error)
    }
}

impl From<JsonError> for ResultError {
    fn from(error: JsonError) -> Self {
        Self::Field(error.into())
    }
}

impl Success {
    /// Reads a result in the shape that its own `cniVersion` names, such as
    /// an IPAM plugin's answer or `prevResult`.
    ///
    /// Where it names none, `otherwise` counts, which is the version of the
    /// network configuration: plugins have to answer in that, and some leave
    /// the field out.
    pub fn read(result: &Object<'_>, otherwise: Version) -> Result<Self, ResultError> {
        let asked = result.text("cniVersion")?.filter(|text| !text.is_empty());
        let version = match asked {
            None => otherwise,
            Some(found) => Version::of_config(&found).map_err(|_| ResultError::Version {
                path: result.path_of("cniVersion"),
                found,
            })?,
        };
        let mut success = Self {
            dns: Dns::read(&result.object("dns")?)?,
            ..Self::default()
        };
        if version < Version::V0_3_0 {
            for family in ["ip4", "ip6"] {
                if result.get(family).is_some() {
                    success.read_family(&result.object(family)?)?;
                }
            }
            return Ok(success);
        }
        success.interfaces = elements(result, "interfaces", |o| Interface::read(o, version))?;
        success.ips = elements(result, "ips", |ip| Ip::read(ip, "address"))?;
        success.routes = elements(result, "routes", |route| Ok(Route::read(route)?))?;
        Ok(success)
    }

    /// `ip4` or `ip6` of 0.1.0 and 0.2.0.
    fn read_family(&mut self, family: &Object<'_>) -> Result<(), ResultError> {
        self.ips.push(Ip::read(family, "ip")?);
        self.routes
            .extend(elements(family, "routes", |route| Ok(Route::read(route)?))?);
        Ok(())
    }
}

/// The objects of a list. A `null` among them is an error: left out, it would
/// shift the numbers of those that follow.
fn elements<T>(
    parent: &Object<'_>,
    name: &str,
    read: impl Fn(&Object<'_>) -> Result<T, ResultError>,
) -> Result<Vec<T>, ResultError> {
    let one = |field: &Field<'_>| {
        if field.is_null() {
            return Err(field.mismatch("an object").into());
        }
        read(&field.object()?)
    };
    parent.list(name)?.iter().map(one).collect()
}

impl Interface {
    fn read(interface: &Object<'_>, version: Version) -> Result<Self, ResultError> {
        let text = |name| {
            let text = interface.text(name)?;
            Ok::<_, JsonError>(text.filter(|text| !text.is_empty()))
        };
        let mut read = Self {
            name: text("name")?.unwrap_or_default(),
            mac: text("mac")?,
            sandbox: text("sandbox")?.unwrap_or_default(),
            ..Self::default()
        };
        // In earlier versions they are fields that nobody knows.
        if version >= Version::V1_1_0 {
            read.mtu = interface.integer("mtu")?.filter(|mtu| *mtu != 0);
            read.socket_path = text("socketPath")?;
            read.pci_id = text("pciID")?;
        }
        Ok(read)
    }
}

impl Ip {
    fn read(ip: &Object<'_>, name: &str) -> Result<Self, ResultError> {
        let address = ip.text(name)?.unwrap_or_default();
        let gateway = ip.text("gateway")?.filter(|gateway| !gateway.is_empty());
        Ok(Self {
            interface: ip.integer("interface")?,
            address: parse_prefix(&address).map_err(|e| ip.invalid(name, &address, e))?,
            gateway: gateway
                .map(|text| parse_address(&text).map_err(|e| ip.invalid("gateway", &text, e)))
                .transpose()?,
        })
    }
}
