//! Files as the Go plugin makes and expects them, and files of others.

use std::fs;
use std::net::IpAddr;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::SystemTime;

use wipam_core::store::{Access, Holder, Location, Store};
use wipam_store::{DiskStore, Settings};

use crate::support::{
    Place, address, all, attachment, container, location, names, open_at, owner, span,
};

#[test]
fn an_add_leaves_what_the_go_plugin_leaves() {
    let place = Place::bare();
    let got = place.add("c1", span("10.1.2.2", "10.1.2.254"));
    assert_eq!(got, Some(address("10.1.2.2")));
    assert_eq!(place.names(), ["10.1.2.2", "last_reserved_ip.0", "lock"]);
    assert_eq!(place.content("10.1.2.2"), "c1\r\neth0");
    assert_eq!(place.content("last_reserved_ip.0"), "10.1.2.2");
    assert_eq!(names(&place.data), ["net"]);
    for (path, mode) in [
        (place.net.clone(), 0o755),
        (place.file("10.1.2.2"), 0o600),
        (place.file("last_reserved_ip.0"), 0o600),
        (place.file("lock"), 0o640),
    ] {
        let found = fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
        // Whatever the umask takes away; nothing that was not asked for.
        assert_eq!(found & !mode, 0, "{path:?}");
        assert_eq!(found & 0o700, mode & 0o700, "{path:?}");
    }
    assert_eq!(place.held("c1"), [address("10.1.2.2")]);
    assert_eq!(place.del("c1"), 1);
    assert_eq!(place.names(), ["last_reserved_ip.0", "lock"]);
}

#[test]
fn records_with_and_without_interface_and_with_blanks() {
    let place = Place::new();
    place.put("10.1.2.2", "a\n");
    place.put("10.1.2.3", " \tb\r\neth1\r\n\n");
    place.put("2001:db8::5", "a\r\neth0");
    let mut store = place.open(Access::Release);
    let held = store.held_by(&container("a")).unwrap();
    assert_eq!(held.len(), 2);
    assert_eq!(held[0].owner.interface, None);
    assert_eq!(held[1].address, address("2001:db8::5"));
    let held = store.held_by(&container("b")).unwrap();
    assert_eq!(held[0].owner.interface.as_ref().unwrap().as_str(), "eth1");
    assert_eq!(all(&mut store).len(), 3);
}

#[test]
fn what_is_no_record_is_never_touched() {
    let place = Place::new();
    place.put("10.1.2.2", "c1\r\neth0\r\nextra");
    place.put("10.1.2.3", b"\0\xff\x80c1\r\neth0");
    place.put("10.1.2.4", "x".repeat(300_000));
    fs::create_dir(place.file("10.1.2.5")).unwrap();
    symlink("/nonexistent/x", place.file("10.1.2.6")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        place.file("10.1.2.7"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(place.file("10.1.2.8")).unwrap();
    for name in [
        "10.1.2.2.bak",
        ".nfs000",
        "last_reserved_ip",
        "10.1.2.02",
        "lock",
        "notes",
    ] {
        place.put(name, "c1\r\neth0");
    }
    fs::create_dir(place.file("sub")).unwrap();
    place.put("sub/10.1.2.20", "c1\r\neth0");
    let before = place.names();

    let mut store = place.open(Access::Release);
    assert_eq!(store.held_by(&container("c1")).unwrap(), []);
    assert_eq!(all(&mut store), []);
    assert_eq!(store.reclaim().unwrap(), Vec::<IpAddr>::new());
    for last in 2..=8 {
        let taken = address(&format!("10.1.2.{last}"));
        assert_eq!(store.holder(taken).unwrap(), Holder::Foreign);
        assert!(!store.reserve(taken, &attachment("c1", "eth0")).unwrap());
        assert!(!store.release(taken, &owner("c1")).unwrap());
    }
    let free = store.next_free(span("10.1.2.2", "10.1.2.254")).unwrap();
    assert_eq!(free, Some(address("10.1.2.9")));
    assert_eq!(place.names(), before);
    assert_eq!(place.content("10.1.2.2"), "c1\r\neth0\r\nextra");
}

#[test]
fn an_empty_record_is_a_free_address() {
    let place = Place::new();
    place.put("10.1.2.2", "");
    place.put("10.1.2.3", "");
    place.put("10.1.2.4", "c9\r\neth0");
    let got = place.add("c1", span("10.1.2.2", "10.1.2.6"));
    assert_eq!(got, Some(address("10.1.2.2")));
    assert_eq!(place.content("10.1.2.2"), "c1\r\neth0");
    let mut store = place.open(Access::Collect);
    assert_eq!(store.reclaim().unwrap(), [address("10.1.2.3")]);
    drop(store);
    assert_eq!(
        place.names(),
        ["10.1.2.2", "10.1.2.4", "last_reserved_ip.0", "lock"]
    );
}

#[test]
fn links_are_read_within_the_data_directory_only() {
    let place = Place::new();
    fs::write(place.data.join("store"), "c1\r\neth0").unwrap();
    fs::write(place.data.join("empty"), "").unwrap();
    let outside = place.data.with_file_name("outside");
    fs::write(&outside, "c1\r\neth0").unwrap();
    symlink(place.data.join("store"), place.file("10.1.2.2")).unwrap();
    symlink("../store", place.file("10.1.2.3")).unwrap();
    symlink(&outside, place.file("10.1.2.4")).unwrap();
    symlink("../../outside", place.file("10.1.2.5")).unwrap();
    symlink("../empty", place.file("10.1.2.6")).unwrap();
    symlink(place.data.join("net/../../outside"), place.file("10.1.2.7")).unwrap();
    symlink("..", place.file("10.1.2.8")).unwrap();
    assert_eq!(place.held("c1"), [address("10.1.2.2"), address("10.1.2.3")]);
    assert_eq!(place.del("c1"), 2);
    assert!(place.data.join("store").exists() && outside.exists());
    let mut store = place.open(Access::Reserve);
    for last in 4..=8 {
        let taken = address(&format!("10.1.2.{last}"));
        assert_eq!(store.holder(taken).unwrap(), Holder::Foreign, "{taken}");
    }
}

#[test]
fn a_leftover_temporary_goes_with_its_owner() {
    let place = Place::new();
    place.put(".10.1.2.2.tmp", "c1\r\neth0");
    place.put("10.1.2.2", "c2\r\neth0");
    place.put("10.1.2.3", "c1\r\neth0");
    assert_eq!(place.held("c1"), [address("10.1.2.3")]);
    assert_eq!(place.del("c2"), 1);
    assert_eq!(place.names(), [".10.1.2.2.tmp", "10.1.2.3", "lock"]);
    assert_eq!(place.del("c1"), 1);
    assert_eq!(place.names(), ["lock"]);
}

#[test]
fn markers_are_hints_and_are_not_rewritten_for_nothing() {
    let place = Place::new();
    place.put("last_reserved_ip.0", " 10.1.2.3");
    place.put("last_reserved_ip.1", "10.1.2.4");
    place.put("last_reserved_ip.2", b"\xff\xff");
    fs::create_dir(place.file("last_reserved_ip.3")).unwrap();
    let before = fs::metadata(place.file("last_reserved_ip.1")).unwrap();
    let mut store = place.open(Access::Reserve);
    assert_eq!(store.last_reserved(0).unwrap(), None);
    assert_eq!(store.last_reserved(1).unwrap(), Some(address("10.1.2.4")));
    assert_eq!(store.last_reserved(2).unwrap(), None);
    assert_eq!(store.last_reserved(3).unwrap(), None);
    assert_eq!(store.last_reserved(4).unwrap(), None);
    store.set_last_reserved(1, address("10.1.2.4")).unwrap();
    store.set_last_reserved(0, address("10.1.2.9")).unwrap();
    assert!(store.set_last_reserved(3, address("10.1.2.9")).is_err());
    assert_eq!(
        store.all_last_reserved().unwrap(),
        [address("10.1.2.9"), address("10.1.2.4")]
    );
    let after = fs::metadata(place.file("last_reserved_ip.1")).unwrap();
    assert_eq!(before.modified().unwrap(), after.modified().unwrap());
    assert_eq!(place.content("last_reserved_ip.0"), "10.1.2.9");
}

#[test]
fn what_was_reserved_can_be_undone() {
    let place = Place::new();
    place.put("10.1.2.4", "c1\r\neth0");
    let settings = Settings::new(SystemTime::now());
    let location = location(place.data.to_str().unwrap());
    let mut store = DiskStore::open(&location, Access::Reserve, &settings)
        .unwrap()
        .unwrap();
    for last in [2, 3] {
        let free = address(&format!("10.1.2.{last}"));
        assert!(store.reserve(free, &attachment("c1", "eth0")).unwrap());
    }
    assert!(store.release(address("10.1.2.2"), &owner("c1")).unwrap());
    drop(store);
    let journal = settings.journal;
    assert!(!journal.is_empty());
    place.open(Access::Release).undo(&journal).unwrap();
    assert!(journal.is_empty());
    assert_eq!(place.names(), ["10.1.2.4", "lock"]);
}

#[test]
fn with_syncing_the_result_is_the_same() {
    let place = Place::new();
    let location = Location {
        sync: true,
        ..location(place.data.to_str().unwrap())
    };
    let open = || open_at(&location, Access::Reserve);
    let mut store = open().unwrap().unwrap();
    assert!(
        store
            .reserve(address("10.1.2.2"), &attachment("c1", "eth0"))
            .unwrap()
    );
    store.set_last_reserved(0, address("10.1.2.2")).unwrap();
    assert!(store.release(address("10.1.2.2"), &owner("c1")).unwrap());
    drop(store);
    assert_eq!(place.names(), ["last_reserved_ip.0", "lock"]);
}
