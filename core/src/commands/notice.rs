//! Telling a policy what was released.

use alloc::format;
use core::net::IpAddr;

use crate::environment::Environment;
use crate::names::NetworkName;
use crate::policy::{Notice, Setting};
use crate::store::{Owner, Store};

/// Tells the policy, if there is one. What is released stays released: a
/// failure is no more than told.
pub(super) fn tell<E: Environment>(
    environment: &mut E,
    store: &mut E::Store,
    policy: Option<&Setting>,
    network: &NetworkName,
    released: impl IntoIterator<Item = (IpAddr, Owner)>,
) {
    let Some(setting) = policy else { return };
    let time_ms = environment.inputs().time_ms;
    for (address, owner) in released {
        let notice = Notice {
            network: network.clone(),
            address,
            owner,
            config: setting.config.clone(),
            time_ms,
        };
        if let Err(failure) = environment.released(store, setting, &notice) {
            environment.warn(&format!("telling of the release of {address}: {failure}"));
        }
    }
    if let Err(error) = store.keep_state() {
        environment.warn(&format!("keeping what the policy remembers: {error}"));
    }
}
