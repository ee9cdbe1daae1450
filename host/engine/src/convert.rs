//! WIT types to core types and back. A component that hands over a name, a
//! span or a range that is none is faulty, and traps.

pub(crate) mod policy;

use std::net::IpAddr;

use wasmtime::{Error, Result};
use wipam_core::names::{Attachment, ContainerId, InterfaceName, NameError, NetworkName};
use wipam_core::parameters::Invocation;
use wipam_core::span::Span;
use wipam_core::store::{
    Access, Holder, LONGEST_KEY, Location, Owner, Past, Reservation, StoreError, StoreErrorKind,
};

use crate::bindings::exports::wipam::ipam::cni;
use crate::bindings::wipam::ipam::{storage, types};

pub(crate) fn no_name(error: NameError) -> Error {
    Error::msg(format!(
        "the component handed over a bad name: {error} {:?}",
        error.details()
    ))
}

pub(crate) fn invocation(from: &Invocation) -> cni::Invocation {
    cni::Invocation {
        command: from.command.clone(),
        container_id: from.container_id.clone(),
        interface_name: from.interface_name.clone(),
        netns: from.netns.clone(),
        own_netns: from.own_netns,
        args: from.args.clone(),
        path: from.path.clone(),
        config: from.config.clone(),
    }
}

pub(crate) fn address(from: types::IpAddress) -> IpAddr {
    match from {
        types::IpAddress::Ipv4(bits) => IpAddr::V4(bits.into()),
        types::IpAddress::Ipv6((a, b, c, d)) => {
            let join = |bits, part| bits << 32 | u128::from(part);
            IpAddr::V6([a, b, c, d].into_iter().fold(0, join).into())
        }
    }
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "parts of 128 bits are meant"
)]
pub(crate) fn to_address(from: IpAddr) -> types::IpAddress {
    match from {
        IpAddr::V4(v4) => types::IpAddress::Ipv4(v4.to_bits()),
        IpAddr::V6(v6) => {
            let bits = v6.to_bits();
            let part = |shift: u32| (bits >> shift) as u32;
            types::IpAddress::Ipv6((part(96), part(64), part(32), part(0)))
        }
    }
}

pub(crate) fn span(from: &types::Span) -> Result<Span> {
    Span::new(address(from.first), address(from.last))
        .ok_or_else(|| Error::msg("the component handed over a span that ends before it starts"))
}

pub(crate) fn to_span(from: Span) -> types::Span {
    types::Span {
        first: to_address(from.first()),
        last: to_address(from.last()),
    }
}

pub(crate) fn container(from: &str) -> Result<ContainerId> {
    ContainerId::new(from).map_err(no_name)
}

/// Words that stand in a record, and so must not reach into the next one.
pub(crate) fn key(from: String) -> Result<String> {
    if from.len() > LONGEST_KEY || from.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(Error::msg(format!(
            "the component handed over a bad key: {from:?}"
        )));
    }
    Ok(from)
}

pub(crate) fn attachment(from: &types::Attachment) -> Result<Attachment> {
    Ok(Attachment {
        container: container(&from.container)?,
        interface: InterfaceName::new(&from.interface).map_err(no_name)?,
    })
}

pub(crate) fn owner(from: &types::Owner) -> Result<Owner> {
    let interface = from
        .interface
        .as_deref()
        .map(InterfaceName::new)
        .transpose();
    Ok(Owner {
        container: container(&from.container)?,
        interface: interface.map_err(no_name)?,
    })
}

pub(crate) fn to_attachment(from: &Attachment) -> types::Attachment {
    types::Attachment {
        container: from.container.to_string(),
        interface: from.interface.to_string(),
    }
}

fn to_owner(from: &Owner) -> types::Owner {
    types::Owner {
        container: from.container.to_string(),
        interface: from.interface.as_ref().map(ToString::to_string),
    }
}

pub(crate) fn reservation(from: &Reservation) -> types::Reservation {
    types::Reservation {
        address: to_address(from.address),
        owner: to_owner(&from.owner),
        newer: from.newer,
    }
}

pub(crate) fn holder(from: &Holder) -> storage::Holder {
    match from {
        Holder::Nobody => storage::Holder::Nobody,
        Holder::Owner(owner) => storage::Holder::Owner(to_owner(owner)),
        Holder::Foreign => storage::Holder::Foreign,
    }
}

pub(crate) fn past(from: &Past) -> storage::Past {
    storage::Past {
        address: to_address(from.address),
        key: from.key.clone(),
        latest: from.latest,
        released_ms_ago: from.released_ms_ago,
    }
}

pub(crate) fn error(from: StoreError) -> storage::Error {
    storage::Error {
        kind: match from.kind {
            StoreErrorKind::Busy => storage::ErrorKind::Busy,
            StoreErrorKind::Io => storage::ErrorKind::Io,
            StoreErrorKind::Location => storage::ErrorKind::Location,
        },
        message: from.message,
    }
}

pub(crate) fn location(from: storage::Location) -> Result<Location> {
    Ok(Location {
        network: NetworkName::new(&from.network).map_err(no_name)?,
        data_dir: from.data_dir,
        lock_wait_ms: from.lock_wait_ms,
        sync: from.sync,
        history: from.history,
    })
}

pub(crate) fn access(from: storage::Access) -> Access {
    match from {
        storage::Access::Inspect => Access::Inspect,
        storage::Access::Read => Access::Read,
        storage::Access::Release => Access::Release,
        storage::Access::Collect => Access::Collect,
        storage::Access::Reserve => Access::Reserve,
    }
}
