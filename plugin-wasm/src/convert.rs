//! WIT types to core types and back, total both ways but for names, which are
//! checked again: the host is trusted, its files are not.

use alloc::string::ToString;
use core::net::IpAddr;

use wipam_core::names::{Attachment, ContainerId, InterfaceName};
use wipam_core::policy::{Answer, Decision, Limits, Notice, PolicyFailure, Request, Setting, View};
use wipam_core::range::Range;
use wipam_core::span::Span;
use wipam_core::store::{
    Access, Holder, Location, Owner, Past, Reservation, StoreError, StoreErrorKind,
};

use crate::bindings::exports::wipam::ipam::cni;
use crate::bindings::wipam::ipam::{decision, policies, storage, types};

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
        history: from.history,
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

pub(crate) fn past(from: storage::Past) -> Past {
    Past {
        address: address(from.address),
        key: from.key,
        latest: from.latest,
        released_ms_ago: from.released_ms_ago,
    }
}

fn to_range(from: &Range) -> types::Range {
    types::Range {
        subnet: to_address(from.subnet().addr()),
        prefix_length: from.subnet().prefix_len(),
        span: to_span(from.span()),
        gateway: from.gateway().map(to_address),
    }
}

pub(crate) fn to_setting(from: &Setting) -> policies::Setting {
    let Limits {
        fuel,
        memory,
        table_elements,
        instances,
        stack,
        lifted,
        component,
        state,
    } = from.limits;
    policies::Setting {
        component: from.component.clone(),
        cache: from.cache.clone(),
        limits: policies::Limits {
            fuel,
            memory,
            table_elements,
            instances,
            stack,
            lifted,
            component,
            state,
        },
    }
}

pub(crate) fn to_request(from: &Request) -> decision::Request {
    decision::Request {
        network: from.network.to_string(),
        attachment: to_attachment(&from.attachment),
        pod: from.pod.as_ref().map(|pod| decision::Pod {
            namespace: pod.namespace.clone(),
            name: pod.name.clone(),
            uid: pod.uid.clone(),
        }),
        args: from.args.clone(),
        set: from.set,
        config: from.config.clone(),
        remembered: from.remembered.map(to_address),
        time_ms: from.time_ms,
        seed: from.seed,
    }
}

pub(crate) fn to_view(from: &View) -> policies::View {
    policies::View {
        ranges: from.ranges.iter().map(to_range).collect(),
        spans: from.spans.iter().copied().map(to_span).collect(),
        cooldown_ms: from.hold_back.cooldown_ms,
        keep_ms: from.hold_back.keep_ms,
        key: from.hold_back.key.clone(),
        last_reserved: from.last_reserved.map(to_address),
    }
}

pub(crate) fn to_notice(from: &Notice) -> decision::Notice {
    let owner = to_owner(&from.owner);
    decision::Notice {
        network: from.network.to_string(),
        address: to_address(from.address),
        container: owner.container,
        interface: owner.interface,
        config: from.config.clone(),
        time_ms: from.time_ms,
    }
}

pub(crate) fn decision(from: policies::Decision) -> Decision {
    Decision {
        answer: match from.answer {
            decision::Answer::Candidates(candidates) => {
                Answer::Candidates(candidates.into_iter().map(address).collect())
            }
            decision::Answer::None(reason) => Answer::Nothing(reason),
            decision::Answer::YouDecide => Answer::YouDecide,
        },
        by: from.by,
    }
}

pub(crate) fn failure(from: policies::Failure) -> PolicyFailure {
    match from {
        policies::Failure::Storage(cause) => PolicyFailure::Store(error(cause)),
        policies::Failure::Policy(text) => PolicyFailure::Policy(text),
    }
}
