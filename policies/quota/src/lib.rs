//! So many addresses for each tenant, and no more. A tenant is a namespace.

#![no_std]

use serde::Deserialize;
use wipam_policy::prelude::*;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    limits: BTreeMap<String, u32>,
    /// For whoever has no limit of his own; absent: as many as there are.
    default: Option<u32>,
}

/// A record holds its container, and not the tenant. So each address that is
/// given is written down, as a key `TENANT/ADDRESS` without a value: all of
/// them come in one call.
fn key(tenant: &str, address: IpAddr) -> String {
    format!("{tenant}/{address}")
}

fn choose(request: &Request, pool: &Pool) -> Result<Answer, String> {
    let config: Config = request.config()?;
    let tenant = request.namespace().unwrap_or("");
    let state = pool.state();
    let ranges = pool.ranges();

    let mut count = 0;
    for key in state.keys() {
        let Some((owner, address)) = key.rsplit_once('/') else {
            continue;
        };
        let Ok(address) = address.parse::<IpAddr>() else {
            continue;
        };
        // Range sets count by themselves: a pod has an address of each.
        if owner != tenant || !ranges.iter().any(|range| range.span.contains(address)) {
            continue;
        }
        if pool.is_reserved(address) {
            count += 1;
        } else {
            // Somebody else released it, and nobody told.
            state.remove(&key);
        }
    }
    let limit = config.limits.get(tenant).copied().or(config.default);
    if let Some(limit) = limit.filter(|limit| count >= *limit) {
        return Err(format!(
            "tenant \"{tenant}\" has {count} of at most {limit} addresses"
        ));
    }
    // The choice cannot be left to the built-in strategy, which may have cooling
    // addresses up its sleeve: it has to be known which one it is.
    let address = request.remembered.or_else(|| pool.next_in_turn());
    let address = address.ok_or_else(|| format!("no address is free for tenant \"{tenant}\""))?;
    strike_out(state, address);
    state.set(&key(tenant, address), b"")?;
    Ok(address.into())
}

fn released(notice: &Notice, state: &State) -> Result<(), String> {
    strike_out(state, notice.address);
    Ok(())
}

/// Whoever it was that had it.
fn strike_out(state: &State, address: IpAddr) {
    let end = key("", address);
    for key in state.keys().iter().filter(|key| key.ends_with(&end)) {
        state.remove(key);
    }
}

wipam_policy::policy!(choose, released);

#[cfg(test)]
mod tests {
    use super::{choose, released};
    use wipam_policy::cases::{Failures, run_with_releases};

    #[test]
    fn cases() -> Result<(), Failures> {
        run_with_releases(include_str!("../cases.json"), choose, released)
    }
}
