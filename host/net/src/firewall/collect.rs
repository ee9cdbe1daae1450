use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, netdevice, socket};
use wipam_core::names::{Attachment, NetworkName};

use super::error::gather;
use super::nfnetlink::Nfnetlink;
use super::owner::{SPOOF_COMMENT, attachment_hash, hashes_of, label, network_hash};
use super::remove::{everywhere, remove_masquerade, remove_spoof_check};
use super::{FirewallError, Tools, iptables_remains, nft, nft_masquerade, patiently, spoof};

/// Removes the rules of a network's attachments other than `valid`, and tells
/// what it was.
///
/// Rules of iptables name no interface: they stay while any of the container
/// is valid. Spoof checks name no network: they go when the host's interface
/// is gone, too.
pub fn collect(
    tools: &Tools,
    network: &NetworkName,
    valid: &[Attachment],
) -> Result<Vec<String>, FirewallError> {
    everywhere(
        tools,
        &|program, protocol| iptables_remains::collect(program, protocol, network, valid),
        &|| match Nfnetlink::open()? {
            Some(kernel) => gather([
                patiently(|| masquerade(&kernel, network, valid)),
                patiently(|| spoof_checks(tools, &kernel, valid)),
            ]),
            None => Ok(Vec::new()),
        },
    )
}

fn masquerade(
    kernel: &Nfnetlink,
    network: &NetworkName,
    valid: &[Attachment],
) -> Result<Vec<String>, FirewallError> {
    let network = network_hash(network);
    let valid: Vec<_> = valid.iter().map(attachment_hash).collect();
    let stale: Vec<_> = kernel
        .rules(nft_masquerade::TABLE, None)?
        .into_iter()
        .filter(|rule| {
            let hashes = rule.comment.as_deref().and_then(hashes_of);
            hashes.is_some_and(|(of, attachment)| {
                of == network && !valid.iter().any(|v| v == attachment)
            })
        })
        .map(|rule| (rule.chain, rule.handle))
        .collect();
    remove_masquerade(kernel, &stale)
}

fn spoof_checks(
    tools: &Tools,
    kernel: &Nfnetlink,
    valid: &[Attachment],
) -> Result<Vec<String>, FirewallError> {
    let is_check = |comment: &Option<String>| {
        comment
            .as_deref()
            .is_some_and(|c| c.starts_with(SPOOF_COMMENT))
    };
    let rules = kernel.rules(spoof::TABLE, Some(spoof::PREROUTING))?;
    if !rules.iter().any(|rule| is_check(&rule.comment)) {
        return Ok(Vec::new());
    }
    let nft = tools.nft("collecting checks of MAC addresses")?;
    let valid: Vec<_> = valid.iter().map(label).collect();
    let mut told = Vec::new();
    for rule in nft::list(nft, spoof::TABLE)? {
        let Some(label) = rule.comment.strip_prefix(SPOOF_COMMENT) else {
            continue;
        };
        if rule.chain != spoof::PREROUTING || valid.iter().any(|v| v == label) {
            continue;
        }
        let interface = rule.expr.first().and_then(|e| e["match"]["right"].as_str());
        if let Some(interface) = interface
            && is_gone(interface)
        {
            told.extend(remove_spoof_check(kernel, label)?);
        }
    }
    Ok(told)
}

fn is_gone(interface: &str) -> bool {
    let index = socket(AddressFamily::INET, SocketType::DGRAM, None)
        .and_then(|socket| netdevice::name_to_index(socket, interface));
    index == Err(Errno::NODEV)
}
