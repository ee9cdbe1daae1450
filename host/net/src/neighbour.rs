//! What this host remembers of its neighbours.

use std::net::IpAddr;

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::neighbour::{NeighbourAttribute, NeighbourMessage, NeighbourState};

use crate::address::family;
use crate::error::NetError;
use crate::socket::Kernel;

fn message(link: u32, address: IpAddr) -> NeighbourMessage {
    let mut message = NeighbourMessage::default();
    message.header.family = family(address);
    message.header.ifindex = link;
    message
        .attributes
        .push(NeighbourAttribute::Destination(address.into()));
    message
}

impl Kernel {
    /// Forgets which Ethernet address an address has on a link: it is somebody
    /// else's now. An entry that was made to stay (permanent) stays.
    pub fn forget_neighbour(&mut self, link: u32, address: IpAddr) -> Result<(), NetError> {
        let operation = || format!("forgetting neighbour {address}");
        let message = message(link, address);
        let found = self.get(
            operation,
            RouteNetlinkMessage::GetNeighbour(message.clone()),
        )?;
        let Some(RouteNetlinkMessage::NewNeighbour(found)) = found else {
            return Ok(());
        };
        if found.header.state == NeighbourState::Permanent {
            return Ok(());
        }
        match self.change(operation, RouteNetlinkMessage::DelNeighbour(message), 0) {
            Err(error) if error.is(rustix::io::Errno::NOENT) => Ok(()),
            outcome => outcome,
        }
    }
}
