//! Addresses of interfaces.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressMessage, AddressScope};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use rustix::io::Errno;

use crate::error::NetError;
use crate::socket::Kernel;

/// An address of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The interface's number.
    pub link: u32,
    /// The address with the length of its subnet's prefix.
    pub address: IpNet,
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
        for attribute in message.attributes {
            match attribute {
                AddressAttribute::Local(address) => local = Some(address),
                // The peer's on point-to-point links, else the same.
                AddressAttribute::Address(address) => other = Some(address),
                AddressAttribute::Flags(found) => flags = found,
                _ => {}
            }
        }
        let address = IpNet::new(local.or(other)?, message.header.prefix_len).ok()?;
        Some(Self {
            link: message.header.index,
            address,
            link_local: message.header.scope == AddressScope::Link,
            tentative: flags.contains(AddressFlags::Tentative),
            duplicate: flags.contains(AddressFlags::Dadfailed),
        })
    }
}
