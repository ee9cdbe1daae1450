//! Zones, racks, departments: each has spans of its own.

#![no_std]

use serde::Deserialize;
use wipam_policy::prelude::*;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    /// The key of `CNI_ARGS` that names the zone; without one, the namespace
    /// of the pod does.
    arg: Option<String>,
    zones: BTreeMap<String, Vec<Span>>,
    /// For whoever is in none of the zones.
    default: Option<Vec<Span>>,
}

fn choose(request: &Request, pool: &Pool) -> Result<Answer, String> {
    let config: Config = request.config()?;
    let (what, zone) = match &config.arg {
        Some(key) => (key.as_str(), request.arg(key)),
        None => ("namespace", request.namespace()),
    };
    let zone = zone.unwrap_or("");
    let spans = config.zones.get(zone).or(config.default.as_ref());
    let spans =
        spans.ok_or_else(|| format!("{what} \"{zone}\" is no zone, and there is no default"))?;

    // A zone may have spans of both families, for two range sets.
    let givable = pool.spans();
    if !spans
        .iter()
        .any(|span| givable.iter().any(|other| span.overlaps(other)))
    {
        return Err(format!(
            "config: no span of {what} \"{zone}\" is in range set {}",
            request.set
        ));
    }
    let address = request
        .remembered_in(spans)
        .or_else(|| pool.first_free(spans));
    let address = address.ok_or_else(|| format!("no address is free for {what} \"{zone}\""))?;
    Ok(address.into())
}

wipam_policy::policy!(choose);

#[cfg(test)]
mod tests {
    use wipam_policy::cases::{Failures, run};

    #[test]
    fn cases() -> Result<(), Failures> {
        run(include_str!("../cases.json"), super::choose)
    }

    #[test]
    fn cases_ipv6() -> Result<(), Failures> {
        run(include_str!("../cases-ipv6.json"), super::choose)
    }
}
