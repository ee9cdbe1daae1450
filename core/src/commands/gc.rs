//! GC: releases what belongs to no valid attachment.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Frame, notice};
use crate::environment::Environment;
use crate::error::Fault;
use crate::policy::Setting;
use crate::store::{Access, Location, Reservation, Store};
use crate::valid::ValidAttachments;

pub(crate) fn gc<E: Environment>(
    frame: Frame<'_, '_, E>,
    location: &Location,
    policy: Option<Setting>,
) -> Result<String, Fault> {
    let valid = ValidAttachments::read(frame.document)?;
    let Some(mut store) = frame.environment.open(location, Access::Collect)? else {
        return Ok(String::new());
    };
    let tell = |environment: &mut E, what: &dyn core::fmt::Display| {
        environment.warn(&format!("network {}: released {what}", location.network));
    };
    // Every one is tried; the first failure is the answer.
    let mut outcome = Ok(());
    let mut released = Vec::new();
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
            let interface = owner.interface.as_ref().map(|name| name.as_str());
            if newer || valid.holds(owner.container.as_str(), interface) {
                continue;
            }
            match store.release(address, &owner) {
                Ok(true) => {
                    tell(frame.environment, &format_args!("{address} of {owner}"));
                    released.push((address, owner));
                }
                Ok(false) => {}
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
    }
    notice::tell(
        frame.environment,
        &mut store,
        policy.as_ref(),
        &location.network,
        released,
    );
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
