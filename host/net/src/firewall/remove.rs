use std::net::IpAddr;

use super::error::gather;
use super::iptables::{Iptables, Protocol, Variant};
use super::nfnetlink::{Nfnetlink, Removal, TableName};
use super::owner::{label, spoof_chain, spoof_comment};
use super::{FirewallError, Owner, Tools, iptables_remains, nft_masquerade, patiently, spoof};

/// Removes everything an owner has, in every backend, and tells what it was.
/// Nothing to remove is fine; if one backend fails, the others are still
/// tried.
///
/// Rules are found by container and interface whatever the network's name.
/// Those of iptables do not name the interface: all of the container go,
/// except for `live`, the addresses that its other interfaces have. `own`, the
/// interface's as far as they are known, only makes it quicker.
pub fn remove(
    tools: &Tools,
    owner: &Owner,
    own: &[IpAddr],
    live: &[IpAddr],
) -> Result<Vec<String>, FirewallError> {
    everywhere(
        tools,
        &|program, protocol| iptables_remains::remove(program, protocol, owner, own, live),
        &|| match Nfnetlink::open()? {
            Some(kernel) => gather([
                patiently(|| masquerade(&kernel, owner)),
                patiently(|| spoof_check(&kernel, owner)),
            ]),
            None => Ok(Vec::new()),
        },
    )
}

/// What is done with a program of iptables, for both protocols at once.
type OnIptables<'a> = dyn Fn(&Iptables, Protocol) -> Result<Vec<String>, FirewallError> + Sync + 'a;

/// Does something for every program of iptables that may have made rules, and
/// something for nft.
pub(super) fn everywhere(
    tools: &Tools,
    iptables: &OnIptables<'_>,
    nft: &dyn Fn() -> Result<Vec<String>, FirewallError>,
) -> Result<Vec<String>, FirewallError> {
    let family = |protocol: Protocol| {
        let nft = tools.iptables_of(protocol, Variant::Nft);
        let legacy = tools.iptables_of(protocol, Variant::Legacy);
        // A program that does not tell its variant is both.
        let same = nft.as_ref().map(Iptables::path) == legacy.as_ref().map(Iptables::path);
        let programs = nft.into_iter().chain(legacy.filter(|_| !same));
        gather(programs.map(|program| iptables(&program, protocol)))
    };
    let parts = std::thread::scope(|scope| {
        let v6 = scope.spawn(|| family(Protocol::V6));
        let v4 = scope.spawn(|| family(Protocol::V4));
        let nft = nft();
        let [v4, v6] = [v4, v6].map(|t| t.join().unwrap_or_else(|p| std::panic::resume_unwind(p)));
        [v4, v6, nft]
    });
    gather(parts)
}

fn masquerade(kernel: &Nfnetlink, owner: &Owner) -> Result<Vec<String>, FirewallError> {
    let rules = nft_masquerade::of_attachment(kernel, owner)?;
    remove_masquerade(kernel, &rules)
}

/// Removes rules by chain and handle.
pub(super) fn remove_masquerade(
    kernel: &Nfnetlink,
    rules: &[(String, u64)],
) -> Result<Vec<String>, FirewallError> {
    let table = nft_masquerade::TABLE;
    let steps: Vec<_> = rules
        .iter()
        .map(|(chain, handle)| Removal::Rule {
            chain,
            handle: *handle,
        })
        .collect();
    apply(kernel, table, &steps, "remove masquerade rules")?;
    let told = rules
        .iter()
        .map(|(chain, handle)| format!("nft: inet {} {chain} rule {handle}", table.name));
    Ok(told.collect())
}

fn spoof_check(kernel: &Nfnetlink, owner: &Owner) -> Result<Vec<String>, FirewallError> {
    remove_spoof_check(kernel, &label(&owner.attachment))
}

/// Removes the rules and chains with that label.
pub(super) fn remove_spoof_check(
    kernel: &Nfnetlink,
    label: &str,
) -> Result<Vec<String>, FirewallError> {
    let mut steps: Vec<_> = spoof::jumps(kernel, &spoof_comment(label))?
        .into_iter()
        .map(|handle| Removal::Rule {
            chain: spoof::PREROUTING,
            handle,
        })
        .collect();
    // The one that jumps first.
    let chain = spoof_chain(label);
    let chains = [chain.clone(), format!("{chain}-mac")];
    let mut told = Vec::new();
    for chain in &chains {
        if kernel.chain(spoof::TABLE, chain)?.is_some() {
            steps.push(Removal::Chain(chain));
            told.push(format!("nft: bridge nat chain {chain}"));
        }
    }
    apply(
        kernel,
        spoof::TABLE,
        &steps,
        "remove a check of MAC addresses",
    )?;
    Ok(told)
}

fn apply(
    kernel: &Nfnetlink,
    table: TableName,
    steps: &[Removal<'_>],
    wanted: &'static str,
) -> Result<(), FirewallError> {
    if steps.is_empty() {
        return Ok(());
    }
    kernel
        .transact(table, steps)
        .map_err(|source| FirewallError::Kernel { wanted, source })
}
