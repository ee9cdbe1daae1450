//! Whom a rule belongs to, as rules say it: the names and comments are those
//! of the plugins of containernetworking, so that either finds the other's.

use sha2::{Digest, Sha512};
use wipam_core::names::{Attachment, NetworkName};

/// Whom rules belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The network.
    pub network: NetworkName,
    /// The interface of a container.
    pub attachment: Attachment,
}

/// Longest comment of a masquerade rule in nft: nft's own limit for text.
const NFT_COMMENT: usize = 128;
/// Longest comment that the kernel's `xt_comment` holds.
const IPTABLES_COMMENT: usize = 255;
/// Longest label: `macspoofchk-` and it still fit into a rule's user data (253
/// bytes of comment), `cni-br-iface-`, it and `-mac` into a chain's name (255).
const LABEL: usize = 238;

/// The first `digits` hexadecimal digits of the SHA-512 of the parts.
pub(super) fn hash(digits: usize, parts: &[impl AsRef<[u8]>]) -> String {
    let mut hasher = Sha512::new();
    for part in parts {
        hasher.update(part);
    }
    let mut text = String::with_capacity(digits + 1);
    for byte in hasher.finalize().iter().take(digits.div_ceil(2)) {
        for nibble in [byte >> 4, byte & 15] {
            text.push(char::from_digit(nibble.into(), 16).unwrap_or('0'));
        }
    }
    text.truncate(digits);
    text
}

fn cut(mut text: String, longest: usize) -> String {
    let end = text.floor_char_boundary(longest);
    text.truncate(end);
    text
}

/// What the comment of a network's masquerade rule begins with in nft.
pub(super) fn network_hash(network: &NetworkName) -> String {
    hash(16, &[network.as_str()])
}

/// What follows: an interface of a container, in whatever network.
pub(super) fn attachment_hash(attachment: &Attachment) -> String {
    hash(
        16,
        &[
            attachment.interface.as_str(),
            ":",
            attachment.container.as_str(),
        ],
    )
}

/// The two hashes that an nft masquerade comment begins with.
pub(super) fn hashes_of(comment: &str) -> Option<(&str, &str)> {
    let (network, rest) = comment.split_once('-')?;
    let attachment = rest.get(..16)?;
    (network.len() == 16).then_some((network, attachment))
}

/// The comment of a masquerade rule in nft.
pub(super) fn nft_comment(owner: &Owner) -> String {
    let Attachment {
        container,
        interface,
    } = &owner.attachment;
    let text = format!(
        "{}-{}, net: {}, if: {}, id: {container}",
        network_hash(&owner.network),
        attachment_hash(&owner.attachment),
        owner.network,
        interface.as_str().replace('"', ""),
    );
    cut(text, NFT_COMMENT)
}

/// The chain of a container in iptables.
pub(super) fn iptables_chain(network: &str, container: &str) -> String {
    format!("CNI-{}", hash(24, &[network, container]))
}

/// The comment of a container's rules in iptables.
pub(super) fn iptables_comment(network: &str, container: &str) -> String {
    let text = format!("name: \"{network}\" id: \"{container}\"");
    cut(text, IPTABLES_COMMENT)
}

/// The network that a comment of [`iptables_comment`] names.
pub(super) fn network_in(comment: &str) -> Option<&str> {
    Some(comment.strip_prefix("name: \"")?.split_once('"')?.0)
}

/// Longest network name that leaves room for a good part of the container's
/// id in a comment.
const NETWORK_SHOWN: usize = 200;

/// Bytes that every iptables rule of a container has in it, whatever its
/// network's name.
pub(super) fn iptables_mark(network: &str, container: &str) -> String {
    if network.len() > NETWORK_SHOWN {
        return "name: \"".to_owned();
    }
    format!("id: \"{}", cut(container.to_owned(), 32))
}

/// Bytes that every iptables rule of a network has in it.
pub(super) fn network_mark(network: &str) -> String {
    format!("name: \"{}", cut(network.to_owned(), NETWORK_SHOWN))
}

/// The label of a spoof check: Go's, where Go's fits.
pub(super) fn label(attachment: &Attachment) -> String {
    let plain = format!("{}-{}", attachment.container, attachment.interface);
    if plain.len() <= LABEL {
        return plain;
    }
    let digest = hash(32, &[&plain]);
    format!("{}-{digest}", cut(plain, 100))
}

/// The comment of a spoof check's rules.
pub(super) fn spoof_comment(label: &str) -> String {
    format!("{SPOOF_COMMENT}{label}")
}

/// The chain that sees an interface's packets; the one with its MAC has
/// `-mac` after this.
pub(super) fn spoof_chain(label: &str) -> String {
    format!("cni-br-iface-{label}")
}

/// What a spoof check's comment begins with.
pub(super) const SPOOF_COMMENT: &str = "macspoofchk-";

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use wipam_core::names::{ContainerId, InterfaceName};

    fn attachment(container: &str, interface: &str) -> Attachment {
        Attachment {
            container: ContainerId::new(container).unwrap(),
            interface: InterfaceName::new(interface).unwrap(),
        }
    }

    #[test]
    fn as_recorded() {
        let owner = Owner {
            network: NetworkName::new("net1").unwrap(),
            attachment: attachment("ctr-c1", "eth0"),
        };
        assert_eq!(
            nft_comment(&owner),
            "8e48f37d5de60467-5b2df46a332e013f, net: net1, if: eth0, id: ctr-c1"
        );
        assert_eq!(
            iptables_chain("net1", "ctr-c1"),
            "CNI-e1ef28aedf862e18d69b7cb1"
        );
        assert_eq!(
            network_in(&iptables_comment("net1", "ctr-c1")),
            Some("net1")
        );
    }

    #[test]
    fn the_longest_names_fit() {
        let owner = Owner {
            network: NetworkName::new(&"n".repeat(300)).unwrap(),
            attachment: attachment(&"c".repeat(1024), "abcdefghijklmno"),
        };
        assert_eq!(nft_comment(&owner).len(), NFT_COMMENT);
        let label = label(&owner.attachment);
        assert!(spoof_comment(&label).len() <= 253, "{label}");
        assert!(spoof_chain(&label).len() + 4 <= 255, "{label}");
        assert_ne!(
            label,
            super::label(&attachment(&"c".repeat(1024), "abcdefghijklmnp"))
        );
        assert_eq!(iptables_comment(&"n".repeat(300), "c").len(), 255);
    }
}
