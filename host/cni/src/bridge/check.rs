//! CHECK: whether an attachment is still as its ADD left it.

use std::fmt::Display;

use ipnet::IpNet;
use wipam_core::names::Attachment;
use wipam_core::result::{Interface, Success};
use wipam_net::firewall::{
    Backend, Masquerade, SpoofCheck, masquerade_missing, spoof_check_missing,
};
use wipam_net::{Kernel, Link, Mac};

use super::add::{look, open};
use super::call::Call;
use super::config::Config;
use super::delegate::Ipam;
use super::error::BridgeError;
use super::gateways::Gateways;
use super::plan::forwarding_settings;
use super::step::Step;

type Outcome = Result<(), BridgeError>;

/// Compares with `prevResult` and the configuration.
pub(crate) fn check(call: &Call<'_>, attachment: &Attachment) -> Outcome {
    let config = Config::read(call.document, &call.invocation.args)?;
    if call.document.get("prevResult").is_none() {
        return Err(BridgeError::Previous(
            "Required prevResult missing: wanted the result of the ADD".to_owned(),
        ));
    }
    let previous = call.document.object("prevResult");
    let previous = previous.map_err(|error| BridgeError::Config(error.into()))?;
    let previous = Success::read(&previous, call.version)?;
    let namespace = open(&call.invocation.netns)?;
    if let Some(kind) = &config.ipam {
        Ipam::find(kind, call.invocation)?.command("CHECK")?;
    }

    let named = Named::of(&previous, &config, call, attachment)?;
    let mut host = Kernel::open()?;
    let bridge = check_bridge(&mut host, &config, &named)?;
    let port = check_port(&mut host, &config, &named, &bridge)?;
    let mut container = namespace.within(Kernel::open)??;
    let link = check_container(&mut container, &config, &named)?;
    if port.peer != Some(link.index) {
        return different(
            format_args!("host end {} leads elsewhere than to", port.name),
            &link.name,
            "another interface",
        );
    }
    if config.ipam.is_some() {
        check_addresses(&mut container, &link, &previous)?;
        check_routes(&mut container, &link, &previous)?;
        check_gateway(&mut host, &config, &previous)?;
    }
    check_rules(call, attachment, &config, &named, &previous)
}

fn different<T>(what: impl Display, wanted: &str, found: &str) -> Result<T, BridgeError> {
    Err(BridgeError::Different(format!(
        "{what}: wanted {wanted}, found {found}"
    )))
}

/// A comparison with what is written in prevResult; nothing written is fine.
fn same_mac(what: &str, written: &Interface, found: Option<Mac>) -> Outcome {
    let Some(text) = written.mac.as_deref().filter(|text| !text.is_empty()) else {
        return Ok(());
    };
    let wanted: Mac = text
        .parse()
        .map_err(|cause| BridgeError::Previous(format!("mac {text:?} of {what}: {cause}")))?;
    if found == Some(wanted) {
        return Ok(());
    }
    let found = found.map_or_else(|| "none".to_owned(), |mac| mac.to_string());
    different(format_args!("Ethernet address of {what}"), text, &found)
}

/// The interfaces of prevResult.
struct Named<'a> {
    bridge: &'a Interface,
    port: &'a Interface,
    container: &'a Interface,
}

impl<'a> Named<'a> {
    fn of(
        previous: &'a Success,
        config: &Config,
        call: &Call<'_>,
        attachment: &Attachment,
    ) -> Result<Self, BridgeError> {
        let find = |what: &str, wanted: &dyn Fn(&Interface) -> bool| {
            previous
                .interfaces
                .iter()
                .find(|interface| wanted(interface))
                .ok_or_else(|| {
                    BridgeError::Previous(format!("interfaces: wanted {what}, found none"))
                })
        };
        let gateway = config.gateway_link();
        let name = attachment.interface.as_str();
        let named = Self {
            bridge: find(&format!("bridge {}", config.bridge), &|interface| {
                interface.sandbox.is_empty() && interface.name == config.bridge
            })?,
            port: find("the host end", &|interface| {
                interface.sandbox.is_empty()
                    && interface.name != config.bridge
                    && interface.name != gateway
            })?,
            container: find(
                &format!("interface {name} in the container"),
                &|interface| !interface.sandbox.is_empty() && interface.name == name,
            )?,
        };
        if named.container.sandbox != call.invocation.netns {
            return different(
                format_args!("sandbox of {name} in prevResult"),
                &call.invocation.netns,
                &named.container.sandbox,
            );
        }
        Ok(named)
    }
}

fn existing(kernel: &mut Kernel, name: &str, kind: &str) -> Result<Link, BridgeError> {
    match kernel.link(name)? {
        Some(link) if link.kind == kind => Ok(link),
        Some(link) => different(format_args!("interface {name}"), kind, &link.kind),
        None => different(format_args!("interface {name}"), kind, "nothing"),
    }
}

fn is_up(link: &Link) -> Outcome {
    if link.up {
        return Ok(());
    }
    different(format_args!("interface {}", link.name), "up", "down")
}

fn switch(what: impl Display, wanted: bool, found: bool) -> Outcome {
    if wanted == found {
        return Ok(());
    }
    let word = |on| if on { "on" } else { "off" };
    different(what, word(wanted), word(found))
}

fn check_bridge(
    kernel: &mut Kernel,
    config: &Config,
    named: &Named<'_>,
) -> Result<Link, BridgeError> {
    let bridge = existing(kernel, &config.bridge, "bridge")?;
    // Without a gateway's address the kernel chooses, from time to time anew.
    if config.gateway && config.vlan.is_none() {
        same_mac(&config.bridge, named.bridge, bridge.mac)?;
    }
    is_up(&bridge)?;
    switch(
        format_args!("promiscuous mode of bridge {}", config.bridge),
        config.promiscuous,
        bridge.promiscuous,
    )?;
    Ok(bridge)
}

fn check_port(
    kernel: &mut Kernel,
    config: &Config,
    named: &Named<'_>,
    bridge: &Link,
) -> Result<Link, BridgeError> {
    let link = existing(kernel, &named.port.name, "veth")?;
    same_mac(&link.name, named.port, link.mac)?;
    if link.master != Some(bridge.index) {
        let what = format!("host end {}", link.name);
        return different(
            what,
            &format!("a port of {}", config.bridge),
            "no port of it",
        );
    }
    is_up(&link)?;
    let port = link.port.unwrap_or_default();
    let name = &link.name;
    switch(
        format_args!("hairpin mode of {name}"),
        config.hairpin,
        port.hairpin,
    )?;
    switch(
        format_args!("isolation of {name}"),
        config.isolation,
        port.isolated,
    )?;
    Ok(link)
}

fn check_container(
    kernel: &mut Kernel,
    config: &Config,
    named: &Named<'_>,
) -> Result<Link, BridgeError> {
    let link = existing(kernel, &named.container.name, "veth")?;
    same_mac(&link.name, named.container, link.mac)?;
    if !config.disable_container_interface {
        is_up(&link)?;
    }
    if let Some(mtu) = config.mtu.filter(|mtu| *mtu != link.mtu) {
        let what = format!("MTU of {}", link.name);
        return different(what, &mtu.to_string(), &link.mtu.to_string());
    }
    Ok(link)
}

fn check_addresses(kernel: &mut Kernel, link: &Link, previous: &Success) -> Outcome {
    let found = kernel.addresses(Some(link.index))?;
    for ip in &previous.ips {
        let same = found.iter().find(|f| f.address.addr() == ip.address.addr());
        let Some(same) = same.filter(|f| f.address == ip.address) else {
            return different(
                format_args!("addresses of {}", link.name),
                &ip.address.to_string(),
                &same.map_or_else(|| "none".to_owned(), |f| f.address.to_string()),
            );
        };
        if same.tentative || same.duplicate {
            let state = if same.duplicate {
                "duplicate"
            } else {
                "tentative"
            };
            return different(format_args!("address {}", ip.address), "usable", state);
        }
    }
    Ok(())
}

fn check_routes(kernel: &mut Kernel, link: &Link, previous: &Success) -> Outcome {
    let found = kernel.routes()?;
    let expected = Gateways {
        result: previous.clone(),
        addresses: Vec::new(),
    };
    for step in expected.routes(&link.name) {
        let Step::AddRoute {
            destination,
            gateway,
            metric,
            table,
            ..
        } = &step
        else {
            continue;
        };
        const MAIN: u32 = 254;
        let table = if *table == 0 { MAIN } else { *table };
        let mut there = found.iter().filter(|route| {
            route.destination == destination.trunc()
                && route.link == link.index
                && route.table_or_main() == table
                && (*metric == 0 || route.metric == *metric)
        });
        if there.clone().any(|route| route.gateway == *gateway) {
            continue;
        }
        let via = |gateway: Option<std::net::IpAddr>| match gateway {
            Some(gateway) => format!("via {gateway}"),
            None => "on the link".to_owned(),
        };
        let found = there
            .next()
            .map_or_else(|| "none".to_owned(), |route| via(route.gateway));
        return different(
            format_args!("route to {destination} on {}", link.name),
            &via(*gateway),
            &found,
        );
    }
    Ok(())
}

fn check_gateway(kernel: &mut Kernel, config: &Config, previous: &Success) -> Outcome {
    if !config.gateway {
        return Ok(());
    }
    let there = look(kernel, config)?;
    let gateways: Vec<IpNet> = previous
        .ips
        .iter()
        .filter_map(|ip| IpNet::new(ip.gateway?, ip.address.prefix_len()).ok())
        .collect();
    for gateway in &gateways {
        // A later ADD may have put another subnet's in its place.
        if !config.force_address && !there.addresses.contains(gateway) {
            let what = format!("addresses of {}", config.gateway_link());
            return different(what, &gateway.to_string(), "none");
        }
    }
    for setting in forwarding_settings(config, gateways.iter()) {
        let found = setting.read()?.unwrap_or_else(|| "nothing".to_owned());
        if matches!(found.as_str(), "0" | "nothing") {
            return different(setting, "1", &found);
        }
    }
    Ok(())
}

fn check_rules(
    call: &Call<'_>,
    attachment: &Attachment,
    config: &Config,
    named: &Named<'_>,
    previous: &Success,
) -> Outcome {
    let owner = call.owner(attachment);
    if config.spoof_check
        && let Some(mac) = named
            .container
            .mac
            .as_deref()
            .and_then(|mac| mac.parse().ok())
    {
        let wanted = SpoofCheck {
            owner: owner.clone(),
            host_interface: named.port.name.clone(),
            mac,
        };
        if let Some(missing) = spoof_check_missing(call.tools(), &wanted)? {
            return Err(BridgeError::Different(missing));
        }
    }
    let Some(masquerading) = &config.masquerading else {
        return Ok(());
    };
    let addresses = masquerading.of(previous);
    if addresses.is_empty() {
        return Ok(());
    }
    let v6 = addresses.iter().any(|address| address.addr().is_ipv6());
    let v4 = addresses.iter().any(|address| address.addr().is_ipv4());
    let chosen = call
        .tools()
        .masquerade_backend(masquerading.backend, v4, v6)?;
    let wanted = Masquerade {
        owner,
        addresses,
        live: Vec::new(),
        drop_invalid: masquerading.drop_invalid,
    };
    let Some(missing) = masquerade_missing(call.tools(), chosen, &wanted)? else {
        return Ok(());
    };
    // Programs come and go: what an ADD took may not be what it would take now.
    let other = match chosen {
        Backend::Iptables => Backend::Nftables,
        Backend::Nftables => Backend::Iptables,
    };
    let elsewhere = masquerading.backend.is_none()
        && call.tools().masquerade_backend(Some(other), v4, v6).is_ok()
        && masquerade_missing(call.tools(), other, &wanted)?.is_none();
    if elsewhere {
        return Ok(());
    }
    Err(BridgeError::Different(missing))
}
