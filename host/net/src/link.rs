//! Interfaces: bridges, veth pairs and their ends.

use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::link::{
    AfSpecBridge, BridgePortState, BridgeStpState, BridgeVlanInfo, BridgeVlanInfoFlags, InfoBridge,
    InfoBridgePort, InfoData, InfoKind, InfoPortData, InfoPortKind, InfoVeth, LinkAttribute,
    LinkExtentMask, LinkFlags, LinkInfo, LinkMessage, Prop, State,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use crate::error::NetError;
use crate::mac::Mac;
use crate::namespace::Namespace;
use crate::socket::Kernel;

/// Bytes a name can have (`IFNAMSIZ` without the terminator).
pub const LONGEST_NAME: usize = 15;

/// Bytes an alternative name can have (`ALTIFNAMSIZ` without the terminator).
pub const LONGEST_ALTERNATIVE_NAME: usize = 127;

/// An interface, as it is now.
#[derive(Clone, Debug, Default)]
pub struct Link {
    /// Its number, which is its identity within the namespace.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Further names, of up to 127 bytes.
    pub alternative_names: Vec<String>,
    /// What makes it: `bridge`, `veth`, ...; empty for hardware and lo.
    pub kind: String,
    /// Its Ethernet address.
    pub mac: Option<Mac>,
    /// Largest packet in bytes, without the Ethernet header.
    pub mtu: u32,
    /// Whether it is set up.
    pub up: bool,
    /// Whether it takes frames for others.
    pub promiscuous: bool,
    /// Whether packets pass.
    pub operational: bool,
    /// The bridge (or the like) it is a port of.
    pub master: Option<u32>,
    /// The other end of a veth, where it is; its namespace may be another.
    pub peer: Option<u32>,
    /// Number of the other end's namespace, where that is another one.
    pub peer_namespace: Option<i32>,
    /// As a port of a bridge.
    pub port: Option<Port>,
    /// As a bridge.
    pub bridge: Option<Bridge>,
}

/// A port of a bridge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Port {
    /// Whether it forwards.
    pub state: PortState,
    /// Whether frames may leave by the port they came in by.
    pub hairpin: bool,
    /// Whether it reaches only ports that are not isolated.
    pub isolated: bool,
}

/// What the bridge does with a port's frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PortState {
    /// Nothing: no carrier.
    #[default]
    Disabled,
    /// Nothing yet: spanning tree is listening.
    Listening,
    /// Nothing yet: spanning tree is learning.
    Learning,
    /// Everything.
    Forwarding,
    /// Nothing: another port leads there.
    Blocking,
}

/// A bridge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bridge {
    /// Whether ports belong to VLANs.
    pub vlan_filtering: bool,
    /// Whether it takes part in a spanning tree.
    pub stp: bool,
    /// Time a port spends in each of listening and learning, in hundredths of
    /// a second.
    pub forward_delay: u32,
}

/// A new veth pair: one end here, as the port of a bridge, the other in a
/// container.
#[derive(Clone, Debug)]
pub struct NewPair<'a> {
    /// Name of the end here.
    pub host_name: &'a str,
    /// Its address.
    pub host_mac: Mac,
    /// The bridge it is a port of.
    pub master: u32,
    /// Name of the other end.
    pub container_name: &'a str,
    /// Its address.
    pub container_mac: Mac,
    /// MTU of both; the kernel's default without.
    pub mtu: Option<u32>,
}

/// A new bridge.
#[derive(Clone, Debug)]
pub struct NewBridge<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its MTU; the kernel's default without.
    pub mtu: Option<u32>,
    /// Its address, which then stays; without, that of its ports that has the
    /// lowest.
    pub mac: Option<Mac>,
    /// Whether ports belong to VLANs.
    pub vlan_filtering: bool,
}

/// How a port belongs to a VLAN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Membership {
    /// Untagged frames are of this VLAN, and its frames leave untagged.
    Access,
    /// Its frames are tagged.
    Tagged,
}

fn by_name(name: &str) -> LinkMessage {
    let mut message = LinkMessage::default();
    message
        .attributes
        .push(LinkAttribute::IfName(name.to_owned()));
    message
}

fn by_index(index: u32) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message
}

/// Statistics are most of an answer, and nobody here reads them.
fn without_statistics(mut message: LinkMessage) -> RouteNetlinkMessage {
    message
        .attributes
        .push(LinkAttribute::ExtMask(vec![LinkExtentMask::SkipStats]));
    RouteNetlinkMessage::GetLink(message)
}

impl Kernel {
    /// The interface of this name, if there is one.
    pub fn link(&mut self, name: &str) -> Result<Option<Link>, NetError> {
        let found = self.get(
            || format!("looking for interface {name}"),
            without_statistics(by_name(name)),
        )?;
        Ok(found.and_then(Link::read))
    }

    /// The interface of this number, if there is one.
    pub fn link_by_index(&mut self, index: u32) -> Result<Option<Link>, NetError> {
        let found = self.get(
            || format!("looking for interface number {index}"),
            without_statistics(by_index(index)),
        )?;
        Ok(found.and_then(Link::read))
    }

    /// Every interface.
    pub fn links(&mut self) -> Result<Vec<Link>, NetError> {
        let found = self.dump(
            || "listing interfaces".to_owned(),
            &without_statistics(LinkMessage::default()),
        )?;
        Ok(found.into_iter().filter_map(Link::read).collect())
    }

    /// Makes a bridge, down. `EEXIST` if the name is taken.
    pub fn add_bridge(&mut self, new: &NewBridge<'_>) -> Result<(), NetError> {
        let mut message = by_name(new.name);
        let attributes = &mut message.attributes;
        attributes.extend(new.mtu.map(LinkAttribute::Mtu));
        attributes.extend(new.mac.map(|mac| LinkAttribute::Address(mac.0.to_vec())));
        let mut info = vec![LinkInfo::Kind(InfoKind::Bridge)];
        if new.vlan_filtering {
            info.push(LinkInfo::Data(InfoData::Bridge(vec![
                InfoBridge::VlanFiltering(true),
            ])));
        }
        attributes.push(LinkAttribute::LinkInfo(info));
        self.change(
            || format!("making bridge {}", new.name),
            RouteNetlinkMessage::NewLink(message),
            NLM_F_CREATE | NLM_F_EXCL,
        )
    }

    /// Makes a veth pair: this end up and a port of its bridge, the other in
    /// `container`, down. `EEXIST` if either name is taken.
    pub fn add_pair(&mut self, new: &NewPair<'_>, container: &Namespace) -> Result<(), NetError> {
        let mut peer = by_name(new.container_name);
        peer.attributes
            .push(LinkAttribute::Address(new.container_mac.0.to_vec()));
        peer.attributes
            .push(LinkAttribute::NetNsFd(container.raw_fd()));
        peer.attributes.extend(new.mtu.map(LinkAttribute::Mtu));

        let mut message = by_name(new.host_name);
        set_up(&mut message);
        let attributes = &mut message.attributes;
        attributes.push(LinkAttribute::Address(new.host_mac.0.to_vec()));
        attributes.push(LinkAttribute::Controller(new.master));
        attributes.extend(new.mtu.map(LinkAttribute::Mtu));
        attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
        ]));
        self.change(
            || {
                format!(
                    "making veth pair {} and {} in {}",
                    new.host_name,
                    new.container_name,
                    container.path()
                )
            },
            RouteNetlinkMessage::NewLink(message),
            NLM_F_CREATE | NLM_F_EXCL,
        )
    }

    /// Gives an interface a further name, of at most
    /// [`LONGEST_ALTERNATIVE_NAME`] bytes. Linux 5.5.
    pub fn add_alternative_name(&mut self, name: &str, further: &str) -> Result<(), NetError> {
        let mut message = by_name(name);
        message
            .attributes
            .push(LinkAttribute::PropList(vec![Prop::AltIfName(
                further.to_owned(),
            )]));
        self.change(
            || format!("naming interface {name} also {further}"),
            RouteNetlinkMessage::NewLinkProp(message),
            NLM_F_CREATE | NLM_F_EXCL,
        )
    }

    /// Removes an interface; of a pair, both ends. `false` if there was none.
    pub fn delete_link(&mut self, index: u32) -> Result<bool, NetError> {
        let outcome = self.change(
            || format!("removing interface number {index}"),
            RouteNetlinkMessage::DelLink(by_index(index)),
            0,
        );
        match outcome {
            Ok(()) => Ok(true),
            Err(error) if error.is(rustix::io::Errno::NODEV) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Sets an interface up.
    pub fn set_up(&mut self, name: &str) -> Result<(), NetError> {
        let mut message = by_name(name);
        set_up(&mut message);
        self.set(|| format!("setting {name} up"), message)
    }

    /// Sets an interface down.
    pub fn set_down(&mut self, name: &str) -> Result<(), NetError> {
        let mut message = by_name(name);
        message.header.change_mask = LinkFlags::Up;
        self.set(|| format!("setting {name} down"), message)
    }

    /// Has an interface take frames for others, or not.
    pub fn set_promiscuous(&mut self, name: &str, on: bool) -> Result<(), NetError> {
        let mut message = by_name(name);
        message.header.change_mask = LinkFlags::Promisc;
        if on {
            message.header.flags = LinkFlags::Promisc;
        }
        self.set(|| format!("setting {name} promiscuous: {on}"), message)
    }

    /// Gives an interface an address. That of a bridge then stays as it is.
    pub fn set_mac(&mut self, name: &str, mac: Mac) -> Result<(), NetError> {
        let mut message = by_name(name);
        message
            .attributes
            .push(LinkAttribute::Address(mac.0.to_vec()));
        self.set(|| format!("giving {name} address {mac}"), message)
    }

    /// Has a bridge tell VLANs apart, or not.
    pub fn set_vlan_filtering(&mut self, name: &str, on: bool) -> Result<(), NetError> {
        let mut message = by_name(name);
        message.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Bridge),
            LinkInfo::Data(InfoData::Bridge(vec![InfoBridge::VlanFiltering(on)])),
        ]));
        self.change(
            || format!("setting VLAN filtering of {name}: {on}"),
            RouteNetlinkMessage::NewLink(message),
            0,
        )
    }

    /// Sets what a port does with frames for itself and for isolated ports.
    /// What is `None` stays.
    pub fn set_port(
        &mut self,
        name: &str,
        hairpin: Option<bool>,
        isolated: Option<bool>,
    ) -> Result<(), NetError> {
        let mut settings = Vec::new();
        settings.extend(hairpin.map(InfoBridgePort::HairpinMode));
        settings.extend(isolated.map(InfoBridgePort::Isolated));
        let mut message = by_name(name);
        message.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::PortKind(InfoPortKind::Bridge),
            LinkInfo::PortData(InfoPortData::BridgePort(settings)),
        ]));
        self.change(
            || format!("setting hairpin and isolation of port {name}"),
            RouteNetlinkMessage::NewLink(message),
            0,
        )
    }

    /// Makes a port a member of a VLAN.
    pub fn add_vlan(&mut self, port: u32, vlan: u16, how: Membership) -> Result<(), NetError> {
        let flags = match how {
            Membership::Access => BridgeVlanInfoFlags::Pvid | BridgeVlanInfoFlags::Untagged,
            Membership::Tagged => BridgeVlanInfoFlags::empty(),
        };
        self.set(
            || format!("adding port number {port} to VLAN {vlan}"),
            vlan_message(port, vlan, flags),
        )
    }

    /// Ends a port's membership of a VLAN.
    pub fn remove_vlan(&mut self, port: u32, vlan: u16) -> Result<(), NetError> {
        self.change(
            || format!("removing port number {port} from VLAN {vlan}"),
            RouteNetlinkMessage::DelLink(vlan_message(port, vlan, BridgeVlanInfoFlags::empty())),
            0,
        )
    }

    fn set(
        &mut self,
        operation: impl Fn() -> String,
        message: LinkMessage,
    ) -> Result<(), NetError> {
        self.change(operation, RouteNetlinkMessage::SetLink(message), 0)
    }
}

fn set_up(message: &mut LinkMessage) {
    message.header.flags = LinkFlags::Up;
    message.header.change_mask = LinkFlags::Up;
}

fn vlan_message(port: u32, vid: u16, flags: BridgeVlanInfoFlags) -> LinkMessage {
    let mut message = by_index(port);
    message.header.interface_family = AddressFamily::Bridge;
    let vlan = BridgeVlanInfo { flags, vid };
    message
        .attributes
        .push(LinkAttribute::AfSpecBridge(vec![AfSpecBridge::VlanInfo(
            vlan,
        )]));
    message
}

impl Link {
    fn read(message: RouteNetlinkMessage) -> Option<Self> {
        let RouteNetlinkMessage::NewLink(message) = message else {
            return None;
        };
        let flags = message.header.flags;
        let mut link = Self {
            index: message.header.index,
            up: flags.contains(LinkFlags::Up),
            promiscuous: flags.contains(LinkFlags::Promisc),
            ..Self::default()
        };
        for attribute in message.attributes {
            match attribute {
                LinkAttribute::IfName(name) => link.name = name,
                LinkAttribute::PropList(properties) => {
                    link.alternative_names
                        .extend(properties.into_iter().filter_map(|p| match p {
                            Prop::AltIfName(name) => Some(name),
                            _ => None,
                        }));
                }
                LinkAttribute::Address(bytes) => link.mac = Mac::from_bytes(&bytes),
                LinkAttribute::Mtu(mtu) => link.mtu = mtu,
                LinkAttribute::Controller(master) => link.master = Some(master),
                LinkAttribute::Link(peer) => link.peer = Some(peer),
                LinkAttribute::LinkNetNsId(id) => link.peer_namespace = Some(id),
                LinkAttribute::OperState(state) => link.operational = state == State::Up,
                LinkAttribute::LinkInfo(infos) => link.read_info(infos),
                _ => {}
            }
        }
        Some(link)
    }

    fn read_info(&mut self, infos: Vec<LinkInfo>) {
        for info in infos {
            match info {
                LinkInfo::Kind(kind) => {
                    if kind == InfoKind::Bridge {
                        self.bridge.get_or_insert_default();
                    }
                    self.kind = kind.to_string();
                }
                LinkInfo::Data(InfoData::Bridge(data)) => {
                    let bridge = self.bridge.get_or_insert_default();
                    for item in data {
                        match item {
                            InfoBridge::VlanFiltering(on) => bridge.vlan_filtering = on,
                            InfoBridge::StpState(state) => {
                                bridge.stp = state != BridgeStpState::Disabled;
                            }
                            InfoBridge::ForwardDelay(delay) => bridge.forward_delay = delay,
                            _ => {}
                        }
                    }
                }
                LinkInfo::PortData(InfoPortData::BridgePort(data)) => {
                    let port = self.port.get_or_insert_default();
                    for item in data {
                        match item {
                            InfoBridgePort::State(state) => port.state = PortState::read(state),
                            InfoBridgePort::HairpinMode(on) => port.hairpin = on,
                            InfoBridgePort::Isolated(on) => port.isolated = on,
                            _ => {}
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

impl PortState {
    fn read(state: BridgePortState) -> Self {
        match state {
            BridgePortState::Listening => Self::Listening,
            BridgePortState::Learning => Self::Learning,
            BridgePortState::Forwarding => Self::Forwarding,
            BridgePortState::Blocking => Self::Blocking,
            _ => Self::Disabled,
        }
    }

    /// In a word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::Listening => "listening",
            Self::Learning => "learning",
            Self::Forwarding => "forwarding",
            Self::Blocking => "blocking",
        }
    }
}
