//! Any bytes on standard input.

use std::collections::BTreeSet;

use wipam_core::config::{Config, RepeatedAdd};
use wipam_core::json::{Field, to_text};
use wipam_core::policy::Answer;
use wipam_core::version::Version;

use crate::model::invocation;
use crate::world::World;

/// Whoever this is comes back.
const POD: &str = "IgnoreUnknown=1;K8S_POD_NAMESPACE=d;K8S_POD_NAME=db-0";
const POD_KEYS: [&str; 2] = ["K8S_POD_NAMESPACE", "K8S_POD_NAME"];

/// Runs the bytes as the network configuration of every command, on one
/// store.
pub fn cni_config(data: &[u8]) {
    let mut world = World::default();
    let run = |world: &mut World, command, container| {
        // If there is a policy, it has no opinion.
        world.answers.resize(1000, Ok(Answer::YouDecide));
        let mut invocation = invocation(command, container, "eth0", data.to_vec());
        invocation.args = POD.to_owned();
        world.run(&invocation)
    };
    let status = run(&mut world, "STATUS", "");
    let added = run(&mut world, "ADD", "a");
    let text = to_text(data);
    let Ok(addresses) = added else {
        assert!(world.store.contents().reserved.is_empty());
        // STATUS speaks of an ADD that asks for no address of its own.
        let asks = read(&text).is_none_or(|config| !config.requests.is_empty());
        assert!(status.is_err() || asks, "{added:?}");
        for command in ["CHECK", "DEL", "GC"] {
            let _ = run(&mut world, command, "a");
        }
        return;
    };

    let config = read(&text).unwrap();
    let all: BTreeSet<_> = addresses.iter().copied().collect();
    let reserved = world.store.contents().reserved;
    assert!(reserved.keys().eq(all.iter()), "{addresses:?}");
    assert_eq!(all.len(), config.sets.len());
    for set in &config.sets {
        let mut of_set = addresses.iter().filter_map(|a| Some((a, set.find(*a)?)));
        let (address, range) = of_set.next().unwrap();
        assert!(of_set.next().is_none());
        assert!(range.subnet().contains(address));
        assert!(!range.subnet_addresses().contains(&Some(*address)));
        assert_eq!(*address, address.to_canonical());
    }
    for gateway in config
        .sets
        .iter()
        .flat_map(|set| set.ranges())
        .map(|r| r.gateway())
    {
        assert!(gateway.is_none_or(|gateway| !all.contains(&gateway)));
    }
    for request in &config.requests {
        assert!(all.contains(&request.address));
        assert!(config.choosing.request_excluded || !config.exclude.contains(request.address));
    }
    for address in &all {
        let asked = config.requests.iter().any(|r| r.address == *address);
        let barred = [&config.exclude, &config.reserved_for_requests];
        assert!(asked || barred.iter().all(|spans| !spans.contains(*address)));
    }

    let again = run(&mut world, "ADD", "a");
    match config.repeated_add {
        RepeatedAdd::Return => assert_eq!(again, Ok(addresses.clone())),
        RepeatedAdd::Error => assert!(again.is_err()),
    }
    assert_eq!(world.store.contents().reserved, reserved);
    // Another container never gets what is held.
    let mut latest = addresses;
    if let Ok(others) = run(&mut world, "ADD", "b") {
        assert!(others.iter().all(|address| !all.contains(address)));
        run(&mut world, "DEL", "b").unwrap();
        latest = others;
    }
    assert_eq!(world.store.contents().reserved, reserved);

    let version = version(&text).unwrap();
    if version >= Version::V0_4_0 {
        run(&mut world, "CHECK", "a").unwrap();
    }
    if version >= Version::V1_1_0 {
        status.unwrap();
        if run(&mut world, "GC", "").is_err() {
            assert_eq!(world.store.contents().reserved, reserved);
        }
    }
    run(&mut world, "DEL", "a").unwrap();
    assert!(world.store.contents().reserved.is_empty());
    // The same pod gets what it had last, in another container.
    if config.choosing.sticky.is_some_and(|s| s.args == POD_KEYS) && config.requests.is_empty() {
        assert_eq!(run(&mut world, "ADD", "c"), Ok(latest));
    }
}

fn version(text: &str) -> Option<Version> {
    let document = Field::document(text).ok()?.object().ok()?;
    Version::of_config(&document.text("cniVersion").ok()?.unwrap_or_default()).ok()
}

fn read(text: &str) -> Option<Config> {
    let document = Field::document(text).ok()?.object().ok()?;
    Config::read(&document, "", version(text)?).ok()
}
