//! What an IPAM plugin's result means for routes and gateways.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use wipam_core::result::Success;
use wipam_core::route::Route;

use super::config::Config;
use super::error::{BridgeError, IpamFault};
use super::step::Step;

/// Number of the container's interface in the result.
const CONTAINER: i64 = 2;

/// A result that was checked and completed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gateways {
    /// The result, with gateways and default routes added where the
    /// configuration asks for them.
    pub(crate) result: Success,
    /// The addresses the bridge has as a gateway.
    pub(crate) addresses: Vec<IpNet>,
}

/// The network of every address of a family.
fn everywhere(address: IpAddr) -> IpNet {
    let any: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    IpNet::new_assert(any, 0)
}

/// The address after the subnet's own, which Go's plugin computes as well.
fn first(address: IpNet) -> Option<IpAddr> {
    let next = match address.network() {
        IpAddr::V4(v4) => v4
            .to_bits()
            .checked_add(1)
            .map(|n| Ipv4Addr::from_bits(n).into()),
        IpAddr::V6(v6) => v6
            .to_bits()
            .checked_add(1)
            .map(|n| Ipv6Addr::from_bits(n).into()),
    };
    next.filter(|next| address.contains(next))
}

impl Gateways {
    /// Checks a result and completes it.
    pub(crate) fn of(
        mut result: Success,
        config: &Config,
        plugin: &str,
    ) -> Result<Self, BridgeError> {
        check(&result).map_err(|cause| BridgeError::IpamResult {
            plugin: plugin.to_owned(),
            cause,
        })?;
        let mut addresses = Vec::new();
        let mut routes = std::mem::take(&mut result.routes);
        for ip in &mut result.ips {
            // IPAM plugins know of no interfaces, and all they give is for
            // this one.
            ip.interface = Some(CONTAINER);
            if !config.gateway {
                continue;
            }
            let gateway = match ip.gateway.or_else(|| first(ip.address)) {
                Some(gateway) => gateway,
                None => return Err(BridgeError::NoRoomForGateway(ip.address)),
            };
            ip.gateway = Some(gateway);
            let everywhere = everywhere(gateway);
            let there = routes
                .iter()
                .any(|route| route.dst == everywhere && route.table.is_none());
            if config.default_gateway && !there {
                routes.push(Route {
                    dst: everywhere,
                    gw: Some(gateway),
                    mtu: 0,
                    advmss: 0,
                    priority: 0,
                    table: None,
                    scope: None,
                });
            }
            let address = IpNet::new(gateway, ip.address.prefix_len());
            addresses.extend(address);
        }
        result.routes = routes;
        addresses.dedup();
        Ok(Self { result, addresses })
    }

    /// The routes of the container.
    pub(crate) fn routes(&self, link: &str) -> impl Iterator<Item = Step> {
        let first_gateway = |v4: bool| {
            let mut gateways = self.result.ips.iter().filter_map(|ip| ip.gateway);
            gateways.find(|gateway| gateway.is_ipv4() == v4)
        };
        let number = |value: i64| u32::try_from(value).unwrap_or_default();
        self.result
            .routes
            .iter()
            .enumerate()
            .map(move |(place, route)| Step::AddRoute {
                link: link.to_owned(),
                number: place,
                destination: route.dst,
                gateway: route
                    .gw
                    .or_else(|| first_gateway(route.dst.addr().is_ipv4())),
                metric: number(route.priority),
                table: number(route.table.unwrap_or_default()),
                scope: route
                    .scope
                    .and_then(|scope| u8::try_from(scope).ok())
                    .unwrap_or_default(),
                mtu: number(route.mtu),
                advertised_mss: number(route.advmss),
            })
            .collect::<Vec<_>>()
            .into_iter()
    }
}

/// What no kernel would take, said before it is asked.
fn check(result: &Success) -> Result<(), IpamFault> {
    if result.ips.is_empty() {
        return Err(IpamFault::NoAddress);
    }
    for (number, ip) in result.ips.iter().enumerate() {
        let (address, found) = (ip.address.addr(), ip.address);
        if address.is_unspecified() || address.is_multicast() || address.is_loopback() {
            return Err(IpamFault::Address { number, found });
        }
        let earlier = result.ips.iter().take(number);
        if earlier.clone().any(|ip| ip.address.addr() == address) {
            return Err(IpamFault::Twice { number, found });
        }
        let other = ip.gateway.filter(|gw| gw.is_ipv4() != address.is_ipv4());
        if let Some(gateway) = other {
            return Err(IpamFault::Gateway {
                number,
                address: found,
                found: gateway,
            });
        }
    }
    for (number, route) in result.routes.iter().enumerate() {
        check_route(number, route, result.routes.iter().take(number))?;
    }
    Ok(())
}

fn check_route<'a>(
    number: usize,
    route: &Route,
    mut earlier: impl Iterator<Item = &'a Route>,
) -> Result<(), IpamFault> {
    let wanted = route.dst.trunc();
    if wanted != route.dst {
        return Err(IpamFault::HostBits {
            number,
            found: route.dst,
            wanted,
        });
    }
    let key = |route: &Route| (route.dst, route.priority, route.table);
    if earlier.any(|other| key(other) == key(route)) {
        return Err(IpamFault::RouteTwice {
            number,
            dst: route.dst,
        });
    }
    for (field, found, most) in [
        ("mtu", route.mtu, u32::MAX),
        ("advmss", route.advmss, u32::MAX),
        ("priority", route.priority, u32::MAX),
        ("table", route.table.unwrap_or_default(), u32::MAX),
        ("scope", route.scope.unwrap_or_default(), u8::MAX.into()),
    ] {
        if !(0..=i64::from(most)).contains(&found) {
            return Err(IpamFault::Number {
                number,
                field,
                most,
                found,
            });
        }
    }
    Ok(())
}
