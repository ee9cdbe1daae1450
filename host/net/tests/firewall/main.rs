//! Firewall rules, each test in a network namespace of its own.

#![allow(clippy::unwrap_used, reason = "tests")]

mod machine;
mod masquerade_iptables;
mod masquerade_nft;
mod spoof;
mod tables;
mod tools;
