//! Connection tracking: what the kernel remembers of flows of an address that
//! belongs to somebody else by now.

use std::fs;
use std::net::IpAddr;

use netlink_packet_core::{DefaultNla, Emitable, NLA_F_NESTED};

use crate::error::NetError;
use crate::netfilter;

/// `NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_DELETE`.
const DELETE: u16 = 1 << 8 | 2;

/// Attributes of linux/netfilter/nfnetlink_conntrack.h.
const TUPLE_ORIGINAL: u16 = 1;
const TUPLE_REPLY: u16 = 2;
const FILTER: u16 = 25;
const TUPLE_IP: u16 = 1;
const FILTER_ORIGINAL_FLAGS: u16 = 1;
const FILTER_REPLY_FLAGS: u16 = 2;
const BY_SOURCE: u32 = 1;

/// How the kernel is told of a whole namespace's flows.
const COUNT: &str = "/proc/sys/net/netfilter/nf_conntrack_count";

/// Forgets every flow that came from an address or was answered by it, so that
/// no packet follows one of a container that is gone. Does nothing where no
/// flow is tracked: the request alone would load the kernel's module. Linux
/// 5.15; `EINVAL` or `EOPNOTSUPP` before.
pub fn forget_flows(address: IpAddr) -> Result<(), NetError> {
    // A failure to read means that there is no connection tracking.
    let tracked = fs::read_to_string(COUNT).is_ok_and(|count| count.trim() != "0");
    if !tracked {
        return Ok(());
    }
    for (tuple, flags) in [
        (TUPLE_ORIGINAL, FILTER_ORIGINAL_FLAGS),
        (TUPLE_REPLY, FILTER_REPLY_FLAGS),
    ] {
        let source = match address {
            IpAddr::V4(v4) => DefaultNla::new(1, v4.octets().to_vec()),
            IpAddr::V6(v6) => DefaultNla::new(3, v6.octets().to_vec()),
        };
        // Both flags are wanted; the other side's are 0: any.
        let other = FILTER_ORIGINAL_FLAGS + FILTER_REPLY_FLAGS - flags;
        let attributes = [
            nest(tuple, &[nest(TUPLE_IP, &[source])]),
            nest(
                FILTER,
                &[
                    DefaultNla::new(flags, BY_SOURCE.to_ne_bytes().to_vec()),
                    DefaultNla::new(other, 0u32.to_ne_bytes().to_vec()),
                ],
            ),
        ];
        let request = netfilter::Request {
            kind: DELETE,
            family: match address {
                IpAddr::V4(_) => 2,
                IpAddr::V6(_) => 10,
            },
            // Version 1 is what makes the family count.
            version: 1,
            attributes: &attributes,
        };
        netfilter::send(&format!("forgetting the flows of {address}"), &request)?;
    }
    Ok(())
}

fn nest(kind: u16, attributes: &[DefaultNla]) -> DefaultNla {
    let mut bytes = vec![0; attributes.buffer_len()];
    attributes.emit(&mut bytes);
    DefaultNla::new(kind | NLA_F_NESTED, bytes)
}
