//! Directories large enough for an index, in the company of other writers.

use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt, symlink};

use wipam_core::store::{Access, Holder, Store};

use crate::support::{Place, address, all, attachment, container, nth, owner, span};

/// A network that the Go plugin filled: `nth(0)` and up, of c0 and up.
fn filled(count: u32) -> Place {
    let place = Place::new();
    for number in 0..count {
        place.record(nth(number), &format!("c{number}"));
    }
    place
}

fn first(count: u32) -> wipam_core::span::Span {
    span("10.0.0.0", &nth(count).to_string())
}

/// Filled, and with an index.
fn indexed(count: u32) -> Place {
    let place = filled(count);
    assert_eq!(place.add("first", first(count + 10)), Some(nth(count)));
    assert!(place.index_exists());
    place
}

#[test]
fn small_directories_have_nothing_beside_them() {
    let place = filled(255);
    assert_eq!(place.add("x", first(300)), Some(nth(255)));
    assert_eq!(place.del("c7"), 1);
    assert!(!place.index_exists());
    for number in [7, 256] {
        place.record(nth(number), &format!("c{number}"));
    }
    // Looking makes nothing either.
    assert_eq!(place.held("c7"), [nth(7)]);
    drop(
        place
            .open(Access::Inspect)
            .held_by(&container("c7"))
            .unwrap(),
    );
    assert!(!place.index_exists());
    assert_eq!(place.add("y", first(300)), Some(nth(257)));
    assert!(place.index_exists());
}

#[test]
fn calls_answer_as_they_would_without_an_index() {
    for count in [300, 5000] {
        let place = filled(count);
        assert_eq!(place.held("c17"), [nth(17)]);
        // The pins that the first call makes are no news of the records.
        let found = all(&mut place.open(Access::Collect));
        assert!(found.len() == count as usize && found.iter().all(|found| !found.newer));
        assert_eq!(place.add("x", first(count + 100)), Some(nth(count)));
        assert_eq!(place.held("x"), [nth(count)]);
        assert_eq!(place.del("c17"), 1);
        assert!(place.held("c17").is_empty());
        assert_eq!(place.add("y", first(count + 100)), Some(nth(17)));
        assert_eq!(place.del("nobody"), 0);
        let mut store = place.open(Access::Collect);
        assert_eq!(all(&mut store).len(), count as usize + 1);
        assert_eq!(store.last_reserved(0).unwrap(), Some(nth(17)));
        assert_eq!(store.all_last_reserved().unwrap(), [nth(17)]);
    }
}

#[test]
fn what_others_do_is_seen() {
    let place = indexed(400);
    let go = |address: std::net::IpAddr, id: &str| place.record(address, id);
    let remove = |address: std::net::IpAddr| fs::remove_file(place.file(&address.to_string()));

    go(nth(900), "new");
    assert_eq!(place.held("new"), [nth(900)]);
    remove(nth(3)).unwrap();
    assert!(place.held("c3").is_empty());
    assert_eq!(place.add("x", first(1000)), Some(nth(3)));
    // Replaced under its name; without a pin the inode would be the same.
    let before = fs::metadata(place.file(&nth(5).to_string())).unwrap().ino();
    remove(nth(5)).unwrap();
    go(nth(5), "other");
    assert_ne!(
        fs::metadata(place.file(&nth(5).to_string())).unwrap().ino(),
        before
    );
    assert!(place.held("c5").is_empty());
    assert_eq!(place.held("other"), [nth(5)]);
    // Both changes in the same instant, seen by a single call.
    remove(nth(6)).unwrap();
    go(nth(6), "c7");
    remove(nth(7)).unwrap();
    go(nth(7), "c6");
    assert_eq!(place.held("c6"), [nth(7)]);
    assert_eq!(place.held("c7"), [nth(6)]);
    assert_eq!(place.del("c7"), 1);
    assert_eq!(place.del("c6"), 1);
}

#[test]
fn torn_and_foreign_things_and_links_among_many() {
    let place = indexed(400);
    for number in [500, 501, 502] {
        place.put(&nth(number).to_string(), "");
    }
    fs::create_dir(place.file(&nth(503).to_string())).unwrap();
    place.put(&nth(504).to_string(), "a\r\nb\r\nc");
    place.put(&format!(".{}.tmp", nth(505)), "c8\r\neth0");
    fs::write(place.data.join("store"), "linked\r\neth0").unwrap();
    symlink("../store", place.file(&nth(506).to_string())).unwrap();

    let mut store = place.open(Access::Reserve);
    assert!(store.reserve(nth(500), &attachment("x", "eth0")).unwrap());
    assert_eq!(
        store.next_free(span("10.0.0.0", "10.0.2.0")).unwrap(),
        Some(nth(401))
    );
    let beyond = span(&nth(500).to_string(), &nth(600).to_string());
    assert_eq!(store.next_free(beyond).unwrap(), Some(nth(501)));
    assert_eq!(store.holder(nth(503)).unwrap(), Holder::Foreign);
    assert_eq!(store.holder(nth(504)).unwrap(), Holder::Foreign);
    drop(store);
    assert_eq!(place.held("linked"), [nth(506)]);
    // Its target changes, and nothing in the directory does.
    fs::write(place.data.join("store"), "changed\r\neth0").unwrap();
    assert!(place.held("linked").is_empty());
    assert_eq!(place.held("changed"), [nth(506)]);
    assert_eq!(place.del("changed"), 1);
    assert_eq!(place.del("c8"), 1);
    assert!(!place.file(&format!(".{}.tmp", nth(505))).exists());
    assert_eq!(
        place.open(Access::Collect).reclaim().unwrap(),
        [nth(501), nth(502)]
    );
    assert_eq!(place.add("y", beyond), Some(nth(501)));
}

#[test]
fn one_container_with_very_many_addresses() {
    let place = Place::new();
    for number in 0..1000 {
        place.record(nth(number), "c");
    }
    assert_eq!(place.add("x", first(2000)), Some(nth(1000)));
    assert_eq!(place.held("c").len(), 1000);
    assert_eq!(place.del("c"), 1000);
    assert!(place.held("c").is_empty());
    assert_eq!(place.held("x"), [nth(1000)]);
}

#[test]
fn the_index_grows_with_the_directory() {
    let place = indexed(300);
    {
        let mut store = place.open(Access::Reserve);
        for number in 301..1500 {
            let new = attachment(&format!("c{number}"), "eth0");
            assert!(store.reserve(nth(number), &new).unwrap());
        }
    }
    for number in [301, 777, 1499] {
        assert_eq!(place.held(&format!("c{number}")), [nth(number)]);
    }
    assert_eq!(place.add("x", first(2000)), Some(nth(1500)));
}

#[test]
fn a_removed_network_is_forgotten() {
    let place = indexed(400);
    fs::remove_dir_all(&place.net).unwrap();
    assert!(place.try_open(Access::Release).unwrap().is_none());
    assert_eq!(place.add("x", first(10)), Some(nth(0)));
    assert!(place.held("c1").is_empty());
    // Nothing keeps the old records' inodes either.
    assert_eq!(
        crate::support::names(&place.index().join("pins")),
        ["10.0.0.0"]
    );
}

/// The pins there are.
fn pins(place: &Place) -> Vec<std::path::PathBuf> {
    let pins = fs::read_dir(place.index().join("pins"));
    let pins = pins.into_iter().flatten().flatten();
    pins.map(|pin| pin.path()).collect()
}

/// That every record has its pin, and nothing else has one.
fn assert_pinned(place: &Place) {
    let inodes = |folder: &std::path::Path| {
        let names = crate::support::names(folder).into_iter();
        let records = names.filter(|name| name.starts_with("10."));
        records
            .map(|name| (fs::metadata(folder.join(&name)).unwrap().ino(), name))
            .collect::<Vec<_>>()
    };
    assert_eq!(inodes(&place.index().join("pins")), inodes(&place.net));
}

/// Makes a record as the Go plugin does, in the place of another.
fn replace(place: &Place, address: std::net::IpAddr, id: &str) {
    fs::remove_file(place.file(&address.to_string())).unwrap();
    place.record(address, id);
}

#[test]
fn whatever_happens_to_pins_answers_stay_right() {
    let pin = |place: &Place, number| place.index().join("pins").join(nth(number).to_string());
    // What a hand does to the pins of 5 and 900.
    let tamper = |place: &Place, way| match way {
        0 => {}
        1 => fs::remove_file(pin(place, 5)).unwrap(),
        2 => {
            fs::remove_file(pin(place, 5)).unwrap();
            fs::hard_link(pin(place, 6), pin(place, 5)).unwrap();
        }
        3 => fs::hard_link(pin(place, 6), pin(place, 900)).unwrap(),
        4 => fs::write(pin(place, 900), "").unwrap(),
        _ => {
            let pins = place.index().join("pins");
            fs::rename(&pins, place.data.join("aside")).unwrap();
            fs::create_dir(&pins).unwrap();
            for number in 0..300 {
                fs::hard_link(
                    place.data.join("aside").join(nth(number).to_string()),
                    pin(place, number),
                )
                .unwrap();
            }
            fs::remove_dir_all(place.data.join("aside")).unwrap();
        }
    };
    for way in 0..6 {
        // Before a call that only compares, and within one that changes.
        for within in [false, true] {
            let place = indexed(400);
            if within {
                let mut store = place.open(Access::Reserve);
                assert!(store.reserve(nth(500), &attachment("a", "eth0")).unwrap());
                tamper(&place, way);
                assert!(store.reserve(nth(501), &attachment("b", "eth0")).unwrap());
                assert!(store.release(nth(500), &owner("a")).unwrap());
            } else {
                tamper(&place, way);
            }
            for id in ["other", "another"] {
                replace(&place, nth(5), id);
                replace(&place, nth(350), &format!("{id}350"));
                assert_eq!(place.held(id), [nth(5)], "{way}");
                assert_eq!(place.held(&format!("{id}350")), [nth(350)], "{way}");
                assert!(place.held("c5").is_empty() && place.held("c350").is_empty());
                assert_pinned(&place);
            }
            assert!(place.held("other").is_empty());
            place.record(nth(900), "late");
            assert_eq!(place.held("late"), [nth(900)], "{way}");
            assert_pinned(&place);
        }
    }
    // What stays in the way of a pin.
    let place = indexed(400);
    fs::create_dir(pin(&place, 900)).unwrap();
    for id in ["one", "two", "three"] {
        place.record(nth(900), id);
        assert_eq!(place.held(id), [nth(900)]);
        fs::remove_file(place.file(&nth(900).to_string())).unwrap();
        assert!(place.held(id).is_empty());
    }
}

#[test]
fn an_entry_that_was_left_behind_is_not_taken_for_a_new_record() {
    // Edited in place, so that its entry is not found when it is released.
    let place = indexed(400);
    place.put(&nth(9).to_string(), "edited\r\neth0");
    let mut store = place.open(Access::Release);
    assert!(store.release(nth(9), &owner("edited")).unwrap());
    drop(store);
    // As likely as not with the inode of the old one, which no pin holds.
    place.record(nth(9), "go");
    assert_eq!(place.held("go"), [nth(9)]);

    // Removed by somebody who does not mind the lock.
    let place = indexed(400);
    let mut store = place.open(Access::Reserve);
    assert_eq!(store.held_by(&container("c9")).unwrap().len(), 1);
    fs::remove_file(place.file(&nth(9).to_string())).unwrap();
    assert!(store.reserve(nth(9), &attachment("x", "eth0")).unwrap());
    assert!(store.release(nth(9), &owner("x")).unwrap());
    drop(store);
    place.record(nth(9), "go");
    assert_eq!(place.held("go"), [nth(9)]);
}

#[test]
fn what_is_no_file_has_no_pin() {
    let place = indexed(400);
    let (name, target) = (nth(900).to_string(), place.data.join("target"));
    // One after another, as likely as not all with the same inode.
    for turn in 0..3 {
        fs::create_dir(place.file(&name)).unwrap();
        assert_eq!(
            place.open(Access::Reserve).holder(nth(900)).unwrap(),
            Holder::Foreign
        );
        assert_eq!(place.add("x", span(&name, "10.0.4.0")), Some(nth(901)));
        assert_eq!(place.del("x"), 1);
        fs::remove_dir(place.file(&name)).unwrap();
        place.record(nth(900), "file");
        assert_eq!(place.held("file"), [nth(900)], "{turn}");
        fs::remove_file(place.file(&name)).unwrap();
        fs::write(&target, "linked\r\neth0").unwrap();
        symlink("../target", place.file(&name)).unwrap();
        assert_eq!(place.held("linked"), [nth(900)], "{turn}");
        fs::remove_file(place.file(&name)).unwrap();
        place.record(nth(900), "file");
        assert!(place.held("linked").is_empty());
        assert_eq!(place.held("file"), [nth(900)], "{turn}");
        assert_pinned(&place);
        fs::remove_file(place.file(&name)).unwrap();
        assert!(place.held("file").is_empty());
    }
}

#[test]
fn a_call_that_was_killed_is_made_up_for() {
    let file = |place: &Place| place.index().join("index");
    // With nothing of the index written, and with all but the header.
    for kept in [usize::MAX, 4096] {
        let place = indexed(400);
        let killed = |call: &dyn Fn()| {
            let before = fs::read(file(&place)).unwrap();
            call();
            let before = &before[..before.len().min(kept)];
            let index = fs::File::options().write(true).open(file(&place)).unwrap();
            index.write_all_at(before, 0).unwrap();
        };
        killed(&|| assert_eq!(place.add("x", first(500)), Some(nth(401))));
        assert_eq!(place.held("x"), [nth(401)]);
        killed(&|| assert_eq!(place.del("x"), 1));
        replace(&place, nth(7), "go");
        assert!(place.held("x").is_empty());
        assert_eq!(place.held("go"), [nth(7)]);
        // The same address for others, each killed, and Go in between.
        killed(&|| assert_eq!(place.add("y", first(500)), Some(nth(401))));
        replace(&place, nth(401), "z");
        killed(&|| assert_eq!(place.held("z"), [nth(401)]));
        replace(&place, nth(401), "w");
        assert_eq!(place.held("w"), [nth(401)]);
        assert!(place.held("y").is_empty() && place.held("z").is_empty());
        assert_pinned(&place);
    }
}

/// Ways in which the index can be spoilt, so that the next call mends it.
pub(crate) const DAMAGES: usize = 10;

pub(crate) fn damage(place: &Place, way: usize, seed: u64) {
    let index = place.index().join("index");
    let open = || fs::File::options().write(true).open(&index);
    match way {
        0 => drop(fs::remove_dir_all(place.data.join(".wipam"))),
        1 => drop(fs::remove_file(&index)),
        2 => drop(fs::remove_dir_all(place.index().join("pins"))),
        3 => drop(open().map(|file| file.set_len(seed % 9000))),
        4 => drop(open().map(|file| file.write_all_at(b"garbage", seed % 128))),
        5 => {
            // Every page, so that whichever is asked is spoilt.
            if let Ok(file) = open() {
                let pages = file.metadata().unwrap().len() / 4096;
                for page in 1..pages {
                    file.write_all_at(&seed.to_le_bytes(), page * 4096 + 8 + seed % 4000)
                        .unwrap();
                }
            }
        }
        6 => drop(fs::write(&index, "")),
        7 => {
            for pin in pins(place).iter().take((seed % 50) as usize) {
                fs::remove_file(pin).unwrap();
            }
        }
        8 => {
            // Pins that hold the records of others.
            let pins = pins(place);
            for (one, other) in pins
                .iter()
                .zip(pins.iter().skip(1))
                .take((seed % 50) as usize)
            {
                fs::remove_file(one).unwrap();
                fs::hard_link(other, one).unwrap();
            }
        }
        9 => {
            // Pins where there may be no record.
            if let Some(pin) = pins(place).first() {
                for number in seed % 700..seed % 700 + 20 {
                    let extra = pin.with_file_name(nth(number as u32).to_string());
                    drop(fs::hard_link(pin, extra));
                }
            }
        }
        _ => {
            drop(fs::remove_file(&index));
            drop(fs::create_dir_all(&index));
        }
    }
}

#[test]
fn whatever_happens_to_the_index_answers_stay_right() {
    // And one that is never mended.
    for way in 0..=DAMAGES {
        for seed in [0, 5, 1000] {
            let place = indexed(400);
            damage(&place, way, seed);
            assert_eq!(place.held("c17"), [nth(17)], "{way}");
            assert!(place.held("none").is_empty(), "{way}");
            assert_eq!(place.add("x", first(500)), Some(nth(401)), "{way}");
            // In the middle of a session, before and after its first look.
            let mut store = place.open(Access::Reserve);
            damage(&place, way, seed);
            assert_eq!(store.held_by(&container("c18")).unwrap().len(), 1, "{way}");
            damage(&place, way, seed);
            assert_eq!(store.held_by(&container("c19")).unwrap().len(), 1, "{way}");
            assert_eq!(
                store.next_free(first(500)).unwrap(),
                Some(nth(402)),
                "{way}"
            );
            assert!(store.reserve(nth(402), &attachment("y", "eth0")).unwrap());
            damage(&place, way, seed);
            assert!(store.release(nth(20), &owner("c20")).unwrap());
            drop(store);
            assert_eq!(place.held("y"), [nth(402)], "{way}");
            assert!(place.held("c20").is_empty(), "{way}");
            assert_eq!(place.add("z", first(500)), Some(nth(20)), "{way}");
        }
    }
}

#[test]
fn an_edit_in_place_is_found_by_a_full_reading() {
    let place = indexed(400);
    place.put(&nth(9).to_string(), "edited\r\neth0");
    // What the record says counts, wherever it was found.
    assert!(place.held("c9").is_empty());
    assert!(
        place.held("edited").is_empty(),
        "if it is: the better, and the docs are to say so"
    );
    assert_eq!(all(&mut place.open(Access::Collect)).len(), 401);
    assert_eq!(place.held("edited"), [nth(9)]);
    assert_eq!(place.add("x", first(500)), Some(nth(401)));
    assert_eq!(place.held("edited"), [nth(9)]);
}

#[test]
fn a_folder_in_which_nothing_can_be_made_is_done_without() {
    let place = filled(400);
    fs::write(place.data.join(".wipam"), "in the way").unwrap();
    assert_eq!(place.add("x", first(500)), Some(nth(400)));
    assert_eq!(place.del("c17"), 1);
    assert_eq!(place.held("x"), [nth(400)]);
    let mut store = place.open(Access::Inspect);
    assert_eq!(store.holder(address("10.0.0.17")).unwrap(), Holder::Nobody);
}
