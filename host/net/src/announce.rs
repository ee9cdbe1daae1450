//! Telling neighbours which Ethernet address an address has.
//!
//! The kernel makes the packets (gratuitous ARP for IPv4 addresses, unsolicited
//! neighbour advertisements for IPv6 ones) when an interface's address is set,
//! even to what it was, if `arp_notify` and `ndisc_notify` say so.

use crate::error::NetError;
use crate::mac::Mac;
use crate::socket::Kernel;
use crate::sysctl::Sysctl;

/// Announces every address of an interface of this thread's namespace once.
/// The settings that make the kernel do so are put back as they were.
pub fn announce(kernel: &mut Kernel, link: &str, mac: Mac) -> Result<(), NetError> {
    let settings = [
        Sysctl::of_link("ipv4", link, "arp_notify"),
        Sysctl::of_link("ipv6", link, "ndisc_notify"),
    ];
    let mut before = Vec::new();
    for setting in &settings {
        // Without IPv6 there is nothing to set.
        if setting.read()?.is_some() {
            before.push((setting, setting.set("1")?));
        }
    }
    let announced = kernel.set_mac(link, mac);
    for (setting, old) in before {
        if let Some(old) = old {
            setting.set(&old)?;
        }
    }
    announced
}
