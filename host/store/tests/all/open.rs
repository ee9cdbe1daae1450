//! What opening creates, waits for and refuses.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};

use wipam_core::store::{Access, Location, Store, StoreError, StoreErrorKind};
use wipam_store::{DiskStore, Settings};

use crate::support::{Place, address, all, attachment, container, location, open, open_at, span};

fn refusal(result: Result<Option<DiskStore>, StoreError>) -> StoreError {
    match result {
        Err(error) => error,
        Ok(_) => panic!("opened"),
    }
}

#[test]
fn only_adding_makes_directories() {
    let place = Place::bare();
    let opens_nothing = || {
        [
            Access::Release,
            Access::Collect,
            Access::Read,
            Access::Inspect,
        ]
        .map(|access| assert!(place.try_open(access).unwrap().is_none()))
    };
    opens_nothing();
    assert!(!place.data.exists());
    fs::create_dir(&place.data).unwrap();
    opens_nothing();
    assert!(!place.net.exists());
    fs::create_dir(&place.net).unwrap();
    for access in [Access::Read, Access::Inspect] {
        drop(place.open(access));
        assert!(place.names().is_empty());
    }
    drop(place.open(Access::Release));
    assert_eq!(place.names(), ["lock"]);
}

#[test]
fn the_data_directory_may_be_a_link_but_not_a_dead_one() {
    let place = Place::new();
    let link = place.data.with_file_name("l");
    symlink(&place.data, &link).unwrap();
    let mut store = open(link.to_str().unwrap(), Access::Reserve)
        .unwrap()
        .unwrap();
    assert!(
        store
            .reserve(address("10.1.2.2"), &attachment("c1", "eth0"))
            .unwrap()
    );
    drop(store);
    assert_eq!(place.names(), ["10.1.2.2", "lock"]);
    // A record may be a link to a path through that link.
    fs::rename(place.file("10.1.2.2"), place.data.join("store")).unwrap();
    for target in [&link, &place.data] {
        let _ = fs::remove_file(place.file("10.1.2.2"));
        symlink(target.join("store"), place.file("10.1.2.2")).unwrap();
        let mut store = open(link.to_str().unwrap(), Access::Read).unwrap().unwrap();
        assert_eq!(store.held_by(&container("c1")).unwrap().len(), 1);
    }

    fs::remove_file(&link).unwrap();
    symlink("/nonexistent/place", &link).unwrap();
    let file = place.data.with_file_name("f");
    fs::write(&file, "").unwrap();
    for access in [
        Access::Reserve,
        Access::Release,
        Access::Read,
        Access::Inspect,
    ] {
        for wrong in [&link, &file, &file.join("below")] {
            let error = refusal(open(wrong.to_str().unwrap(), access));
            assert_eq!(error.kind, StoreErrorKind::Location, "{access:?} {error}");
            let named = wrong.parent().unwrap().to_str().unwrap();
            assert!(error.message.contains(named), "{error}");
        }
    }
}

#[test]
fn paths_must_be_absolute_and_are_cleaned() {
    let place = Place::new();
    for relative in ["data", "./data", "../x"] {
        let error = refusal(open(relative, Access::Reserve));
        assert_eq!(error.kind, StoreErrorKind::Location);
        assert!(error.message.contains(relative));
    }
    let roundabout = format!("{}//x/../", place.data.display());
    drop(open(&roundabout, Access::Reserve).unwrap().unwrap());
    assert_eq!(place.names(), ["lock"]);
    let long = format!("{}/{}", place.data.display(), "x".repeat(300));
    let error = refusal(open(&long, Access::Reserve));
    assert_eq!(error.kind, StoreErrorKind::Io);
}

#[test]
fn a_directory_for_a_lock_stops_everything() {
    let place = Place::new();
    fs::create_dir(place.file("lock")).unwrap();
    for access in [
        Access::Reserve,
        Access::Release,
        Access::Read,
        Access::Inspect,
    ] {
        let error = refusal(place.try_open(access));
        assert_eq!(error.kind, StoreErrorKind::Io);
        assert!(
            error.message.contains(place.file("lock").to_str().unwrap()),
            "{error}"
        );
    }
}

fn open_within(place: &Place, lock_wait_ms: u32) -> Result<Option<DiskStore>, StoreError> {
    let location = Location {
        lock_wait_ms,
        ..location(place.data.to_str().unwrap())
    };
    open_at(&location, Access::Release)
}

#[test]
fn a_stuck_holder_is_waited_for_only_so_long_and_named() {
    let place = Place::new();
    let held = place.open(Access::Reserve);
    let started = Instant::now();
    let error = refusal(open_within(&place, 100));
    let waited = started.elapsed();
    assert!(waited >= Duration::from_millis(100) && waited < Duration::from_secs(5));
    assert_eq!(error.kind, StoreErrorKind::Busy);
    for part in [
        place.file("lock").to_str().unwrap(),
        &std::process::id().to_string(),
    ] {
        assert!(error.message.contains(part), "{error}");
    }
    // Looking needs no lock.
    assert!(place.try_open(Access::Inspect).unwrap().is_some());
    drop(held);
    assert!(open_within(&place, 20_000).unwrap().is_some());
}

#[test]
fn a_waiter_that_is_first_in_line_is_served() {
    let place = Place::new();
    // Somebody who keeps taking it, and who would win nearly every race
    // against a waiter that polls.
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let store = place.open(Access::Reserve);
                std::thread::sleep(Duration::from_millis(5));
                drop(store);
            }
        });
        std::thread::sleep(Duration::from_millis(20));
        let longest = (0..20)
            .map(|_| {
                let started = Instant::now();
                drop(place.open(Access::Release));
                started.elapsed()
            })
            .max();
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(longest < Some(Duration::from_secs(2)), "{longest:?}");
    });
}

#[test]
fn collecting_knows_what_came_while_it_waited() {
    let place = Place::new();
    place.put("10.1.2.2", "old\r\neth0");
    let location = location(place.data.to_str().unwrap());
    // As if the clock had been set back meanwhile: only the listing tells.
    let started = SystemTime::now() + Duration::from_secs(3600);
    let mut held = place.open(Access::Reserve);
    let found = std::thread::scope(|scope| {
        let collector = scope.spawn(|| {
            let settings = Settings::new(started);
            let store = DiskStore::open(&location, Access::Collect, &settings);
            all(&mut store.unwrap().unwrap())
        });
        std::thread::sleep(Duration::from_millis(300));
        assert!(
            held.reserve(address("10.1.2.3"), &attachment("new", "eth0"))
                .unwrap()
        );
        drop(held);
        collector.join().unwrap()
    });
    let newer: Vec<bool> = found.iter().map(|reservation| reservation.newer).collect();
    assert_eq!(newer, [false, true]);

    // And by time stamp, where the lock was free at once.
    let found = all(&mut place.open(Access::Collect));
    assert!(
        found.iter().all(|reservation| !reservation.newer),
        "{found:?}"
    );
    let settings = Settings::new(SystemTime::UNIX_EPOCH);
    let store = DiskStore::open(&location, Access::Collect, &settings);
    let found = all(&mut store.unwrap().unwrap());
    assert!(found.iter().all(|reservation| reservation.newer));
}

#[test]
fn many_at_once_get_an_address_each() {
    let place = Place::bare();
    let got = std::thread::scope(|scope| {
        let adders: Vec<_> = (0..40)
            .map(|number| {
                let place = &place;
                scope.spawn(move || {
                    place
                        .add(&format!("c{number}"), span("10.1.2.2", "10.1.2.254"))
                        .unwrap()
                })
            })
            .collect();
        let got: std::collections::BTreeSet<_> = adders
            .into_iter()
            .map(|adder| adder.join().unwrap())
            .collect();
        got
    });
    assert_eq!(got.len(), 40);
}

/// The tests run as root, whom permissions do not stop; so this runs itself as
/// somebody else.
#[test]
fn errors_name_path_and_user() {
    let place = Place::new();
    place.put("10.1.2.2", "c1\r\neth0");
    if let Ok(data) = std::env::var("WIPAM_TEST_AS_NOBODY") {
        let adding = refusal(open(&data, Access::Reserve));
        let inspecting = refusal(open(&data, Access::Inspect));
        for (error, path) in [
            (adding, format!("{data}/net/lock")),
            (inspecting, data.clone()),
        ] {
            assert_eq!(error.kind, StoreErrorKind::Io);
            assert!(error.message.contains(&path), "{error}");
            assert!(error.message.contains("as user id 65534"), "{error}");
        }
        return;
    }
    if !rustix::process::geteuid().is_root() {
        panic!("run the tests as root: this one becomes another user");
    }
    for directory in [place.data.parent().unwrap(), &place.data, &place.net] {
        let mode = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o755);
        fs::set_permissions(directory, mode).unwrap();
    }
    // Where the build put it, others may not be allowed to look.
    let program = place.data.with_file_name("test");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let output = Command::new("setpriv")
        .args(["--reuid", "65534", "--clear-groups"])
        .arg(program)
        .args(["--exact", "open::errors_name_path_and_user"])
        .env("WIPAM_TEST_AS_NOBODY", &place.data)
        .env("TMPDIR", Path::new("/tmp"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
}
