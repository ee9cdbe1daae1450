//! `cargo test --release --test firewall -- --ignored --nocapture times`

use std::time::{Duration, Instant};

use wipam_net::Mac;
use wipam_net::firewall::{
    Backend, SpoofCheck, Tools, absent_tables, check_mac, masquerade, remove,
};

use crate::machine::{all_tools, alone, masquerade_of, only, owner};

const ROUNDS: usize = 30;

#[allow(clippy::print_stderr, reason = "the times are what it is for")]
fn show(what: &str, mut times: Vec<Duration>) {
    times.sort();
    eprintln!(
        "{what}: {:?} (worst {:?})",
        times[times.len() / 2],
        times[times.len() - 1]
    );
}

fn timed(times: &mut Vec<Duration>, action: impl FnOnce()) {
    let start = Instant::now();
    action();
    times.push(start.elapsed());
}

fn measure(name: &str, tools: &Tools, set_up: &dyn Fn()) {
    let c1 = owner("net1", "ctr-c1", "eth0");
    let [mut made, mut removed, mut nothing] = [(); 3].map(|()| Vec::new());
    for _ in 0..ROUNDS {
        timed(&mut made, set_up);
        timed(&mut removed, || drop(remove(tools, &c1, &[], &[]).unwrap()));
        timed(&mut nothing, || drop(remove(tools, &c1, &[], &[]).unwrap()));
    }
    show(&format!("{name}: set up"), made);
    show(&format!("{name}: remove"), removed);
    show(&format!("{name}: remove, nothing there"), nothing);
}

#[test]
#[ignore = "takes times"]
fn times() {
    let usual = all_tools();
    let legacy = Tools::find(&only(&[
        "iptables=iptables-legacy",
        "ip6tables=ip6tables-legacy",
    ]));
    let c1 = owner("net1", "ctr-c1", "eth0");
    let wanted = masquerade_of(&c1, &["192.0.2.2/24", "2001:db8:1::2/64"]);
    let check = SpoofCheck {
        owner: c1,
        host_interface: "veth1".into(),
        mac: Mac([2, 0, 0, 0, 0, 1]),
    };
    let backend = |tools: &Tools, backend| masquerade(tools, backend, &wanted).unwrap();
    alone(|| measure("nft", &usual, &|| backend(&usual, Backend::Nftables)));
    alone(|| {
        measure("iptables-nft", &usual, &|| {
            backend(&usual, Backend::Iptables)
        })
    });
    alone(|| {
        measure("iptables-legacy", &legacy, &|| {
            backend(&legacy, Backend::Iptables)
        })
    });
    alone(|| {
        measure("spoof check", &usual, &|| {
            check_mac(&usual, &check).unwrap()
        })
    });
    alone(|| {
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            timed(&mut times, || {
                drop(absent_tables(Some(Backend::Nftables), true).unwrap())
            });
        }
        show("absent tables", times);
    });
}
