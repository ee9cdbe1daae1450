//! Routes.

use std::net::IpAddr;

use ipnet::IpNet;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol,
    RouteScope, RouteType,
};

use crate::address::family;
use crate::error::NetError;
use crate::socket::Kernel;

/// A route to a destination out of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Where to; host bits have to be 0.
    pub destination: IpNet,
    /// Next hop; without one the destination is on the link.
    pub gateway: Option<IpAddr>,
    /// The interface's number.
    pub link: u32,
    /// Lower goes first. 0: the kernel's default.
    pub metric: u32,
    /// Routing table; 0 or 254: the main one.
    pub table: u32,
    /// Scope, as the kernel numbers them; 0 is everywhere.
    pub scope: u8,
    /// Largest packet in bytes; 0: the interface's.
    pub mtu: u32,
    /// Largest TCP segment to offer, in bytes; 0: the kernel's choice.
    pub advertised_mss: u32,
}

impl Kernel {
    /// Adds a route. `EEXIST` if there is one to the same destination with the
    /// same metric in the same table.
    pub fn add_route(&mut self, route: &Route) -> Result<(), NetError> {
        self.change(
            || format!("adding a route to {}", route.destination),
            RouteNetlinkMessage::NewRoute(route.message()),
            NLM_F_CREATE | NLM_F_EXCL,
        )
    }

    /// The unicast routes of both families, in every table but the local one.
    pub fn routes(&mut self) -> Result<Vec<Route>, NetError> {
        let mut routes = Vec::new();
        for any in [IpAddr::from([0; 4]), IpAddr::from([0; 16])] {
            let mut request = RouteMessage::default();
            request.header.address_family = family(any);
            let found = self.dump(
                || "listing routes".to_owned(),
                &RouteNetlinkMessage::GetRoute(request),
            )?;
            routes.extend(found.into_iter().filter_map(Route::read));
        }
        Ok(routes)
    }
}

impl Route {
    fn message(&self) -> RouteMessage {
        let mut message = RouteMessage::default();
        message.header = RouteHeader {
            address_family: family(self.destination.addr()),
            destination_prefix_length: self.destination.prefix_len(),
            table: u8::try_from(self.table_or_main()).unwrap_or(RouteHeader::RT_TABLE_UNSPEC),
            protocol: RouteProtocol::Boot,
            scope: RouteScope::from(self.scope),
            kind: RouteType::Unicast,
            ..RouteHeader::default()
        };
        let attributes = &mut message.attributes;
        attributes.push(RouteAttribute::Destination(self.destination.addr().into()));
        attributes.extend(self.gateway.map(|gw| RouteAttribute::Gateway(gw.into())));
        attributes.push(RouteAttribute::Oif(self.link));
        attributes.push(RouteAttribute::Table(self.table_or_main()));
        if self.metric != 0 {
            attributes.push(RouteAttribute::Priority(self.metric));
        }
        let mut metrics = Vec::new();
        if self.mtu != 0 {
            metrics.push(RouteMetric::Mtu(self.mtu));
        }
        if self.advertised_mss != 0 {
            metrics.push(RouteMetric::Advmss(self.advertised_mss));
        }
        if !metrics.is_empty() {
            attributes.push(RouteAttribute::Metrics(metrics));
        }
        message
    }

    /// The number of its table.
    pub fn table_or_main(&self) -> u32 {
        match self.table {
            0 => u32::from(RouteHeader::RT_TABLE_MAIN),
            table => table,
        }
    }

    fn read(message: RouteNetlinkMessage) -> Option<Self> {
        let RouteNetlinkMessage::NewRoute(message) = message else {
            return None;
        };
        let header = message.header;
        if header.kind != RouteType::Unicast {
            return None;
        }
        let any: IpAddr = match header.address_family {
            netlink_packet_route::AddressFamily::Inet => [0; 4].into(),
            _ => [0; 16].into(),
        };
        let mut route = Self {
            destination: IpNet::new(any, header.destination_prefix_length).ok()?,
            gateway: None,
            link: 0,
            metric: 0,
            table: u32::from(header.table),
            scope: header.scope.into(),
            mtu: 0,
            advertised_mss: 0,
        };
        for attribute in message.attributes {
            match attribute {
                RouteAttribute::Destination(address) => {
                    route.destination =
                        IpNet::new(ip(&address)?, header.destination_prefix_length).ok()?;
                }
                RouteAttribute::Gateway(address) => route.gateway = ip(&address),
                RouteAttribute::Oif(link) => route.link = link,
                RouteAttribute::Priority(metric) => route.metric = metric,
                RouteAttribute::Table(table) => route.table = table,
                RouteAttribute::Metrics(metrics) => {
                    for metric in metrics {
                        match metric {
                            RouteMetric::Mtu(mtu) => route.mtu = mtu,
                            RouteMetric::Advmss(mss) => route.advertised_mss = mss,
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
        Some(route)
    }
}

fn ip(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(v4) => Some((*v4).into()),
        RouteAddress::Inet6(v6) => Some((*v6).into()),
        _ => None,
    }
}
