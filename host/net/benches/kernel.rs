//! What the kernel itself takes for the work of an ADD and of a DEL: the limit
//! no plugin gets below. In namespaces of its own; needs root.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement for people"
)]

use std::time::{Duration, Instant};

use rustix::thread::{UnshareFlags, unshare_unsafe};
use wipam_net::{Kernel, Mac, Namespace, NewBridge, NewPair, Route};

const ROUNDS: usize = 40;

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

fn main() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIP the kernel's own limit: making namespaces needs root");
        return;
    }
    let container = fresh();
    let mut inside = Kernel::open().unwrap();
    let _host = fresh();
    let mut kernel = Kernel::open().unwrap();
    let new = NewBridge {
        name: "cni0",
        mtu: None,
        mac: Some(Mac::random().unwrap()),
        vlan_filtering: false,
    };
    kernel.add_bridge(&new).unwrap();
    kernel.set_up("cni0").unwrap();
    let master = kernel.link("cni0").unwrap().unwrap().index;
    kernel
        .add_address(master, "192.0.2.1/24".parse().unwrap())
        .unwrap();

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
        inside
            .add_address(link, "192.0.2.2/24".parse().unwrap())
            .unwrap();
        inside.set_up("eth0").unwrap();
        inside
            .add_route(&Route {
                destination: "0.0.0.0/0".parse().unwrap(),
                gateway: Some([192, 0, 2, 1].into()),
                link,
                metric: 0,
                table: 0,
                scope: 0,
                mtu: 0,
                advertised_mss: 0,
            })
            .unwrap();
        add.push(begin.elapsed());
        let host = kernel.link("veth0").unwrap().unwrap().index;
        let begin = Instant::now();
        kernel.delete_link(host).unwrap();
        delete.push(begin.elapsed());
    }
    println!(
        "bare netlink, median of {ROUNDS}: pair, master, address, up, route {:.2} ms; delete the \
         pair {:.2} ms",
        median(add),
        median(delete)
    );
}
