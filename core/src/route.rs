//! Routes of a network configuration, handed through to the result.

use core::net::IpAddr;

use ipnet::IpNet;
use serde::Serialize;

use crate::address::{parse_address, parse_prefix};
use crate::config::ConfigError;
use crate::json::Object;

/// A route: spec 1.1, "Success", `routes`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Route {
    /// Destination. Host bits are kept as they were written.
    pub dst: IpNet,
    /// Next hop; without one the gateway of the address is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gw: Option<IpAddr>,
    /// Largest packet along the route, in bytes; 0 means not set.
    #[serde(skip_serializing_if = "is_unset")]
    pub mtu: i64,
    /// Maximum segment size to advertise, in bytes; 0 means not set.
    #[serde(skip_serializing_if = "is_unset")]
    pub advmss: i64,
    /// Lower goes first; 0 means not set.
    #[serde(skip_serializing_if = "is_unset")]
    pub priority: i64,
    /// Routing table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub table: Option<i64>,
    /// Scope, as the kernel numbers them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<i64>,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature serde asks for"
)]
fn is_unset(number: &i64) -> bool {
    *number == 0
}

impl Route {
    /// Reads one element of `routes`.
    pub fn read(route: &Object<'_>) -> Result<Self, ConfigError> {
        let dst = route.text("dst")?.unwrap_or_default();
        let gw = route.text("gw")?.filter(|gw| !gw.is_empty());
        Ok(Self {
            dst: parse_prefix(&dst).map_err(|e| route.invalid("dst", &dst, e))?,
            gw: gw
                .map(|gw| parse_address(&gw).map_err(|e| route.invalid("gw", &gw, e)))
                .transpose()?,
            mtu: route.integer("mtu")?.unwrap_or_default(),
            advmss: route.integer("advmss")?.unwrap_or_default(),
            priority: route.integer("priority")?.unwrap_or_default(),
            table: route.integer("table")?,
            scope: route.integer("scope")?,
        })
    }
}
