//! WIT types to core types and back, total both ways but for names, which are
//! checked again: the host is trusted, its files are not.

use alloc::string::ToString;
use core::net::IpAddr;

use wipam_core::names::{Attachment, ContainerId, InterfaceName};
use wipam_core::range::Span;
use wipam_core::store::{Access, Holder, Location, Owner, Reservation, StoreError, StoreErrorKind};

use crate::bindings::exports::wipam::ipam::cni;
use crate::bindings::wipam::ipam::{storage, types};

pub(crate) fn invocation(from: cni::Invocation) -> wipam_core::parameters::Invocation {
    wipam_core::parameters::Invocation {
        command: from.command,
        container_id: from.container_id,
        interface_name: from.interface_name,
        netns: from.netns,
        own_netns: from.own_netns,
        args: from.args,
        path: from.path,
        config: from.config,
    }
}

pub(crate) fn address(from: types::IpAddress) -> IpAddr {
    match from {
        types::IpAddress::Ipv4(bits) => IpAddr::V4(bits.into()),
        types::IpAddress::Ipv6((upper, lower)) => {
            IpAddr::V6((u128::from(upper) << 64 | u128::from(lower)).into())
        }
    }
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "the halves of 128 bits are meant"
)]
pub(crate) fn to_address(from: IpAddr) -> types::IpAddress {
    match from {
        IpAddr::V4(v4) => types::IpAddress::Ipv4(v4.to_bits()),
        IpAddr::V6(v6) => {
            let bits = v6.to_bits();
            types::IpAddress::Ipv6(((bits >> 64) as u64, bits as u64))
        }
    }
}

pub(crate) fn to_span(from: Span) -> types::Span {
    types::Span {
        first: to_address(from.first()),
        last: to_address(from.last()),
    }
}

pub(crate) fn to_attachment(from: &Attachment) -> types::Attachment {
    types::Attachment {
        container: from.container.to_string(),
        interface: from.interface.to_string(),
    }
}

pub(crate) fn owner(from: &types::Owner) -> Result<Owner, StoreError> {
    let no_name = |cause: &dyn core::fmt::Display| StoreError {
        kind: StoreErrorKind::Io,
        message: alloc::format!("record of {:?}: {cause}", from.container),
    };
    let interface = from
        .interface
        .as_deref()
        .map(InterfaceName::new)
        .transpose();
    Ok(Owner {
        container: ContainerId::new(&from.container).map_err(|error| no_name(&error))?,
        interface: interface.map_err(|error| no_name(&error))?,
    })
}

pub(crate) fn to_owner(from: &Owner) -> types::Owner {
    types::Owner {
        container: from.container.to_string(),
        interface: from.interface.as_ref().map(InterfaceName::to_string),
    }
}

pub(crate) fn reservation(from: &types::Reservation) -> Result<Reservation, StoreError> {
    Ok(Reservation {
        address: address(from.address),
        owner: owner(&from.owner)?,
        newer: from.newer,
    })
}

pub(crate) fn holder(from: &storage::Holder) -> Result<Holder, StoreError> {
    Ok(match from {
        storage::Holder::Nobody => Holder::Nobody,
        storage::Holder::Owner(from) => Holder::Owner(owner(from)?),
        storage::Holder::Foreign => Holder::Foreign,
    })
}

pub(crate) fn error(from: storage::Error) -> StoreError {
    StoreError {
        kind: match from.kind {
            storage::ErrorKind::Busy => StoreErrorKind::Busy,
            storage::ErrorKind::Io => StoreErrorKind::Io,
            storage::ErrorKind::Location => StoreErrorKind::Location,
        },
        message: from.message,
    }
}

pub(crate) fn to_location(from: &Location) -> storage::Location {
    storage::Location {
        data_dir: from.data_dir.clone(),
        network: from.network.to_string(),
        lock_wait_ms: from.lock_wait_ms,
        sync: from.sync,
    }
}

pub(crate) fn to_access(from: Access) -> storage::Access {
    match from {
        Access::Inspect => storage::Access::Inspect,
        Access::Read => storage::Access::Read,
        Access::Release => storage::Access::Release,
        Access::Collect => storage::Access::Collect,
        Access::Reserve => storage::Access::Reserve,
    }
}
