//! GC: releases what belongs to no valid attachment.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::Frame;
use crate::environment::Environment;
use crate::error::Fault;
use crate::json::{JsonError, Object};
use crate::store::{Access, Location, Owner, Reservation, Store};

/// The key of the specification, and the one that earlier libraries sent.
const KEYS: [&str; 2] = ["cni.dev/valid-attachments", "cni.dev/attachments"];

pub(crate) fn gc<E: Environment>(
    frame: Frame<'_, '_, E>,
    location: &Location,
) -> Result<String, Fault> {
    let valid = valid_attachments(frame.document)?;
    let Some(mut store) = frame.environment.open(location, Access::Collect)? else {
        return Ok(String::new());
    };
    let tell = |environment: &mut E, what: &dyn core::fmt::Display| {
        environment.warn(&format!("network {}: released {what}", location.network));
    };
    // Every one is tried; the first failure is the answer.
    let mut outcome = Ok(());
    let mut after = None;
    loop {
        let page = match store.reservations(after) {
            Ok(page) => page,
            Err(error) => {
                outcome = outcome.and(Err(error));
                break;
            }
        };
        let Some(last) = page.last() else { break };
        after = Some(last.address);
        for Reservation {
            address,
            owner,
            newer,
        } in page
        {
            // What was reserved after this GC began cannot be in its list.
            if newer || is_valid(&valid, &owner) {
                continue;
            }
            match store.release(address, &owner) {
                Ok(true) => tell(frame.environment, &format_args!("{address} of {owner}")),
                Ok(false) => {}
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
    }
    match store.reclaim() {
        Ok(addresses) => {
            for address in addresses {
                tell(
                    frame.environment,
                    &format_args!("{address} of nobody (a torn record)"),
                );
            }
        }
        Err(error) => outcome = outcome.and(Err(error)),
    }
    outcome?;
    Ok(String::new())
}

/// Interfaces by container: looked up once for each record of the network.
type Valid = BTreeMap<String, Vec<String>>;

/// A record without an interface is valid as long as its container is.
fn is_valid(valid: &Valid, owner: &Owner) -> bool {
    let Some(interfaces) = valid.get(owner.container.as_str()) else {
        return false;
    };
    let recorded = owner.interface.as_ref();
    recorded.is_none_or(|recorded| interfaces.iter().any(|i| i == recorded.as_str()))
}

fn valid_attachments(document: &Object<'_>) -> Result<Valid, Fault> {
    let unreadable =
        |error: JsonError| Fault::ValidAttachments(format!("{error}; nothing was released"));
    let mut found = false;
    let mut valid = Valid::new();
    for key in KEYS {
        let Some(field) = document.get(key) else {
            continue;
        };
        found = true;
        for entry in field.list().map_err(unreadable)? {
            if entry.is_null() {
                return Err(unreadable(entry.mismatch("an object")));
            }
            let entry = entry.object().map_err(unreadable)?;
            let text = |name| {
                entry
                    .text(name)
                    .map(Option::unwrap_or_default)
                    .map_err(unreadable)
            };
            let interfaces = valid.entry(text("containerID")?).or_default();
            interfaces.push(text("ifname")?);
        }
    }
    if found {
        return Ok(valid);
    }
    // Without a list everything would go. An empty list says so; no list is a
    // caller's mistake.
    Err(Fault::ValidAttachments(format!(
        "{}: wanted a list of attachments, found nothing; nothing was released",
        KEYS[0]
    )))
}
