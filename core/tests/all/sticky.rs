//! Who comes back gets the address it had.

use crate::net::{Net, ip, ips, pod};

const LOWEST: &str = r#""subnet":"10.1.0.0/24","strategy":"lowest""#;

fn sticky(more: &str) -> Net {
    Net::new(&format!(r#"{LOWEST},"sticky":{more}"#))
}

/// H30
#[test]
fn a_pod_gets_the_address_it_had() {
    let mut net = sticky("true");
    assert_eq!(net.add("a", &pod("db-0")), ip("10.1.0.2"));
    net.del("a");
    assert_eq!(net.add("other", ""), ip("10.1.0.3"));
    // Who has no name is not sticky, and that is no mistake.
    assert!(net.world.warnings.is_empty(), "{:?}", net.world.warnings);
    assert_eq!(net.add("b", &pod("db-0")), ip("10.1.0.2"));
    net.del("other");
    assert_eq!(net.add("other", ""), ip("10.1.0.3"));
}

/// H52
#[test]
fn a_late_del_of_the_old_container_frees_only_its_own() {
    let mut net = sticky("true");
    let old = net.add("a", &pod("db-0"));
    let new = net.add("b", &pod("db-0"));
    assert_ne!(old, new);
    net.del("a");
    assert_eq!(net.held(), [new]);
    net.del("a");
    assert_eq!(net.held(), [new]);
    // The old one is not kept: db-0 has another one now.
    assert_eq!(net.add("other", ""), old);
    net.del("b");
    assert_eq!(net.add("c", &pod("db-0")), new);
}

/// H52, and the new one goes first.
#[test]
fn the_latest_address_counts_though_the_older_one_is_released_later() {
    let mut net = sticky("true");
    let old = net.add("a", &pod("db-0"));
    let new = net.add("b", &pod("db-0"));
    net.del("b");
    net.del("a");
    assert_eq!(net.add("other", ""), old);
    assert_eq!(net.add("c", &pod("db-0")), new);
}

#[test]
fn an_address_is_kept_for_a_set_time() {
    let mut net = sticky(r#"{"keepSeconds":60}"#);
    net.add("a", &pod("db-0"));
    net.pass(100_000);
    net.del("a");
    net.pass(59_999);
    assert_eq!(net.add("x", ""), ip("10.1.0.3"));
    net.pass(1);
    assert_eq!(net.add("y", ""), ip("10.1.0.2"));
}

#[test]
fn an_address_is_preferred_even_after_its_time_while_it_is_free() {
    let mut net = sticky(r#"{"keepSeconds":60}"#);
    net.add("w", "");
    assert_eq!(net.add("a", &pod("db-0")), ip("10.1.0.3"));
    net.del("a");
    net.del("w");
    net.pass(1_000_000);
    assert_eq!(net.add("b", &pod("db-0")), ip("10.1.0.3"));
}

#[test]
fn kept_addresses_are_given_up_where_nothing_else_is_free() {
    let mut net = Net::new(
        r#""subnet":"10.1.0.0/29","rangeEnd":"10.1.0.4","strategy":"lowest","sticky":true"#,
    );
    for n in 0..3 {
        net.add(&format!("c{n}"), &pod(&format!("db-{n}")));
    }
    for n in [1, 0, 2] {
        net.del(&format!("c{n}"));
        net.pass(1000);
    }
    assert_eq!(net.status(), 0);
    // The one that is kept longest first.
    assert_eq!(net.add("x", &pod("db-9")), ip("10.1.0.3"));
    assert_eq!(net.add("y", ""), ip("10.1.0.2"));
    assert_eq!(net.add("z", &pod("db-1")), ip("10.1.0.4"));
    let refused = net.refused("c", "");
    assert!(refused.message.contains("every address is reserved"));
}

#[test]
fn kept_comes_before_cooling() {
    let mut net = Net::new(
        r#""subnet":"10.1.0.0/29","rangeEnd":"10.1.0.3","sticky":true,
            "cooldown":{"seconds":10,"whenFull":"use"}"#,
    );
    assert_eq!(net.add("a", ""), ip("10.1.0.2"));
    assert_eq!(net.add("b", &pod("db-0")), ip("10.1.0.3"));
    net.del("b");
    net.pass(10_000);
    net.del("a");
    assert_eq!(net.add("x", ""), ip("10.1.0.3"));
    assert_eq!(net.add("y", ""), ip("10.1.0.2"));
}

#[test]
fn who_comes_back_need_not_wait_for_the_cooldown() {
    let mut net = Net::new(r#""subnet":"10.1.0.0/30","sticky":true,"cooldown":true"#);
    net.add("a", &pod("db-0"));
    net.del("a");
    let refused = net.refused("x", &pod("db-1"));
    assert!(refused.message.contains("1 is cooling"), "{refused:?}");
    assert_eq!(net.refused("x", "").code, 11);
    assert_eq!(net.add("b", &pod("db-0")), ip("10.1.0.2"));
}

/// What peers remember is of the last one that had it.
#[test]
fn an_address_that_another_had_since_rests_for_everybody() {
    for other in [pod("db-1"), String::new()] {
        let mut net = Net::new(r#""subnet":"10.1.0.0/30","sticky":true,"cooldown":10"#);
        net.add("a", &pod("db-0"));
        net.del("a");
        net.pass(10_000);
        net.add("x", &other);
        net.del("x");
        let given = net.run("ADD", "b", &pod("db-0"));
        let refused = given.expect_err(&other);
        assert!(refused.message.contains("1 is cooling"), "{refused:?}");
        net.pass(10_000);
        assert_eq!(net.add("b", &pod("db-0")), ip("10.1.0.2"));
    }
}

/// Nor is it kept for who had it before.
#[test]
fn an_address_is_kept_for_the_last_one_that_had_it() {
    let mut net = sticky("true");
    net.add("a", &pod("db-0"));
    net.del("a");
    net.add("x", &format!("{};IP=10.1.0.2", pod("db-1")));
    net.del("x");
    assert_eq!(net.add("b", &pod("db-0")), ip("10.1.0.3"));
    assert_eq!(net.add("y", &pod("db-1")), ip("10.1.0.2"));

    let mut net = sticky("true");
    net.add("a", &pod("db-0"));
    net.del("a");
    net.add("x", "IP=10.1.0.2");
    net.del("x");
    assert_eq!(net.add("y", ""), ip("10.1.0.2"));
}

/// W32
#[test]
fn a_request_changes_what_is_kept() {
    let mut net = sticky(r#"{"keepSeconds":60}"#);
    assert_eq!(net.add("a", &pod("db-0")), ip("10.1.0.2"));
    net.del("a");
    let asking = format!("{};IP=10.1.0.20", pod("db-0"));
    assert_eq!(net.add("b", &asking), ip("10.1.0.20"));
    assert_eq!(net.add("x", ""), ip("10.1.0.2"));
    net.del("b");
    assert_eq!(net.add("c", &pod("db-0")), ip("10.1.0.20"));
    net.del("c");
    net.pass(60_000);
    for n in 3..20 {
        net.world
            .store
            .put([10, 1, 0, n].into(), "other", Some("eth0"));
    }
    assert_eq!(net.add("y", ""), ip("10.1.0.20"));
}

#[test]
fn interfaces_and_range_sets_are_remembered_apart() {
    let mut net =
        Net::new(r#""ranges":[[{"subnet":"10.1.0.0/24"}],[{"subnet":"fd00::/64"}]],"sticky":true"#);
    let pod = pod("db-0");
    let first = net.run("ADD", "a", &pod).unwrap();
    let second = net.run("ADD", "a net1", &pod).unwrap();
    assert_eq!(first, ips(&["10.1.0.2", "fd00::2"]));
    assert_eq!(second, ips(&["10.1.0.3", "fd00::3"]));
    net.del("a");
    net.del("a net1");
    assert_eq!(
        net.run("ADD", "x", "").unwrap(),
        ips(&["10.1.0.4", "fd00::4"])
    );
    assert_eq!(net.run("ADD", "b net1", &pod).unwrap(), second);
    assert_eq!(net.run("ADD", "b", &pod).unwrap(), first);
}

#[test]
fn a_key_is_made_of_any_arguments() {
    let mut net = sticky(r#"{"key":"K8S_POD_NAME"}"#);
    net.add("a", &pod("db-0"));
    net.del("a");
    let elsewhere = "IgnoreUnknown=1;K8S_POD_NAMESPACE=e;K8S_POD_NAME=db-0";
    assert_eq!(net.add("x", &pod("db-1")), ip("10.1.0.3"));
    assert_eq!(net.add("b", elsewhere), ip("10.1.0.2"));

    let mut net = sticky(r#"{"key":["A","B"]}"#);
    let args = |more: &str| format!("IgnoreUnknown=1;{more}");
    net.add("a", &args("A=1;B=2"));
    net.del("a");
    // Keys are case-sensitive, none may be missing or empty, and of several
    // the last counts.
    for other in ["A=1;b=2", "A=1", "A=1;B=", "A=2;B=1", "A=1;B=2;B=3"] {
        assert_ne!(net.add("x", &args(other)), ip("10.1.0.2"), "{other}");
        net.del("x");
    }
    assert_eq!(net.add("b", &args("B=7;B=2;A=1")), ip("10.1.0.2"));
}

#[test]
fn keys_with_odd_characters_are_different_keys() {
    let values = [
        ("x/y", "z"),
        ("x", "y/z"),
        ("x%2Fy", "z"),
        ("x%2fy", "z"),
        ("x y", "z"),
        ("x\u{a0}y", "z"),
        ("x", "y@eth0"),
        ("x", "y"),
        ("x", "y#1"),
        ("é", "ß"),
        ("-", "-"),
    ];
    let mut net = sticky(r#"{"key":["A","B"]}"#);
    let args: Vec<_> = values
        .iter()
        .map(|(a, b)| format!("IgnoreUnknown=1;A={a};B={b}"))
        .collect();
    let mut given = Vec::new();
    for args in &args {
        given.push(net.add("a", args));
        net.del("a");
    }
    let wanted: Vec<_> = (0..given.len())
        .map(|n| ip(&format!("10.1.0.{}", n + 2)))
        .collect();
    assert_eq!(given, wanted);
    for (args, address) in args.iter().zip(given).rev() {
        assert_eq!(net.add("b", args), address, "{args}");
        net.del("b");
    }
}

#[test]
fn a_key_that_is_too_long_is_none() {
    let mut net = sticky("true");
    let long = "x".repeat(600);
    assert_eq!(net.add("a", &pod(&long)), ip("10.1.0.2"));
    net.del("a");
    assert_eq!(net.add("b", ""), ip("10.1.0.2"));
}

#[test]
fn a_remembered_address_that_may_not_be_given_any_more_is_not() {
    for now in [
        r#""subnet":"10.1.0.0/24","exclude":["10.1.0.2"]"#,
        r#""subnet":"10.1.0.0/24","static":["10.1.0.2"]"#,
        r#""subnet":"10.1.0.0/24","rangeStart":"10.1.0.3""#,
        r#""subnet":"10.1.0.0/24","gateway":"10.1.0.2","exclude":["10.1.0.1"]"#,
    ] {
        let mut net = sticky("true");
        net.add("a", &pod("db-0"));
        net.del("a");
        net.ipam = format!(r#"{now},"strategy":"lowest","sticky":true"#);
        assert_eq!(net.add("b", &pod("db-0")), ip("10.1.0.3"), "{now}");
    }
}

#[test]
fn a_failed_add_is_not_remembered() {
    let mut net = Net::new(
        r#""ranges":[[{"subnet":"10.1.0.0/24"}],[{"subnet":"fd00::/127"}]],"strategy":"lowest",
            "sticky":true"#,
    );
    let first = net.run("ADD", "a", &pod("db-0")).unwrap();
    net.del("a");
    net.world.store.put(first[0], "x", Some("eth0"));
    for address in ["fd00::", "fd00::1"] {
        net.world.store.put(ip(address), "x", Some("eth0"));
    }
    assert_eq!(net.refused("b", &pod("db-0")).code, 11);
    net.del("x");
    assert_eq!(net.run("ADD", "b", &pod("db-0")), Ok(first));
}

#[test]
fn what_gc_releases_is_kept_and_rests_like_the_rest() {
    let mut net =
        Net::new(r#""subnet":"10.1.0.0/29","rangeEnd":"10.1.0.3","sticky":true,"cooldown":10"#);
    net.add("a", &pod("db-0"));
    net.add("b", "");
    net.top = r#","cni.dev/valid-attachments":[]"#.to_owned();
    net.run("GC", "", "").unwrap();
    let refused = net.refused("x", "");
    assert!(refused.message.contains("2 are cooling"), "{refused:?}");
    net.pass(10_000);
    assert_eq!(net.add("x", ""), ip("10.1.0.3"));
    assert_eq!(net.add("c", &pod("db-0")), ip("10.1.0.2"));
}
