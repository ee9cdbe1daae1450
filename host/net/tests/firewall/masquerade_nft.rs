use wipam_net::firewall::{Backend, collect, masquerade, masquerade_missing, remove};

use crate::machine::{LONG, all_tools, alone, attachment, masquerade_of, nft, owner, sh};

const TABLE: &str = "inet cni_plugins_masquerade";

const EMPTY: [&str; 7] = [
    "table inet cni_plugins_masquerade {",
    "chain masq_checks {",
    "chain postrouting {",
    "type nat hook postrouting priority srcnat; policy accept;",
    "ip daddr 224.0.0.0/4 return",
    "ip6 daddr ff00::/8 return",
    "goto masq_checks",
];

/// The table with these rules of owners.
fn with(rules: &[&str]) -> Vec<String> {
    let (head, tail) = EMPTY.split_at(2);
    [head, rules, tail]
        .concat()
        .iter()
        .map(|&s| s.to_owned())
        .collect()
}

const C1: &str = "ip saddr 192.0.2.2 ip daddr != 192.0.2.0/24 masquerade \
    comment \"8e48f37d5de60467-5b2df46a332e013f, net: net1, if: eth0, id: ctr-c1\"";
const C1_V6: &str = "ip6 saddr 2001:db8:1::2 ip6 daddr != 2001:db8:1::/64 masquerade \
    comment \"8e48f37d5de60467-5b2df46a332e013f, net: net1, if: eth0, id: ctr-c1\"";
const C2: &str = "ip saddr 192.0.2.3 ip daddr != 192.0.2.0/24 masquerade \
    comment \"8e48f37d5de60467-e9a83189d452e986, net: net1, if: eth0, id: ctr-c2\"";

#[test]
fn the_recorded_shape() {
    alone(|| {
        let tools = all_tools();
        let c1 = owner("net1", "ctr-c1", "eth0");
        let c2 = owner("net1", "ctr-c2", "eth0");
        let wanted = masquerade_of(&c1, &["192.0.2.2/24", "2001:db8:1::2/64"]);
        for _ in 0..2 {
            masquerade(&tools, Backend::Nftables, &wanted).unwrap();
            assert_eq!(nft(TABLE), with(&[C1, C1_V6]));
        }
        let second = masquerade_of(&c2, &["192.0.2.3/24"]);
        masquerade(&tools, Backend::Nftables, &second).unwrap();
        assert_eq!(nft(TABLE), with(&[C1, C1_V6, C2]));
        for wanted in [&wanted, &second] {
            let missing = masquerade_missing(&tools, Backend::Nftables, wanted).unwrap();
            assert_eq!(missing, None);
        }

        assert_eq!(remove(&tools, &c1, &[], &[]).unwrap().len(), 2);
        assert_eq!(nft(TABLE), with(&[C2]));
        let missing = masquerade_missing(&tools, Backend::Nftables, &wanted).unwrap();
        assert!(missing.unwrap().contains("192.0.2.2"));
        assert!(remove(&tools, &c1, &[], &[]).unwrap().is_empty());
    });
}

#[test]
fn what_all_share_is_mended() {
    alone(|| {
        let tools = all_tools();
        let wanted = masquerade_of(&owner("net1", "ctr-c1", "eth0"), &["192.0.2.2/24"]);
        for damage in [
            "flush chain inet cni_plugins_masquerade postrouting",
            "insert rule inet cni_plugins_masquerade postrouting accept",
            "flush chain inet cni_plugins_masquerade postrouting; \
             delete chain inet cni_plugins_masquerade postrouting",
            "delete table inet cni_plugins_masquerade",
        ] {
            masquerade(&tools, Backend::Nftables, &wanted).unwrap();
            sh(&format!("nft '{damage}'"));
            let missing = masquerade_missing(&tools, Backend::Nftables, &wanted).unwrap();
            // What somebody puts before it is not missing.
            assert_eq!(missing.is_none(), damage.starts_with("insert"), "{damage}");
            masquerade(&tools, Backend::Nftables, &wanted).unwrap();
            assert_eq!(nft(TABLE), with(&[C1]), "{damage}");
        }
    });
}

#[test]
fn a_stale_address_goes() {
    alone(|| {
        let tools = all_tools();
        let c1 = owner("net1", "ctr-c1", "eth0");
        for address in ["192.0.2.5/24", "192.0.2.2/24"] {
            let wanted = masquerade_of(&c1, &[address]);
            masquerade(&tools, Backend::Nftables, &wanted).unwrap();
        }
        assert_eq!(nft(TABLE), with(&[C1]));
    });
}

#[test]
fn interfaces_and_renamed_networks() {
    alone(|| {
        let tools = all_tools();
        let network = "a-network-whose-name-leaves-no-room-for-the-id-in-a-comment";
        let eth0 = owner(network, LONG, "eth0");
        let eth1 = owner(network, LONG, "eth1");
        for (owner, address) in [(&eth0, "192.0.2.2/24"), (&eth1, "192.0.2.3/24")] {
            let wanted = masquerade_of(owner, &[address]);
            masquerade(&tools, Backend::Nftables, &wanted).unwrap();
            assert_eq!(
                masquerade_missing(&tools, Backend::Nftables, &wanted).unwrap(),
                None
            );
        }
        remove(&tools, &owner("renamed", LONG, "eth1"), &[], &[]).unwrap();
        let rules = nft(TABLE).join("\n");
        assert!(
            rules.contains("192.0.2.2 ") && !rules.contains("192.0.2.3 "),
            "{rules}"
        );
        let wanted = masquerade_of(&owner("renamed", LONG, "eth0"), &["192.0.2.2/24"]);
        masquerade(&tools, Backend::Nftables, &wanted).unwrap();
        let rules = nft(TABLE);
        assert_eq!(rules.len(), EMPTY.len() + 1, "{rules:?}");
        assert!(rules.join("\n").contains("net: renamed"), "{rules:?}");
    });
}

#[test]
fn invalid_packets_are_dropped() {
    alone(|| {
        let tools = all_tools();
        let c1 = owner("net1", "ctr-c1", "eth0");
        let mut wanted = masquerade_of(&c1, &["192.0.2.2/24"]);
        wanted.drop_invalid = true;
        for _ in 0..2 {
            masquerade(&tools, Backend::Nftables, &wanted).unwrap();
        }
        assert_eq!(
            masquerade_missing(&tools, Backend::Nftables, &wanted).unwrap(),
            None
        );
        let rules = nft(TABLE);
        let drops: Vec<_> = rules
            .iter()
            .filter(|r| r.contains("invalid drop"))
            .collect();
        assert_eq!(drops.len(), 1, "{rules:?}");
        assert!(rules.contains(&"type filter hook forward priority filter; policy accept;".into()));
        wanted.drop_invalid = false;
        masquerade(&tools, Backend::Nftables, &wanted).unwrap();
        assert!(!nft(TABLE).join("\n").contains("ct state"));
        wanted.drop_invalid = true;
        masquerade(&tools, Backend::Nftables, &wanted).unwrap();
        remove(&tools, &c1, &[], &[]).unwrap();
        assert!(!nft(TABLE).join("\n").contains("192.0.2.2"));
    });
}

#[test]
fn whole_and_single_address_subnets() {
    alone(|| {
        let tools = all_tools();
        let c1 = owner("net1", "ctr-c1", "eth0");
        let wanted = masquerade_of(&c1, &["192.0.2.2/32", "2001:db8::2/128", "198.51.100.1/0"]);
        masquerade(&tools, Backend::Nftables, &wanted).unwrap();
        assert_eq!(
            masquerade_missing(&tools, Backend::Nftables, &wanted).unwrap(),
            None
        );
    });
}

#[test]
fn collecting_spares_the_valid_and_other_networks() {
    alone(|| {
        let tools = all_tools();
        let network = "long-enough-to-cut-the-comment-before-the-end-of-the-id";
        let all = [
            (owner(network, LONG, "eth0"), "192.0.2.2/24"),
            (owner(network, LONG, "eth1"), "192.0.2.3/24"),
            (
                owner(network, &LONG.replace('3', "4"), "eth0"),
                "192.0.2.4/24",
            ),
            (owner("another", LONG, "eth2"), "192.0.2.5/24"),
        ];
        for (owner, address) in &all {
            let mut wanted = masquerade_of(owner, &[address]);
            wanted.drop_invalid = true;
            masquerade(&tools, Backend::Nftables, &wanted).unwrap();
        }
        sh("nft add rule inet cni_plugins_masquerade masq_checks ip saddr 203.0.113.7 accept");
        let valid = [attachment(LONG, "eth0")];
        let removed = collect(&tools, &all[0].0.network, &valid).unwrap();
        assert_eq!(removed.len(), 4, "{removed:?}");
        let rules = nft(TABLE).join("\n");
        for (address, stays) in [
            ("192.0.2.2 ", true),
            ("192.0.2.3 ", false),
            ("192.0.2.4 ", false),
            ("192.0.2.5 ", true),
            ("203.0.113.7 ", true),
        ] {
            assert_eq!(rules.contains(address), stays, "{address}: {rules}");
        }
    });
}

#[test]
fn many_at_once() {
    alone(|| {
        let tools = all_tools();
        let owners: Vec<_> = (2..18)
            .map(|n| {
                (
                    owner("net1", &format!("ctr-{n}"), "eth0"),
                    format!("192.0.2.{n}/24"),
                )
            })
            .collect();
        std::thread::scope(|scope| {
            for (owner, address) in &owners {
                let tools = &tools;
                scope.spawn(move || {
                    for _ in 0..3 {
                        let wanted = masquerade_of(owner, &[address]);
                        masquerade(tools, Backend::Nftables, &wanted).unwrap();
                        assert_eq!(remove(tools, owner, &[], &[]).unwrap().len(), 1);
                    }
                });
            }
        });
        assert_eq!(nft(TABLE), EMPTY);
    });
}
