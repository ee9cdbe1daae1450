//! The round robin: every address that may be given comes exactly once, at
//! both ends of both number spaces and wherever the marker stands.

use std::collections::BTreeSet;
use std::net::IpAddr;

use proptest::prelude::*;

use crate::model::{PLACES, Spec, config, invocation, is_valid, usable};
use crate::plans;
use crate::world::World;

/// ADDs of one container after another, until one fails.
fn fill(world: &mut World, config: &[u8]) -> (Vec<Vec<IpAddr>>, u64) {
    let mut given = Vec::new();
    loop {
        let container = format!("c{}", given.len());
        match world.run(&invocation("ADD", &container, "eth0", config.to_vec())) {
            Ok(addresses) => given.push(addresses),
            Err(refused) => return (given, refused.code),
        }
        assert!(given.len() <= 1024, "more addresses than there are");
    }
}

fn marks(set: &[Spec]) -> Vec<Option<IpAddr>> {
    let inside = set.iter().flat_map(|spec| {
        let last = u8::try_from((1_u16 << spec.host_bits).min(255)).unwrap();
        (0..=last).map(|n| crate::model::address(spec.v6, spec.nth(n)))
    });
    let odd = ["192.0.2.9", "2001:db8::9"].map(|text| text.parse().unwrap());
    std::iter::once(None)
        .chain(inside.chain(odd).map(Some))
        .collect()
}

/// Fills a pool from every marker, then takes turns in it.
fn assert_cycles(set: &[Spec], marks: &[Option<IpAddr>]) {
    let sets = [set.to_vec()];
    let config = config(&sets, "", "");
    let wanted = usable(&sets, set);
    for mark in marks {
        let mut world = World::default();
        if let Some(mark) = mark {
            world.store.mark(0, *mark);
        }
        let (given, code) = fill(&mut world, &config);
        let given: Vec<_> = given.concat();
        assert_eq!(code, 11, "{set:?} {mark:?}");
        assert_eq!(given.len(), wanted.len(), "{set:?} {mark:?}: {given:?}");
        let all: BTreeSet<_> = given.iter().copied().collect();
        assert_eq!(all, wanted.iter().copied().collect(), "{set:?} {mark:?}");

        // The one address that is let go is the one that comes next.
        for (n, address) in given.iter().enumerate() {
            let del = invocation("DEL", &format!("c{n}"), "eth0", config.clone());
            world.run(&del).unwrap();
            let add = invocation("ADD", &format!("c{n}"), "eth0", config.clone());
            assert_eq!(world.run(&add), Ok(vec![*address]));
        }
    }
}

/// One container comes and goes; others stay. Each free address comes once
/// before the first comes again.
fn assert_turns(set: &[Spec], staying: usize, mark: Option<IpAddr>) {
    let sets = [set.to_vec()];
    let config = config(&sets, "", "");
    let mut world = World::default();
    if let Some(mark) = mark {
        world.store.mark(0, mark);
    }
    let wanted = usable(&sets, set);
    let staying = staying % wanted.len().max(1);
    for n in 0..staying {
        let add = invocation("ADD", &format!("s{n}"), "eth0", config.clone());
        world.run(&add).unwrap();
    }
    let held: BTreeSet<_> = world.store.contents().reserved.into_keys().collect();
    let free: BTreeSet<_> = wanted
        .into_iter()
        .filter(|address| !held.contains(address))
        .collect();
    let mut turn = || {
        let seen = (0..free.len()).map(|_| {
            let given = world.run(&invocation("ADD", "x", "eth0", config.clone()));
            world
                .run(&invocation("DEL", "x", "eth0", config.clone()))
                .unwrap();
            given.unwrap()[0]
        });
        seen.collect::<Vec<_>>()
    };
    let first = turn();
    assert_eq!(first.iter().copied().collect::<BTreeSet<_>>(), free);
    assert_eq!(first, turn());
}

#[test]
fn every_small_subnet_at_every_place_from_every_marker() {
    for v6 in [false, true] {
        for place in 0..PLACES {
            for host_bits in 0..=3 {
                let set = [Spec::at(v6, place, host_bits)];
                assert_cycles(&set, &marks(&set));
            }
        }
    }
}

#[test]
fn every_pair_of_bounds_in_a_small_subnet() {
    for (v6, place) in [(false, 0), (false, 7), (true, 0), (true, 7), (false, 2)] {
        for start in 0..8 {
            for end in start..8 {
                let mut spec = Spec::at(v6, place, 3);
                (spec.start, spec.end) = (Some(spec.nth(start)), Some(spec.nth(end)));
                let mark = crate::model::address(v6, spec.nth(end));
                assert_cycles(&[spec], &[None, Some(mark)]);
            }
        }
    }
}

#[test]
fn several_ranges_are_one_round_at_both_ends() {
    for v6 in [false, true] {
        let set = [
            Spec::at(v6, 7, 2),
            Spec::at(v6, 0, 1),
            Spec::at(v6, 1, 0),
            Spec::at(v6, 6, 3),
        ];
        assert_cycles(&set, &marks(&set));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn an_address_comes_once_in_a_turn(
        sets in plans::sets(),
        staying in any::<usize>(),
        mark in any::<prop::sample::Index>(),
    ) {
        let set = &sets[0];
        prop_assume!(is_valid(std::slice::from_ref(set)));
        let mark = *mark.get(&marks(set));
        assert_cycles(set, &[mark]);
        assert_turns(set, staying, mark);
    }

    #[test]
    fn sets_give_one_each_or_nothing(sets in plans::sets()) {
        prop_assume!(is_valid(&sets));
        let mut world = World::default();
        let rooms: Vec<_> = sets.iter().map(|set| usable(&sets, set)).collect();
        let (given, code) = fill(&mut world, &config(&sets, "", ""));
        prop_assert_eq!(code, 11);
        // As many as the smallest set has room for, and nothing left over.
        prop_assert_eq!(given.len(), rooms.iter().map(Vec::len).min().unwrap());
        for addresses in &given {
            prop_assert_eq!(addresses.len(), sets.len());
            for (address, room) in addresses.iter().zip(&rooms) {
                prop_assert!(room.contains(address), "{} is not of its set", address);
            }
        }
        let all: BTreeSet<_> = given.concat().into_iter().collect();
        prop_assert_eq!(all.len(), given.len() * sets.len());
        let reserved: BTreeSet<_> = world.store.contents().reserved.into_keys().collect();
        prop_assert_eq!(all, reserved);
    }
}
