//! What is never given, the strategies, and the cooldown.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};

use crate::net::{Net, ip, ips, pod};

fn count(net: &Net, name: &str) -> usize {
    let calls = net.world.calls();
    calls.iter().filter(|call| **call == name).count()
}

fn hold(net: &Net, address: IpAddr) {
    net.world.store.put(address, "other", Some("eth0"));
}

const PARTS: usize = 5;

/// H22
#[test]
fn what_is_excluded_is_given_to_nobody() {
    let mut net = Net::new(r#""subnet":"10.1.0.0/29","exclude":["10.1.0.2/31","10.1.0.4"]"#);
    assert_eq!(net.add("c1", ""), ip("10.1.0.5"));
    let (given, refused) = net.fill("x");
    assert_eq!(given, ips(&["10.1.0.6"]));
    assert_eq!(refused.code, 11);
    assert!(
        refused
            .message
            .contains("every address is reserved, excluded or static")
    );
    assert!(net.world.warnings.is_empty(), "{:?}", net.world.warnings);
}

#[test]
fn a_range_has_exclusions_of_its_own() {
    let mut net = Net::new(
        r#""ranges":[[{"subnet":"10.1.0.0/29","exclude":["10.1.0.2","10.1.0.3-10.1.0.4"]},
            {"subnet":"10.2.0.0/29","exclude":["10.2.0.0/30"]}],
            [{"subnet":"fd00::/125","exclude":["fd00::/126"]}]]"#,
    );
    let first = net.run("ADD", "c", "");
    assert_eq!(first, Ok(ips(&["10.1.0.5", "fd00::4"])));
    let (given, _) = net.fill("x");
    let wanted = [
        "10.1.0.6", "fd00::5", "10.2.0.4", "fd00::6", "10.2.0.5", "fd00::7",
    ];
    assert_eq!(given, ips(&wanted));
}

#[test]
fn exclusions_that_touch_or_overlap_are_one() {
    let mut net = Net::new(
        r#""subnet":"10.1.0.0/28","exclude":["10.1.0.2-10.1.0.6","10.1.0.4/30","10.1.0.8",
            "10.1.0.8","10.1.0.9/32","10.1.0.12-10.1.0.200"]"#,
    );
    let (given, _) = net.fill("x");
    assert_eq!(given, ips(&["10.1.0.10", "10.1.0.11"]));
}

#[test]
fn an_exclusion_of_everything_is_named() {
    for ipam in [
        r#""subnet":"10.1.0.0/24","exclude":["10.0.0.0/8"]"#,
        r#""subnet":"10.1.0.0/24","exclude":["10.1.0.0/25"],"static":["10.1.0.128/25"]"#,
        r#""subnet":"::/0","exclude":["::/0"]"#,
    ] {
        let mut net = Net::new(ipam);
        let refused = net.refused("c", "");
        assert_eq!(refused.code, 11);
        assert!(refused.message.contains("exclude"), "{refused:?}");
        assert_eq!(net.status(), 50);
    }
}

#[test]
fn excluded_addresses_can_be_asked_for_only_where_that_is_set() {
    let ipam = r#""subnet":"10.1.0.0/24","exclude":["10.1.0.4/30"],"static":["10.1.0.4"]"#;
    let mut net = Net::new(ipam);
    for address in ["10.1.0.4", "10.1.0.7"] {
        let refused = net.refused("c", &format!("IP={address}"));
        assert_eq!(refused.code, 7);
        let wanted = format!("{address} is excluded (10.1.0.4-10.1.0.7");
        assert!(refused.message.contains(&wanted), "{refused:?}");
        assert!(refused.message.contains("requestExcluded"));
    }
    assert!(net.held().is_empty());
    net.ipam = format!(r#"{ipam},"requestExcluded":true"#);
    assert_eq!(net.add("c", "IP=10.1.0.7"), ip("10.1.0.7"));
    assert_eq!(net.add("d", ""), ip("10.1.0.8"));
}

#[test]
fn exclusions_cost_by_their_number_not_by_their_size() {
    let calls = |exclude: &str, held: &[&str]| {
        let mut net = Net::new(&format!(r#""subnet":"fd00::/64","exclude":[{exclude}]"#));
        net.world.quiet = true;
        for address in held {
            net.world.store.put(ip(address), "other", Some("eth0"));
        }
        net.add("c", "");
        net.world.calls()
    };
    // Half of it, or one address: the same calls.
    let half = calls(r#""fd00::/65""#, &[]);
    assert_eq!(half, calls(r#""fd00::2""#, &[]));
    assert_eq!(half, calls(r#""fd00::8000:0:0:0/65""#, &[]));
    assert!(half.len() <= 7, "{half:?}");
    // All parts but the last are taken.
    let spans: Vec<_> = (0..40)
        .map(|n| format!(r#""fd00::{:x}""#, 2 * n + 3))
        .collect();
    let held: Vec<_> = (0..40).map(|n| format!("fd00::{:x}", 2 * n + 2)).collect();
    let held: Vec<_> = held.iter().map(String::as_str).collect();
    let many = calls(&spans.join(","), &held);
    assert!(many.len() <= 40 + PARTS + 6, "{many:?}");
}

/// H28
#[test]
fn static_addresses_are_given_only_to_those_who_ask() {
    let mut net = Net::new(r#""subnet":"10.1.0.0/29","static":["10.1.0.2","10.1.0.5-10.1.0.6"]"#);
    assert_eq!(net.add("dyn", ""), ip("10.1.0.3"));
    assert_eq!(net.add("fixed", "IP=10.1.0.2"), ip("10.1.0.2"));
    let (given, refused) = net.fill("x");
    assert_eq!(given, ips(&["10.1.0.4"]));
    assert_eq!(refused.code, 11);
    assert_eq!(net.status(), 50);
    assert_eq!(net.add("late", "IP=10.1.0.6"), ip("10.1.0.6"));
    let refused = net.refused("later", "IP=10.1.0.6");
    assert_eq!(refused.code, 11);
    assert!(refused.message.contains("held by container late"));
}

/// Not by any strategy, and not when addresses come back.
#[test]
fn released_static_addresses_stay_out_of_the_pool() {
    for more in [
        "",
        r#","strategy":"lowest""#,
        r#","strategy":"random""#,
        r#","strategy":"owner-hash""#,
        r#","cooldown":{"seconds":5,"whenFull":"use"}"#,
        r#","sticky":true"#,
        r#","sticky":true,"cooldown":{"seconds":5,"whenFull":"use"}"#,
    ] {
        let mut net = Net::new(&format!(
            r#""subnet":"10.1.0.0/29","static":["10.1.0.2","10.1.0.4"]{more}"#
        ));
        for address in ["10.1.0.2", "10.1.0.4"] {
            net.add("fixed", &format!("{};IP={address}", pod("db-0")));
            net.del("fixed");
        }
        // Not even to who had it.
        let first = net.add("a", &pod("db-0"));
        let (mut given, _) = net.fill("x");
        given.push(first);
        let given: BTreeSet<_> = given.into_iter().collect();
        let wanted = ips(&["10.1.0.3", "10.1.0.5", "10.1.0.6"]);
        assert!(given.iter().eq(&wanted), "{more}: {given:?}");
    }
}

#[test]
fn lowest_gives_the_lowest_of_the_first_range_with_room() {
    let mut net = Net::new(
        r#""strategy":"lowest","ranges":[[{"subnet":"10.9.0.0/30"},{"subnet":"10.1.0.0/29"}]]"#,
    );
    let (given, _) = net.fill("x");
    let wanted = [
        "10.9.0.2", "10.1.0.2", "10.1.0.3", "10.1.0.4", "10.1.0.5", "10.1.0.6",
    ];
    assert_eq!(given, ips(&wanted));
    for (container, again) in [("x4", "10.1.0.5"), ("x2", "10.1.0.3"), ("x0", "10.9.0.2")] {
        net.del("x5");
        net.del(container);
        assert_eq!(net.add("y", ""), ip(again));
        assert_eq!(net.add("x5", ""), ip("10.1.0.6"));
        net.del("y");
        net.world.store.put(ip(again), "z", Some("eth0"));
    }
}

/// W31
#[test]
fn random_covers_the_whole_pool() {
    let mut net = Net::new(r#""subnet":"fd00::/112","strategy":"random""#);
    net.world.quiet = true;
    let mut buckets = [0_usize; 64];
    let mut different = BTreeSet::new();
    for n in 0..10_000 {
        net.world.store = Default::default();
        let address = net.add("c", "");
        assert_ne!(address, ip("fd00::1"), "{n}");
        let IpAddr::V6(v6) = address else {
            panic!("{address}");
        };
        buckets[usize::from(v6.segments()[7] >> 10)] += 1;
        different.insert(address);
    }
    // 156 each; five standard deviations are 62.
    assert!(buckets.iter().all(|n| (94..219).contains(n)), "{buckets:?}");
    assert!(different.len() > 9000, "{}", different.len());
}

/// W31
#[test]
fn random_finds_what_is_left_of_a_pool() {
    let mut net = Net::new(r#""subnet":"10.1.0.0/16","strategy":"random""#);
    net.world.quiet = true;
    let free: BTreeSet<_> = (0..20_u8).map(|n| [10, 1, n * 12 + 3, n].into()).collect();
    for n in 2..u16::MAX {
        let [high, low] = n.to_be_bytes();
        let address = [10, 1, high, low].into();
        if !free.contains(&address) {
            net.world.store.put(address, "other", Some("eth0"));
        }
    }
    let mut found = BTreeSet::new();
    for n in 0..20 {
        found.insert(net.add(&format!("c{n}"), ""));
        let calls = net.world.calls();
        assert!(calls.len() <= 16 + PARTS + 6, "{calls:?}");
        assert_eq!(count(&net, "reserve"), 1);
    }
    assert_eq!(found, free);
    assert_eq!(net.refused("c", "").code, 11);
    assert!(net.world.calls().len() <= 16 + PARTS + 6);
}

/// Nor is one likelier because all before it are taken.
#[test]
fn random_does_not_prefer_what_lies_behind_a_crowd() {
    let mut net = Net::new(r#""subnet":"10.1.0.0/24","strategy":"random""#);
    net.world.quiet = true;
    for n in 2..128 {
        hold(&net, [10, 1, 0, n].into());
    }
    let mut given = std::collections::BTreeMap::new();
    for _ in 0..2000 {
        *given.entry(net.add("c", "")).or_insert(0) += 1;
        net.del("c");
    }
    // 16 each.
    assert!(
        given.len() > 120 && given.values().all(|n| *n < 45),
        "{given:?}"
    );
}

#[test]
fn random_is_decided_by_the_seed() {
    let given = |seed: u64, seeds: &mut BTreeSet<_>| {
        let mut net = Net::new(
            r#""strategy":"random","ranges":[[{"subnet":"10.1.0.0/16"}],[{"subnet":"fd00::/64"}],
                [{"subnet":"10.2.0.0/16"}]]"#,
        );
        net.seed = seed;
        let given = net.run("ADD", "c", "").unwrap();
        seeds.insert(given.clone());
        given
    };
    let mut seeds = BTreeSet::new();
    for seed in 0..32 {
        let one = given(seed, &mut seeds);
        assert_eq!(one, given(seed, &mut seeds));
        // The sets draw apart from each other.
        let last = |n: usize| one[n].to_string().split_once('.').unwrap().1[2..].to_owned();
        assert_ne!(last(0), last(2));
    }
    assert_eq!(seeds.len(), 32);
}

#[test]
fn chance_and_hash_cut_around_what_is_barred() {
    for strategy in ["random", "owner-hash"] {
        let mut net = Net::new(&format!(
            r#""strategy":"{strategy}","ranges":[[
                {{"subnet":"10.1.0.0/28","exclude":["10.1.0.3-10.1.0.12"]}},
                {{"subnet":"10.2.0.0/29","static":["10.2.0.4"]}}]]"#
        ));
        let (given, refused) = net.fill("x");
        assert_eq!(refused.code, 11);
        let all: BTreeSet<_> = given.iter().copied().collect();
        let wanted = [
            "10.1.0.2",
            "10.1.0.13",
            "10.1.0.14",
            "10.2.0.2",
            "10.2.0.3",
            "10.2.0.5",
            "10.2.0.6",
        ];
        assert!(all.iter().eq(&ips(&wanted)), "{strategy}: {given:?}");
        assert_eq!(all.len(), given.len());
    }
}

#[test]
fn an_owner_begins_where_its_hash_says() {
    let mut net = Net::new(r#""subnet":"10.1.0.0/16","strategy":"owner-hash""#);
    let containers: Vec<_> = (0..64).map(|n| format!("c{n}")).collect();
    let first: Vec<_> = containers.iter().map(|c| net.add(c, "")).collect();
    let third = |address: &IpAddr| address.to_string().split('.').nth(2).map(str::to_owned);
    let different: BTreeSet<_> = first.iter().map(third).collect();
    assert!(different.len() > 40, "{first:?}");
    containers.iter().for_each(|c| net.del(c));
    for (container, address) in containers.iter().zip(&first).rev() {
        assert_eq!(net.add(container, ""), *address);
        net.del(container);
    }
    // Interfaces are owners of their own.
    assert_ne!(net.add("c0 net1", ""), first[0]);
    // Who finds its place taken gets what comes next.
    net.world.store.put(first[0], "thief", Some("eth0"));
    let next = ip_after(first[0]);
    assert_eq!(net.add("c0", ""), next);
}

fn ip_after(address: IpAddr) -> IpAddr {
    let IpAddr::V4(v4) = address else {
        panic!("{address}");
    };
    Ipv4Addr::from_bits(v4.to_bits() + 1).into()
}

#[test]
fn an_owner_with_a_key_is_who_the_key_says() {
    let given = |container: &str, args: &str| {
        let ipam = r#""subnet":"10.1.0.0/16","strategy":"owner-hash","sticky":true"#;
        Net::new(ipam).add(container, args)
    };
    assert_eq!(given("a", &pod("db-0")), given("b", &pod("db-0")));
    assert_ne!(given("a", &pod("db-0")), given("a", &pod("db-1")));
    assert_ne!(given("a", &pod("db-0")), given("a net1", &pod("db-0")));
    assert_ne!(given("a", ""), given("b", ""));
}

/// H31
#[test]
fn an_address_rests_after_its_release() {
    let mut net = Net::new(
        r#""subnet":"10.1.0.0/29","rangeStart":"10.1.0.2","rangeEnd":"10.1.0.4","cooldown":5"#,
    );
    assert_eq!(net.add("a", ""), ip("10.1.0.2"));
    net.del("a");
    assert_eq!(net.add("b", ""), ip("10.1.0.3"));
    assert_eq!(net.add("c", ""), ip("10.1.0.4"));
    net.pass(1200);
    let refused = net.refused("d", "");
    assert_eq!(refused.code, 11);
    // 3.8 s, rounded up.
    let wanted = "1 is cooling, the next can be given in 4 s; every other address is reserved";
    assert!(refused.message.contains(wanted), "{refused:?}");
    assert_eq!(net.status(), 50);
    net.pass(3799);
    let refused = net.refused("d", "");
    assert!(refused.message.contains("given in 1 s"), "{refused:?}");
    net.pass(1);
    assert_eq!(net.status(), 0);
    assert_eq!(net.add("d", ""), ip("10.1.0.2"));
    let refused = net.refused("e", "");
    assert!(refused.message.contains("(every address is reserved)"));
    net.del("b");
    net.pass(1000);
    net.del("c");
    let refused = net.refused("e", "");
    let wanted = "2 are cooling, the next can be given in 4 s";
    assert!(refused.message.contains(wanted), "{refused:?}");
}

#[test]
fn never_used_comes_before_rested_and_cooling_comes_last_or_never() {
    for use_them in [false, true] {
        let when_full = if use_them { "use" } else { "refuse" };
        for strategy in ["lowest", "round-robin", "random", "owner-hash"] {
            let mut net = Net::new(&format!(
                r#""subnet":"10.1.0.0/28","rangeEnd":"10.1.0.7","strategy":"{strategy}",
                    "cooldown":{{"seconds":10,"whenFull":"{when_full}"}}"#
            ));
            let three: Vec<_> = ["a", "b", "c"].map(|c| net.add(c, "")).into();
            for container in ["c", "a"] {
                net.del(container);
                net.pass(1000);
            }
            net.pass(9000);
            net.del("b");
            // Three of six were never used.
            let fresh: BTreeSet<_> = (0..3).map(|n| net.add(&format!("n{n}"), "")).collect();
            assert!(three.iter().all(|used| !fresh.contains(used)), "{strategy}");
            assert_eq!(net.add("x", ""), three[2], "{strategy}");
            assert_eq!(net.add("y", ""), three[0], "{strategy}");
            if use_them {
                assert_eq!(net.status(), 0);
                assert_eq!(net.add("z", ""), three[1], "{strategy}");
                assert_eq!(net.status(), 50);
            } else {
                assert_eq!(net.status(), 50);
                let refused = net.refused("z", "");
                assert!(refused.message.contains("1 is cooling"), "{refused:?}");
            }
        }
    }
}

#[test]
fn of_those_that_are_cooling_the_one_that_rested_longest_is_used() {
    let mut net = Net::new(r#""subnet":"10.1.0.0/29","cooldown":{"whenFull":"use"}"#);
    let (given, _) = net.fill("x");
    assert_eq!(given.len(), 5);
    for n in [3, 0, 4] {
        net.del(&format!("x{n}"));
        net.pass(1);
    }
    for n in [3, 0, 4] {
        assert_eq!(net.add(&format!("y{n}"), ""), given[n]);
    }
}

#[test]
fn a_request_does_not_wait_for_the_cooldown() {
    let mut net = Net::new(r#""subnet":"10.1.0.0/29","cooldown":true"#);
    assert_eq!(net.add("a", ""), ip("10.1.0.2"));
    net.del("a");
    assert_eq!(net.add("b", "IP=10.1.0.2"), ip("10.1.0.2"));
}

/// H32: a clock that goes back makes nothing rest longer than the whole time.
#[test]
fn a_clock_set_back_costs_one_cooldown_at_most() {
    let mut net = Net::new(r#""subnet":"10.1.0.0/30","cooldown":5"#);
    net.pass(10_000_000);
    net.add("a", "");
    net.del("a");
    net.world.store.set_inputs(net.now_ms() - 3_600_000, 0);
    let add = net.invocation("ADD", "b", "");
    let refused = net.world.run(&add).unwrap_err();
    assert!(refused.message.contains("in 5 s"), "{refused:?}");
}

/// Whoever tries again and again must not use the pool up.
#[test]
fn a_failed_add_leaves_nothing_to_rest() {
    let mut net = Net::new(
        r#""ranges":[[{"subnet":"10.1.0.0/29"}],[{"subnet":"fd00::/126"}]],"cooldown":true"#,
    );
    for address in ["fd00::2", "fd00::3"] {
        net.world.store.put(ip(address), "other", Some("eth0"));
    }
    for _ in 0..10 {
        let refused = net.refused("c", "");
        assert!(refused.message.contains("range 1"), "{refused:?}");
    }
    net.ipam = r#""subnet":"10.1.0.0/29","cooldown":true"#.to_owned();
    assert_eq!(net.fill("x").0.len(), 5);
}

#[test]
fn every_address_that_is_passed_over_has_a_reason() {
    let mut net = Net::new(
        r#""subnet":"10.1.0.0/28","rangeStart":"10.1.0.0","strategy":"lowest",
            "exclude":["10.1.0.2"],"static":["10.1.0.3-10.1.0.4"],
            "sticky":{"keepSeconds":60},"cooldown":10"#,
    );
    // Rested, kept, cooling: .5, .6, .7.
    for (container, args) in [("a", String::new()), ("b", pod("b")), ("c", String::new())] {
        net.add(container, &args);
    }
    net.del("a");
    net.del("b");
    net.pass(11_000);
    net.del("c");
    net.add("d", "IP=10.1.0.8");
    net.world.store.put_foreign(ip("10.1.0.9"));
    assert_eq!(net.add("x", ""), ip("10.1.0.10"));
    let notes = net.world.notes.join("\n");
    for wanted in [
        "10.1.0.1: the gateway",
        "10.1.0.2: excluded",
        "10.1.0.3-10.1.0.4: static, for requests only",
        "10.1.0.5: used before; others come first",
        "10.1.0.6: kept for d/b@eth0 for another 49 s",
        "10.1.0.7: cooling for another 10 s",
        "10.1.0.8: held by container d, interface eth0",
    ] {
        assert!(notes.contains(wanted), "{wanted} is not in\n{notes}");
    }
}

#[test]
fn of_a_crowd_some_are_told_one_by_one() {
    let mut net = Net::new(r#""subnet":"10.1.0.0/24","strategy":"lowest""#);
    for n in 2..200 {
        net.world
            .store
            .put([10, 1, 0, n].into(), "other", Some("eth0"));
    }
    assert_eq!(net.add("x", ""), ip("10.1.0.200"));
    let notes = &net.world.notes;
    assert!(notes.len() < 20, "{notes:?}");
    assert!(
        notes
            .iter()
            .any(|note| note.starts_with("10.1.0.18-10.1.0.199:")),
        "{notes:?}"
    );
}

/// Thousands that are cooling cost an ADD a page each few hundred.
#[test]
fn addresses_that_are_cooling_are_not_looked_at_one_by_one() {
    let mut net = Net::new(r#""subnet":"10.1.0.0/21","cooldown":true"#);
    net.world.quiet = true;
    let (given, _) = net.fill("x");
    assert_eq!(given.len(), 2045);
    for n in 0..2045 {
        net.del(&format!("x{n}"));
    }
    assert_eq!(net.refused("y", "").code, 11);
    let calls = net.world.calls();
    assert!(calls.len() <= 2045 / 256 + PARTS + 6, "{calls:?}");
    net.pass(150_000);
    net.add("y", "");
    let calls = net.world.calls();
    assert!(calls.len() <= PARTS + 8, "{calls:?}");
}
