//! What a plan is made of: single, typed changes to the kernel.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use ipnet::IpNet;
use wipam_net::firewall::{Backend, Masquerade, SpoofCheck};
use wipam_net::{Mac, Membership, Sysctl};

/// In which network namespace something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// The plugin's own.
    Host,
    /// `CNI_NETNS`.
    Container,
}

/// One change, or one wait for the kernel.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Make the bridge, down.
    AddBridge {
        name: String,
        mtu: Option<u32>,
        mac: Option<Mac>,
        vlan_filtering: bool,
    },
    /// Set an interface up.
    SetUp { place: Place, link: String },
    /// Have the bridge take frames for others.
    Promiscuous { link: String },
    /// Change a kernel setting. An optional one that cannot be changed, or that
    /// the kernel does not have, is passed over.
    Set {
        place: Place,
        setting: Sysctl,
        value: &'static str,
        optional: bool,
    },
    /// Make a veth pair, one end of it a port of the bridge.
    AddPair {
        host: String,
        host_mac: Mac,
        bridge: String,
        /// Where the other end goes.
        place: Place,
        container: String,
        container_mac: Mac,
        mtu: Option<u32>,
    },
    /// Note on the host end whose it is.
    Label { link: String, label: String },
    /// Set what the bridge does with the port's frames.
    Port {
        link: String,
        hairpin: bool,
        isolated: bool,
    },
    /// Make the port a member of a VLAN.
    AddVlan {
        link: String,
        vlan: u16,
        membership: Membership,
    },
    /// End the port's membership of a VLAN.
    RemoveVlan { link: String, vlan: u16 },
    /// Give an interface an address.
    AddAddress {
        place: Place,
        link: String,
        address: IpNet,
    },
    /// Take an address away.
    RemoveAddress {
        place: Place,
        link: String,
        address: IpNet,
    },
    /// Have the bridge keep the Ethernet address it had when the ADD began.
    KeepMac { link: String, mac: Mac },
    /// Wait until the container's addresses can be used.
    WaitForAddresses { link: String, limit: Duration },
    /// Add a route in the container.
    AddRoute {
        link: String,
        /// Its place in the result.
        number: usize,
        destination: IpNet,
        gateway: Option<IpAddr>,
        metric: u32,
        table: u32,
        scope: u8,
        mtu: u32,
        advertised_mss: u32,
    },
    /// Drop what comes from the port with another Ethernet address.
    CheckMac(SpoofCheck),
    /// Masquerade what leaves the network.
    Masquerade(Backend, Masquerade),
    /// Forget which Ethernet address an address had before.
    ForgetNeighbour { link: String, address: IpAddr },
    /// Forget the flows of who had an address before.
    ForgetFlows { address: IpAddr },
    /// Wait until the bridge forwards the port's frames.
    WaitForPort {
        link: String,
        bridge: String,
        /// Without, as long as the bridge's spanning tree needs.
        limit: Option<Duration>,
        /// Whether it is an error if it takes longer.
        required: bool,
    },
    /// Tell the neighbours the container's Ethernet address.
    Announce { link: String, mac: Mac },
}

impl Step {
    /// Whether it changes anything: waiting does not.
    pub(crate) fn changes(&self) -> bool {
        !matches!(
            self,
            Self::WaitForAddresses { .. } | Self::WaitForPort { .. }
        )
    }

    /// Where it is done.
    pub(crate) fn place(&self) -> Place {
        match self {
            Self::SetUp { place, .. }
            | Self::Set { place, .. }
            | Self::AddAddress { place, .. }
            | Self::RemoveAddress { place, .. } => *place,
            Self::WaitForAddresses { .. } | Self::AddRoute { .. } | Self::Announce { .. } => {
                Place::Container
            }
            _ => Place::Host,
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AddBridge {
                name,
                mtu,
                mac,
                vlan_filtering,
            } => {
                write!(f, "make bridge {name}")?;
                option(f, "MTU", *mtu)?;
                option(f, "address", *mac)?;
                if *vlan_filtering {
                    f.write_str(", VLAN filtering")?;
                }
                Ok(())
            }
            Self::SetUp { link, .. } => write!(f, "set {link} up"),
            Self::Promiscuous { link } => write!(f, "set {link} promiscuous"),
            Self::Set {
                setting,
                value,
                optional,
                ..
            } => {
                let whether = if *optional { " (if possible)" } else { "" };
                write!(f, "set {setting} to {value}{whether}")
            }
            Self::AddPair {
                host,
                host_mac,
                bridge,
                container,
                container_mac,
                mtu,
                place,
            } => {
                let other = match place {
                    Place::Host => "",
                    Place::Container => " in the container",
                };
                write!(
                    f,
                    "make veth pair {host} ({host_mac}), port of {bridge}, and \
                     {container} ({container_mac}){other}"
                )?;
                option(f, "MTU", *mtu)
            }
            Self::Label { link, label } => write!(f, "name {link} also {label}"),
            Self::Port {
                link,
                hairpin,
                isolated,
            } => write!(
                f,
                "set port {link}: hairpin {}, isolated {}",
                on(*hairpin),
                on(*isolated)
            ),
            Self::AddVlan {
                link,
                vlan,
                membership,
            } => {
                let how = match membership {
                    Membership::Access => "untagged",
                    Membership::Tagged => "tagged",
                };
                write!(f, "add port {link} to VLAN {vlan}, {how}")
            }
            Self::RemoveVlan { link, vlan } => write!(f, "remove port {link} from VLAN {vlan}"),
            Self::AddAddress { link, address, .. } => write!(f, "give {link} address {address}"),
            Self::RemoveAddress { link, address, .. } => {
                write!(f, "take address {address} from {link}")
            }
            Self::KeepMac { link, mac } => {
                write!(f, "have {link} keep its Ethernet address {mac}")
            }
            Self::WaitForAddresses { link, limit } => write!(
                f,
                "wait until the addresses of {link} can be used, at most {} s",
                limit.as_secs()
            ),
            Self::AddRoute {
                link,
                destination,
                gateway,
                metric,
                table,
                mtu,
                advertised_mss,
                ..
            } => {
                write!(f, "add route to {destination}")?;
                if let Some(gateway) = gateway {
                    write!(f, " via {gateway}")?;
                }
                write!(f, " on {link}")?;
                let set = |number: u32| (number != 0).then_some(number);
                option(f, "metric", set(*metric))?;
                option(f, "table", set(*table))?;
                option(f, "MTU", set(*mtu))?;
                option(f, "MSS", set(*advertised_mss))
            }
            Self::CheckMac(check) => lines(f, "drop spoofed frames", &check.describe()),
            Self::Masquerade(backend, masquerade) => {
                lines(f, "masquerade", &masquerade.describe(*backend))
            }
            Self::ForgetNeighbour { link, address } => {
                write!(f, "forget whose {address} was on {link}")
            }
            Self::ForgetFlows { address } => write!(f, "forget the tracked flows of {address}"),
            Self::WaitForPort { link, limit, .. } => {
                write!(f, "wait until port {link} forwards")?;
                option(
                    f,
                    "at most",
                    limit.map(|limit| format!("{} s", limit.as_secs())),
                )
            }
            Self::Announce { link, mac } => {
                write!(f, "announce the addresses of {link} with {mac}")
            }
        }
    }
}

fn option(f: &mut fmt::Formatter<'_>, what: &str, value: Option<impl fmt::Display>) -> fmt::Result {
    match value {
        Some(value) => write!(f, ", {what} {value}"),
        None => Ok(()),
    }
}

fn on(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

fn lines(f: &mut fmt::Formatter<'_>, what: &str, lines: &[String]) -> fmt::Result {
    write!(f, "{what}:")?;
    for line in lines {
        write!(f, "\n      {line}")?;
    }
    Ok(())
}
