//! Pods of one namespace have addresses of their own; the rest is left to the
//! built-in strategy.

#![no_std]

use serde::Deserialize;
use wipam_policy::prelude::*;

/// What `ipam.policy.config` may hold.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    namespace: String,
    spans: Vec<Span>,
}

fn choose(request: &Request, pool: &Pool) -> Result<Answer, String> {
    let config: Config = request.config()?;
    if request.namespace() != Some(&config.namespace) {
        return Ok(Answer::YouDecide);
    }
    let address = pool.first_free(&config.spans);
    let address = address.ok_or_else(|| format!("no address is free for {}", config.namespace))?;
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
}
