//! What is remembered of released addresses, on disk and in memory.

use std::net::IpAddr;

use wipam_core::store::{Access, LONGEST_KEY, Past, Store, StoreErrorKind};

use crate::networks::{Network, both, moment};
use crate::support::{address, attachment, nth, owner, span};

const BOOT: u64 = 0x0123_4567_89ab_cdef;
const OTHER: u64 = 0xffff_0000_0000_0001;

fn past(address: IpAddr, key: &str, latest: bool, released_ms_ago: u64) -> Past {
    Past {
        address,
        key: Some(key.to_owned()),
        latest,
        released_ms_ago,
    }
}

#[test]
fn lines_tell_who_had_an_address_and_when_it_was_released() {
    for network in both() {
        let (one, six) = (address("10.1.2.2"), address("2001:db8::5"));
        network.add(one, "c1", "ns/web-0", moment(BOOT, 1000));
        network.add(six, "c1", "-", moment(BOOT, 1001));
        assert_eq!(network.past(one, moment(BOOT, 1500)), None, "it is held");
        assert_eq!(network.released(moment(BOOT, 1500)), []);
        network.del(one, "c1", moment(BOOT, 2000));
        let expected = "10.1.2.2 had 0123456789abcdef 1000 ns/web-0\n\
                        2001:db8::5 had 0123456789abcdef 1001 --\n\
                        10.1.2.2 left 0123456789abcdef 2000 ns/web-0\n";
        assert_eq!(network.history().unwrap(), expected);
        let is = past(one, "ns/web-0", true, 300);
        assert_eq!(network.past(one, moment(BOOT, 2300)), Some(is.clone()));
        assert_eq!(network.released(moment(BOOT, 2300)), [is]);
        assert_eq!(network.past(six, moment(BOOT, 2300)), None);
        assert_eq!(network.past(nth(1), moment(BOOT, 2300)), None);
        assert_eq!(network.remembered("ns/web-0", moment(BOOT, 9)), Some(one));
        assert_eq!(
            network.remembered("-", moment(BOOT, 9)),
            Some(six),
            "held, and last"
        );
        assert_eq!(network.remembered("ns/web", moment(BOOT, 9)), None);
    }
}

#[test]
fn a_history_is_begun_only_by_an_add_that_wants_one() {
    for network in both() {
        network.plain_add(nth(1), "c1", moment(BOOT, 1));
        let mut store = network.open(Access::Reserve, false, moment(BOOT, 2));
        store.remember(nth(1), "k").unwrap();
        assert_eq!(store.remembered("k").unwrap(), None);
        assert_eq!(store.released(0).unwrap(), []);
        drop(store);
        for access in [
            Access::Release,
            Access::Collect,
            Access::Read,
            Access::Inspect,
        ] {
            let mut store = network.open(access, true, moment(BOOT, 2));
            store.remember(nth(1), "k").unwrap();
        }
        let mut store = network.open(Access::Release, true, moment(BOOT, 3));
        assert!(store.release(nth(1), &owner("c1")).unwrap());
        assert_eq!(store.past(nth(1)).unwrap(), None);
        let all = span("10.0.0.1", "10.0.0.9");
        assert_eq!(
            store.next_unused(all).unwrap(),
            Some(nth(1)),
            "as next_free"
        );
        drop(store);
        assert_eq!(network.history(), None);
        if let Network::Disk(place) = &network {
            assert!(!place.index().exists());
        }
        // Without a key, so that a cooldown alone has its history too.
        let mut store = network.open(Access::Reserve, true, moment(BOOT, 4));
        assert!(store.reserve(nth(1), &attachment("c1", "eth0")).unwrap());
        drop(store);
        assert_eq!(network.history().as_deref(), Some(""));
        network.del(nth(1), "c1", moment(BOOT, 5));
        let is = network.past(nth(1), moment(BOOT, 6)).unwrap();
        assert_eq!((is.key, is.latest, is.released_ms_ago), (None, false, 1));
    }
}

#[test]
fn what_an_earlier_boot_says_is_at_least_as_old_as_this_one() {
    for network in both() {
        for (number, (boot, at)) in [(OTHER, 90_000), (OTHER, 50), (BOOT, 400), (BOOT, 9000)]
            .into_iter()
            .enumerate()
        {
            let (address, id) = (nth(number as u32), format!("c{number}"));
            network.add(address, &id, &id, moment(boot, at));
            network.del(address, &id, moment(boot, at));
        }
        let released = network.released(moment(BOOT, 5000));
        let released: Vec<_> = released
            .iter()
            .map(|past| (past.address, past.released_ms_ago))
            .collect();
        // The last is yet to come, as after a snapshot was put back.
        let expected = [(nth(1), 5000), (nth(0), 5000), (nth(2), 4600), (nth(3), 0)];
        assert_eq!(released, expected);
        // Whatever the numbers of the boots are.
        let released = network.released(moment(7, 20));
        let order: Vec<_> = released.iter().map(|past| past.address).collect();
        assert_eq!(order, [nth(1), nth(0), nth(2), nth(3)]);
        assert!(released.iter().all(|past| past.released_ms_ago == 20));
        // This one comes last also where the file names it first.
        let released = network.released(moment(OTHER, 100));
        let order: Vec<_> = released.iter().map(|past| past.address).collect();
        assert_eq!(order, [nth(2), nth(3), nth(1), nth(0)]);
    }
}

#[test]
fn the_last_line_of_an_address_says_whose_it_was() {
    for network in both() {
        let now = |at| moment(BOOT, at);
        network.add(nth(1), "c1", "a", now(1));
        network.del(nth(1), "c1", now(2));
        network.add(nth(2), "c2", "a", now(3));
        network.del(nth(2), "c2", now(4));
        assert_eq!(network.remembered("a", now(10)), Some(nth(2)));
        assert_eq!(
            network.past(nth(1), now(10)),
            Some(past(nth(1), "a", false, 8))
        );
        assert_eq!(
            network.past(nth(2), now(10)),
            Some(past(nth(2), "a", true, 6))
        );
        // It is another's now, and nobody who had it before is remembered.
        network.add(nth(2), "c3", "b", now(5));
        assert_eq!(network.remembered("a", now(10)), Some(nth(1)));
        assert_eq!(
            network.past(nth(1), now(10)),
            Some(past(nth(1), "a", true, 8))
        );
        // One that takes it without a word is nobody.
        network.plain_add(nth(1), "c4", now(6));
        assert_eq!(network.remembered("a", now(10)), Some(nth(1)));
        network.del(nth(1), "c4", now(7));
        assert_eq!(network.remembered("a", now(10)), None);
        let is = network.past(nth(1), now(10)).unwrap();
        assert_eq!((is.key, is.latest, is.released_ms_ago), (None, false, 3));
    }
}

/// H52: the DEL of the old container may come after all of the new one's life.
#[test]
fn the_address_that_a_key_got_last_counts_in_whatever_order_they_are_released() {
    for network in both() {
        let now = |at| moment(BOOT, at);
        network.add(nth(1), "c1", "a", now(1));
        network.add(nth(2), "c2", "a", now(2));
        network.del(nth(2), "c2", now(3));
        network.del(nth(1), "c1", now(4));
        assert_eq!(network.remembered("a", now(5)), Some(nth(2)));
        // Taken back, it is what it was.
        let mut store = network.open(Access::Reserve, true, now(6));
        assert!(store.reserve(nth(1), &attachment("c3", "eth0")).unwrap());
        store.remember(nth(1), "b").unwrap();
        assert!(store.release(nth(1), &owner("c3")).unwrap());
        drop(store);
        assert_eq!(network.remembered("a", now(7)), Some(nth(2)));
        assert_eq!(
            network.past(nth(1), now(7)),
            Some(past(nth(1), "a", false, 3))
        );
        // Lines enough for the file to be rewritten.
        for at in 10..2_000 {
            network.add(nth(3), "c4", "b", now(at));
            network.del(nth(3), "c4", now(at));
        }
        assert_eq!(network.remembered("a", now(2_000)), Some(nth(2)));
        let is = past(nth(2), "a", true, 1_997);
        assert_eq!(network.past(nth(2), now(2_000)), Some(is));
    }
}

#[test]
fn a_record_that_somebody_removed_counts_from_when_it_was_given() {
    for network in both() {
        network.add(nth(1), "c1", "a", moment(BOOT, 100));
        network.remove(nth(1));
        let is = Some(past(nth(1), "a", true, 400));
        assert_eq!(network.past(nth(1), moment(BOOT, 500)), is);
        network.obstruct(nth(1));
        assert_eq!(network.past(nth(1), moment(BOOT, 500)), None);
        assert_eq!(network.released(moment(BOOT, 500)), []);
        assert_eq!(network.remembered("a", moment(BOOT, 500)), Some(nth(1)));
    }
}

#[test]
fn what_was_reserved_and_released_in_one_session_was_never_used() {
    for network in both() {
        network.add(nth(1), "c1", "a", moment(BOOT, 1));
        network.del(nth(1), "c1", moment(BOOT, 2));
        let mut store = network.open(Access::Reserve, true, moment(BOOT, 3));
        for number in [1, 2] {
            let address = nth(number);
            assert!(store.reserve(address, &attachment("c2", "eth0")).unwrap());
            store.remember(address, "b").unwrap();
            store.remember(address, "c").unwrap();
            assert!(store.release(address, &owner("c2")).unwrap());
        }
        let is = Some(past(nth(1), "a", true, 1));
        let check = |store: &mut dyn Store| {
            assert_eq!(store.past(nth(1)).unwrap(), is);
            assert_eq!(store.past(nth(2)).unwrap(), None);
            for (key, at) in [("a", Some(nth(1))), ("b", None), ("c", None)] {
                assert_eq!(store.remembered(key).unwrap(), at, "{key}");
            }
        };
        check(&mut *store);
        drop(store);
        check(&mut *network.open(Access::Read, false, moment(BOOT, 3)));
        // Another interface of the same container is another owner.
        let mut store = network.open(Access::Reserve, true, moment(BOOT, 4));
        assert!(store.reserve(nth(3), &attachment("c2", "eth0")).unwrap());
        assert!(store.reserve(nth(4), &attachment("c2", "eth1")).unwrap());
        assert!(!store.release(nth(4), &owner("c2")).unwrap());
        drop(store);
        let mut store = network.open(Access::Release, false, moment(BOOT, 5));
        assert!(!store.release(nth(4), &owner("c2")).unwrap());
        assert!(store.release(nth(3), &owner("c2")).unwrap());
        drop(store);
        let lines = network.history().unwrap();
        let left: Vec<_> = lines
            .lines()
            .filter(|line| line.contains(" left "))
            .collect();
        assert_eq!(left.last(), Some(&"10.0.0.3 left 0123456789abcdef 5 -"));
        assert!(!lines.contains("10.0.0.4"), "{lines}");
    }
}

#[test]
fn collecting_remembers_as_well() {
    for network in both() {
        for number in 0..3 {
            let id = format!("c{number}");
            network.add(nth(number), &id, &id, moment(BOOT, 1));
        }
        let mut store = network.open(Access::Collect, false, moment(BOOT, 7));
        for reservation in store.reservations(None).unwrap() {
            assert!(
                store
                    .release(reservation.address, &reservation.owner)
                    .unwrap()
            );
        }
        // Torn records were nobody's.
        assert_eq!(store.reclaim().unwrap(), Vec::<IpAddr>::new());
        let released = store.released(0).unwrap();
        assert_eq!(released.len(), 3);
        drop(store);
        assert_eq!(network.released(moment(BOOT, 9)).len(), 3);
        assert_eq!(
            network.past(nth(2), moment(BOOT, 9)),
            Some(past(nth(2), "c2", true, 2))
        );
    }
}

#[test]
fn never_used_addresses_are_found_among_used_and_taken_ones() {
    for network in both() {
        // Taken and used in turns, so that neither set has a gap by itself.
        for number in 0..200 {
            let id = format!("c{number}");
            network.add(nth(number), &id, &id, moment(BOOT, 1));
            if number % 2 == 0 {
                network.del(nth(number), &id, moment(BOOT, 2));
            }
        }
        network.obstruct(nth(200));
        let mut store = network.open(Access::Reserve, true, moment(BOOT, 3));
        let from = |first| span(&nth(first).to_string(), "10.0.1.0");
        assert_eq!(store.next_unused(from(0)).unwrap(), Some(nth(201)));
        assert_eq!(store.next_unused(from(210)).unwrap(), Some(nth(210)));
        let full = span("10.0.0.0", "10.0.0.200");
        assert_eq!(store.next_unused(full).unwrap(), None);
        assert_eq!(store.next_free(full).unwrap(), Some(nth(0)));
        let last = span("255.255.255.255", "255.255.255.255");
        let end = address("255.255.255.255");
        assert_eq!(store.next_unused(last).unwrap(), Some(end));
        assert!(store.reserve(end, &attachment("end", "eth0")).unwrap());
        store.remember(end, "end").unwrap();
        assert_eq!(store.next_unused(last).unwrap(), None);
        // A span of 2^96 is no reason to count.
        let wide = span("2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff");
        assert_eq!(
            store.next_unused(wide).unwrap(),
            Some(address("2001:db8::"))
        );
    }
}

#[test]
fn pages_hold_what_is_free_and_every_page_follows_the_last() {
    for network in both() {
        let mut text = String::new();
        for number in 0..1000_u32 {
            let at = (number * 7919) % 1000;
            text += &format!("{} left {BOOT:016x} {at} k{number}\n", nth(number));
        }
        network.set_history(text.as_bytes());
        for number in [1, 500, 999] {
            network.plain_add(nth(number), "c", moment(BOOT, 5000));
        }
        let released = network.released(moment(BOOT, 5000));
        assert_eq!(released.len(), 997);
        let ages = released.iter().map(|past| past.released_ms_ago);
        assert!(ages.rev().is_sorted());
        let mut store = network.open(Access::Release, false, moment(BOOT, 5000));
        for skip in [0, 256, 300, 12, 996, 997, 5000, 0] {
            let page = store.released(skip).unwrap();
            let expected = released.iter().skip(skip as usize).take(256);
            assert!(page.iter().eq(expected), "{skip}");
        }
        drop(store);
        // What changes meanwhile shows.
        let mut store = network.open(Access::Reserve, false, moment(BOOT, 5000));
        assert_eq!(store.released(0).unwrap().len(), 256);
        let first = released[0].address;
        assert!(store.reserve(first, &attachment("d", "eth0")).unwrap());
        let page = store.released(256).unwrap();
        assert!(page.iter().eq(released.iter().skip(257).take(256)));
        assert!(store.release(first, &owner("d")).unwrap());
        drop(store);
        let mut store = network.open(Access::Release, false, moment(BOOT, 5000));
        assert_eq!(store.released(996).unwrap().len(), 1);
        assert!(store.release(nth(500), &owner("c")).unwrap());
        let newest = store.released(997).unwrap();
        assert_eq!(newest.len(), 1);
        assert_eq!(
            (newest[0].address, newest[0].released_ms_ago),
            (nth(500), 0)
        );
    }
}

#[test]
fn what_is_no_line_is_passed_over_and_a_torn_one_is_ended() {
    let torn = "10.0.0.3 had 0123456789abcdef 3 ns/we";
    for network in both() {
        let mut bytes = b"\xff\xfe\n\n10.0.0.1 left 0123456789abcdef 1 a\n10.0.0.2 lost\n".to_vec();
        bytes.extend(torn.as_bytes());
        network.set_history(&bytes);
        assert_eq!(
            network.released(moment(BOOT, 5)),
            [past(nth(1), "a", true, 4)]
        );
        assert_eq!(network.remembered("ns/we", moment(BOOT, 5)), None);
        network.add(nth(4), "c", "b", moment(BOOT, 6));
        assert!(
            network
                .history()
                .unwrap()
                .ends_with(&format!("{torn} \n10.0.0.4 had 0123456789abcdef 6 b\n"))
        );
        // What was cut is not taken for all of it later either.
        assert_eq!(network.remembered("ns/we", moment(BOOT, 5)), None);
        assert_eq!(network.past(nth(3), moment(BOOT, 5)), None);
        assert_eq!(network.remembered("b", moment(BOOT, 5)), Some(nth(4)));
    }
}

#[test]
fn keys_that_are_no_word_are_refused() {
    for network in both() {
        for history in [true, false] {
            let mut store = network.open(Access::Reserve, history, moment(BOOT, 1));
            for key in [
                "",
                "a b",
                "a\nb",
                "\t",
                "\u{a0}",
                &"x".repeat(LONGEST_KEY + 1),
            ] {
                let error = store.remember(nth(1), key).unwrap_err();
                assert_eq!(error.kind, StoreErrorKind::Io, "{key:?}");
                assert!(error.message.contains("10.0.0.1"), "{error}");
            }
        }
        let longest = "é".repeat(LONGEST_KEY / 2);
        network.add(nth(1), "c", &longest, moment(BOOT, 1));
        assert_eq!(network.remembered(&longest, moment(BOOT, 2)), Some(nth(1)));
    }
}

#[test]
fn a_file_of_which_most_says_nothing_any_more_is_rewritten() {
    for network in both() {
        network.add(nth(9), "other", "other", moment(OTHER, 5));
        network.del(nth(9), "other", moment(OTHER, 6));
        let mut longest = 0;
        for round in 0..1500 {
            let mut store = network.open(Access::Reserve, true, moment(BOOT, round));
            store.remember(nth(round as u32 % 3), "k").unwrap();
            longest = longest.max(network.history().unwrap().lines().count());
        }
        let lines = network.history().unwrap().lines().count();
        assert_eq!(longest, 1024);
        assert!(lines < 500, "{lines}");
        let released = network.released(moment(BOOT, 2000));
        let found: Vec<_> = released
            .iter()
            .map(|past| (past.address, past.released_ms_ago, past.latest))
            .collect();
        let expected = [
            (nth(9), 2000, true),
            (nth(0), 503, false),
            (nth(1), 502, false),
            (nth(2), 501, true),
        ];
        assert_eq!(found, expected);
        if let Network::Disk(place) = &network {
            assert_eq!(crate::support::names(&place.index()), ["history"]);
        }
        // Also in the midst of a session, which goes on with the new file.
        let mut store = network.open(Access::Reserve, true, moment(BOOT, 3000));
        for round in 0..2000 {
            store.remember(nth(round % 3), "k").unwrap();
        }
        store.remember(nth(3), "last").unwrap();
        drop(store);
        assert!(network.history().unwrap().lines().count() < 1024);
        assert_eq!(network.remembered("last", moment(BOOT, 3001)), Some(nth(3)));
    }
}

#[test]
fn no_more_addresses_are_remembered_than_131072() {
    for network in both() {
        let text: String = (0..131_072)
            .map(|number| format!("{} left {BOOT:016x} {number} k{number}\n", nth(number)))
            .collect();
        network.set_history(text.as_bytes());
        let now = moment(BOOT, 200_000);
        // As many as may be.
        network.add(nth(131_071), "c", "again", now);
        assert_eq!(network.history().unwrap().lines().count(), 131_073);
        network.add(nth(131_072), "d", "new", now);
        assert_eq!(network.history().unwrap().lines().count(), 114_688);
        assert_eq!(network.past(nth(16_384), now), None, "the oldest");
        assert!(network.past(nth(16_385), now).is_some());
        assert_eq!(network.remembered("new", now), Some(nth(131_072)));
    }
}

#[test]
fn everything_may_be_deleted_at_any_time() {
    for network in both() {
        network.add(nth(1), "c1", "a", moment(BOOT, 1));
        network.forget();
        assert_eq!(network.remembered("a", moment(BOOT, 2)), None);
        network.del(nth(1), "c1", moment(BOOT, 2));
        assert_eq!(network.history(), None);
        assert_eq!(network.past(nth(1), moment(BOOT, 3)), None);
        // Also while somebody is at work.
        let mut store = network.open(Access::Reserve, true, moment(BOOT, 4));
        assert!(store.reserve(nth(1), &attachment("c1", "eth0")).unwrap());
        network.forget();
        store.remember(nth(1), "a").unwrap();
        network.forget();
        store.remember(nth(1), "b").unwrap();
        drop(store);
        network.del(nth(1), "c1", moment(BOOT, 5));
        network.add(nth(1), "c1", "a", moment(BOOT, 6));
        assert_eq!(network.remembered("a", moment(BOOT, 7)), Some(nth(1)));
    }
}
