//! What the plugins do to the kernel: links, addresses, routes, sysctls,
//! firewall rules, neighbours and announcements, as typed operations.
//!
//! Nothing here knows of CNI configurations or results.

mod address;
mod announce;
mod conntrack;
mod error;
pub mod firewall;
mod link;
mod mac;
mod namespace;
mod neighbour;
mod netfilter;
mod route;
mod socket;
mod sysctl;

pub use address::Address;
pub use announce::announce;
pub use conntrack::forget_flows;
pub use error::NetError;
pub use link::{
    Bridge, LONGEST_ALTERNATIVE_NAME, LONGEST_NAME, Link, Membership, NewBridge, NewPair, Port,
    PortState,
};
pub use mac::{Mac, MacError};
pub use namespace::Namespace;
pub use route::Route;
pub use socket::Kernel;
pub use sysctl::Sysctl;
