use std::net::IpAddr;

use wipam_net::firewall::{Backend, Tools, collect, masquerade, masquerade_missing, remove};

use crate::machine::{
    LONG, all_tools, alone, attachment, hosts, listed, masquerade_of, only, owner, sh,
};

/// Every way to run iptables: usual, without the restore programs, the other
/// variant, and through something that is not known.
fn ways() -> Vec<(Tools, &'static str)> {
    let wrapper = only(&[]);
    for program in ["iptables", "ip6tables"] {
        let real = sh(&format!("command -v {program}"));
        let file = std::path::Path::new(&wrapper).join(program);
        sh(&format!(
            "printf '#!/bin/sh\\nexec {} \"$@\"\\n' > {file}; chmod +x {file}",
            real.trim(),
            file = file.display()
        ));
    }
    vec![
        (all_tools(), ""),
        (Tools::find(&only(&["iptables", "ip6tables"])), ""),
        (
            Tools::find(&only(&[
                "iptables=iptables-legacy",
                "ip6tables=ip6tables-legacy",
            ])),
            "-legacy",
        ),
        (Tools::find(&wrapper), ""),
    ]
}

const CHAIN: &str = "CNI-e1ef28aedf862e18d69b7cb1";
const COMMENT: &str = r#"-m comment --comment "name: \"net1\" id: \"ctr-c1\"""#;

fn recorded(addresses: &[&str], net: &str, multicast: &str) -> Vec<String> {
    let mut lines = vec![format!("-N {CHAIN}")];
    for address in addresses {
        lines.push(format!("-A POSTROUTING -s {address} {COMMENT} -j {CHAIN}"));
    }
    lines.push(format!("-A {CHAIN} -d {net} {COMMENT} -j ACCEPT"));
    lines.push(format!(
        "-A {CHAIN} ! -d {multicast} {COMMENT} -j MASQUERADE"
    ));
    lines
}

#[test]
fn the_recorded_shape() {
    for (tools, suffix) in ways() {
        alone(|| {
            let v4 = format!("iptables{suffix}");
            let v6 = format!("ip6tables{suffix}");
            let c1 = owner("net1", "ctr-c1", "eth0");
            let wanted = masquerade_of(&c1, &["192.0.2.2/24", "2001:db8:1::2/64"]);
            for _ in 0..2 {
                masquerade(&tools, Backend::Iptables, &wanted).unwrap();
                let (four, six) = (["192.0.2.2/32"], ["2001:db8:1::2/128"]);
                let rules = recorded(&four, "192.0.2.0/24", "224.0.0.0/4");
                assert_eq!(listed(&v4, "nat"), rules);
                let rules = recorded(&six, "2001:db8:1::/64", "ff00::/8");
                assert_eq!(listed(&v6, "nat"), rules);
                assert_eq!(
                    masquerade_missing(&tools, Backend::Iptables, &wanted).unwrap(),
                    None
                );
            }
            let removed = remove(&tools, &c1, &[], &[]).unwrap();
            assert_eq!(removed.len(), 4, "{removed:?}");
            assert!(listed(&v4, "nat").is_empty() && listed(&v6, "nat").is_empty());
            assert!(remove(&tools, &c1, &[], &[]).unwrap().is_empty());
            let missing = masquerade_missing(&tools, Backend::Iptables, &wanted).unwrap();
            assert!(missing.unwrap().contains("192.0.2.0/24"));
        });
    }
}

#[test]
fn known_addresses_are_removed_as_well_and_wrong_ones_do_no_harm() {
    let (known, wrong): (Vec<IpAddr>, Vec<IpAddr>) = (
        ["192.0.2.2", "2001:db8:1::2"]
            .map(|a| a.parse().unwrap())
            .into(),
        ["192.0.2.7", "2001:db8:1::7"]
            .map(|a| a.parse().unwrap())
            .into(),
    );
    for own in [known, wrong] {
        alone(|| {
            let tools = all_tools();
            let (c1, c2) = (
                owner("net1", "ctr-c1", "eth0"),
                owner("net1", "ctr-c2", "eth0"),
            );
            for (owner, last) in [(&c1, 2), (&c2, 3)] {
                let addresses = [
                    format!("192.0.2.{last}/24"),
                    format!("2001:db8:1::{last}/64"),
                ];
                let addresses = [addresses[0].as_str(), addresses[1].as_str()];
                masquerade(&tools, Backend::Iptables, &masquerade_of(owner, &addresses)).unwrap();
            }
            let removed = remove(&tools, &c1, &own, &[]).unwrap();
            assert_eq!(removed.len(), 4, "{removed:?}");
            assert!(remove(&tools, &c1, &own, &[]).unwrap().is_empty());
            assert_eq!(remove(&tools, &c2, &[], &[]).unwrap().len(), 4);
        });
    }
}

#[test]
fn only_what_is_stale_goes() {
    for (tools, suffix) in ways() {
        alone(|| {
            let v4 = format!("iptables{suffix}");
            let foreign = "-A POSTROUTING -s 203.0.113.7/32 -j MASQUERADE";
            sh(&format!("{v4} -t nat {foreign}"));
            let eth0 = owner("net1", "ctr-c1", "eth0");
            let eth1 = owner("net1", "ctr-c1", "eth1");
            let other = owner("net1", "ctr-c2", "eth0");
            masquerade(
                &tools,
                Backend::Iptables,
                &masquerade_of(&other, &["192.0.2.9/24"]),
            )
            .unwrap();
            let before = listed(&v4, "nat");
            for address in ["192.0.2.5/24", "192.0.2.2/24"] {
                masquerade(&tools, Backend::Iptables, &masquerade_of(&eth0, &[address])).unwrap();
            }
            let mut second = masquerade_of(&eth1, &["192.0.2.3/24", "198.51.100.3/24"]);
            second.live = hosts(&["192.0.2.2/24"]);
            masquerade(&tools, Backend::Iptables, &second).unwrap();
            let both = listed(&v4, "nat").join("\n");
            assert!(!both.contains("192.0.2.5"), "{both}");
            // What is accepted comes before what is masqueraded.
            let inside: Vec<_> = both
                .lines()
                .filter(|l| l.starts_with(&format!("-A {CHAIN}")))
                .map(|l| l.rsplit(' ').next().unwrap())
                .collect();
            assert_eq!(inside, ["ACCEPT", "ACCEPT", "MASQUERADE"], "{both}");
            masquerade(&tools, Backend::Iptables, &second).unwrap();
            assert_eq!(listed(&v4, "nat").join("\n"), both);

            // Renamed in between.
            let live = hosts(&["192.0.2.2/24"]);
            remove(&tools, &owner("renamed", "ctr-c1", "eth1"), &[], &live).unwrap();
            let rest = listed(&v4, "nat").join("\n");
            assert!(
                rest.contains("192.0.2.2/32") && !rest.contains("192.0.2.3/32"),
                "{rest}"
            );
            assert!(rest.contains(&format!("-N {CHAIN}")), "{rest}");
            remove(&tools, &owner("renamed", "ctr-c1", "eth0"), &[], &[]).unwrap();
            assert_eq!(listed(&v4, "nat"), before);
            assert!(before.iter().any(|l| l == foreign));
        });
    }
}

#[test]
fn networks_of_one_container() {
    for (tools, suffix) in ways() {
        alone(|| {
            let v4 = format!("iptables{suffix}");
            let wanted = masquerade_of(&owner("net1", "ctr-c1", "eth0"), &["192.0.2.2/24"]);
            masquerade(&tools, Backend::Iptables, &wanted).unwrap();
            let rules = recorded(&["192.0.2.2/32"], "192.0.2.0/24", "224.0.0.0/4");
            let mut second = masquerade_of(&owner("net2", "ctr-c1", "eth1"), &["192.0.2.3/24"]);
            masquerade(&tools, Backend::Iptables, &second).unwrap();
            let missing = masquerade_missing(&tools, Backend::Iptables, &wanted).unwrap();
            assert_eq!(missing, None);
            second.addresses.clear();
            masquerade(&tools, Backend::Iptables, &second).unwrap();
            assert_eq!(listed(&v4, "nat"), rules);
            // Its chain alone shows that there is something.
            sh(&format!("{v4} -t nat -F"));
            assert_eq!(remove(&tools, &wanted.owner, &[], &[]).unwrap().len(), 1);
            assert!(listed(&v4, "nat").is_empty());
        });
    }
}

#[test]
fn invalid_packets_are_dropped() {
    for (tools, suffix) in ways() {
        alone(|| {
            let v4 = format!("iptables{suffix}");
            let foreign = "-A FORWARD -s 203.0.113.7/32 -j ACCEPT";
            sh(&format!("{v4} {foreign}"));
            let c1 = owner("net1", LONG, "eth0");
            let mut wanted = masquerade_of(&c1, &["192.0.2.2/24"]);
            wanted.drop_invalid = true;
            for _ in 0..2 {
                masquerade(&tools, Backend::Iptables, &wanted).unwrap();
                assert_eq!(
                    masquerade_missing(&tools, Backend::Iptables, &wanted).unwrap(),
                    None
                );
            }
            let rules = listed(&v4, "filter");
            assert_eq!(rules.len(), 2, "{rules:?}");
            assert!(rules[0].contains("INVALID"), "{rules:?}");
            wanted.drop_invalid = false;
            masquerade(&tools, Backend::Iptables, &wanted).unwrap();
            assert_eq!(listed(&v4, "filter"), [foreign]);
            wanted.drop_invalid = true;
            masquerade(&tools, Backend::Iptables, &wanted).unwrap();
            remove(&tools, &owner("renamed", LONG, "eth0"), &[], &[]).unwrap();
            assert_eq!(listed(&v4, "filter"), [foreign]);
            assert!(listed(&v4, "nat").is_empty());
        });
    }
}

#[test]
fn the_longest_ids() {
    for (tools, suffix) in ways() {
        alone(|| {
            let v4 = format!("iptables{suffix}");
            for network in ["net1".to_owned(), "n".repeat(300)] {
                let c1 = owner(&network, &"c".repeat(1024), "eth0");
                let wanted = masquerade_of(&c1, &["192.0.2.2/24"]);
                for _ in 0..2 {
                    masquerade(&tools, Backend::Iptables, &wanted).unwrap();
                }
                assert_eq!(
                    masquerade_missing(&tools, Backend::Iptables, &wanted).unwrap(),
                    None
                );
                assert_eq!(listed(&v4, "nat").len(), 4);
                remove(&tools, &c1, &[], &[]).unwrap();
                assert!(listed(&v4, "nat").is_empty());
            }
        });
    }
}

#[test]
fn collecting_spares_the_valid_and_other_networks() {
    for (tools, suffix) in ways() {
        alone(|| {
            let v4 = format!("iptables{suffix}");
            let all = [
                (owner("net1", LONG, "eth0"), "192.0.2.2/24"),
                (owner("net1", "gone", "eth0"), "192.0.2.4/24"),
                (owner("another", "else", "eth0"), "192.0.2.5/24"),
            ];
            for (owner, address) in &all {
                let mut wanted = masquerade_of(owner, &[address]);
                wanted.drop_invalid = true;
                masquerade(&tools, Backend::Iptables, &wanted).unwrap();
            }
            let valid = [attachment(LONG, "eth0")];
            let removed = collect(&tools, &all[0].0.network, &valid).unwrap();
            assert_eq!(removed.len(), 3, "{removed:?}");
            for table in ["nat", "filter"] {
                let rules = listed(&v4, table).join("\n");
                for (address, stays) in [
                    ("192.0.2.2/", true),
                    ("192.0.2.4/", false),
                    ("192.0.2.5/", true),
                ] {
                    assert_eq!(rules.contains(address), stays, "{address}: {rules}");
                }
            }
            assert!(
                collect(&tools, &all[0].0.network, &valid)
                    .unwrap()
                    .is_empty()
            );
        });
    }
}

#[test]
fn many_at_once() {
    for (tools, suffix) in ways() {
        alone(|| {
            std::thread::scope(|scope| {
                for n in 2..8 {
                    let tools = &tools;
                    scope.spawn(move || {
                        let owner = owner("net1", &format!("ctr-{n}"), "eth0");
                        let wanted = masquerade_of(&owner, &[&format!("192.0.2.{n}/24")]);
                        for _ in 0..2 {
                            masquerade(tools, Backend::Iptables, &wanted).unwrap();
                            assert_eq!(remove(tools, &owner, &[], &[]).unwrap().len(), 2);
                        }
                    });
                }
            });
            assert!(listed(&format!("iptables{suffix}"), "nat").is_empty());
        });
    }
}

#[test]
fn every_backend_is_searched() {
    alone(|| {
        let c1 = owner("net1", "ctr-c1", "eth0");
        let wanted = masquerade_of(&c1, &["192.0.2.2/24"]);
        for (tools, _) in ways() {
            masquerade(&tools, Backend::Iptables, &wanted).unwrap();
        }
        masquerade(&all_tools(), Backend::Nftables, &wanted).unwrap();
        let removed = remove(&all_tools(), &c1, &[], &[]).unwrap();
        assert_eq!(removed.len(), 5, "{removed:?}");
        for program in ["iptables", "iptables-legacy"] {
            assert!(listed(program, "nat").is_empty());
        }
    });
}
