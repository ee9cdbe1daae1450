//! DEL: releases what the attachment holds. Nothing to release is success.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::IpAddr;

use super::{Frame, notice};
use crate::address::parse_request;
use crate::environment::Environment;
use crate::error::Fault;
use crate::json::Object;
use crate::names::Attachment;
use crate::policy::Setting;
use crate::store::{Access, Location, Reservation, Store};

pub(crate) fn del<E: Environment>(
    frame: Frame<'_, '_, E>,
    location: &Location,
    policy: Option<Setting>,
    attachment: &Attachment,
) -> Result<String, Fault> {
    let Some(mut store) = frame.environment.open(location, Access::Release)? else {
        return Ok(String::new());
    };
    let held = store.held_by(&attachment.container)?;
    let (due, unclear) = due(&held, attachment, &previous(frame.document));
    // Every one is tried; the first failure is the answer.
    let mut outcome = Ok(());
    let mut released = Vec::new();
    for Reservation { address, owner, .. } in due {
        match store.release(*address, owner) {
            Ok(true) => released.push((*address, owner.clone())),
            Ok(false) => {}
            Err(error) => outcome = outcome.and(Err(error)),
        }
    }
    notice::tell(
        frame.environment,
        &mut store,
        policy.as_ref(),
        &location.network,
        released,
    );
    outcome?;
    if !unclear.is_empty() {
        let list: Vec<_> = unclear.iter().map(|r| format!("{}", r.address)).collect();
        frame.environment.warn(&format!(
            "kept {}: recorded for container {} without an interface, and it holds several; \
             prevResult tells which one {} had",
            list.join(" "),
            attachment.container,
            attachment.interface
        ));
    }
    Ok(String::new())
}

/// What to release, and what cannot be told apart. Records of the attachment
/// go; only if there are none, records without an interface come into
/// question: the ones prevResult names, or, where no family has two, all.
fn due<'r>(
    held: &'r [Reservation],
    attachment: &Attachment,
    previous: &[IpAddr],
) -> (Vec<&'r Reservation>, Vec<&'r Reservation>) {
    let exact: Vec<_> = held.iter().filter(|r| r.owner.is(attachment)).collect();
    if !exact.is_empty() {
        return (exact, Vec::new());
    }
    let old: Vec<_> = held
        .iter()
        .filter(|r| r.owner.interface.is_none())
        .collect();
    let of = |is_ipv4| {
        old.iter()
            .filter(|r| r.address.is_ipv4() == is_ipv4)
            .count()
    };
    if of(true) <= 1 && of(false) <= 1 {
        return (old, Vec::new());
    }
    let (named, unclear): (Vec<_>, Vec<_>) =
        old.into_iter().partition(|r| previous.contains(&r.address));
    // Those that are named settle the question for the rest.
    if named.is_empty() {
        (named, unclear)
    } else {
        (named, Vec::new())
    }
}

/// The addresses of prevResult, in any version's shape. What cannot be read
/// is not there: DEL needs none of it.
fn previous(document: &Object<'_>) -> Vec<IpAddr> {
    let Ok(result) = document.object("prevResult") else {
        return Vec::new();
    };
    let mut texts = Vec::new();
    for ip in result.list("ips").unwrap_or_default() {
        texts.extend(ip.object().and_then(|ip| ip.text("address")).ok().flatten());
    }
    for family in ["ip4", "ip6"] {
        texts.extend(
            result
                .object(family)
                .and_then(|ip| ip.text("ip"))
                .ok()
                .flatten(),
        );
    }
    texts
        .iter()
        .filter_map(|text| Some(parse_request(text).ok()?.0))
        .collect()
}
