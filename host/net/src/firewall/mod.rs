//! Firewall rules of attachments: masquerading, by iptables or by nftables,
//! and the check that frames come from the MAC address they should.
//!
//! Tables, chains, rules and comments are those of the plugins of
//! containernetworking, version 1.9: either finds and removes the other's.
//! Rules are made by the machine's own programs, one execution a packet
//! filter; what nf_tables has is read from, and removed by, the kernel itself.

mod collect;
mod error;
mod iptables;
mod iptables_masquerade;
mod iptables_remains;
mod masquerade;
mod nfnetlink;
mod nft;
mod nft_masquerade;
mod owner;
mod remove;
mod rule;
mod run;
mod spoof;
mod tables;
mod tools;

pub use collect::collect;
pub use error::FirewallError;
pub use masquerade::{Masquerade, masquerade, masquerade_missing};
pub use owner::Owner;
pub use remove::remove;
pub use spoof::{SpoofCheck, check_mac, spoof_check_missing};
pub use tables::{Table, absent_tables, remove_unused};
pub use tools::{Backend, Tools};

/// How often a change is tried that rests on what was listed before, when
/// others may have changed it in between.
const ATTEMPTS: u32 = 3;

/// Does something anew that others may have come between.
fn patiently<T>(mut attempt: impl FnMut() -> Result<T, FirewallError>) -> Result<T, FirewallError> {
    let mut result = attempt();
    for _ in 1..ATTEMPTS {
        if !matches!(
            result,
            Err(FirewallError::Refused { .. } | FirewallError::Kernel { .. })
        ) {
            break;
        }
        result = attempt();
    }
    result
}
