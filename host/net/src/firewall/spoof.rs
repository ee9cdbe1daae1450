//! Frames of a container have to come from its own MAC address.

use serde_json::{Value, json};

use super::nfnetlink::{Family, Nfnetlink, TableName};
use super::nft::{self, Script, field};
use super::owner::{label, spoof_chain, spoof_comment};
use super::{FirewallError, Owner, Tools, patiently};
use crate::Mac;

/// Shared with whoever filters on bridges, ebtables among them.
pub(super) const TABLE: TableName = TableName {
    family: Family::Bridge,
    name: "nat",
};
pub(super) const PREROUTING: &str = "PREROUTING";

/// What nft calls dstnat on bridges.
const PRIORITY: i32 = -300;
/// The hook's number.
const HOOK: u32 = 0;
const HOOKS: [&str; 6] = [
    "prerouting",
    "input",
    "forward",
    "output",
    "postrouting",
    "brouting",
];

const WANTED: &str = "checking MAC addresses";

/// Frames that a container sends through `host_interface` have to come from
/// `mac`, or are dropped.
#[derive(Clone, Debug)]
pub struct SpoofCheck {
    /// Whose rules they are.
    pub owner: Owner,
    /// The end of the container's link that the host has.
    pub host_interface: String,
    /// The container's address.
    pub mac: Mac,
}

/// A rule of a check, in both ways of writing.
struct Rule {
    chain: String,
    expr: Value,
    text: String,
}

impl SpoofCheck {
    fn rules(&self, label: &str) -> [Rule; 4] {
        let chain = spoof_chain(label);
        let mac_chain = format!("{chain}-mac");
        let mac = self.mac;
        let host = &self.host_interface;
        let arrives =
            json!({"match": {"op": "==", "left": {"meta": {"key": "iifname"}}, "right": host}});
        let from_mac = field("==", "ether", "saddr", json!(mac.to_string()));
        let rule = |chain: &str, expr, text| Rule {
            chain: chain.to_owned(),
            expr,
            text,
        };
        [
            rule(
                PREROUTING,
                json!([arrives, {"jump": {"target": chain}}]),
                format!("iifname \"{host}\" jump {chain}"),
            ),
            rule(
                &chain,
                json!([{"jump": {"target": mac_chain}}]),
                format!("jump {mac_chain}"),
            ),
            rule(
                &mac_chain,
                json!([from_mac, {"return": null}]),
                format!("ether saddr {mac} return"),
            ),
            rule(&mac_chain, json!([{"drop": null}]), "drop".to_owned()),
        ]
    }

    /// The rules as text, for people.
    pub fn describe(&self) -> Vec<String> {
        let label = label(&self.owner.attachment);
        let comment = spoof_comment(&label);
        self.rules(&label)
            .iter()
            .map(|Rule { chain, text, .. }| {
                format!("nft: bridge nat {chain}: {text} comment \"{comment}\"")
            })
            .collect()
    }
}

/// nft takes `@x` for a set and `x*` for a pattern, in JSON too.
fn check_name(host_interface: &str) -> Result<(), FirewallError> {
    let special = |c: char| matches!(c, '@' | '*' | '"' | '\\' | '$') || c.is_whitespace();
    if (1..=15).contains(&host_interface.len()) && !host_interface.contains(special) {
        return Ok(());
    }
    Err(FirewallError::HostInterface(host_interface.to_owned()))
}

/// Makes the rules, in place of any that the owner has.
pub fn check_mac(tools: &Tools, wanted: &SpoofCheck) -> Result<(), FirewallError> {
    check_name(&wanted.host_interface)?;
    let nft = tools.nft(WANTED)?;
    let kernel = Nfnetlink::open()?;
    let label = label(&wanted.owner.attachment);
    let comment = spoof_comment(&label);
    let chain = spoof_chain(&label);
    patiently(|| {
        let mut script = Script::new(TABLE);
        let (base, stale) = match &kernel {
            Some(kernel) => (has_base(kernel)?, jumps(kernel, &comment)?),
            None => (false, Vec::new()),
        };
        if !base {
            script.add_base_chain(PREROUTING, "filter", "prerouting", PRIORITY);
        }
        for chain in [&chain, &format!("{chain}-mac")] {
            script.add_chain(chain);
            script.flush(chain);
        }
        for handle in stale {
            script.delete_rule(PREROUTING, handle);
        }
        for rule in wanted.rules(&label) {
            script.add_rule(&rule.chain, Some(&comment), &rule.expr);
        }
        script.run(nft, "check MAC addresses")
    })
}

/// Whether the base chain is there. Whose it is, and its priority and policy,
/// is no matter as long as arriving frames pass it.
fn has_base(kernel: &Nfnetlink) -> Result<bool, FirewallError> {
    let Some(chain) = kernel.chain(TABLE, PREROUTING)? else {
        return Ok(false);
    };
    let found = match chain.hook {
        Some(HOOK) => return Ok(true),
        Some(number) => match HOOKS.get(number as usize) {
            Some(name) => format!("one with hook {name}"),
            None => format!("one with hook number {number}"),
        },
        None => "one without a hook".to_owned(),
    };
    Err(FirewallError::BaseChain { found })
}

/// Handles of the rules that lead to a check.
pub(super) fn jumps(kernel: &Nfnetlink, comment: &str) -> Result<Vec<u64>, FirewallError> {
    Ok(kernel
        .rules(TABLE, Some(PREROUTING))?
        .iter()
        .filter(|rule| rule.comment.as_deref() == Some(comment))
        .map(|rule| rule.handle)
        .collect())
}

/// What of the rules is missing, in words.
pub fn spoof_check_missing(
    tools: &Tools,
    wanted: &SpoofCheck,
) -> Result<Option<String>, FirewallError> {
    let nft = tools.nft(WANTED)?;
    let there = match Nfnetlink::open()? {
        Some(kernel) => kernel.has_table(TABLE)?,
        None => false,
    };
    if !there {
        return Ok(Some("nft has no table bridge nat".to_owned()));
    }
    let found = nft::list(nft, TABLE)?;
    let missing = |rule: &Rule| {
        !found
            .iter()
            .any(|f| f.chain == rule.chain && Some(&f.expr) == rule.expr.as_array())
    };
    let rules = wanted.rules(&label(&wanted.owner.attachment));
    Ok(rules.into_iter().find(missing).map(|rule| {
        let Rule { chain, text, .. } = rule;
        format!("nft's table bridge nat has no rule {chain}: {text}")
    }))
}
