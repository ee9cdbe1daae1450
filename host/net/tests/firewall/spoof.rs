use wipam_net::Mac;
use wipam_net::firewall::{
    FirewallError, Owner, SpoofCheck, check_mac, collect, remove, spoof_check_missing,
};

use crate::machine::{LONG, all_tools, alone, attachment, nft, owner, sh};

fn check_of(owner: &Owner, host_interface: &str) -> SpoofCheck {
    SpoofCheck {
        owner: owner.clone(),
        host_interface: host_interface.to_owned(),
        mac: Mac([2, 0, 0x5e, 0x10, 0, 1]),
    }
}

fn recorded(label: &str, host: &str) -> Vec<String> {
    let comment = format!("comment \"macspoofchk-{label}\"");
    let chain = format!("cni-br-iface-{label}");
    vec![
        "table bridge nat {".into(),
        "chain PREROUTING {".into(),
        "type filter hook prerouting priority dstnat; policy accept;".into(),
        format!("iifname \"{host}\" jump {chain} {comment}"),
        format!("chain {chain} {{"),
        format!("jump {chain}-mac {comment}"),
        format!("chain {chain}-mac {{"),
        format!("ether saddr 02:00:5e:10:00:01 return {comment}"),
        format!("drop {comment}"),
    ]
}

#[test]
fn the_recorded_shape() {
    for container in ["ctr-c1", LONG] {
        alone(|| {
            let tools = all_tools();
            let c1 = owner("net1", container, "eth0");
            for host in ["veth9", "veth1", "veth1"] {
                check_mac(&tools, &check_of(&c1, host)).unwrap();
            }
            let label = format!("{container}-eth0");
            assert_eq!(nft("bridge nat"), recorded(&label, "veth1"));
            let wanted = check_of(&c1, "veth1");
            assert_eq!(spoof_check_missing(&tools, &wanted).unwrap(), None);
            check_mac(&tools, &check_of(&owner("net1", "ctr-c2", "eth0"), "veth2")).unwrap();
            remove(&tools, &owner("renamed", "ctr-c2", "eth0"), &[], &[]).unwrap();
            assert_eq!(nft("bridge nat"), recorded(&label, "veth1"));
            sh("nft flush chain bridge nat PREROUTING");
            let missing = spoof_check_missing(&tools, &wanted).unwrap();
            assert!(missing.unwrap().contains("iifname \"veth1\""));
            remove(&tools, &c1, &[], &[]).unwrap();
            assert_eq!(nft("bridge nat").len(), 3);
            assert!(remove(&tools, &c1, &[], &[]).unwrap().is_empty());
        });
    }
}

#[test]
fn the_longest_ids() {
    alone(|| {
        let tools = all_tools();
        for length in [200, 223, 224, 1024] {
            let c1 = owner("net1", &"c".repeat(length), "abcdefghijklmno");
            let wanted = check_of(&c1, "veth1");
            check_mac(&tools, &wanted).unwrap();
            assert_eq!(spoof_check_missing(&tools, &wanted).unwrap(), None);
            remove(&tools, &c1, &[], &[]).unwrap();
            assert_eq!(nft("bridge nat").len(), 3);
        }
    });
}

#[test]
fn what_others_have_there_survives() {
    alone(|| {
        let tools = all_tools();
        sh("nft 'add table bridge nat; add chain bridge nat mine; \
            add chain bridge nat PREROUTING { type filter hook prerouting priority -100; policy drop; }; \
            add rule bridge nat PREROUTING iifname \"other0\" jump mine'");
        let before = nft("bridge nat");
        let c1 = owner("net1", "ctr-c1", "eth0");
        check_mac(&tools, &check_of(&c1, "veth1")).unwrap();
        assert_eq!(nft("bridge nat").len(), before.len() + 6);
        remove(&tools, &c1, &[], &[]).unwrap();
        assert_eq!(nft("bridge nat"), before);
    });
}

#[test]
fn a_chain_that_sees_nothing_is_refused() {
    alone(|| {
        let wanted = check_of(&owner("net1", "ctr-c1", "eth0"), "veth1");
        for chain in ["", "{ type filter hook forward priority 0; }"] {
            sh(&format!(
                "nft 'add table bridge nat; delete table bridge nat; add table bridge nat; \
                add chain bridge nat PREROUTING {chain}'"
            ));
            let error = check_mac(&all_tools(), &wanted).unwrap_err();
            assert!(matches!(error, FirewallError::BaseChain { .. }), "{error}");
        }
    });
}

#[test]
fn names_are_no_patterns() {
    let owner = owner("net1", "ctr-c1", "eth0");
    for host in ["", "@set", "veth*", "a\"b", "abcdefghijklmnop"] {
        let error = check_mac(&all_tools(), &check_of(&owner, host)).unwrap_err();
        assert!(matches!(error, FirewallError::HostInterface(_)), "{error}");
    }
}

#[test]
fn collecting_takes_what_has_no_interface() {
    alone(|| {
        let tools = all_tools();
        sh("ip link add veth1 type veth peer name veth2");
        for (container, host) in [("valid", "veth8"), ("present", "veth1"), ("gone", "veth9")] {
            check_mac(&tools, &check_of(&owner("net1", container, "eth0"), host)).unwrap();
        }
        let valid = [attachment("valid", "eth0")];
        let network = owner("net1", "valid", "eth0").network;
        let removed = collect(&tools, &network, &valid).unwrap();
        assert_eq!(removed.len(), 2, "{removed:?}");
        let rules = nft("bridge nat").join("\n");
        assert!(!rules.contains("gone") && rules.contains("valid") && rules.contains("present"));
    });
}
