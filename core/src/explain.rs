//! What a configuration means, in words: for people who wonder how many
//! addresses a container will get, and from where.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt::Write;

use crate::config::{self, Config};
use crate::error::Fault;
use crate::json::{Field, to_text};
use crate::parameters::Network;
use crate::policy::OnFailure;
use crate::pool::Seconds;
use crate::range::Range;
use crate::settings::{Choosing, Strategy, WhenFull};
use crate::store::Location;
use crate::version::Version;

/// Describes a network configuration, or says what is wrong with it. The
/// error is for people, not a CNI error object.
pub fn explain(config: &[u8]) -> Result<String, String> {
    read(config).map_err(|fault| fault.to_string())
}

fn read(config: &[u8]) -> Result<String, Fault> {
    let text = to_text(config);
    let document = Field::document(&text)
        .and_then(|field| field.object())
        .map_err(Fault::Document)?;
    let network = Network::read(&document)?;
    let version = network.configured()?;
    let location = config::location(&document, network.name, |_| {})?;
    let config = Config::read(&document, "", version)?;
    let mut out = String::new();
    // OK because writing to a string cannot fail.
    let _ = describe(&mut out, &config, &location, version);
    Ok(out)
}

fn describe(
    out: &mut String,
    config: &Config,
    location: &Location,
    version: Version,
) -> core::fmt::Result {
    let count = config.sets.len();
    writeln!(
        out,
        "network {}, CNI {version}: each ADD takes {}",
        location.network,
        match count {
            1 => "1 address".to_string(),
            _ => format!("{count} addresses, one from each range set"),
        }
    )?;
    for (index, set) in config.sets.iter().enumerate() {
        let order = match set.ranges().len() {
            1 => String::new(),
            n => format!("the first of {n} ranges that has room, "),
        };
        writeln!(
            out,
            "range set {index}: {order}{} to give",
            size(set.ranges())
        )?;
        for range in set.ranges() {
            let gateway = range
                .gateway()
                .map_or("no gateway".to_string(), |g| format!("gateway {g}"));
            let room = size(core::slice::from_ref(range));
            writeln!(out, "  {range} of {}, {gateway}: {room}", range.subnet())?;
        }
    }
    choosing(out, config)?;
    for request in &config.requests {
        writeln!(out, "requested: {} ({})", request.address, request.source)?;
    }
    for route in &config.routes {
        let via = route.gw.map_or(String::new(), |gw| format!(" via {gw}"));
        writeln!(out, "route: {}{via}", route.dst)?;
    }
    if let Some(path) = &config.resolv_conf {
        writeln!(out, "name servers: from {path}")?;
    }
    let data_dir = match location.data_dir.as_str() {
        "" => "the default data directory",
        given => given,
    };
    writeln!(
        out,
        "reservations: in {data_dir}, network {}",
        location.network
    )?;
    config
        .warnings
        .iter()
        .try_for_each(|warning| writeln!(out, "warning: {warning}"))
}

/// In which order, and what is never given or held back.
fn choosing(out: &mut String, config: &Config) -> core::fmt::Result {
    for (what, spans) in [
        ("excluded", &config.exclude),
        ("static, for requests only", &config.reserved_for_requests),
    ] {
        const SHOWN: usize = 8;
        for span in spans.iter().take(SHOWN) {
            writeln!(out, "{what}: {span}")?;
        }
        if let more @ 1.. = spans.iter().count().saturating_sub(SHOWN) {
            writeln!(out, "{what}: {more} more spans")?;
        }
    }
    let Choosing {
        strategy,
        sticky,
        cooldown,
        policy,
        ..
    } = &config.choosing;
    if let Some(policy) = policy {
        let otherwise = match policy.on_failure {
            OnFailure::Deny => "an ADD fails if it does",
            OnFailure::BuiltIn => "the strategy chooses if it fails",
        };
        writeln!(out, "policy: {}; {otherwise}", policy.component)?;
    }
    if *strategy != Strategy::RoundRobin || policy.is_some() {
        writeln!(out, "strategy: {}", strategy.name())?;
    }
    if let Some(sticky) = sticky {
        writeln!(
            out,
            "sticky: by {}, kept for {}",
            sticky.args.join(" and "),
            Seconds(sticky.keep_ms)
        )?;
    }
    if let Some(cooldown) = cooldown {
        let full = match cooldown.when_full {
            WhenFull::Refuse => "an ADD fails rather than get one that is cooling",
            WhenFull::Use => "those that are cooling come last",
        };
        writeln!(out, "cooldown: {}; {full}", Seconds(cooldown.ms))?;
    }
    Ok(())
}

/// How many addresses the ranges can give, all in all.
fn size(ranges: &[Range]) -> String {
    let parts = ranges.iter().flat_map(|range| range.givable(range.span()));
    match parts
        .map(|part| part.count())
        .fold(0_u128, u128::saturating_add)
    {
        1 => "1 address".to_string(),
        n => format!("{n} addresses"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_whether_ranges_add_up_or_stand_in_for_each_other() {
        let both = explain(
            br#"{"name":"n","cniVersion":"1.0.0","ipam":{"ranges":
                [[{"subnet":"10.1.0.0/30"}],[{"subnet":"10.2.0.0/29"}]]}}"#,
        );
        let both = both.unwrap_or_default();
        assert!(
            both.contains("takes 2 addresses, one from each range set"),
            "{both}"
        );
        assert!(both.contains("10.2.0.1-10.2.0.6 of 10.2.0.0/29, gateway 10.2.0.1: 5 addresses"));
        let either = explain(
            br#"{"name":"n","cniVersion":"1.0.0","ipam":{"ranges":
                [[{"subnet":"10.3.0.0/30"},{"subnet":"10.4.0.0/30"}]]}}"#,
        );
        let either = either.unwrap_or_default();
        assert!(either.contains("each ADD takes 1 address\n"), "{either}");
        assert!(either.contains("the first of 2 ranges that has room, 2 addresses to give"));
    }

    #[test]
    fn sizes_of_the_largest_pools_do_not_overflow() {
        let all = explain(
            br#"{"name":"n","cniVersion":"1.0.0","ipam":{"subnet":"::/0","rangeStart":"::"}}"#,
        );
        // 2^128 without the gateway and the 2^32 IPv4-mapped addresses.
        let wanted = (u128::MAX - (1 << 32)).to_string();
        assert!(
            all.as_ref().is_ok_and(|text| text.contains(&wanted)),
            "{all:?}"
        );
        let bad = explain(br#"{"name":"n","ipam":{"subnet":"10.1.0.1/24"}}"#);
        assert!(bad.is_err_and(|text| text.contains("host bits")));
    }
}
