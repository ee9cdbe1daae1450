//! What a policy remembers.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use wipam_core::store::{Access, StoreErrorKind};

use crate::networks::{Network, both, moment};
use crate::support::{Place, names};

const MOST: usize = 1 << 20;

fn session(network: &Network, access: Access) -> Box<dyn crate::networks::Session> {
    network.open(access, false, moment(1, 1))
}

#[test]
fn it_counts_once_it_is_kept() {
    for network in both() {
        let mut store = session(&network, Access::Reserve);
        assert_eq!(store.policy_state().unwrap(), b"");
        store.keep_state().unwrap();
        store.set_policy_state(b"lost".to_vec());
        assert_eq!(store.policy_state().unwrap(), b"lost");
        drop(store);
        assert_eq!(session(&network, Access::Read).policy_state().unwrap(), b"");
        if let Network::Disk(place) = &network {
            assert!(!place.index().exists());
        }
        for (access, bytes) in [
            (Access::Reserve, &b"\0\xff"[..]),
            (Access::Release, b"longer than before"),
            (Access::Collect, b"x"),
        ] {
            let mut store = session(&network, access);
            store.set_policy_state(bytes.to_vec());
            store.keep_state().unwrap();
            assert_eq!(store.policy_state().unwrap(), bytes);
            drop(store);
            let mut store = session(&network, Access::Inspect);
            assert_eq!(store.policy_state().unwrap(), bytes);
        }
        // Whoever only looks keeps nothing.
        for access in [Access::Read, Access::Inspect] {
            let mut store = session(&network, access);
            store.set_policy_state(b"no".to_vec());
            store.keep_state().unwrap();
            drop(store);
            assert_eq!(
                session(&network, Access::Read).policy_state().unwrap(),
                b"x"
            );
        }
        let mut store = session(&network, Access::Reserve);
        store.set_policy_state(Vec::new());
        store.keep_state().unwrap();
        drop(store);
        assert_eq!(session(&network, Access::Read).policy_state().unwrap(), b"");
        if let Network::Disk(place) = &network {
            assert!(names(&place.index()).is_empty());
        }
    }
}

#[test]
fn no_more_than_a_mebibyte_is_kept_or_read() {
    for network in both() {
        let mut store = session(&network, Access::Reserve);
        let most = vec![7; MOST];
        store.set_policy_state(most.clone());
        store.keep_state().unwrap();
        store.set_policy_state(vec![8; MOST + 1]);
        let error = store.keep_state().unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Io);
        assert!(error.message.contains("1048577"), "{error}");
        drop(store);
        assert!(session(&network, Access::Read).policy_state().unwrap() == most);
        match &network {
            Network::Disk(place) => {
                fs::write(place.index().join("state"), vec![9; MOST + 1]).unwrap();
            }
            Network::Memory(network) => network.set_policy_state(vec![9; MOST + 1]),
        }
        let mut store = session(&network, Access::Reserve);
        let error = store.policy_state().unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Io);
        // It can be got rid of.
        store.set_policy_state(Vec::new());
        store.keep_state().unwrap();
        drop(store);
        assert_eq!(session(&network, Access::Read).policy_state().unwrap(), b"");
    }
}

#[test]
fn its_file_is_replaced_in_one_step_and_its_owners_alone() {
    let place = Place::new();
    let file = place.index().join("state");
    fs::create_dir_all(place.index()).unwrap();
    fs::write(place.data.join("elsewhere"), "theirs").unwrap();
    symlink("../../elsewhere", &file).unwrap();
    fs::write(place.index().join("state.new"), "half").unwrap();
    let network = Network::Disk(place);
    let mut store = session(&network, Access::Reserve);
    assert_eq!(store.policy_state().unwrap(), b"", "links are not followed");
    store.set_policy_state(b"ours".to_vec());
    store.keep_state().unwrap();
    drop(store);
    let Network::Disk(place) = &network else {
        return;
    };
    assert_eq!(fs::read(place.data.join("elsewhere")).unwrap(), b"theirs");
    let found = fs::symlink_metadata(&file).unwrap();
    assert!(found.is_file() && found.permissions().mode() & 0o777 == 0o600);
    assert_eq!(names(&place.index()), ["state"]);
    // Where it cannot be kept, that is told: a policy may rely on it.
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let mut store = session(&network, Access::Reserve);
    store.set_policy_state(b"ours".to_vec());
    let error = store.keep_state().unwrap_err();
    assert!(error.message.contains(file.to_str().unwrap()), "{error}");
    assert_eq!(names(&place.index()), ["state"]);
}
