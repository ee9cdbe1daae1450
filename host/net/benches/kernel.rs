//! What the kernel itself takes for the work of an ADD and of a DEL: the limit
//! no plugin gets below. In namespaces of its own; needs root.
//!
//! One line for each row of `conformance/bridge/bench.py`: the rows differ in
//! what there is besides the pair, which the kernel looks after as well when a
//! pair goes. Rules are there before and stay.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement for people"
)]

use std::env;
use std::time::{Duration, Instant};

use rustix::thread::{UnshareFlags, unshare_unsafe};
use wipam_core::names::{Attachment, ContainerId, InterfaceName, NetworkName};
use wipam_net::firewall::{Backend, Masquerade, Owner, SpoofCheck, Tools, check_mac, masquerade};
use wipam_net::{Kernel, Mac, Namespace, NewBridge, NewPair, Route};

const ROUNDS: usize = 40;

const ROWS: [&str; 6] = [
    "l2",
    "gateway",
    "dual-stack",
    "masq-iptables",
    "masq-nftables",
    "macspoofchk",
];

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1000.0
}

/// A fresh namespace, and this thread in it.
fn fresh() -> Namespace {
    // SAFETY: no file descriptors are unshared, only the network.
    #[allow(unsafe_code, reason = "rustix has no safe form of it")]
    unsafe {
        unshare_unsafe(UnshareFlags::NEWNET).unwrap();
    }
    Namespace::current().unwrap()
}

/// Somebody else's rules.
fn rules(row: &str) {
    let tools = Tools::find(&env::var_os("PATH").unwrap_or_default());
    let owner = Owner {
        network: NetworkName::new("bench").unwrap(),
        attachment: Attachment {
            container: ContainerId::new("other").unwrap(),
            interface: InterfaceName::new("eth0").unwrap(),
        },
    };
    let wanted = Masquerade {
        owner: owner.clone(),
        addresses: vec!["192.0.2.9/24".parse().unwrap()],
        live: Vec::new(),
        drop_invalid: false,
    };
    match row {
        "masq-iptables" => masquerade(&tools, Backend::Iptables, &wanted).unwrap(),
        "masq-nftables" => masquerade(&tools, Backend::Nftables, &wanted).unwrap(),
        "macspoofchk" => check_mac(
            &tools,
            &SpoofCheck {
                owner,
                host_interface: "veth9".to_owned(),
                mac: Mac([2, 0, 0, 0, 0, 9]),
            },
        )
        .unwrap(),
        _ => {}
    }
}

fn measure(row: &str) -> (f64, f64) {
    let layer3 = row != "l2";
    let container = fresh();
    let mut inside = Kernel::open().unwrap();
    let _host = fresh();
    let mut kernel = Kernel::open().unwrap();
    rules(row);
    let new = NewBridge {
        name: "cni0",
        mtu: None,
        mac: layer3.then(|| Mac::random().unwrap()),
        vlan_filtering: false,
    };
    kernel.add_bridge(&new).unwrap();
    kernel.set_up("cni0").unwrap();
    let master = kernel.link("cni0").unwrap().unwrap().index;
    let mut addresses = Vec::new();
    if layer3 {
        addresses.push(("192.0.2.1/24", "192.0.2.2/24", "0.0.0.0/0"));
    }
    if row == "dual-stack" {
        addresses.push(("2001:db8:1::1/64", "2001:db8:1::2/64", "::/0"));
    }
    for (gateway, ..) in &addresses {
        kernel
            .add_address(master, gateway.parse().unwrap())
            .unwrap();
    }

    let (mut add, mut delete) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        let pair = NewPair {
            host_name: "veth0",
            host_mac: Mac::random().unwrap(),
            master,
            container_name: "eth0",
            container_mac: Mac::random().unwrap(),
            mtu: None,
        };
        kernel.add_pair(&pair, &container).unwrap();
        let link = inside.link("eth0").unwrap().unwrap().index;
        for (_, address, _) in &addresses {
            inside.add_address(link, address.parse().unwrap()).unwrap();
        }
        inside.set_up("eth0").unwrap();
        for (gateway, _, destination) in &addresses {
            let gateway: ipnet::IpNet = gateway.parse().unwrap();
            inside
                .add_route(&Route {
                    destination: destination.parse().unwrap(),
                    gateway: Some(gateway.addr()),
                    link,
                    metric: 0,
                    table: 0,
                    scope: 0,
                    mtu: 0,
                    advertised_mss: 0,
                })
                .unwrap();
        }
        add.push(begin.elapsed());
        // As long as a runtime takes to come back, which is when the kernel
        // does what it put off.
        std::thread::sleep(Duration::from_millis(5));
        let begin = Instant::now();
        inside.delete_link(link).unwrap();
        delete.push(begin.elapsed());
    }
    (median(add), median(delete))
}

fn main() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIP the kernel's own limit: making namespaces needs root");
        return;
    }
    println!("bare netlink, median of {ROUNDS}, in ms");
    println!("{:<14} {:>8} {:>8}", "", "add", "delete");
    for row in ROWS {
        let (add, delete) = measure(row);
        println!("{row:<14} {add:>8.2} {delete:>8.2}");
    }
}
