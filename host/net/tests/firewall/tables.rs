use wipam_net::firewall::{Backend, Table, absent_tables, masquerade, remove, remove_unused};

use crate::machine::{all_tools, alone, masquerade_of, nft, owner, sh};

const BOTH: [Table; 2] = [Table::Masquerade, Table::BridgeNat];

#[test]
fn what_is_absent() {
    alone(|| {
        assert_eq!(absent_tables(Some(Backend::Nftables), true).unwrap(), BOTH);
        assert_eq!(absent_tables(Some(Backend::Iptables), false).unwrap(), []);
        sh("nft add table bridge nat; nft add table ip cni_plugins_masquerade");
        assert_eq!(
            absent_tables(Some(Backend::Nftables), true).unwrap(),
            BOTH[..1]
        );
        for table in BOTH {
            assert_eq!(remove_unused(table).unwrap(), table == Table::BridgeNat);
        }
    });
}

#[test]
fn an_empty_table_goes_and_a_used_one_stays() {
    alone(|| {
        let tools = all_tools();
        let c1 = owner("net1", "ctr-c1", "eth0");
        let c2 = owner("net1", "ctr-c2", "eth0");
        for owner in [&c1, &c2] {
            let mut wanted = masquerade_of(owner, &["192.0.2.2/24"]);
            wanted.drop_invalid = true;
            masquerade(&tools, Backend::Nftables, &wanted).unwrap();
        }
        for owner in [&c1, &c2] {
            assert!(!remove_unused(Table::Masquerade).unwrap());
            remove(&tools, owner, &[], &[]).unwrap();
        }
        assert!(remove_unused(Table::Masquerade).unwrap());
        assert!(nft("inet cni_plugins_masquerade").is_empty());

        let base = "add table bridge nat; \
            add chain bridge nat PREROUTING { type filter hook prerouting priority -300; }";
        for foreign in [
            "add chain bridge nat mine",
            "add rule bridge nat PREROUTING accept",
            "add set bridge nat s { type ether_addr; }",
        ] {
            sh(&format!("nft '{base}; {foreign}'"));
            assert!(!remove_unused(Table::BridgeNat).unwrap(), "{foreign}");
            sh(&format!("nft 'delete table bridge nat; {base}'"));
            assert!(remove_unused(Table::BridgeNat).unwrap());
        }
    });
}

#[test]
fn removing_races_with_making() {
    alone(|| {
        let tools = all_tools();
        let c1 = owner("net1", "ctr-c1", "eth0");
        let wanted = masquerade_of(&c1, &["192.0.2.2/24"]);
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    remove_unused(Table::Masquerade).unwrap();
                }
            });
            for _ in 0..30 {
                let made = masquerade(&tools, Backend::Nftables, &wanted);
                let kept = nft("inet cni_plugins_masquerade").join("\n");
                let removed = remove(&tools, &c1, &[], &[]);
                if made.is_err() || !kept.contains("192.0.2.2 ") || removed.is_err() {
                    done.store(true, std::sync::atomic::Ordering::Relaxed);
                }
                made.unwrap();
                assert!(kept.contains("192.0.2.2 "), "{kept}");
                assert_eq!(removed.unwrap().len(), 1);
            }
            done.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    });
}
