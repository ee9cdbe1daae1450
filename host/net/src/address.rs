//! Addresses of interfaces.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressMessage, AddressScope};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::error::NetError;
use crate::socket::Kernel;

/// An address of an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// The interface's number.
    pub link: u32,
    /// The address with the length of its subnet's prefix.
    pub address: IpNet,
    /// The broadcast address that goes with it.
    pub broadcast: Option<Ipv4Addr>,
    /// The label of an IPv4 address: the interface's name, or that and more.
    pub label: Option<String>,
    /// How far it is valid, as the kernel numbers it; 0 is everywhere.
    pub scope: u8,
    /// What else the kernel notes of it (`IFA_F_*`, linux/if_addr.h).
    pub flags: u32,
    /// Whether it is valid on this link only.
    pub link_local: bool,
    /// Whether duplicate address detection is not through yet: it cannot be
    /// used.
    pub tentative: bool,
    /// Whether somebody else has it.
    pub duplicate: bool,
}

fn message(link: u32, address: IpNet) -> AddressMessage {
    let mut message = AddressMessage::default();
    message.header.family = family(address.addr());
    message.header.prefix_len = address.prefix_len();
    message.header.index = link;
    message.attributes = vec![
        AddressAttribute::Local(address.addr()),
        AddressAttribute::Address(address.addr()),
    ];
    message
}

pub(crate) fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}

/// The broadcast address that goes with an IPv4 address; subnets of one or two
/// addresses have none.
fn broadcast(address: IpNet) -> Option<Ipv4Addr> {
    match address {
        IpNet::V4(v4) if v4.prefix_len() < 31 => Some(v4.broadcast()),
        _ => None,
    }
}

impl Kernel {
    /// Gives an interface an address. `EEXIST` if it has it.
    pub fn add_address(&mut self, link: u32, address: IpNet) -> Result<(), NetError> {
        let mut message = message(link, address);
        message
            .attributes
            .extend(broadcast(address).map(AddressAttribute::Broadcast));
        self.change(
            || format!("giving interface number {link} address {address}"),
            RouteNetlinkMessage::NewAddress(message),
            NLM_F_CREATE | NLM_F_EXCL,
        )
    }

    /// Gives an interface an address back that was taken away, as it was.
    pub fn restore_address(&mut self, link: u32, old: &Address) -> Result<(), NetError> {
        let mut message = message(link, old.address);
        message.header.scope = AddressScope::from(old.scope);
        // Some come by themselves, and cannot be set.
        let settable = AddressFlags::Nodad
            | AddressFlags::Optimistic
            | AddressFlags::Homeaddress
            | AddressFlags::Managetempaddr
            | AddressFlags::Noprefixroute
            | AddressFlags::Mcautojoin;
        let flags = AddressFlags::from_bits_retain(old.flags) & settable;
        let attributes = &mut message.attributes;
        attributes.extend(old.broadcast.map(AddressAttribute::Broadcast));
        attributes.extend(old.label.clone().map(AddressAttribute::Label));
        attributes.push(AddressAttribute::Flags(flags));
        let outcome = self.change(
            || {
                format!(
                    "giving interface number {link} back address {}",
                    old.address
                )
            },
            RouteNetlinkMessage::NewAddress(message),
            NLM_F_CREATE | NLM_F_EXCL,
        );
        match outcome {
            Err(error) if error.is(Errno::EXIST) => Ok(()),
            outcome => outcome,
        }
    }

    /// Takes an address away. `false` if the interface did not have it.
    pub fn delete_address(&mut self, link: u32, address: IpNet) -> Result<bool, NetError> {
        let outcome = self.change(
            || format!("taking address {address} from interface number {link}"),
            RouteNetlinkMessage::DelAddress(message(link, address)),
            0,
        );
        match outcome {
            Ok(()) => Ok(true),
            Err(error) if error.is(Errno::ADDRNOTAVAIL) || error.is(Errno::NODEV) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The addresses of one interface, or of all.
    pub fn addresses(&mut self, link: Option<u32>) -> Result<Vec<Address>, NetError> {
        let mut request = AddressMessage::default();
        request.header.index = link.unwrap_or_default();
        let found = self.dump(
            || "listing addresses".to_owned(),
            &RouteNetlinkMessage::GetAddress(request),
        )?;
        let addresses = found.into_iter().filter_map(Address::read);
        // Kernels before 4.20 list them all.
        Ok(addresses
            .filter(|address| link.is_none_or(|link| address.link == link))
            .collect())
    }
}

impl Address {
    fn read(message: RouteNetlinkMessage) -> Option<Self> {
        let RouteNetlinkMessage::NewAddress(message) = message else {
            return None;
        };
        let (mut local, mut other, mut flags) = (None, None, AddressFlags::empty());
        let (mut broadcast, mut label) = (None, None);
        for attribute in message.attributes {
            match attribute {
                AddressAttribute::Local(address) => local = Some(address),
                // The peer's on point-to-point links, else the same.
                AddressAttribute::Address(address) => other = Some(address),
                AddressAttribute::Flags(found) => flags = found,
                AddressAttribute::Broadcast(found) => broadcast = Some(found),
                AddressAttribute::Label(found) => label = Some(found),
                _ => {}
            }
        }
        let address = IpNet::new(local.or(other)?, message.header.prefix_len).ok()?;
        Some(Self {
            link: message.header.index,
            address,
            broadcast,
            label,
            scope: message.header.scope.into(),
            flags: flags.bits(),
            link_local: message.header.scope == AddressScope::Link,
            tentative: flags.contains(AddressFlags::Tentative),
            duplicate: flags.contains(AddressFlags::Dadfailed),
        })
    }
}
