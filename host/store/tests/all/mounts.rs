//! Disks that are full or read-only. The tests here run themselves again in a
//! mount namespace of their own.

use std::fs;
use std::process::Command;

use wipam_core::store::{Access, Store, StoreErrorKind};

use crate::support::{Place, attachment, container, nth, open};

const DATA: &str = "WIPAM_TEST_DATA";

/// Runs a test of this file again, after `mount`, a shell command that finds
/// the data directory in `$D`.
fn again(test: &str, place: &Place, mount: &str) {
    let output = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-ec"])
        .arg(format!("{mount}; exec \"$0\" --exact mounts::{test}"))
        .arg(std::env::current_exe().unwrap())
        .env(DATA, &place.data)
        .env("D", &place.data)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}{errors}"
    );
}

const READ_ONLY: &str = "mount --bind \"$D\" \"$D\"; mount -o remount,bind,ro \"$D\"";

#[test]
fn on_a_read_only_disk_looking_works() {
    if let Ok(data) = std::env::var(DATA) {
        let mut store = open(&data, Access::Read).unwrap().unwrap();
        assert_eq!(store.held_by(&container("c17")).unwrap().len(), 1);
        drop(store);
        // There is no lock, and none can be made.
        let mut store = open(&data, Access::Release).unwrap().unwrap();
        assert_eq!(store.held_by(&container("nobody")).unwrap(), []);
        let held = store.held_by(&container("c17")).unwrap();
        let error = store.release(held[0].address, &held[0].owner).unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Io);
        assert!(error.message.contains("net/10.0.0.17"), "{error}");
        for access in [Access::Reserve, Access::Inspect] {
            let error = open(&data, access).unwrap_err();
            assert_eq!(error.kind, StoreErrorKind::Io);
            assert!(error.message.contains(&data), "{error}");
        }
        return;
    }
    let place = Place::new();
    for number in 0..20 {
        place.record(nth(number), &format!("c{number}"));
    }
    again("on_a_read_only_disk_looking_works", &place, READ_ONLY);
}

#[test]
fn on_a_read_only_disk_an_index_is_of_use_or_done_without() {
    if let Ok(data) = std::env::var(DATA) {
        let mut store = open(&data, Access::Read).unwrap().unwrap();
        assert_eq!(store.held_by(&container("c17")).unwrap().len(), 1);
        assert_eq!(store.held_by(&container("nobody")).unwrap(), []);
        drop(store);
        let mut store = open(&data, Access::Release).unwrap().unwrap();
        assert_eq!(
            store.held_by(&container("late")).unwrap().len(),
            place_has_late(&data)
        );
        return;
    }
    let place = Place::new();
    for number in 0..400 {
        place.record(nth(number), &format!("c{number}"));
    }
    drop(
        place
            .open(Access::Release)
            .held_by(&container("c1"))
            .unwrap(),
    );
    assert!(place.index_exists());
    let test = "on_a_read_only_disk_an_index_is_of_use_or_done_without";
    again(test, &place, READ_ONLY);
    place.record(nth(500), "late");
    again(test, &place, READ_ONLY);
}

fn place_has_late(data: &str) -> usize {
    usize::from(fs::exists(format!("{data}/net/{}", nth(500))).unwrap())
}

#[test]
fn on_a_full_disk_nothing_is_left_behind_and_releasing_works() {
    if let Ok(data) = std::env::var(DATA) {
        let place = std::path::Path::new(&data);
        let names = || crate::support::names(&place.join("net"));
        // Two pages: one for a record, one for the filling.
        let mut store = open(&data, Access::Reserve).unwrap().unwrap();
        assert!(store.reserve(nth(1), &attachment("c1", "eth0")).unwrap());
        fs::write(place.join("filling"), [0; 4096]).unwrap();
        let error = store.set_last_reserved(0, nth(1)).unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Io);
        assert!(error.message.contains("net/last_reserved_ip.0"), "{error}");
        let error = store
            .reserve(nth(2), &attachment("c2", "eth0"))
            .unwrap_err();
        assert!(error.message.contains("net/10.0.0.2"), "{error}");
        assert_eq!(names(), ["10.0.0.1", "lock"]);
        let held = store.held_by(&container("c1")).unwrap();
        assert!(store.release(held[0].address, &held[0].owner).unwrap());
        assert_eq!(names(), ["lock"]);

        // Where there is a marker, it is written over if the new text covers the
        // old one; if not, it survives.
        store.set_last_reserved(0, nth(10)).unwrap();
        store.set_last_reserved(0, nth(11)).unwrap();
        assert!(store.set_last_reserved(0, nth(2)).is_err());
        assert_eq!(store.last_reserved(0).unwrap(), Some(nth(11)));
        return;
    }
    let place = Place::new();
    let test = "on_a_full_disk_nothing_is_left_behind_and_releasing_works";
    again(test, &place, "mount -t tmpfs -o size=8k none \"$D\"");
}
