//! The subnets of a range set fill side by side, by weight.

#![no_std]

use serde::Deserialize;
use wipam_policy::prelude::*;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {
    /// By subnet. One that is not named weighs 1; one of weight 0 waits until
    /// the others are full.
    #[serde(default)]
    weights: BTreeMap<String, u32>,
}

/// A range, and how full it would be with one more: `(used + 1) / weight`.
struct Share {
    span: Span,
    used: u64,
    weight: u64,
}

fn choose(request: &Request, pool: &Pool) -> Result<Answer, String> {
    let config: Config = request.config()?;
    if let Some(address) = request.remembered {
        return Ok(address.into());
    }
    let mut shares = Vec::new();
    for range in pool.ranges() {
        let subnet = format!("{}/{}", range.subnet, range.prefix_length);
        let weight = config.weights.get(&subnet).copied().unwrap_or(1);
        shares.push(Share {
            span: range.span,
            used: 0,
            weight: weight.into(),
        });
    }
    // What is there is counted: a count of one's own would have to be mended
    // after every release that nobody told of.
    for reservation in pool.reservations() {
        let address = reservation.address;
        if let Some(share) = shares.iter_mut().find(|share| share.span.contains(address)) {
            share.used += 1;
        }
    }
    // Fractions are compared without dividing. The sort is stable: of equals,
    // the first in the configuration comes first, and weight 0 comes last.
    shares.sort_by(|a, b| {
        let (left, right) = ((a.used + 1) * b.weight, (b.used + 1) * a.weight);
        (a.weight == 0).cmp(&(b.weight == 0)).then(left.cmp(&right))
    });
    let address = shares
        .iter()
        .find_map(|share| pool.next_free_in(&share.span));
    Ok(address.map_or(Answer::YouDecide, Answer::from))
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
