//! Masquerading with nftables.

use ipnet::IpNet;
use serde_json::{Value, json};

use super::nfnetlink::{self, Family, Nfnetlink, TableName};
use super::nft::{self, Script, field};
use super::owner::{attachment_hash, hash, hashes_of, nft_comment};
use super::{FirewallError, Masquerade, Owner, Tools, patiently};

pub(super) const TABLE: TableName = TableName {
    family: Family::Inet,
    name: "cni_plugins_masquerade",
};
/// Has the rules of all owners.
pub(super) const CHECKS: &str = "masq_checks";
pub(super) const POSTROUTING: &str = "postrouting";
/// Drops what conntrack knows nothing of. Ours alone: containernetworking has
/// no such thing.
pub(super) const INVALID: &str = "drop_invalid";

/// The priorities that nft calls srcnat and filter.
const SOURCE_NAT: i32 = 100;
const FILTER: i32 = 0;

/// What nft 1.0 compiles the rules of [`POSTROUTING`] to, hashed. Found so,
/// they are right; found otherwise, they are made anew, which is right too but
/// keeps nft waiting for every processor.
const COMPILED: &str = "8da2f977f3f4e688";

/// The hooks' numbers.
const FORWARD_HOOK: u32 = 2;
const POSTROUTING_HOOK: u32 = 4;

const WANTED: &str = "masquerading with nftables";

/// What never is masqueraded: multicast stays among the containers.
const MULTICAST: [(&str, &str, u8); 2] = [("ip", "224.0.0.0", 4), ("ip6", "ff00::", 8)];

/// A rule of an owner, in both ways of writing.
struct Rule {
    chain: &'static str,
    expr: Vec<Value>,
    text: String,
}

fn rules(wanted: &Masquerade) -> Vec<Rule> {
    let mut rules = Vec::new();
    // Of a subnet that is everything, nothing is outside.
    for address in wanted.addresses.iter().filter(|a| a.prefix_len() > 0) {
        let protocol = match address {
            IpNet::V4(_) => "ip",
            IpNet::V6(_) => "ip6",
        };
        let (source, subnet) = (address.addr(), address.trunc());
        // A prefix of full length is listed as an address.
        let outside = if subnet.prefix_len() == subnet.max_prefix_len() {
            json!(subnet.addr().to_string())
        } else {
            prefix(&subnet.addr().to_string(), subnet.prefix_len())
        };
        let leaves = [
            field("==", protocol, "saddr", json!(source.to_string())),
            field("!=", protocol, "daddr", outside),
        ];
        let text = format!("{protocol} saddr {source} {protocol} daddr != {subnet}");
        let invalid = json!({
            "match": {"op": "in", "left": {"ct": {"key": "state"}}, "right": "invalid"}
        });
        rules.push(Rule {
            chain: CHECKS,
            expr: [&leaves[..], &[json!({"masquerade": null})]].concat(),
            text: format!("{text} masquerade"),
        });
        if wanted.drop_invalid {
            rules.push(Rule {
                chain: INVALID,
                expr: [&leaves[..], &[invalid, json!({"drop": null})]].concat(),
                text: format!("{text} ct state invalid drop"),
            });
        }
    }
    rules
}

fn prefix(address: &str, length: u8) -> Value {
    json!({"prefix": {"addr": address, "len": length}})
}

fn to_checks() -> Value {
    json!([{"goto": {"target": CHECKS}}])
}

/// Chains and handles of the rules of an interface of a container, whatever
/// its network's name.
pub(super) fn of_attachment(
    kernel: &Nfnetlink,
    owner: &Owner,
) -> Result<Vec<(String, u64)>, FirewallError> {
    let hash = attachment_hash(&owner.attachment);
    Ok(kernel
        .rules(TABLE, None)?
        .into_iter()
        .filter(|rule| {
            let hashes = rule.comment.as_deref().and_then(hashes_of);
            hashes.is_some_and(|(_, attachment)| attachment == hash)
        })
        .map(|rule| (rule.chain, rule.handle))
        .collect())
}

/// What need not be made.
#[derive(Default)]
struct There {
    /// The chains that all owners share, and what is in them.
    shared: bool,
    /// The chain [`INVALID`].
    invalid: bool,
    /// The owner's rules: chains and handles.
    rules: Vec<(String, u64)>,
}

impl There {
    fn look(kernel: &Nfnetlink, owner: &Owner) -> Result<Self, FirewallError> {
        let hangs_in = |name, hook| -> Result<bool, FirewallError> {
            let chain = kernel.chain(TABLE, name)?;
            Ok(chain.is_some_and(|chain| chain.hook == Some(hook)))
        };
        let shared = kernel.chain(TABLE, CHECKS)?.is_some()
            && hangs_in(POSTROUTING, POSTROUTING_HOOK)?
            && is_compiled(&kernel.rules(TABLE, Some(POSTROUTING))?);
        Ok(Self {
            shared,
            invalid: hangs_in(INVALID, FORWARD_HOOK)?,
            rules: of_attachment(kernel, owner)?,
        })
    }
}

fn is_compiled(postrouting: &[nfnetlink::Rule]) -> bool {
    let compiled: Vec<_> = postrouting.iter().map(|rule| rule.expressions()).collect();
    hash(16, &compiled) == COMPILED
}

fn add_shared(script: &mut Script) {
    script.add_chain(CHECKS);
    script.add_base_chain(POSTROUTING, "nat", "postrouting", SOURCE_NAT);
    script.flush(POSTROUTING);
    for (protocol, address, length) in MULTICAST {
        let to = field("==", protocol, "daddr", prefix(address, length));
        script.add_rule(POSTROUTING, None, &json!([to, {"return": null}]));
    }
    script.add_rule(POSTROUTING, None, &to_checks());
}

pub(super) fn set_up(tools: &Tools, wanted: &Masquerade) -> Result<(), FirewallError> {
    let nft = tools.nft(WANTED)?;
    let kernel = Nfnetlink::open()?;
    let comment = nft_comment(&wanted.owner);
    patiently(|| {
        let there = match &kernel {
            Some(kernel) => There::look(kernel, &wanted.owner)?,
            None => There::default(),
        };
        let mut script = Script::new(TABLE);
        if !there.shared {
            add_shared(&mut script);
        }
        if wanted.drop_invalid && !there.invalid {
            script.add_base_chain(INVALID, "filter", "forward", FILTER);
        }
        for (chain, handle) in &there.rules {
            script.delete_rule(chain, *handle);
        }
        for rule in rules(wanted) {
            script.add_rule(rule.chain, Some(&comment), &json!(rule.expr));
        }
        script.run(nft, "masquerade")
    })
}

pub(super) fn missing(tools: &Tools, wanted: &Masquerade) -> Result<Option<String>, FirewallError> {
    let nft = tools.nft(WANTED)?;
    let there = match Nfnetlink::open()? {
        Some(kernel) => kernel.has_table(TABLE)?,
        None => false,
    };
    if !there {
        return Ok(Some(format!("nft has no table inet {}", TABLE.name)));
    }
    let found = nft::list(nft, TABLE)?;
    let comment = nft_comment(&wanted.owner);
    for rule in rules(wanted) {
        let same =
            |f: &nft::Listed| f.chain == rule.chain && f.comment == comment && f.expr == rule.expr;
        if !found.iter().any(same) {
            let Rule { chain, text, .. } = rule;
            return Ok(Some(format!(
                "nft's table inet {} has no rule {chain}: {text} comment \"{comment}\"",
                TABLE.name
            )));
        }
    }
    let to_checks = to_checks();
    let reached = found
        .iter()
        .any(|f| f.chain == POSTROUTING && Some(&f.expr) == to_checks.as_array());
    Ok((!reached).then(|| {
        let name = TABLE.name;
        format!("nft's table inet {name} has no rule {POSTROUTING}: goto {CHECKS}")
    }))
}

pub(super) fn describe(wanted: &Masquerade) -> Vec<String> {
    let comment = nft_comment(&wanted.owner);
    rules(wanted)
        .into_iter()
        .map(|Rule { chain, text, .. }| {
            let table = TABLE.name;
            format!("nft: inet {table} {chain}: {text} comment \"{comment}\"")
        })
        .collect()
}
