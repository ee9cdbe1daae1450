//! Copies in memory, for trying what would be.

use std::fs;
use std::os::unix::fs::symlink;

use wipam_core::store::{Access, Holder, Location, PolicyState, Store};
use wipam_store::{MemoryNetwork, MemoryStore};

use crate::support::{Place, attachment, container, location, names, nth, open_at, owner};

fn copy_of(place: &Place) -> MemoryNetwork {
    MemoryNetwork::copy_of(&location(place.data.to_str().unwrap())).unwrap()
}

#[test]
fn a_copy_answers_as_the_original_and_changes_nothing() {
    let place = Place::new();
    let wanting = Location {
        history: true,
        ..location(place.data.to_str().unwrap())
    };
    let mut store = open_at(&wanting, Access::Reserve).unwrap().unwrap();
    for number in 0..300 {
        let id = format!("c{number}");
        assert!(
            store
                .reserve(nth(number), &attachment(&id, "eth0"))
                .unwrap()
        );
        store.remember(nth(number), &id).unwrap();
    }
    store.set_last_reserved(0, nth(299)).unwrap();
    store.set_policy_state(b"state".to_vec());
    store.keep_state().unwrap();
    drop(store);
    for id in ["c7", "c9"] {
        assert_eq!(place.del(id), 1);
    }
    place.put(&nth(300).to_string(), "");
    fs::create_dir(place.file(&nth(301).to_string())).unwrap();
    place.put(&nth(302).to_string(), "a\r\nb\r\nc");
    fs::write(place.data.join("store"), "linked\r\neth0").unwrap();
    fs::write(place.data.join("empty"), "").unwrap();
    symlink("../store", place.file(&nth(303).to_string())).unwrap();
    symlink("../empty", place.file(&nth(304).to_string())).unwrap();
    place.put("note", "nothing to us");
    assert!(place.index_exists());
    let before = (
        place.names(),
        fs::read(place.index().join("index")).unwrap(),
    );

    let copy = copy_of(&place);
    let mut store = MemoryStore::open(&copy, Access::Reserve, true);
    assert_eq!(store.held_by(&container("c8")).unwrap().len(), 1);
    assert_eq!(store.held_by(&container("linked")).unwrap().len(), 1);
    for (number, holder) in [
        (7, Holder::Nobody),
        (8, Holder::Owner(owner("c8"))),
        (300, Holder::Nobody),
        (301, Holder::Foreign),
        (302, Holder::Foreign),
        (303, Holder::Owner(owner("linked"))),
        (304, Holder::Foreign),
    ] {
        assert_eq!(store.holder(nth(number)).unwrap(), holder, "{number}");
    }
    assert_eq!(store.last_reserved(0).unwrap(), Some(nth(299)));
    assert_eq!(store.policy_state().unwrap(), b"state");
    let released: Vec<_> = store
        .released(0)
        .unwrap()
        .iter()
        .map(|p| p.address)
        .collect();
    assert_eq!(released, [nth(7), nth(9)]);
    let age = store.past(nth(7)).unwrap().unwrap().released_ms_ago;
    assert!(age < 60_000, "{age}");
    assert_eq!(store.remembered("c8").unwrap(), Some(nth(8)));
    // What is done to the copy is done to the copy.
    assert!(store.reserve(nth(7), &attachment("new", "eth0")).unwrap());
    store.remember(nth(7), "new").unwrap();
    store.set_policy_state(b"other".to_vec());
    store.keep_state().unwrap();
    drop(store);
    assert_eq!(copy.policy_state(), b"other");
    let after = (
        place.names(),
        fs::read(place.index().join("index")).unwrap(),
    );
    assert!(before == after);
    let mut store = place.open(Access::Read);
    assert_eq!(store.remembered("new").unwrap(), None);
    assert_eq!(store.policy_state().unwrap(), b"state");
}

#[test]
fn of_nothing_the_copy_is_empty_and_nothing_is_made() {
    let place = Place::bare();
    let copy = copy_of(&place);
    assert!(copy.files.borrow().is_empty());
    assert!(!place.data.exists());
    let place = Place::new();
    copy_of(&place);
    assert!(place.names().is_empty());
    assert_eq!(names(&place.data), ["net"]);
}
