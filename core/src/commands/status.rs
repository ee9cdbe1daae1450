//! STATUS: whether an ADD would work.

use alloc::format;
use alloc::string::{String, ToString};

use super::Frame;
use crate::config::{Config, ConfigError};
use crate::environment::Environment;
use crate::error::Fault;
use crate::policy::OnFailure;
use crate::pool::{HoldBack, first_givable};
use crate::settings::{Cooldown, WhenFull};
use crate::store::{Access, Location, StoreError};
use crate::version::Version;

pub(crate) fn status<E: Environment>(
    frame: Frame<'_, '_, E>,
    version: Version,
    location: Result<Location, ConfigError>,
) -> Result<String, Fault> {
    let unusable = |error: ConfigError| Fault::Unavailable(error.to_string());
    let config = Config::read(frame.document, frame.args, version).map_err(unusable)?;
    let location = location.map_err(unusable)?;
    // Where the strategy takes over from a policy that fails, ADD works.
    if let Some(policy) = &config.choosing.policy
        && policy.on_failure == OnFailure::Deny
    {
        let ready = frame.environment.ready(policy);
        ready.map_err(|failure| Fault::Unavailable(failure.to_string()))?;
    }
    let failed = |error: StoreError| Fault::Unavailable(error.to_string());
    let Some(mut store) = frame
        .environment
        .open(&location, Access::Inspect)
        .map_err(failed)?
    else {
        return Ok(String::new());
    };
    // What is kept for somebody is given up if nothing else is free; what is
    // cooling is so only if that is allowed.
    let refuses = |cooldown: &Cooldown| cooldown.when_full == WhenFull::Refuse;
    let cooldown = config.choosing.cooldown.filter(refuses);
    let hold_back = HoldBack {
        cooldown_ms: cooldown.map_or(0, |cooldown| cooldown.ms),
        ..HoldBack::default()
    };
    for (index, set) in config.sets.iter().enumerate() {
        let mut free = None;
        for part in set.givable() {
            if free.is_none() {
                free = first_givable(&mut store, part, &hold_back).map_err(failed)?;
            }
        }
        if free.is_none() {
            return Err(Fault::Unavailable(format!(
                "network {}, range set {index}: every address of {set} is reserved{}",
                location.network,
                match (config.bars_some_of(set), hold_back.is_off()) {
                    (false, true) => "",
                    (false, false) => " or cooling",
                    (true, true) => ", excluded or static",
                    (true, false) => ", excluded, static or cooling",
                }
            )));
        }
    }
    Ok(String::new())
}
