//! The shapes a result has in the versions of the specification. Nothing is
//! read here, so that the order of the fields is all there is to see.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::net::IpAddr;

use serde::Serialize;

use crate::dns::Dns;
use crate::result::{Interface, Ip, ResultError, Success};
use crate::route::Route;
use crate::version::Version;

/// From 0.3.0 on.
#[derive(Serialize)]
struct Current<'a> {
    #[serde(rename = "cniVersion")]
    cni_version: &'static str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    interfaces: Vec<CurrentInterface<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ips: Vec<CurrentIp>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    routes: &'a [Route],
    #[serde(skip_serializing_if = "Option::is_none")]
    dns: Option<&'a Dns>,
}

#[derive(Serialize)]
struct CurrentInterface<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    mac: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mtu: Option<i64>,
    #[serde(skip_serializing_if = "str::is_empty")]
    sandbox: &'a str,
    #[serde(rename = "socketPath", skip_serializing_if = "Option::is_none")]
    socket_path: Option<&'a str>,
    #[serde(rename = "pciID", skip_serializing_if = "Option::is_none")]
    pci_id: Option<&'a str>,
}

#[derive(Serialize)]
struct CurrentIp {
    /// Gone since 1.0.0.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    interface: Option<i64>,
    address: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    gateway: Option<IpAddr>,
}

/// 0.1.0 and 0.2.0: one address for each family.
#[derive(Serialize)]
struct Early<'a> {
    #[serde(rename = "cniVersion")]
    cni_version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    ip4: Option<EarlyIp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ip6: Option<EarlyIp>,
    dns: &'a Dns,
}

#[derive(Serialize)]
struct EarlyIp {
    ip: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    gateway: Option<IpAddr>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    routes: Vec<EarlyRoute>,
}

#[derive(Serialize)]
struct EarlyRoute {
    dst: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    gw: Option<IpAddr>,
}

impl Success {
    /// The result object in the shape of a version, as it is printed.
    ///
    /// 0.1.0 and 0.2.0 have room for the first address of each family, and
    /// for the routes of these families without their attributes; at least
    /// one address there has to be.
    pub fn render(&self, version: Version) -> Result<String, ResultError> {
        let text = if version >= Version::V0_3_0 {
            serde_json::to_string_pretty(&self.current(version))
        } else if self.ips.is_empty() {
            return Err(ResultError::NoAddress(version));
        } else {
            serde_json::to_string_pretty(&self.early(version))
        };
        // OK because maps with keys that are no text are the only thing that
        // cannot be written, and there are none.
        Ok(text.unwrap_or_default())
    }

    fn current(&self, version: Version) -> Current<'_> {
        let before_1_0 = version < Version::V1_0_0;
        let interfaces = self.interfaces.iter();
        let ips = self.ips.iter();
        Current {
            cni_version: version.as_str(),
            interfaces: interfaces
                .map(|interface| interface.current(version))
                .collect(),
            ips: ips.map(|ip| ip.current(before_1_0)).collect(),
            routes: &self.routes,
            dns: (before_1_0 || !self.dns.is_empty()).then_some(&self.dns),
        }
    }

    fn early(&self, version: Version) -> Early<'_> {
        let of = |is_ipv4: bool| {
            let ip = self
                .ips
                .iter()
                .find(|ip| ip.address.addr().is_ipv4() == is_ipv4)?;
            let routes = self
                .routes
                .iter()
                .filter(|route| route.dst.addr().is_ipv4() == is_ipv4);
            Some(EarlyIp {
                ip: ip.address.to_string(),
                gateway: ip.gateway,
                routes: routes
                    .map(|route| EarlyRoute {
                        dst: route.dst.to_string(),
                        gw: route.gw,
                    })
                    .collect(),
            })
        };
        Early {
            cni_version: version.as_str(),
            ip4: of(true),
            ip6: of(false),
            dns: &self.dns,
        }
    }
}

impl Interface {
    fn current(&self, version: Version) -> CurrentInterface<'_> {
        let knows_more = version >= Version::V1_1_0;
        CurrentInterface {
            name: &self.name,
            mac: self.mac.as_deref(),
            mtu: self.mtu.filter(|_| knows_more),
            sandbox: &self.sandbox,
            socket_path: self.socket_path.as_deref().filter(|_| knows_more),
            pci_id: self.pci_id.as_deref().filter(|_| knows_more),
        }
    }
}

impl Ip {
    fn current(&self, has_version: bool) -> CurrentIp {
        let version = if self.address.addr().is_ipv4() {
            "4"
        } else {
            "6"
        };
        CurrentIp {
            version: has_version.then_some(version),
            interface: self.interface,
            address: self.address.to_string(),
            gateway: self.gateway,
        }
    }
}
