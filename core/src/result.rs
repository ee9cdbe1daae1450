//! What ADD prints, in the shape of each version of the specification.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::net::IpAddr;

use serde::Serialize;

use crate::allocate::Allocation;
use crate::dns::Dns;
use crate::route::Route;
use crate::version::Version;

/// ADD's answer before it has a shape.
pub struct Outcome<'a> {
    /// One address from each range set, in the order of the sets.
    pub allocations: &'a [Allocation],
    /// Routes of the configuration.
    pub routes: &'a [Route],
    /// Name resolution settings.
    pub dns: &'a Dns,
}

/// From 0.3.0 on.
#[derive(Serialize)]
struct Current<'a> {
    #[serde(rename = "cniVersion")]
    cni_version: &'static str,
    ips: Vec<Ip>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    routes: &'a [Route],
    #[serde(skip_serializing_if = "Option::is_none")]
    dns: Option<&'a Dns>,
}

#[derive(Serialize)]
struct Ip {
    /// Gone since 1.0.0.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'static str>,
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

impl Outcome<'_> {
    /// The result object of this version.
    pub fn render(&self, version: Version) -> String {
        let text = if version < Version::V0_3_0 {
            serde_json::to_string_pretty(&self.early(version))
        } else {
            serde_json::to_string_pretty(&self.current(version))
        };
        // OK because maps with keys that are no text are the only thing that
        // cannot be written, and there are none.
        text.unwrap_or_default()
    }

    fn current(&self, version: Version) -> Current<'_> {
        let before_1_0 = version < Version::V1_0_0;
        let ips = self
            .allocations
            .iter()
            .map(|allocation| Ip {
                version: before_1_0.then_some(if allocation.address.is_ipv4() {
                    "4"
                } else {
                    "6"
                }),
                address: allocation.in_cidr().to_string(),
                gateway: allocation.gateway,
            })
            .collect();
        let dns = (before_1_0 || !self.dns.is_empty()).then_some(self.dns);
        Current {
            cni_version: version.as_str(),
            ips,
            routes: self.routes,
            dns,
        }
    }

    fn early(&self, version: Version) -> Early<'_> {
        let of = |is_ipv4: bool| {
            let allocation = self
                .allocations
                .iter()
                .find(|a| a.address.is_ipv4() == is_ipv4)?;
            let routes = self
                .routes
                .iter()
                .filter(|route| route.dst.addr().is_ipv4() == is_ipv4);
            Some(EarlyIp {
                ip: allocation.in_cidr().to_string(),
                gateway: allocation.gateway,
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
            dns: self.dns,
        }
    }
}

/// What VERSION prints.
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
    // OK for the reason above.
    serde_json::to_string_pretty(&info).unwrap_or_default()
}
