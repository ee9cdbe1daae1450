//! What an ADD would do, without doing it and without being allowed to.

use std::fmt::{self, Display};

use ipnet::IpNet;
use serde::Serialize;
use wipam_core::error::Fault;
use wipam_core::invoke::invoke;
use wipam_core::json::{Field, Object, to_text};
use wipam_core::memory::MemoryStore;
use wipam_core::names::{Attachment, ContainerId, InterfaceName};
use wipam_core::parameters::Invocation;
use wipam_core::parameters::Network;
use wipam_core::result::{Ip, Success};
use wipam_core::version::Version;
use wipam_net::Kernel;
use wipam_net::firewall::{Backend, Owner};

use super::add::{draw, look};
use super::config::Config;
use super::error::BridgeError;
use super::gateways::Gateways;
use super::plan::{self, Attached};
use super::step::{Place, Step};

/// A plan for people and programs.
#[derive(Debug, Serialize)]
pub struct Preview {
    /// In order.
    pub steps: Vec<PreviewStep>,
    /// The result, in the version of the configuration.
    pub result: serde_json::Value,
    /// What was taken for granted because only the ADD itself knows it.
    pub assumed: Vec<String>,
    /// What looks like a mistake without being an error.
    pub warnings: Vec<String>,
}

/// One step.
#[derive(Debug, Serialize)]
pub struct PreviewStep {
    /// `host` or `container`.
    #[serde(rename = "in")]
    pub place: &'static str,
    /// What is done.
    pub what: String,
}

impl PreviewStep {
    fn of(step: &Step) -> Self {
        Self {
            place: match step.place() {
                Place::Host => "host",
                Place::Container => "container",
            },
            what: step.to_string(),
        }
    }
}

impl Display for Preview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, step) in self.steps.iter().enumerate() {
            writeln!(f, "{:>3}  {:<9}  {}", number + 1, step.place, step.what)?;
        }
        for (what, lines) in [("assumed", &self.assumed), ("warning", &self.warnings)] {
            for line in lines {
                writeln!(f, "{what}: {line}")?;
            }
        }
        Ok(())
    }
}

/// Works out what an ADD with this network configuration would do on this
/// host as it is now, for a container without interfaces. `args` is
/// `CNI_ARGS`. Nothing is changed, and no privilege is needed.
///
/// The addresses are those that `host-local` gives from an empty pool, or, for
/// other IPAM plugins, those of `prevResult` in the configuration; else
/// documentation addresses stand for them.
pub fn preview(config: &[u8], args: &str) -> Result<Preview, String> {
    plan(config, args).map_err(|error| error.to_string())
}

fn plan(bytes: &[u8], args: &str) -> Result<Preview, BridgeError> {
    let text = to_text(bytes);
    let document = Field::document(&text)
        .and_then(|field| field.object())
        .map_err(Fault::Document)?;
    let network = Network::read(&document)?;
    let version = network.configured()?;
    let config = Config::read(&document, args)?;
    let named = |error| BridgeError::from(Fault::Variable(error));
    let attached = Attached {
        owner: Owner {
            network: network.name,
            attachment: Attachment {
                container: ContainerId::new("CONTAINER").map_err(named)?,
                interface: InterfaceName::new("eth0").map_err(named)?,
            },
        },
        netns: "NETNS".to_owned(),
    };
    let mut assumed = Vec::new();
    let mut host = Kernel::open()?;
    let drawn = draw(&mut host, &config)?;
    let there = look(&mut host, &config)?;
    let mut steps: Vec<_> = plan::links(&config, &attached, &drawn, &there)?
        .iter()
        .map(PreviewStep::of)
        .collect();
    assumed
        .push("names and Ethernet addresses of new interfaces are drawn anew by each ADD".into());

    let gateways = match &config.ipam {
        None => Gateways::default(),
        Some(kind) => {
            let result = allocate(kind, bytes, args, &document, version, &mut assumed)?;
            steps.push(PreviewStep {
                place: "host",
                what: format!("have IPAM plugin {kind} allocate"),
            });
            Gateways::of(result, &config, kind)?
        }
    };
    let backend = config.masquerading.as_ref().map(|masquerading| {
        masquerading.backend.unwrap_or_else(|| {
            assumed.push("masquerading with iptables: nft is taken where there is none".into());
            Backend::Iptables
        })
    });
    let later = plan::addresses(
        &config,
        &attached,
        &drawn,
        &there,
        &gateways,
        backend,
        Vec::new(),
    )?;
    steps.extend(later.iter().map(PreviewStep::of));

    let bridge_mac = there.bridge.as_ref().and_then(|link| link.mac);
    let mut result = gateways.result;
    result.interfaces = plan::interfaces(
        &config,
        &attached,
        &drawn,
        bridge_mac.or(Some(drawn.bridge_mac)),
        Some(drawn.vlan.2),
    );
    if let Some(dns) = &config.dns {
        result.dns = dns.clone();
    }
    Ok(Preview {
        steps,
        result: serde_json::from_str(&result.render(version)?).unwrap_or_default(),
        assumed,
        warnings: config.warnings,
    })
}

/// A result to plan with.
fn allocate(
    kind: &str,
    bytes: &[u8],
    args: &str,
    document: &Object<'_>,
    version: Version,
    assumed: &mut Vec<String>,
) -> Result<Success, BridgeError> {
    if document.get("prevResult").is_some() {
        assumed.push(format!("the addresses of prevResult, not {kind}'s"));
        let previous = document.object("prevResult").map_err(Fault::Document)?;
        return Ok(Success::read(&previous, version)?);
    }
    if kind == "host-local" {
        assumed.push("the addresses that host-local gives from an empty pool".into());
        return host_local(bytes, args, version);
    }
    assumed.push(format!(
        "documentation addresses: what {kind} gives is not known (prevResult in the configuration \
         would be taken for it)"
    ));
    let ip = |address: &str| -> Option<Ip> {
        let address: IpNet = address.parse().ok()?;
        Some(Ip {
            interface: None,
            address,
            gateway: None,
        })
    };
    let ips = ["192.0.2.2/24", "2001:db8::2/64"];
    Ok(Success {
        ips: ips.into_iter().filter_map(ip).collect(),
        ..Success::default()
    })
}

fn host_local(bytes: &[u8], args: &str, version: Version) -> Result<Success, BridgeError> {
    let invocation = Invocation {
        command: "ADD".to_owned(),
        container_id: "CONTAINER".to_owned(),
        interface_name: "eth0".to_owned(),
        netns: "NETNS".to_owned(),
        args: args.to_owned(),
        path: "/".to_owned(),
        config: bytes.to_vec(),
        ..Invocation::default()
    };
    let answer = invoke(&invocation, &mut MemoryStore::default());
    let text = answer.map_err(|text| {
        let said: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        BridgeError::Ipam {
            code: 0,
            msg: said["msg"].as_str().unwrap_or(&text).to_owned(),
            details: String::new(),
        }
    })?;
    let document = Field::document(&text)
        .and_then(|field| field.object())
        .map_err(Fault::Document)?;
    Ok(Success::read(&document, version)?)
}
