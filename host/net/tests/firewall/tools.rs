use std::ffi::OsStr;

use wipam_net::Mac;
use wipam_net::firewall::{Backend, FirewallError, SpoofCheck, Tools};

use crate::machine::{masquerade_of, only, owner};

#[test]
fn the_backend_is_what_is_there() {
    let choose = |programs: &[&str], asked, v4, v6| {
        Tools::find(&only(programs)).masquerade_backend(asked, v4, v6)
    };
    let iptables = ["iptables", "ip6tables", "nft"];
    for (programs, asked, v4, v6, wanted) in [
        (&iptables[..], None, true, true, Ok(Backend::Iptables)),
        (&iptables[..1], None, true, false, Ok(Backend::Iptables)),
        (&iptables[2..], None, true, true, Ok(Backend::Nftables)),
        (
            &["iptables", "nft"],
            None,
            true,
            true,
            Ok(Backend::Nftables),
        ),
        (
            &iptables[..],
            Some(Backend::Nftables),
            true,
            true,
            Ok(Backend::Nftables),
        ),
        (
            &iptables[..2],
            Some(Backend::Nftables),
            true,
            true,
            Err("nft"),
        ),
        (
            &iptables[..1],
            Some(Backend::Iptables),
            true,
            true,
            Err("ip6tables"),
        ),
        (&[], Some(Backend::Iptables), true, true, Err("iptables")),
        (&[], None, true, true, Err("iptables and ip6tables or nft")),
        (&["ip6tables"], None, true, false, Err("iptables or nft")),
    ] {
        match (choose(programs, asked, v4, v6), wanted) {
            (Ok(found), Ok(wanted)) => assert_eq!(found, wanted, "{programs:?}"),
            (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{error}"),
            (found, _) => unreachable!("{programs:?}: {found:?}, wanted {wanted:?}"),
        }
    }
}

#[test]
fn variants() {
    let variant = |programs: &[&str]| Tools::find(&only(programs)).iptables_variant();
    assert_eq!(variant(&["iptables=iptables-nft"]), Some("nf_tables"));
    assert_eq!(variant(&["iptables=iptables-legacy"]), Some("legacy"));
    assert_eq!(variant(&["nft"]), None);
}

#[test]
fn directories_are_absolute() {
    let error = Tools::find(OsStr::new(".:")).for_spoof_check().unwrap_err();
    assert!(matches!(
        error,
        FirewallError::Missing { program: "nft", .. }
    ));
}

#[test]
fn descriptions_need_nothing() {
    let owner = owner("net1", "ctr-c1", "eth0");
    let mut wanted = masquerade_of(&owner, &["192.0.2.2/24"]);
    wanted.drop_invalid = true;
    let comment = r#"-m comment --comment "name: \"net1\" id: \"ctr-c1\"""#;
    let chain = "CNI-e1ef28aedf862e18d69b7cb1";
    assert_eq!(
        wanted.describe(Backend::Iptables),
        [
            format!("iptables: -t nat -A {chain} -d 192.0.2.0/24 {comment} -j ACCEPT"),
            format!("iptables: -t nat -A {chain} ! -d 224.0.0.0/4 {comment} -j MASQUERADE"),
            format!("iptables: -t nat -A POSTROUTING -s 192.0.2.2/32 {comment} -j {chain}"),
            format!(
                "iptables: -t filter -I FORWARD -s 192.0.2.2/32 ! -d 192.0.2.0/24 \
                 -m conntrack --ctstate INVALID {comment} -j DROP"
            ),
        ]
    );
    assert_eq!(wanted.describe(Backend::Nftables).len(), 2);
    let check = SpoofCheck {
        owner,
        host_interface: "veth1".into(),
        mac: Mac([2, 0, 0, 0, 0, 1]),
    };
    let lines = check.describe();
    assert_eq!(
        lines[2],
        "nft: bridge nat cni-br-iface-ctr-c1-eth0-mac: ether saddr 02:00:00:00:00:01 return \
         comment \"macspoofchk-ctr-c1-eth0\""
    );
}
