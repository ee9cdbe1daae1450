//! Finding and removing what containers have in iptables.

use std::fs;
use std::net::IpAddr;

use super::iptables::{Iptables, Listing, Protocol, Variant};
use super::nfnetlink::Nfnetlink;
use super::owner::{iptables_chain, iptables_comment, iptables_mark, network_in, network_mark};
use super::rule::Rule;
use super::{FirewallError, Owner, patiently};
use wipam_core::names::{Attachment, NetworkName};

/// What may be there, found out without running a program.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Presence {
    pub(super) nat: bool,
    pub(super) forward: bool,
    /// The owner's chain is there for sure.
    chain: bool,
    /// How many rules of POSTROUTING are the owner's, where that shows.
    jumps: usize,
}

/// Looks where the program writes to.
pub(super) fn presence(
    program: &Iptables,
    protocol: Protocol,
    owner: &Owner,
) -> Result<Presence, FirewallError> {
    let (network, container) = names(owner);
    look(
        program,
        protocol,
        &iptables_mark(network, container),
        Some(&iptables_chain(network, container)),
    )
}

fn names(owner: &Owner) -> (&str, &str) {
    (owner.network.as_str(), owner.attachment.container.as_str())
}

fn look(
    program: &Iptables,
    protocol: Protocol,
    mark: &str,
    chain: Option<&str>,
) -> Result<Presence, FirewallError> {
    let mut found = Presence::default();
    if program.variant() != Some(Variant::Legacy) {
        found = in_nf_tables(protocol, mark, chain)?;
    }
    if program.variant() != Some(Variant::Nft) {
        // Its tables come with its first use, and never tell without a
        // listing what they hold.
        let tables = fs::read_to_string(protocol.legacy_tables()).unwrap_or_default();
        found.nat |= tables.lines().any(|table| table == "nat");
        found.forward |= tables.lines().any(|table| table == "filter");
    }
    Ok(found)
}

fn in_nf_tables(
    protocol: Protocol,
    mark: &str,
    chain: Option<&str>,
) -> Result<Presence, FirewallError> {
    let Some(kernel) = Nfnetlink::open()? else {
        return Ok(Presence::default());
    };
    let nat = protocol.nft_table("nat");
    let marked = |table, chain| -> Result<usize, FirewallError> {
        let rules = kernel.rules(table, Some(chain))?;
        let mark = mark.as_bytes();
        let marked = rules
            .iter()
            .filter(|r| r.raw.windows(mark.len()).any(|w| w == mark));
        Ok(marked.count())
    };
    let chain = match chain {
        Some(name) => kernel.chain(nat, name)?.is_some(),
        None => false,
    };
    let jumps = marked(nat, "POSTROUTING")?;
    Ok(Presence {
        nat: chain || jumps != 0,
        forward: marked(protocol.nft_table("filter"), "FORWARD")? != 0,
        chain,
        jumps,
    })
}

/// Whether a rule is a container's jump or drop, whatever its network's name;
/// `chain` is the container's in the network's present name.
fn of_container(container: &str, chain: &str) -> impl Fn(&Rule) -> bool {
    move |rule| match rule.chain.as_str() {
        "POSTROUTING" => {
            let by_name = |network| iptables_chain(network, container) == rule.target;
            rule.target == chain || network_in(&rule.comment).is_some_and(by_name)
        }
        "FORWARD" => {
            let by_name = |network| iptables_comment(network, container) == rule.comment;
            rule.target == "DROP" && network_in(&rule.comment).is_some_and(by_name)
        }
        _ => false,
    }
}

/// Whether a rule serves one of the addresses. Old plugins jumped for the
/// whole subnet.
pub(super) fn is_live(rule: &Rule, live: &[IpAddr]) -> bool {
    rule.source
        .is_some_and(|source| live.iter().any(|address| source.contains(address)))
}

/// What is to go.
#[derive(Debug, Default)]
pub(super) struct Retired {
    pub(super) jumps: Vec<Rule>,
    pub(super) drops: Vec<Rule>,
    /// Chains that nothing jumps to any more.
    chains: Vec<String>,
    /// Chains that something still jumps to.
    kept_chains: Vec<String>,
}

/// Sorts out the rules that `stale` picks.
pub(super) fn retire(nat: &Listing, filter: &Listing, stale: &dyn Fn(&Rule) -> bool) -> Retired {
    let (jumps, kept): (Vec<_>, Vec<_>) = nat.of("POSTROUTING").cloned().partition(|r| stale(r));
    let kept_chains: Vec<_> = kept.into_iter().map(|rule| rule.target).collect();
    let mut chains: Vec<_> = jumps.iter().map(|rule| rule.target.clone()).collect();
    chains.sort();
    chains.dedup();
    chains.retain(|chain| !kept_chains.contains(chain));
    Retired {
        jumps,
        drops: filter.of("FORWARD").filter(|r| stale(r)).cloned().collect(),
        chains,
        kept_chains,
    }
}

impl Retired {
    fn add_chain(&mut self, chain: &str) {
        let known = |chains: &[String]| chains.iter().any(|c| c == chain);
        if !known(&self.chains) && !known(&self.kept_chains) {
            self.chains.push(chain.to_owned());
        }
    }

    /// What removes it, if there is something. The chain is what shows
    /// without a listing that there may be something: it goes last.
    pub(super) fn text(&self) -> Option<String> {
        let drops: Vec<_> = self.drops.iter().map(Rule::delete).collect();
        let mut nat: Vec<_> = self.jumps.iter().map(Rule::delete).collect();
        for chain in &self.chains {
            nat.push(format!("-F {chain}"));
            nat.push(format!("-X {chain}"));
        }
        let mut text = String::new();
        for (table, lines) in [("filter", drops), ("nat", nat)] {
            if !lines.is_empty() {
                text += &format!("*{table}\n{}\nCOMMIT\n", lines.join("\n"));
            }
        }
        (!text.is_empty()).then_some(text)
    }

    fn told(&self, protocol: Protocol) -> Vec<String> {
        let program = protocol.program();
        let rules = self.jumps.iter().chain(&self.drops);
        let rules = rules.map(|rule| format!("{program}: rule {rule}"));
        let chains = self.chains.iter();
        let chains = chains.map(|chain| format!("{program}: chain {chain}"));
        rules.chain(chains).collect()
    }

    fn apply(self, program: &Iptables, protocol: Protocol) -> Result<Vec<String>, FirewallError> {
        if let Some(text) = self.text() {
            program.restore(&text)?;
        }
        Ok(self.told(protocol))
    }
}

/// Removes what an owner has. `own` are addresses that it has for sure.
pub(super) fn remove(
    program: &Iptables,
    protocol: Protocol,
    owner: &Owner,
    own: &[IpAddr],
    live: &[IpAddr],
) -> Result<Vec<String>, FirewallError> {
    let (network, container) = names(owner);
    let chain = iptables_chain(network, container);
    patiently(|| {
        let there = presence(program, protocol, owner)?;
        if let Some(retired) = of_addresses(program, protocol, owner, &there, own)
            && let Ok(told) = retired.apply(program, protocol)
        {
            return Ok(told);
        }
        let (mut nat, mut filter) = (Listing::default(), Listing::default());
        if there.nat {
            // Where the chain is known to be there or not, the others need
            // not be listed, and may be many.
            let only = (program.variant() == Some(Variant::Nft)).then_some("POSTROUTING");
            nat = program.list("nat", only)?;
        }
        if there.forward {
            filter = program.list("filter", Some("FORWARD"))?;
        }
        let mine = of_container(container, &chain);
        let mut retired = retire(&nat, &filter, &|r| mine(r) && !is_live(r, live));
        if there.chain || nat.chains.contains(&chain) {
            retired.add_chain(&chain);
        }
        retired.apply(program, protocol)
    })
}

/// What is to go, without a listing: where all there is are the jumps of known
/// addresses, in the words of our rules and Go's. It is removed as a whole or
/// not at all, so a rule in other words, or one more, costs but the try.
fn of_addresses(
    program: &Iptables,
    protocol: Protocol,
    owner: &Owner,
    there: &Presence,
    own: &[IpAddr],
) -> Option<Retired> {
    let (network, container) = names(owner);
    let chain = iptables_chain(network, container);
    let own = own
        .iter()
        .filter(|address| address.is_ipv4() == (protocol == Protocol::V4));
    let jumps: Vec<_> = own
        .map(|address| Rule {
            chain: "POSTROUTING".to_owned(),
            source: Some((*address).into()),
            comment: iptables_comment(network, container),
            target: chain.clone(),
            ..Rule::default()
        })
        .collect();
    let all = program.variant() == Some(Variant::Nft)
        && there.chain
        && !there.forward
        && !jumps.is_empty()
        && there.jumps == jumps.len();
    all.then(|| Retired {
        jumps,
        chains: vec![chain],
        ..Retired::default()
    })
}

/// Removes what containers have in a network that are not in `valid`.
pub(super) fn collect(
    program: &Iptables,
    protocol: Protocol,
    network: &NetworkName,
    valid: &[Attachment],
) -> Result<Vec<String>, FirewallError> {
    let network = network.as_str();
    let valid: Vec<_> = valid
        .iter()
        .map(|a| {
            let container = a.container.as_str();
            let chain = iptables_chain(network, container);
            (chain, iptables_comment(network, container))
        })
        .collect();
    let stale = |rule: &Rule| {
        let ours = network_in(&rule.comment) == Some(network);
        ours && match rule.chain.as_str() {
            "POSTROUTING" => is_chain(&rule.target) && !valid.iter().any(|v| v.0 == rule.target),
            "FORWARD" => rule.target == "DROP" && !valid.iter().any(|v| v.1 == rule.comment),
            _ => false,
        }
    };
    patiently(|| {
        let there = look(program, protocol, &network_mark(network), None)?;
        let (mut nat, mut filter) = (Listing::default(), Listing::default());
        if there.nat {
            nat = program.list("nat", None)?;
        }
        if there.forward {
            filter = program.list("filter", Some("FORWARD"))?;
        }
        retire(&nat, &filter, &stale).apply(program, protocol)
    })
}

/// Whether a name is one of [`iptables_chain`]: portmap's are alike.
fn is_chain(name: &str) -> bool {
    let digits = name.strip_prefix("CNI-").unwrap_or("");
    digits.len() == 24 && digits.bytes().all(|b| b.is_ascii_hexdigit())
}
