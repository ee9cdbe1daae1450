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

fn first(count: u32) -> wipam_core::range::Span {
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

/// Ways in which the index can be spoilt, so that the next call mends it.
pub(crate) const DAMAGES: usize = 8;

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
            if let Ok(pins) = fs::read_dir(place.index().join("pins")) {
                for pin in pins.flatten().take((seed % 50) as usize) {
                    fs::remove_file(pin.path()).unwrap();
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
