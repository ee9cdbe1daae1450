//! What an ADD will do, worked out before anything is done.
//!
//! There are two halves, because an IPAM plugin may want to find the
//! container's interface in place: [`links`] comes before it is asked,
//! [`addresses`] after.

use std::net::IpAddr;
use std::time::Duration;

use ipnet::IpNet;
use wipam_core::names::Attachment;
use wipam_core::names::NetworkName;
use wipam_core::result::{Interface, Success};
use wipam_net::firewall::{Backend, Masquerade, Owner, SpoofCheck};
use wipam_net::{LONGEST_ALTERNATIVE_NAME, Link, Mac, Membership, Sysctl};

use super::config::{BridgeMac, Config, Forwarding};
use super::error::BridgeError;
use super::gateways::Gateways;
use super::step::{Place, Step};

/// How long duplicate address detection may take.
const DETECTION_LIMIT: Duration = Duration::from_secs(10);

/// Whose an attachment is, and where.
#[derive(Clone, Debug)]
pub(crate) struct Attached {
    /// The network and the attachment.
    pub(crate) owner: Owner,
    /// `CNI_NETNS`, as it goes into the result.
    pub(crate) netns: String,
}

/// What chance decides about an attachment.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    /// Name of the host end.
    pub(crate) host_name: String,
    /// Its Ethernet address.
    pub(crate) host_mac: Mac,
    /// The container end's, unless the configuration gives one.
    pub(crate) container_mac: Mac,
    /// The bridge's, if it has to be made.
    pub(crate) bridge_mac: Mac,
    /// Name of the other end of a VLAN's gateway interface, if it has to be
    /// made, and the addresses of both ends.
    pub(crate) vlan: (String, Mac, Mac),
}

/// What there is on the host already.
#[derive(Clone, Debug, Default)]
pub(crate) struct Host {
    /// The bridge.
    pub(crate) bridge: Option<Link>,
    /// The interface of a VLAN's gateway.
    pub(crate) vlan_link: Option<Link>,
    /// Addresses of the interface that has the gateway's.
    pub(crate) addresses: Vec<IpNet>,
}

/// A name that says whose the host end is, for people and for GC.
pub(crate) fn label(network: &NetworkName, attachment: &Attachment) -> Option<String> {
    let label = format!(
        "{}{}+{}",
        label_of_network(network),
        attachment.container,
        attachment.interface
    );
    // Ids can be much longer. Then GC finds the port by its peer alone.
    (label.len() <= LONGEST_ALTERNATIVE_NAME).then_some(label)
}

/// What the labels of a network begin with. No name has a plus sign.
pub(crate) fn label_of_network(network: &NetworkName) -> String {
    format!("wipam+{network}+")
}

/// The bridge, and the pair that leads to it.
pub(crate) fn links(
    config: &Config,
    attached: &Attached,
    drawn: &Drawn,
    host: &Host,
) -> Result<Vec<Step>, BridgeError> {
    let name = &config.bridge;
    let mut steps = Vec::new();
    let accepts_no_routers = |link: &str| Step::Set {
        place: Place::Host,
        setting: Sysctl::of_link("ipv6", link, "accept_ra"),
        value: "0",
        optional: true,
    };
    match &host.bridge {
        Some(link) if link.bridge.is_none() => {
            let kind = if link.kind.is_empty() {
                "hardware".to_owned()
            } else {
                link.kind.clone()
            };
            return Err(BridgeError::NotABridge {
                name: name.clone(),
                kind,
            });
        }
        Some(link) => {
            let filters = link.bridge.is_some_and(|bridge| bridge.vlan_filtering);
            if config.vlan_filtering() && !filters {
                return Err(BridgeError::NoVlanFiltering(name.clone()));
            }
        }
        None => steps.push(Step::AddBridge {
            name: name.clone(),
            mtu: config.mtu,
            // A bridge that is somebody's gateway must not change its address
            // when ports come and go.
            mac: match config.bridge_mac {
                BridgeMac::Given(mac) => Some(mac),
                BridgeMac::Fixed => Some(drawn.bridge_mac),
                BridgeMac::Kernel => {
                    (config.gateway && config.vlan.is_none()).then_some(drawn.bridge_mac)
                }
            },
            vlan_filtering: config.vlan_filtering(),
        }),
    }
    if config.promiscuous && !host.bridge.as_ref().is_some_and(|link| link.promiscuous) {
        steps.push(Step::Promiscuous { link: name.clone() });
    }
    steps.push(accepts_no_routers(name));
    if !host.bridge.as_ref().is_some_and(|link| link.up) {
        steps.push(Step::SetUp {
            place: Place::Host,
            link: name.clone(),
        });
    }

    let port = &drawn.host_name;
    steps.push(Step::AddPair {
        host: port.clone(),
        host_mac: drawn.host_mac,
        bridge: name.clone(),
        place: Place::Container,
        container: attached.owner.attachment.interface.to_string(),
        container_mac: config.mac.unwrap_or(drawn.container_mac),
        mtu: config.mtu,
    });
    if let Some(label) = label(&attached.owner.network, &attached.owner.attachment) {
        steps.push(Step::Label {
            link: port.clone(),
            label,
        });
    }
    steps.push(accepts_no_routers(port));
    if config.hairpin || config.isolation {
        steps.push(Step::Port {
            link: port.clone(),
            hairpin: config.hairpin,
            isolated: config.isolation,
        });
    }
    vlans(config, port, config.trunk.as_deref(), &mut steps);
    if config.spoof_check {
        steps.push(Step::CheckMac(SpoofCheck {
            owner: attached.owner.clone(),
            host_interface: port.clone(),
            mac: config.mac.unwrap_or(drawn.container_mac),
        }));
    }
    Ok(steps)
}

/// Which VLANs a port is a member of. A new port is one of VLAN 1.
fn vlans(config: &Config, port: &str, trunk: Option<&[u16]>, steps: &mut Vec<Step>) {
    const DEFAULT: u16 = 1;
    let link = || port.to_owned();
    let some = config.vlan.is_some() || trunk.is_some_and(|trunk| !trunk.is_empty());
    if some && !config.keep_default_vlan {
        steps.push(Step::RemoveVlan {
            link: link(),
            vlan: DEFAULT,
        });
    }
    if let Some(vlan) = config.vlan {
        steps.push(Step::AddVlan {
            link: link(),
            vlan,
            membership: Membership::Access,
        });
    }
    for vlan in trunk.unwrap_or_default() {
        steps.push(Step::AddVlan {
            link: link(),
            vlan: *vlan,
            membership: Membership::Tagged,
        });
    }
}

/// What follows from the IPAM plugin's result, or from there being none: the
/// steps, in order.
pub(crate) fn addresses(
    config: &Config,
    attached: &Attached,
    drawn: &Drawn,
    host: &Host,
    gateways: &Gateways,
    backend: Option<Backend>,
    live: Vec<IpAddr>,
) -> Result<Vec<Step>, BridgeError> {
    let link = attached.owner.attachment.interface.to_string();
    let mut steps = Vec::new();
    let result = &gateways.result;
    // Said before anything is touched.
    let bridge_steps = gateway_addresses(config, host, gateways)?;
    let becomes_gateway = !bridge_steps.is_empty() && config.vlan.is_none();

    if config.ipam.is_some() {
        container_settings(config, &link, result, &mut steps);
        for ip in &result.ips {
            steps.push(Step::AddAddress {
                place: Place::Container,
                link: link.clone(),
                address: ip.address,
            });
        }
    }
    if !config.disable_container_interface {
        steps.push(Step::SetUp {
            place: Place::Container,
            link: link.clone(),
        });
    }
    steps.extend(vlan_interface(config, drawn, host, gateways));
    steps.extend(bridge_steps);
    forwarding(config, gateways, &mut steps);
    if result.ips.iter().any(|ip| ip.address.addr().is_ipv6()) {
        steps.push(Step::WaitForAddresses {
            link: link.clone(),
            limit: DETECTION_LIMIT,
        });
    }
    steps.extend(gateways.routes(&link));
    if let (Some(masquerading), Some(backend)) = (&config.masquerading, backend) {
        let addresses = masquerading.of(result);
        if !addresses.is_empty() {
            steps.push(Step::Masquerade(
                backend,
                Masquerade {
                    owner: attached.owner.clone(),
                    addresses,
                    live,
                    drop_invalid: masquerading.drop_invalid,
                },
            ));
        }
    }
    // In a VLAN without a gateway the host has no interface, and no neighbours.
    let has_neighbours = config.vlan.is_none() || !gateways.addresses.is_empty();
    for ip in &result.ips {
        let address = ip.address.addr();
        if has_neighbours {
            steps.push(Step::ForgetNeighbour {
                link: config.gateway_link(),
                address,
            });
        }
        steps.push(Step::ForgetFlows { address });
    }
    if !config.disable_container_interface {
        steps.push(Step::WaitForPort {
            link: drawn.host_name.clone(),
            bridge: config.bridge.clone(),
            limit: config.port_wait,
            required: config.port_wait_fails,
        });
        if !result.ips.is_empty() {
            steps.push(Step::Announce {
                link,
                mac: config.mac.unwrap_or(drawn.container_mac),
            });
        }
    }
    // The last one, because it cannot be taken back.
    if let Some(bridge) = host.bridge.as_ref().filter(|_| becomes_gateway) {
        steps.push(Step::KeepMac {
            link: config.bridge.clone(),
            // One whose ports are all gone has none.
            mac: bridge
                .mac
                .filter(|mac| *mac != Mac([0; 6]))
                .unwrap_or(drawn.bridge_mac),
        });
    }
    Ok(steps)
}

/// How the container's kernel treats the interface and its addresses.
fn container_settings(config: &Config, link: &str, result: &Success, steps: &mut Vec<Step>) {
    let mut set = |setting, value, optional| {
        steps.push(Step::Set {
            place: Place::Container,
            setting,
            value,
            optional,
        });
    };
    if result.ips.iter().any(|ip| ip.address.addr().is_ipv6()) {
        for link in ["lo", link] {
            set(Sysctl::of_link("ipv6", link, "disable_ipv6"), "0", false);
        }
        set(
            Sysctl::of_link("ipv6", link, "keep_addr_on_down"),
            "1",
            true,
        );
    }
    let detect = if config.duplicate_detection { "1" } else { "0" };
    if config.duplicate_detection {
        set(Sysctl::of_link("ipv6", link, "enhanced_dad"), "1", true);
    }
    set(Sysctl::of_link("ipv6", link, "accept_dad"), detect, true);
    set(Sysctl::of_link("ipv4", link, "arp_notify"), "1", true);
}

/// The interface of a VLAN's gateway, where there is none yet.
fn vlan_interface(config: &Config, drawn: &Drawn, host: &Host, gateways: &Gateways) -> Vec<Step> {
    let mut steps = Vec::new();
    if config.vlan.is_none() || gateways.addresses.is_empty() || host.vlan_link.is_some() {
        return steps;
    }
    let (port, port_mac, mac) = drawn.vlan.clone();
    let link = config.gateway_link();
    steps.push(Step::AddPair {
        host: port.clone(),
        host_mac: port_mac,
        bridge: config.bridge.clone(),
        place: Place::Host,
        container: link.clone(),
        container_mac: mac,
        mtu: host.bridge.as_ref().map(|bridge| bridge.mtu).or(config.mtu),
    });
    vlans(config, &port, None, &mut steps);
    steps.push(Step::SetUp {
        place: Place::Host,
        link,
    });
    steps
}

/// The gateways' addresses: one IPv4 address, and IPv6 addresses of subnets
/// that do not overlap.
fn gateway_addresses(
    config: &Config,
    host: &Host,
    gateways: &Gateways,
) -> Result<Vec<Step>, BridgeError> {
    let link = config.gateway_link();
    let mut steps = Vec::new();
    let mut there = host.addresses.clone();
    for wanted in &gateways.addresses {
        if there.contains(wanted) {
            continue;
        }
        let conflicts = |found: &IpNet| match (found, wanted) {
            (IpNet::V4(_), IpNet::V4(_)) => true,
            (IpNet::V6(_), IpNet::V6(_)) => {
                found.contains(&wanted.addr()) || wanted.contains(&found.addr())
            }
            _ => false,
        };
        let (in_the_way, kept): (Vec<_>, Vec<_>) = there.iter().partition(|found| conflicts(found));
        if let Some(found) = in_the_way.first().filter(|_| !config.force_address) {
            return Err(BridgeError::OtherAddress {
                link,
                wanted: *wanted,
                found: *found,
            });
        }
        for address in in_the_way {
            steps.push(Step::RemoveAddress {
                place: Place::Host,
                link: link.clone(),
                address,
            });
        }
        steps.push(Step::AddAddress {
            place: Place::Host,
            link: link.clone(),
            address: *wanted,
        });
        there = kept;
        there.push(*wanted);
    }
    Ok(steps)
}

fn forwarding(config: &Config, gateways: &Gateways, steps: &mut Vec<Step>) {
    for setting in forwarding_settings(config, gateways.addresses.iter()) {
        steps.push(Step::Set {
            place: Place::Host,
            setting,
            value: "1",
            optional: false,
        });
    }
}

/// What has to be 1 for the packets of these gateways to be forwarded.
pub(crate) fn forwarding_settings<'a>(
    config: &Config,
    gateways: impl Iterator<Item = &'a IpNet> + Clone,
) -> Vec<Sysctl> {
    let link = config.gateway_link();
    let (v4, v6) = match config.forwarding {
        Forwarding::Global => (
            Sysctl::new("ipv4/ip_forward"),
            Sysctl::new("ipv6/conf/all/forwarding"),
        ),
        Forwarding::Interface => (
            Sysctl::of_link("ipv4", &link, "forwarding"),
            Sysctl::of_link("ipv6", &link, "force_forwarding"),
        ),
        Forwarding::Keep => return Vec::new(),
    };
    let mut settings = Vec::new();
    if gateways.clone().any(|gateway| gateway.addr().is_ipv4()) {
        settings.push(v4);
    }
    if gateways.clone().any(|gateway| gateway.addr().is_ipv6()) {
        settings.push(v6);
    }
    settings
}

/// The interfaces of the result: bridge, host end, container end, and the
/// interface of a VLAN's gateway.
pub(crate) fn interfaces(
    config: &Config,
    attached: &Attached,
    drawn: &Drawn,
    bridge_mac: Option<Mac>,
    vlan_mac: Option<Mac>,
) -> Vec<Interface> {
    let interface = |name: &str, mac: Option<Mac>, sandbox: &str| Interface {
        name: name.to_owned(),
        mac: mac.map(|mac| mac.to_string()),
        sandbox: sandbox.to_owned(),
        ..Interface::default()
    };
    let mut interfaces = vec![
        interface(&config.bridge, bridge_mac, ""),
        interface(&drawn.host_name, Some(drawn.host_mac), ""),
        interface(
            attached.owner.attachment.interface.as_str(),
            Some(config.mac.unwrap_or(drawn.container_mac)),
            &attached.netns,
        ),
    ];
    if config.vlan.is_some() && config.gateway {
        interfaces.push(interface(&config.gateway_link(), vlan_mac, ""));
    }
    interfaces
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use wipam_core::json::Field;
    use wipam_core::names::{ContainerId, InterfaceName};
    use wipam_core::version::Version;
    use wipam_net::Bridge;

    use super::*;

    fn attached() -> Attached {
        Attached {
            owner: Owner {
                network: NetworkName::new("net1").unwrap(),
                attachment: Attachment {
                    container: ContainerId::new("ctr").unwrap(),
                    interface: InterfaceName::new("eth0").unwrap(),
                },
            },
            netns: "/run/netns/c1".to_owned(),
        }
    }

    fn drawn() -> Drawn {
        let mac = |last| Mac([2, 0, 0, 0, 0, last]);
        Drawn {
            host_name: "veth0".to_owned(),
            host_mac: mac(1),
            container_mac: mac(2),
            bridge_mac: mac(3),
            vlan: ("veth1".to_owned(), mac(4), mac(5)),
        }
    }

    fn bridge(addresses: &[&str], vlan_filtering: bool) -> Host {
        Host {
            bridge: Some(Link {
                name: "cni0".to_owned(),
                kind: "bridge".to_owned(),
                up: true,
                mac: Some(Mac([2, 0, 0, 0, 0, 9])),
                bridge: Some(Bridge {
                    vlan_filtering,
                    ..Bridge::default()
                }),
                ..Link::default()
            }),
            vlan_link: None,
            addresses: addresses.iter().map(|text| text.parse().unwrap()).collect(),
        }
    }

    /// The steps of both halves, as text.
    fn plan(config: &str, result: &str, host: &Host) -> Result<Vec<String>, BridgeError> {
        let read = |text| Field::document(text).unwrap().object().unwrap();
        let config = Config::read(&read(config), "").unwrap();
        let result = Success::read(&read(result), Version::V1_1_0).unwrap();
        let gateways = match &config.ipam {
            Some(kind) => Gateways::of(result, &config, kind)?,
            None => Gateways::default(),
        };
        let (attached, drawn) = (attached(), drawn());
        let backend = config.masquerading.as_ref().map(|_| Backend::Nftables);
        let mut steps = links(&config, &attached, &drawn, host)?;
        steps.extend(addresses(
            &config,
            &attached,
            &drawn,
            host,
            &gateways,
            backend,
            Vec::new(),
        )?);
        Ok(steps.iter().map(ToString::to_string).collect())
    }

    const GATEWAY: &str = r#"{"isGateway":true,"ipam":{"type":"x"}}"#;
    const RESULT: &str = r#"{"ips":[{"address":"192.0.2.9/24"}]}"#;

    fn position(steps: &[String], what: &str) -> usize {
        let found = steps.iter().position(|step| step.contains(what));
        found.unwrap_or_else(|| unreachable!("{what}: {steps:#?}"))
    }

    #[test]
    fn a_new_gateway_has_its_address_pinned_and_an_old_one_keeps_it() {
        let steps = plan(GATEWAY, RESULT, &Host::default()).unwrap();
        assert_eq!(steps[0], "make bridge cni0, address 02:00:00:00:00:03");
        assert!(
            !steps
                .iter()
                .any(|step| step.contains("keep its Ethernet address"))
        );
        let steps = plan(GATEWAY, RESULT, &bridge(&[], false)).unwrap();
        let last = steps.last().unwrap();
        assert_eq!(
            last,
            "have cni0 keep its Ethernet address 02:00:00:00:00:09"
        );
        let steps = plan(GATEWAY, RESULT, &bridge(&["192.0.2.1/24"], false)).unwrap();
        assert!(
            !steps
                .iter()
                .any(|step| step.contains("keep its") || step.contains("give cni0"))
        );
    }

    #[test]
    fn another_subnet_is_said_or_replaced() {
        let there = bridge(&["198.51.100.1/24", "2001:db8:9::1/64"], false);
        let error = plan(GATEWAY, RESULT, &there).unwrap_err().to_string();
        assert!(
            error.contains("192.0.2.1/24: found 198.51.100.1/24"),
            "{error}"
        );
        let forced = r#"{"isGateway":true,"forceAddress":true,"ipam":{"type":"x"}}"#;
        let steps = plan(forced, RESULT, &there).unwrap();
        let (take, give) = (
            position(&steps, "take address 198.51.100.1/24 from cni0"),
            position(&steps, "give cni0 address 192.0.2.1/24"),
        );
        assert!(take < give);
        assert!(!steps.iter().any(|step| step.contains("2001:db8:9::1")));
    }

    #[test]
    fn a_vlan_wants_a_bridge_that_filters_and_a_gateway_of_its_own() {
        let vlan = r#"{"vlan":100,"isGateway":true,"ipam":{"type":"x"}}"#;
        let error = plan(vlan, RESULT, &bridge(&[], false))
            .unwrap_err()
            .to_string();
        assert!(error.contains("VLAN filtering off"), "{error}");
        let steps = plan(vlan, RESULT, &bridge(&[], true)).unwrap();
        for step in [
            "remove port veth0 from VLAN 1",
            "add port veth0 to VLAN 100, untagged",
            "make veth pair veth1 (02:00:00:00:00:04), port of cni0, and cni0.100",
            "add port veth1 to VLAN 100, untagged",
            "give cni0.100 address 192.0.2.1/24",
        ] {
            position(&steps, step);
        }
    }

    #[test]
    fn a_vlan_without_a_gateway_needs_no_interface_of_the_host() {
        let vlan = r#"{"vlan":100,"ipam":{"type":"x"}}"#;
        let steps = plan(vlan, RESULT, &bridge(&[], true)).unwrap();
        position(&steps, "add port veth0 to VLAN 100, untagged");
        assert!(
            !steps.iter().any(|step| step.contains("cni0.100")),
            "{steps:#?}"
        );
    }

    #[test]
    fn a_trunk_keeps_the_default_vlan_unless_told_otherwise() {
        let trunk = |more: &str| {
            let config = format!(r#"{{"vlanTrunk":[{{"id":7}}]{more}}}"#);
            let steps = plan(&config, "{}", &Host::default()).unwrap();
            position(&steps, "add port veth0 to VLAN 7, tagged");
            steps.iter().any(|step| step.contains("remove port"))
        };
        assert!(!trunk(""));
        assert!(trunk(r#","preserveDefaultVlan":false"#));
    }

    #[test]
    fn a_device_of_another_kind_is_no_bridge() {
        let mut there = bridge(&[], false);
        if let Some(link) = &mut there.bridge {
            link.bridge = None;
            link.kind = "veth".to_owned();
        }
        let error = plan("{}", "{}", &there).unwrap_err().to_string();
        assert!(
            error.contains("\"cni0\" already exists but is not a bridge"),
            "{error}"
        );
    }

    #[test]
    fn families_are_masqueraded_as_asked() {
        let both = r#"{"ips":[{"address":"192.0.2.9/24"},{"address":"2001:db8::9/64"}]}"#;
        let rules = |more: &str| {
            let config =
                format!(r#"{{"isGateway":true,"ipMasq":true{more},"ipam":{{"type":"x"}}}}"#);
            let steps = plan(&config, both, &Host::default()).unwrap();
            let rules = steps
                .into_iter()
                .find(|step| step.starts_with("masquerade:"));
            let rules = rules.unwrap_or_default();
            (rules.contains("192.0.2.9"), rules.contains("2001:db8::9"))
        };
        assert_eq!(rules(""), (true, true));
        assert_eq!(rules(r#","ipMasqV6":false"#), (true, false));
        assert_eq!(
            rules(r#","ipMasqV4":false,"ipMasqV6":false"#),
            (false, false)
        );
    }
}
