//! The words of a decision, from the component that asks and to the policy that
//! answers.

use ipnet::IpNet;
use wasmtime::{Error, Result};
use wipam_core::names::NetworkName;
use wipam_core::policy::{
    Answer, Decision, Limits, Notice, OnFailure, Pod, PolicyFailure, Request, Setting, View,
};
use wipam_core::pool::HoldBack;
use wipam_core::range::{Range, RangeSpec};
use wipam_core::store::Owner;

use super::{address, attachment, error, no_name, span, to_address, to_attachment, to_span};
use crate::bindings::wipam::ipam::{decision, policies, types};

/// What happens if the policy fails is the component's own business: the
/// interface does not say it.
pub(crate) fn setting(from: policies::Setting, config: &str) -> Setting {
    let limits = from.limits;
    Setting {
        component: from.component,
        cache: from.cache,
        limits: Limits {
            fuel: limits.fuel,
            memory: limits.memory,
            table_elements: limits.table_elements,
            instances: limits.instances,
            stack: limits.stack,
            lifted: limits.lifted,
            component: limits.component,
            state: limits.state,
        },
        config: config.to_owned(),
        on_failure: OnFailure::default(),
    }
}

pub(crate) fn request(from: decision::Request) -> Result<Request> {
    Ok(Request {
        network: NetworkName::new(&from.network).map_err(no_name)?,
        attachment: attachment(&from.attachment)?,
        pod: from.pod.map(|pod| Pod {
            namespace: pod.namespace,
            name: pod.name,
            uid: pod.uid,
        }),
        args: from.args,
        set: from.set,
        config: from.config,
        remembered: from.remembered.map(address),
        time_ms: from.time_ms,
        seed: from.seed,
    })
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

pub(crate) fn notice(from: decision::Notice) -> Result<Notice> {
    let owner = types::Owner {
        container: from.container,
        interface: from.interface,
    };
    Ok(Notice {
        network: NetworkName::new(&from.network).map_err(no_name)?,
        address: address(from.address),
        owner: super::owner(&owner)?,
        config: from.config,
        time_ms: from.time_ms,
    })
}

pub(crate) fn to_notice(from: &Notice) -> decision::Notice {
    let Owner {
        container,
        interface,
    } = &from.owner;
    decision::Notice {
        network: from.network.to_string(),
        address: to_address(from.address),
        container: container.to_string(),
        interface: interface.as_ref().map(ToString::to_string),
        config: from.config.clone(),
        time_ms: from.time_ms,
    }
}

pub(crate) fn view(from: policies::View) -> Result<View> {
    Ok(View {
        ranges: from.ranges.iter().map(range).collect::<Result<_>>()?,
        spans: from.spans.iter().map(span).collect::<Result<_>>()?,
        hold_back: HoldBack {
            cooldown_ms: from.cooldown_ms,
            keep_ms: from.keep_ms,
            key: from.key,
        },
        last_reserved: from.last_reserved.map(address),
    })
}

/// Whether the gateway may lie outside was decided where the configuration was
/// read.
fn range(from: &types::Range) -> Result<Range> {
    let bad = |cause: &dyn std::fmt::Display| {
        Error::msg(format!("the component handed over a bad range: {cause}"))
    };
    let span = span(&from.span)?;
    Range::new(&RangeSpec {
        subnet: IpNet::new(address(from.subnet), from.prefix_length)
            .map_err(|cause| bad(&cause))?,
        start: Some(span.first()),
        end: Some(span.last()),
        gateway: from.gateway.map(address),
        gateway_on_link: true,
    })
    .map_err(|cause| bad(&cause))
}

pub(crate) fn to_range(from: &Range) -> types::Range {
    types::Range {
        subnet: to_address(from.subnet().addr()),
        prefix_length: from.subnet().prefix_len(),
        span: to_span(from.span()),
        gateway: from.gateway().map(to_address),
    }
}

pub(crate) fn to_decision(from: Decision) -> policies::Decision {
    policies::Decision {
        answer: match from.answer {
            Answer::Candidates(addresses) => {
                decision::Answer::Candidates(addresses.into_iter().map(to_address).collect())
            }
            Answer::Nothing(why) => decision::Answer::None(why),
            Answer::YouDecide => decision::Answer::YouDecide,
        },
        by: from.by,
    }
}

pub(crate) fn answer(from: decision::Answer) -> Answer {
    match from {
        decision::Answer::Candidates(addresses) => {
            Answer::Candidates(addresses.into_iter().map(address).collect())
        }
        decision::Answer::None(why) => Answer::Nothing(why),
        decision::Answer::YouDecide => Answer::YouDecide,
    }
}

pub(crate) fn failure(from: PolicyFailure) -> policies::Failure {
    match from {
        PolicyFailure::Store(from) => policies::Failure::Storage(error(from)),
        PolicyFailure::Policy(text) => policies::Failure::Policy(text),
    }
}
