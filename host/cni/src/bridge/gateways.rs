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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use wipam_core::json::Field;
    use wipam_core::version::Version;

    use super::*;

    fn gateways(config: &str, result: &str) -> Result<Gateways, BridgeError> {
        let read = |text| Field::document(text).unwrap().object().unwrap();
        let config = Config::read(&read(config), "").unwrap();
        let result = Success::read(&read(result), Version::V1_1_0).unwrap();
        Gateways::of(result, &config, "test")
    }

    fn refused(config: &str, result: &str) -> String {
        gateways(config, result).unwrap_err().to_string()
    }

    const PLAIN: &str = r#"{"ipam":{"type":"x"}}"#;
    const GATEWAY: &str = r#"{"isGateway":true,"ipam":{"type":"x"}}"#;
    const DEFAULT: &str = r#"{"isDefaultGateway":true,"ipam":{"type":"x"}}"#;

    #[test]
    fn a_gateway_is_given_or_the_first_address() {
        let of = |result| gateways(GATEWAY, result).unwrap().addresses;
        let text = |addresses: Vec<IpNet>| {
            let texts: Vec<_> = addresses.iter().map(ToString::to_string).collect();
            texts.join(" ")
        };
        let computed = of(r#"{"ips":[{"address":"192.0.2.9/24"},{"address":"2001:db8::9/64"}]}"#);
        assert_eq!(text(computed), "192.0.2.1/24 2001:db8::1/64");
        let given = of(r#"{"ips":[{"address":"192.0.2.9/24","gateway":"192.0.2.254"}]}"#);
        assert_eq!(text(given), "192.0.2.254/24");
        let none = gateways(PLAIN, r#"{"ips":[{"address":"192.0.2.9/24"}]}"#).unwrap();
        assert!(none.addresses.is_empty());
        let error = refused(GATEWAY, r#"{"ips":[{"address":"192.0.2.9/32"}]}"#);
        assert!(
            error.contains("no room for a gateway in the subnet of 192.0.2.9/32"),
            "{error}"
        );
    }

    #[test]
    fn one_default_route_for_each_family_and_none_where_there_is_one() {
        let routes = |result| {
            let routes = gateways(DEFAULT, result).unwrap().result.routes;
            let texts: Vec<_> = routes.iter().map(|route| route.dst.to_string()).collect();
            texts.join(" ")
        };
        let both = r#"{"ips":[{"address":"192.0.2.9/25"},{"address":"192.0.2.129/25"},
                              {"address":"2001:db8::9/64"}]}"#;
        assert_eq!(routes(both), "0.0.0.0/0 ::/0");
        let there = r#"{"ips":[{"address":"192.0.2.9/24"}],"routes":[{"dst":"0.0.0.0/0"}]}"#;
        assert_eq!(routes(there), "0.0.0.0/0");
    }

    #[test]
    fn what_no_kernel_would_take_is_refused_with_its_place() {
        let ips = |ips: &str| format!(r#"{{"ips":[{ips}]}}"#);
        let routes = |routes: &str| {
            format!(r#"{{"ips":[{{"address":"192.0.2.9/24"}}],"routes":[{routes}]}}"#)
        };
        for (result, said) in [
            (ips(""), "wanted at least one address, found none"),
            (
                ips(r#"{"address":"0.0.0.0/24"}"#),
                "ips[0].address: wanted a unicast address",
            ),
            (
                ips(r#"{"address":"192.0.2.9/24"},{"address":"192.0.2.9/24"}"#),
                "ips[1].address: found 192.0.2.9/24 a second time",
            ),
            (
                ips(r#"{"address":"192.0.2.9/24","gateway":"2001:db8::1"}"#),
                "ips[0].gateway: wanted an address of the family of 192.0.2.9/24",
            ),
            (
                routes(r#"{"dst":"198.18.0.7/15"}"#),
                "routes[0].dst: wanted 198.18.0.0/15, found 198.18.0.7/15",
            ),
            (
                routes(r#"{"dst":"198.18.0.0/15"},{"dst":"198.18.0.0/15"}"#),
                "routes[1]: found the route to 198.18.0.0/15 a second time",
            ),
            (
                routes(r#"{"dst":"198.18.0.0/15","mtu":-1}"#),
                "routes[0].mtu: wanted 0 to 4294967295, found -1",
            ),
        ] {
            let found = refused(PLAIN, &result);
            assert!(found.contains(said), "{result}: {found}");
            assert!(found.contains("IPAM plugin test"), "{found}");
        }
    }

    #[test]
    fn a_route_without_gateway_goes_through_the_first_of_its_family() {
        let result = r#"{"ips":[{"address":"192.0.2.9/24","gateway":"192.0.2.1"}],
            "routes":[{"dst":"198.18.0.0/15"},{"dst":"203.0.113.0/24","gw":"192.0.2.7"},
                      {"dst":"2001:db8:5::/48"}]}"#;
        let gateways = gateways(PLAIN, result).unwrap();
        let found: Vec<_> = gateways
            .routes("eth0")
            .filter_map(|step| match step {
                Step::AddRoute { gateway, .. } => Some(gateway.map(|g| g.to_string())),
                _ => None,
            })
            .collect();
        let wanted = [Some("192.0.2.1"), Some("192.0.2.7"), None];
        assert_eq!(found, wanted.map(|gateway| gateway.map(str::to_owned)));
    }
}
