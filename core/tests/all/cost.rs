//! What an answer costs, in calls to the store: it depends on how many ranges
//! there are, never on how many addresses.

use std::net::IpAddr;

use crate::model::invocation;
use crate::world::World;

fn count(calls: &[&str], name: &str) -> usize {
    calls.iter().filter(|call| **call == name).count()
}

fn network(ranges: &str) -> Vec<u8> {
    format!(r#"{{"cniVersion":"1.1.0","name":"net","ipam":{{"ranges":{ranges}}}}}"#).into_bytes()
}

fn parsed(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

/// Searches of one range: what the marker, its gateway, the ends of its subnet
/// or the IPv4-mapped addresses cut it into.
const PARTS: usize = 5;

#[test]
fn the_largest_pools_answer_at_once() {
    let v4 = ["0.0.0.1", "0.0.0.2", "10.0.0.7", "255.255.255.254"];
    let v6 = [
        "::1",
        "::2",
        "fd00::7",
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    ];
    for (subnet, held) in [("0.0.0.0/0", v4), ("::/0", v6)] {
        let config = network(&format!(r#"[[{{"subnet":"{subnet}"}}]]"#));
        let held = parsed(&held);
        for mark in [None].into_iter().chain(held.iter().copied().map(Some)) {
            let mut world = World::default();
            for address in &held {
                world.store.put(*address, "other", Some("eth0"));
            }
            if let Some(mark) = mark {
                world.store.mark(0, mark);
            }
            let add = invocation("ADD", "c", "eth0", config.clone());
            let given = world.run(&add).unwrap();
            assert!(!held.contains(&given[0]));
            let calls = world.calls();
            assert!(count(&calls, "next_free") <= PARTS, "{calls:?}");
            assert_eq!(count(&calls, "reserve"), 1, "{calls:?}");
            assert!(calls.len() <= PARTS + 6, "{calls:?}");
        }
    }
}

#[test]
fn a_full_pool_says_so_at_once() {
    for (ranges, held) in [
        (r#"[[{"subnet":"10.1.0.0/22"}]]"#, 1022),
        (r#"[[{"subnet":"fd00::/118"}]]"#, 1023),
        (r#"[[{"subnet":"255.255.252.0/22"}]]"#, 1022),
    ] {
        let config = network(ranges);
        let mut world = World::default();
        for n in 1..held {
            let add = invocation("ADD", &format!("c{n}"), "eth0", config.clone());
            world.run(&add).unwrap();
            assert!(count(&world.calls(), "next_free") <= PARTS);
        }
        let marks: Vec<_> = world.store.contents().reserved.into_keys().collect();
        for mark in [marks[0], marks[marks.len() / 2], marks[marks.len() - 1]] {
            world.store.mark(0, mark);
            let add = invocation("ADD", "late", "eth0", config.clone());
            assert_eq!(world.run(&add).unwrap_err().code, 11);
            let calls = world.calls();
            assert!(count(&calls, "next_free") <= PARTS, "{calls:?}");
            assert_eq!(count(&calls, "reserve"), 0, "{calls:?}");
        }
        let status = invocation("STATUS", "", "", config.clone());
        assert_eq!(world.run(&status).unwrap_err().code, 50);
        assert!(world.calls().len() <= PARTS + 1);
    }
}

/// H7: several ranges, all full, the marker at each range's end in turn.
#[test]
fn full_ranges_are_searched_once_each() {
    let ranges: Vec<_> = (0..40)
        .map(|n| format!(r#"{{"subnet":"10.1.{n}.0/30"}}"#))
        .collect();
    let config = network(&format!("[[{}]]", ranges.join(",")));
    let mut world = World::default();
    for n in 0..40 {
        world.store.put([10, 1, n, 2].into(), "other", Some("eth0"));
    }
    for n in 0..40 {
        world.store.mark(0, [10, 1, n, 2].into());
        let add = invocation("ADD", "c", "eth0", config.clone());
        assert_eq!(world.run(&add).unwrap_err().code, 11);
        assert!(count(&world.calls(), "next_free") <= 40 + PARTS);
    }
}

/// Each address that somebody took without the lock costs one more try.
#[test]
fn lost_races_are_not_repeated() {
    let config = network(r#"[[{"subnet":"10.1.0.0/24"}]]"#);
    let mut world = World::default();
    for n in 2..12 {
        world.store.put_foreign([10, 1, 0, n].into());
    }
    let add = invocation("ADD", "c", "eth0", config);
    assert_eq!(world.run(&add), Ok(parsed(&["10.1.0.12"])));
    let calls = world.calls();
    assert_eq!(count(&calls, "reserve"), 11, "{calls:?}");
    assert!(count(&calls, "next_free") <= 11 + PARTS, "{calls:?}");
}

#[test]
fn releasing_looks_at_no_address_that_is_not_its_own() {
    let config = network(r#"[[{"subnet":"10.1.0.0/16"}],[{"subnet":"::/0"}]]"#);
    let mut world = World::default();
    for n in 0..700_u16 {
        let [high, low] = n.to_be_bytes();
        world
            .store
            .put([10, 1, high + 1, low].into(), "other", Some("eth0"));
    }
    let run = |world: &mut World, command| {
        world
            .run(&invocation(command, "c", "eth0", config.clone()))
            .unwrap();
        world.calls()
    };
    run(&mut world, "ADD");
    assert_eq!(run(&mut world, "CHECK"), ["open", "held_by"]);
    let calls = run(&mut world, "DEL");
    assert_eq!(calls, ["open", "held_by", "release", "release"]);
    assert_eq!(run(&mut world, "DEL"), ["open", "held_by"]);
}
