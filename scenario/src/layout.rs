//! What a map of the pool needs to know of a network configuration.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::net::IpAddr;

use serde::Serialize;
use wipam_core::config::{self, Config};
use wipam_core::json::Field;
use wipam_core::parameters::Network;
use wipam_core::range::Range;
use wipam_core::range_set::RangeSet;
use wipam_core::settings::WhenFull;
use wipam_core::span::Span;
use wipam_core::spans::Spans;

/// Where networks are, unless `ipam.dataDir` says something else.
pub const DATA_DIR: &str = "/var/lib/cni/networks";

/// A network's pool.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Layout {
    network: String,
    /// The directory of its records.
    directory: String,
    sets: Vec<Set>,
    gateways: Vec<IpAddr>,
    /// Network and broadcast addresses.
    barred: Vec<IpAddr>,
    exclude: Vec<Ends>,
    #[serde(rename = "static")]
    for_requests: Vec<Ends>,
    strategy: &'static str,
    cooldown_ms: u64,
    when_full: &'static str,
    keep_ms: u64,
    policy: Option<String>,
}

#[derive(Clone, Debug, Serialize)]
struct Set {
    /// Addresses to give, as decimal digits.
    size: String,
    ranges: Vec<Extent>,
}

#[derive(Clone, Debug, Serialize)]
struct Extent {
    subnet: String,
    first: IpAddr,
    last: IpAddr,
    gateway: Option<IpAddr>,
    size: String,
}

#[derive(Clone, Debug, Serialize)]
struct Ends {
    first: IpAddr,
    last: IpAddr,
}

/// Describes the pool of a network configuration, as JSON, or says what is
/// wrong with it.
pub fn layout(text: &str) -> Result<String, String> {
    let Pool {
        config,
        name,
        data_dir,
    } = read(text)?;
    serde_json::to_string(&describe(&config, name, &data_dir)).map_err(|error| error.to_string())
}

/// A configuration that can be used.
pub(crate) struct Pool {
    pub(crate) config: Config,
    name: String,
    data_dir: String,
}

pub(crate) fn read(text: &str) -> Result<Pool, String> {
    let fault = |error: &dyn core::fmt::Display| error.to_string();
    let document = Field::document(text)
        .and_then(|field| field.object())
        .map_err(|error| fault(&error))?;
    let network = Network::read(&document).map_err(|error| fault(&error))?;
    let version = network.configured().map_err(|error| fault(&error))?;
    let name = network.name.to_string();
    let location =
        config::location(&document, network.name, |_| {}).map_err(|error| fault(&error))?;
    let config = Config::read(&document, "", version).map_err(|error| fault(&error))?;
    Ok(Pool {
        config,
        name,
        data_dir: location.data_dir,
    })
}

fn describe(config: &Config, network: String, data_dir: &str) -> Layout {
    let ranges = || config.sets.iter().flat_map(RangeSet::ranges);
    let choosing = &config.choosing;
    let folder = match data_dir {
        "" => DATA_DIR,
        given => given,
    };
    Layout {
        directory: format!("{folder}/{network}"),
        network,
        sets: config.sets.iter().map(set).collect(),
        gateways: ranges().filter_map(Range::gateway).collect(),
        barred: ranges()
            .flat_map(|range| range.subnet_addresses())
            .flatten()
            .collect(),
        exclude: ends(&config.exclude),
        for_requests: ends(&config.reserved_for_requests),
        strategy: choosing.strategy.name(),
        cooldown_ms: choosing.cooldown.as_ref().map_or(0, |cooldown| cooldown.ms),
        when_full: match choosing
            .cooldown
            .as_ref()
            .map(|cooldown| cooldown.when_full)
        {
            Some(WhenFull::Use) => "use",
            _ => "refuse",
        },
        keep_ms: choosing.sticky.as_ref().map_or(0, |sticky| sticky.keep_ms),
        policy: choosing
            .policy
            .as_ref()
            .map(|setting| setting.component.to_owned()),
    }
}

fn set(set: &RangeSet) -> Set {
    Set {
        size: size(set.ranges()).to_string(),
        ranges: set
            .ranges()
            .iter()
            .map(|range| Extent {
                subnet: range.subnet().to_string(),
                first: range.span().first(),
                last: range.span().last(),
                gateway: range.gateway(),
                size: size(core::slice::from_ref(range)).to_string(),
            })
            .collect(),
    }
}

/// How many addresses ranges have to give.
pub(crate) fn size(ranges: &[Range]) -> u128 {
    ranges
        .iter()
        .flat_map(|range| range.givable(range.span()))
        .map(|span: Span| span.count())
        .fold(0, u128::saturating_add)
}

fn ends(spans: &Spans) -> Vec<Ends> {
    spans
        .iter()
        .map(|span| Ends {
            first: span.first(),
            last: span.last(),
        })
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn tells_what_a_map_needs() {
        let text = r#"{"cniVersion": "1.0.0", "name": "net", "ipam": {"type": "host-local",
            "subnet": "10.1.0.0/29", "exclude": ["10.1.0.3"], "static": ["10.1.0.4-10.1.0.5"],
            "cooldown": 30, "sticky": true}}"#;
        let layout: Value = serde_json::from_str(&layout(text).unwrap()).unwrap();
        assert_eq!(layout["directory"], "/var/lib/cni/networks/net");
        assert_eq!(layout["gateways"], json!(["10.1.0.1"]));
        assert_eq!(layout["barred"], json!(["10.1.0.0", "10.1.0.7"]));
        assert_eq!(
            layout["exclude"],
            json!([{"first": "10.1.0.3", "last": "10.1.0.3"}])
        );
        assert_eq!(
            layout["static"],
            json!([{"first": "10.1.0.4", "last": "10.1.0.5"}])
        );
        assert_eq!(layout["sets"][0]["size"], "2");
        assert_eq!(layout["sets"][0]["ranges"][0]["subnet"], "10.1.0.0/29");
        assert_eq!(layout["cooldownMs"], 30_000);
        assert_eq!(layout["keepMs"], 3_600_000);
    }

    #[test]
    fn says_what_is_wrong() {
        let broken = layout(r#"{"cniVersion": "1.0.0", "name": "n", "ipam": {"subnet": "x"}}"#);
        assert!(broken.unwrap_err().contains("subnet"));
        assert!(layout("{").is_err());
    }
}
