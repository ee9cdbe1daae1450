//! ADD: attaches a container to the network.

use std::io;

use wipam_core::names::Attachment;
use wipam_core::result::{ResultError, Success};
use wipam_core::version::Version;
use wipam_net::{Kernel, Mac, Namespace};

use super::apply::{Observer, Work};
use super::background;
use super::call::Call;
use super::config::{Config, RANDOM_DIGITS};
use super::delegate::Ipam;
use super::error::BridgeError;
use super::gateways::Gateways;
use super::log;
use super::pending::{self, Pending};
use super::plan::{self, Attached, Drawn, Host};

/// How many names for the host end are tried.
const TRIES: usize = 10;

/// Attaches, and hands the result to `print`. Whatever fails, printing
/// included, everything is as it was before.
pub(crate) fn add(
    call: &Call<'_>,
    attachment: &Attachment,
    observer: Observer<'_>,
    warn: &mut dyn FnMut(&str),
    print: &mut dyn FnMut(&str) -> io::Result<()>,
) -> Result<(), BridgeError> {
    let config = Config::read(call.document, &call.invocation.args)?;
    config.warnings.iter().for_each(|warning| warn(warning));
    // Whatever can be known to fail is found before anything is made.
    if config.ipam.is_none() && call.version < Version::V0_3_0 {
        return Err(ResultError::NoAddress(call.version).into());
    }
    let find = |kind: &String| Ipam::find(kind, call.invocation);
    let mut ipam = config.ipam.as_ref().map(find).transpose()?;
    if let Some(masquerading) = &config.masquerading {
        let families = (masquerading.v4, masquerading.v6 && !masquerading.v4);
        if families != (false, false) {
            let tools = call.tools();
            tools.masquerade_backend(masquerading.backend, families.0, families.1)?;
        }
    }
    if config.spoof_check {
        call.tools().for_spoof_check()?;
    }
    let attached = Attached {
        owner: call.owner(attachment),
        netns: call.invocation.netns.clone(),
    };
    let home = Namespace::current()?;
    let namespace = open(&attached.netns)?;
    // One that was killed, and no DEL since.
    pending::take_back(&config.state_dir, &home, attachment, Some(&namespace), warn)?;
    home.share_lock()?;
    let mut host = Kernel::open()?;
    let mut container = namespace.within(Kernel::open)??;
    if let Some(link) = container.link(attachment.interface.as_str())? {
        return Err(BridgeError::InterfaceExists {
            name: link.name,
            netns: attached.netns,
            kind: link.kind,
        });
    }
    let drawn = draw(&mut host, &config)?;
    let there = look(&mut host, &config)?;
    let links = plan::links(&config, &attached, &drawn, &there)?;

    let pending = Pending::new(
        &config.state_dir,
        &home,
        &call.network,
        attachment,
        &attached.netns,
    )?;
    let mut work = Work::new(
        &attached,
        host,
        home,
        container,
        namespace,
        call.tools(),
        pending,
        observer,
    );
    let outcome = work.run(&links).and_then(|()| {
        let result = configure(call, &config, &drawn, &there, &mut work, ipam.as_mut())?;
        let text = result.render(call.version)?;
        if let Some(file) = &config.result_log
            && let Err(error) = log::append(file, call, &attached, &text)
        {
            work.warnings
                .push(format!("resultLog {}: {error}", file.display()));
        }
        work.observe(&"print the result")?;
        print(&text).map_err(BridgeError::Undelivered)
    });
    work.warnings.iter().for_each(|warning| warn(warning));
    match outcome {
        Ok(()) => {
            work.done();
            if config.announcements > 0 && !config.disable_container_interface {
                let mac = config.mac.unwrap_or(drawn.container_mac);
                background::announce(&attached, mac, config.announcements, warn);
            }
            Ok(())
        }
        Err(error) => {
            work.undo();
            if let Some(ipam) = &mut ipam
                && let Err(cause) = ipam.undo(error.is_of_allocation())
            {
                warn(&format!("undoing: IPAM plugin {}: {cause}", ipam.kind()));
            }
            Err(error)
        }
    }
}

/// From the IPAM plugin on: addresses, routes, gateway, rules.
fn configure(
    call: &Call<'_>,
    config: &Config,
    drawn: &Drawn,
    there: &Host,
    work: &mut Work<'_>,
    ipam: Option<&mut Ipam>,
) -> Result<Success, BridgeError> {
    let gateways = match ipam {
        Some(ipam) => {
            work.observe(&format_args!(
                "have IPAM plugin {} allocate",
                ipam.program().display()
            ))?;
            let result = ipam.add(call.version)?;
            Gateways::of(result, config, ipam.kind())?
        }
        None => Gateways::default(),
    };
    let result = &gateways.result;
    let (mut backend, mut live) = (None, Vec::new());
    if let Some(masquerading) = &config.masquerading {
        let any = |v4: bool| {
            result
                .ips
                .iter()
                .any(|ip| ip.address.addr().is_ipv4() == v4)
        };
        let (v4, v6) = (masquerading.v4 && any(true), masquerading.v6 && any(false));
        if v4 || v6 {
            backend = Some(
                call.tools()
                    .masquerade_backend(masquerading.backend, v4, v6)?,
            );
            live = work.live();
        }
    }
    let steps = plan::addresses(
        config,
        work.attached,
        drawn,
        there,
        &gateways,
        backend,
        live,
    )?;
    work.run(&steps)?;

    let mac = |work: &mut Work<'_>, name: &str| -> Result<Option<Mac>, BridgeError> {
        Ok(work.host.link(name)?.and_then(|link| link.mac))
    };
    let bridge_mac = mac(work, &config.bridge)?;
    let vlan_mac = match config.vlan {
        Some(_) => mac(work, &config.gateway_link())?,
        None => None,
    };
    let mut result = gateways.result;
    result.interfaces = plan::interfaces(config, work.attached, drawn, bridge_mac, vlan_mac);
    for (number, metric) in &work.metrics {
        if let Some(route) = result.routes.get_mut(*number) {
            route.priority = i64::from(*metric);
        }
    }
    if let Some(dns) = &config.dns {
        result.dns = dns.clone();
    }
    Ok(result)
}

pub(crate) fn open(netns: &str) -> Result<Namespace, BridgeError> {
    Namespace::open(netns).map_err(|cause| BridgeError::Netns {
        path: netns.to_owned(),
        cause,
    })
}

/// What there is on the host already.
pub(crate) fn look(host: &mut Kernel, config: &Config) -> Result<Host, BridgeError> {
    let mut there = Host {
        bridge: host.link(&config.bridge)?,
        ..Host::default()
    };
    if !config.gateway {
        return Ok(there);
    }
    let holder = match config.vlan {
        Some(_) => {
            there.vlan_link = host.link(&config.gateway_link())?;
            &there.vlan_link
        }
        None => &there.bridge,
    };
    if let Some(link) = holder {
        let addresses = host.addresses(Some(link.index))?;
        there.addresses = addresses
            .iter()
            .filter(|address| !address.link_local)
            .map(|address| address.address)
            .collect();
    }
    Ok(there)
}

/// Draws names and addresses.
pub(crate) fn draw(host: &mut Kernel, config: &Config) -> Result<Drawn, BridgeError> {
    let mac = || Mac::random().map_err(BridgeError::Random);
    Ok(Drawn {
        host_name: free_name(host, &config.host_prefix)?,
        host_mac: mac()?,
        container_mac: mac()?,
        bridge_mac: mac()?,
        vlan: (free_name(host, &config.host_prefix)?, mac()?, mac()?),
    })
}

fn free_name(host: &mut Kernel, prefix: &str) -> Result<String, BridgeError> {
    for _ in 0..TRIES {
        // As many random bytes as there are digits would be twice too many.
        let mac = Mac::random().map_err(BridgeError::Random)?;
        let digits: String = mac
            .0
            .iter()
            .rev()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let name = format!("{prefix}{}", digits.get(..RANDOM_DIGITS).unwrap_or(&digits));
        if host.link(&name)?.is_none() {
            return Ok(name);
        }
    }
    Err(BridgeError::NoFreeName {
        prefix: prefix.to_owned(),
        tries: TRIES,
    })
}
