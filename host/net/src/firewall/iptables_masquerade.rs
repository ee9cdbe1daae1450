//! Masquerading with iptables.

use std::net::IpAddr;

use ipnet::IpNet;

use super::error::gather;
use super::iptables::{Iptables, Listing, Protocol};
use super::iptables_remains::{is_live, presence, retire};
use super::owner::{iptables_chain, iptables_comment};
use super::rule::{Destination, Rule};
use super::{FirewallError, Masquerade, Tools, patiently};

/// The rules of an owner, of one protocol.
struct Wanted {
    chain: String,
    comment: String,
    /// Those in the owner's chain: what leaves for the subnets first, for a
    /// packet goes no further than the rule that masquerades.
    inside: Vec<Rule>,
    jumps: Vec<Rule>,
    drops: Vec<Rule>,
}

impl Wanted {
    fn new(wanted: &Masquerade, protocol: Protocol) -> Self {
        let network = wanted.owner.network.as_str();
        let container = wanted.owner.attachment.container.as_str();
        let chain = iptables_chain(network, container);
        let comment = iptables_comment(network, container);
        let rule = |chain: &str, target: &str| Rule {
            chain: chain.to_owned(),
            comment: comment.clone(),
            target: target.to_owned(),
            ..Rule::default()
        };
        let mut rules = Self {
            chain,
            comment: comment.clone(),
            inside: Vec::new(),
            jumps: Vec::new(),
            drops: Vec::new(),
        };
        for address in wanted.addresses.iter().filter(|a| protocol.of(a)) {
            let source = Some(IpNet::from(address.addr()));
            let subnet = address.trunc();
            let all = subnet.prefix_len() == 0;
            let accept = Rule {
                destination: (!all).then_some(Destination::In(subnet)),
                ..rule(&rules.chain, "ACCEPT")
            };
            if !rules.inside.contains(&accept) {
                rules.inside.push(accept);
            }
            rules.jumps.push(Rule {
                source,
                ..rule("POSTROUTING", &rules.chain)
            });
            if wanted.drop_invalid && !all {
                rules.drops.push(Rule {
                    source,
                    destination: Some(Destination::NotIn(subnet)),
                    invalid: true,
                    ..rule("FORWARD", "DROP")
                });
            }
        }
        if !rules.jumps.is_empty() {
            let multicast = match protocol {
                Protocol::V4 => IpNet::new([224, 0, 0, 0].into(), 4),
                Protocol::V6 => IpNet::new([0xff00, 0, 0, 0, 0, 0, 0, 0].into(), 8),
            };
            rules.inside.push(Rule {
                destination: multicast.ok().map(Destination::NotIn),
                ..rule(&rules.chain, "MASQUERADE")
            });
        }
        rules
    }

    /// Whether a rule is a jump or a drop of the owner's container in this
    /// network. What it has in others, it may have rightly.
    fn owns(&self, rule: &Rule) -> bool {
        match rule.chain.as_str() {
            "POSTROUTING" => rule.target == self.chain,
            "FORWARD" => rule.target == "DROP" && rule.comment == self.comment,
            _ => false,
        }
    }

    fn has(&self, rule: &Rule) -> bool {
        self.jumps.contains(rule) || self.drops.contains(rule)
    }

    /// What iptables-restore makes of what is there; nothing if it is right.
    fn text(&self, nat: &Listing, filter: &Listing, live: &[IpAddr]) -> Option<String> {
        let kept = |rule: &Rule| self.has(rule) || is_live(rule, live);
        let retired = retire(nat, filter, &|rule| self.owns(rule) && !kept(rule));
        let shared = nat
            .of("POSTROUTING")
            .any(|rule| self.owns(rule) && !self.jumps.contains(rule) && is_live(rule, live));
        if self.jumps.is_empty() {
            return retired.text();
        }
        let absent = |listing: &Listing, rule: &&Rule| !listing.rules.contains(rule);
        let mut lines = vec!["*nat".to_owned()];
        if shared {
            // What is accepted must come before what is masqueraded.
            let inside = self.inside.iter().filter(|r| absent(nat, r));
            lines.extend(inside.map(|rule| match rule.target.as_str() {
                "ACCEPT" => rule.insert(),
                _ => rule.append(),
            }));
        } else {
            // Makes the chain, or empties it.
            lines.push(format!(":{} - [0:0]", self.chain));
            lines.extend(self.inside.iter().map(Rule::append));
        }
        lines.extend(retired.jumps.iter().map(Rule::delete));
        let jumps = self.jumps.iter().filter(|r| absent(nat, r));
        lines.extend(jumps.map(Rule::append));
        lines.push("COMMIT".to_owned());
        let mut drops: Vec<_> = retired.drops.iter().map(Rule::delete).collect();
        // Before the rules of others, who may accept everything.
        let new = self.drops.iter().filter(|r| absent(filter, r));
        drops.extend(new.map(Rule::insert));
        if !drops.is_empty() {
            lines.push("*filter".to_owned());
            lines.extend(drops);
            lines.push("COMMIT".to_owned());
        }
        Some(lines.join("\n") + "\n")
    }
}

pub(super) fn set_up(tools: &Tools, wanted: &Masquerade) -> Result<(), FirewallError> {
    let set_up = |protocol| set_up_one(tools, protocol, wanted).map(|()| Vec::new());
    let both = std::thread::scope(|scope| {
        let v6 = scope.spawn(|| set_up(Protocol::V6));
        let v4 = set_up(Protocol::V4);
        [
            v4,
            v6.join().unwrap_or_else(|p| std::panic::resume_unwind(p)),
        ]
    });
    gather(both).map(drop)
}

fn set_up_one(tools: &Tools, protocol: Protocol, wanted: &Masquerade) -> Result<(), FirewallError> {
    let rules = Wanted::new(wanted, protocol);
    let program = match tools.iptables(protocol) {
        Ok(program) => program,
        Err(_) if rules.jumps.is_empty() => return Ok(()),
        Err(error) => return Err(error),
    };
    patiently(|| {
        let (nat, filter) = listings(program, protocol, wanted)?;
        match rules.text(&nat, &filter, &wanted.live) {
            Some(text) => program.restore(&text),
            None => Ok(()),
        }
    })
}

/// The rules there are, as far as some may be the container's.
fn listings(
    program: &Iptables,
    protocol: Protocol,
    wanted: &Masquerade,
) -> Result<(Listing, Listing), FirewallError> {
    let there = presence(program, protocol, &wanted.owner)?;
    let list = |table, listed: bool| match listed {
        true => program.list(table, None),
        false => Ok(Listing::default()),
    };
    Ok((list("nat", there.nat)?, list("filter", there.forward)?))
}

pub(super) fn missing(tools: &Tools, wanted: &Masquerade) -> Result<Option<String>, FirewallError> {
    for protocol in Protocol::BOTH {
        let rules = Wanted::new(wanted, protocol);
        if rules.jumps.is_empty() {
            continue;
        }
        let (nat, filter) = listings(tools.iptables(protocol)?, protocol, wanted)?;
        let nat = rules
            .inside
            .iter()
            .chain(&rules.jumps)
            .map(|r| ("nat", &nat, r));
        let filter = rules.drops.iter().map(|r| ("filter", &filter, r));
        for (table, listing, rule) in nat.chain(filter) {
            if !listing.rules.contains(rule) {
                let program = protocol.program();
                return Ok(Some(format!("{program} has no rule -t {table} -A {rule}")));
            }
        }
    }
    Ok(None)
}

pub(super) fn describe(wanted: &Masquerade) -> Vec<String> {
    let mut lines = Vec::new();
    for protocol in Protocol::BOTH {
        let rules = Wanted::new(wanted, protocol);
        let program = protocol.program();
        let nat = rules.inside.iter().chain(&rules.jumps);
        lines.extend(nat.map(|rule| format!("{program}: -t nat -A {rule}")));
        let filter = rules.drops.iter();
        lines.extend(filter.map(|rule| format!("{program}: -t filter -I {rule}")));
    }
    lines
}
