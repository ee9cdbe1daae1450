//! The history as a file, and taking it back.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use wipam_core::store::{Access, Location, PolicyState, Store, StoreErrorKind};
use wipam_store::{DiskStore, Journal};

use crate::networks::{Network, moment, on_disk};
use crate::support::{Place, attachment, location, names, nth, open_at, owner, span};

fn network() -> Network {
    Network::Disk(Place::new())
}

fn place(network: &Network) -> &Place {
    match network {
        Network::Disk(place) => place,
        Network::Memory(_) => panic!("not on disk"),
    }
}

#[test]
fn the_file_is_its_owners_alone() {
    let network = network();
    network.add(nth(1), "c", "k", moment(1, 1));
    let file = place(&network).index().join("history");
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // Nothing is in the network's directory that the Go plugin does not know.
    assert_eq!(place(&network).names(), ["10.0.0.1", "lock"]);
}

#[test]
fn what_is_no_file_is_neither_followed_nor_in_the_way() {
    let line = "10.0.0.1 left 0000000000000001 1 k\n";
    let make: [fn(&Place); 5] = [
        |place| symlink("../../elsewhere", place.index().join("history")).unwrap(),
        |place| symlink("nowhere", place.index().join("history")).unwrap(),
        |place| fs::create_dir(place.index().join("history")).unwrap(),
        |place| {
            let path = place.index().join("history");
            let made = std::process::Command::new("mkfifo").arg(path).status();
            assert!(made.unwrap().success());
        },
        |place| {
            fs::remove_dir(place.index()).unwrap();
            fs::write(place.index(), "a file").unwrap();
        },
    ];
    for make in make {
        let network = network();
        let place = place(&network);
        fs::create_dir_all(place.index()).unwrap();
        fs::write(place.data.join("elsewhere"), line).unwrap();
        make(place);
        assert_eq!(network.past(nth(1), moment(1, 2)), None);
        network.add(nth(1), "c", "k", moment(1, 2));
        assert_eq!(network.remembered("k", moment(1, 3)), None);
        network.del(nth(1), "c", moment(1, 3));
        let mut store = network.open(Access::Reserve, true, moment(1, 4));
        let all = span("10.0.0.1", "10.0.0.9");
        assert_eq!(store.next_unused(all).unwrap(), Some(nth(1)));
        assert_eq!(
            fs::read_to_string(place.data.join("elsewhere")).unwrap(),
            line
        );
    }
}

#[test]
fn what_a_killed_writer_left_is_not_in_the_way() {
    let network = network();
    let place = place(&network);
    let text: String = (0..1100)
        .map(|at| format!("10.0.0.1 had 0000000000000001 {at} k\n"))
        .collect();
    network.set_history(text.as_bytes());
    fs::write(place.index().join("history.new"), "10.0.0.2 had 00000").unwrap();
    // Killed between the line and the record: it is still held.
    network.plain_add(nth(1), "c", moment(1, 1200));
    let left = format!("{text}10.0.0.1 left 0000000000000001 1200 k\n");
    network.set_history(left.as_bytes());
    assert_eq!(network.past(nth(1), moment(1, 1300)), None);
    network.del(nth(1), "c", moment(1, 1300));
    assert_eq!(
        network
            .past(nth(1), moment(1, 1400))
            .unwrap()
            .released_ms_ago,
        100
    );
    assert_eq!(names(&place.index()), ["history"]);
    assert_eq!(
        network.history().unwrap(),
        "10.0.0.1 left 0000000000000001 1300 -\n"
    );
}

#[test]
fn syncing_writes_the_same() {
    let network = network();
    let place = place(&network);
    let location = Location {
        sync: true,
        history: true,
        ..location(place.data.to_str().unwrap())
    };
    let mut store = open_at(&location, Access::Reserve).unwrap().unwrap();
    assert!(store.reserve(nth(1), &attachment("c", "eth0")).unwrap());
    store.remember(nth(1), "k").unwrap();
    store.set_policy_state(b"state".to_vec());
    store.keep_state().unwrap();
    drop(store);
    let text = network.history().unwrap();
    assert!(
        text.starts_with("10.0.0.1 had ") && text.ends_with(" k\n"),
        "{text}"
    );
    // By the system's clock.
    let mut store = open_at(&location, Access::Release).unwrap().unwrap();
    assert!(store.release(nth(1), &owner("c")).unwrap());
    std::thread::sleep(std::time::Duration::from_millis(5));
    let age = store.past(nth(1)).unwrap().unwrap().released_ms_ago;
    assert!((5..60_000).contains(&age), "{age}");
}

/// An ADD on disk whose answer could not be delivered.
fn undone(place: &Place, work: impl FnOnce(&mut DiskStore)) {
    let journal = Journal::default();
    let mut store = on_disk(place, Access::Reserve, true, moment(1, 50), &journal);
    work(&mut store);
    drop(store);
    let own = Journal::default();
    let mut store = on_disk(place, Access::Release, true, moment(1, 60), &own);
    store.undo(&journal).unwrap();
    assert!(journal.is_empty());
}

#[test]
fn undoing_takes_back_what_was_remembered() {
    let network = network();
    let place = place(&network);
    network.add(nth(1), "c1", "a", moment(1, 1));
    network.del(nth(1), "c1", moment(1, 2));
    network.add(nth(3), "c3", "a", moment(1, 3));
    network.del(nth(3), "c3", moment(1, 4));
    undone(place, |store| {
        for number in [1, 2] {
            assert!(
                store
                    .reserve(nth(number), &attachment("c2", "eth0"))
                    .unwrap()
            );
            store.remember(nth(number), "b").unwrap();
        }
        store.remember(nth(1), "c").unwrap();
    });
    let now = moment(1, 100);
    let released = network.released(now);
    let found: Vec<_> = released
        .iter()
        .map(|past| (past.address, past.released_ms_ago, past.latest))
        .collect();
    // Repeating the line of the first has not made it the latest.
    assert_eq!(found, [(nth(1), 98, false), (nth(3), 96, true)]);
    assert_eq!(network.remembered("a", now), Some(nth(3)));
    assert_eq!(network.remembered("b", now), None);
    assert_eq!(network.remembered("c", now), None);
    let mut store = network.open(Access::Reserve, true, now);
    let all = span("10.0.0.1", "10.0.0.9");
    assert_eq!(store.next_unused(all).unwrap(), Some(nth(2)));
}

#[test]
fn undoing_leaves_alone_what_others_did_since() {
    let network = network();
    let place = place(&network);
    let journal = Journal::default();
    let mut store = on_disk(place, Access::Reserve, true, moment(1, 50), &journal);
    assert!(store.reserve(nth(1), &attachment("c1", "eth0")).unwrap());
    store.remember(nth(1), "a").unwrap();
    store.set_policy_state(b"ours".to_vec());
    store.keep_state().unwrap();
    drop(store);
    network.del(nth(1), "c1", moment(1, 55));
    network.add(nth(1), "c2", "b", moment(1, 56));
    let mut store = network.open(Access::Reserve, false, moment(1, 57));
    store.set_policy_state(b"theirs".to_vec());
    store.keep_state().unwrap();
    drop(store);
    let own = Journal::default();
    let mut store = on_disk(place, Access::Release, true, moment(1, 60), &own);
    store.undo(&journal).unwrap();
    assert_eq!(store.policy_state().unwrap(), b"theirs");
    drop(store);
    assert_eq!(network.remembered("b", moment(1, 70)), Some(nth(1)));
    assert_eq!(place.content("10.0.0.1"), "c2\r\neth0");
}

#[test]
fn undoing_puts_a_policys_state_back() {
    let network = network();
    let place = place(&network);
    let state = || {
        network
            .open(Access::Read, false, moment(1, 90))
            .policy_state()
    };
    let kept = |bytes: &[u8]| {
        let mut store = network.open(Access::Reserve, false, moment(1, 1));
        store.set_policy_state(bytes.to_vec());
        store.keep_state().unwrap();
    };
    for before in [&b""[..], b"before"] {
        for after in [&b""[..], b"after"] {
            kept(before);
            undone(place, |store| {
                assert!(store.reserve(nth(1), &attachment("c", "eth0")).unwrap());
                for bytes in [&b"between"[..], after] {
                    store.set_policy_state(bytes.to_vec());
                    store.keep_state().unwrap();
                }
            });
            assert_eq!(state().unwrap(), before);
            let exists = place.index().join("state").exists();
            assert_eq!(exists, !before.is_empty());
        }
    }
}

#[test]
fn clones_are_one_session_and_keep_its_lock_to_the_last() {
    let place = Place::new();
    let mut store = place.open(Access::Reserve);
    let mut clone = store.clone();
    assert!(clone.reserve(nth(1), &attachment("c", "eth0")).unwrap());
    clone.set_policy_state(b"s".to_vec());
    assert_eq!(store.policy_state().unwrap(), b"s");
    drop(clone);
    let again = Location {
        lock_wait_ms: 20,
        ..location(place.data.to_str().unwrap())
    };
    let busy = open_at(&again, Access::Release).err().unwrap();
    assert_eq!(busy.kind, StoreErrorKind::Busy);
    let all = span("10.0.0.1", "10.0.0.9");
    assert_eq!(store.next_free(all).unwrap(), Some(nth(2)));
    drop(store);
    assert!(open_at(&again, Access::Release).unwrap().is_some());
}
