//! Walking sets of addresses instead of the addresses themselves.

use std::net::IpAddr;

use wipam_core::span::{from_number, to_number};

/// The next address of its family, if there is one.
pub(crate) fn after(address: IpAddr) -> Option<IpAddr> {
    from_number(address, to_number(address).checked_add(1)?)
}

/// The lowest address between the two, both inclusive, that is not in the set,
/// of which `taken` gives what lies between them in its order.
pub(crate) fn first_gap<'a>(
    taken: impl Iterator<Item = &'a IpAddr>,
    first: IpAddr,
    last: IpAddr,
) -> Option<IpAddr> {
    let mut free = first;
    for address in taken {
        if *address != free {
            break;
        }
        free = after(free).filter(|next| *next <= last)?;
    }
    Some(free)
}
