use std::net::IpAddr;

use ipnet::IpNet;

use super::{Backend, FirewallError, Owner, Tools, iptables_masquerade, nft_masquerade};

/// Packets of a container that leave its subnets get the host's address.
#[derive(Clone, Debug)]
pub struct Masquerade {
    /// Whose rules they are.
    pub owner: Owner,
    /// The container's addresses, each with its subnet's prefix length.
    pub addresses: Vec<IpNet>,
    /// Addresses that other interfaces of the container have: iptables rules
    /// do not name an interface, and what is neither here nor above is taken
    /// to be left over.
    pub live: Vec<IpAddr>,
    /// Also drop what the kernel finds to belong to no connection: it would
    /// leave with the container's address.
    pub drop_invalid: bool,
}

impl Masquerade {
    /// The rules as text, for people.
    pub fn describe(&self, backend: Backend) -> Vec<String> {
        match backend {
            Backend::Iptables => iptables_masquerade::describe(self),
            Backend::Nftables => nft_masquerade::describe(self),
        }
    }
}

/// Makes the rules, in place of any that the owner has in that backend.
pub fn masquerade(
    tools: &Tools,
    backend: Backend,
    wanted: &Masquerade,
) -> Result<(), FirewallError> {
    match backend {
        Backend::Iptables => iptables_masquerade::set_up(tools, wanted),
        Backend::Nftables => nft_masquerade::set_up(tools, wanted),
    }
}

/// What of the rules is missing, in words.
pub fn masquerade_missing(
    tools: &Tools,
    backend: Backend,
    wanted: &Masquerade,
) -> Result<Option<String>, FirewallError> {
    match backend {
        Backend::Iptables => iptables_masquerade::missing(tools, wanted),
        Backend::Nftables => nft_masquerade::missing(tools, wanted),
    }
}
