//! Several at once.

use std::collections::BTreeSet;
use std::fs::File;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::plugin::{Plugin, start, wait};

/// Holds a network's lock, as another process would.
fn hold(plugin: &Plugin) -> File {
    plugin.put("lock", "");
    let file = File::open(plugin.file("lock")).unwrap();
    file.lock().unwrap();
    file
}

#[test]
fn waiting_for_the_lock_ends() {
    let plugin = Plugin::new();
    plugin.put("10.1.0.2", "c0\r\neth0");
    let _held = hold(&plugin);
    let mut config = plugin.small();
    config["ipam"]["lockWaitSeconds"] = json!(1);
    for command in ["ADD", "DEL"] {
        let begin = Instant::now();
        let run = plugin.run(command, "c0", &config);
        assert_eq!(run.code(), 11, "{run:?}");
        run.says(plugin.file("lock").to_str().unwrap());
        run.says(&format!("held by process {}", std::process::id()));
        let waited = begin.elapsed();
        assert!(waited >= Duration::from_millis(900), "{waited:?}");
    }
    assert!(plugin.has("10.1.0.2"));
}

#[test]
fn a_lock_that_is_let_go_is_taken() {
    let plugin = Plugin::new();
    let held = hold(&plugin);
    let child = start(
        plugin.command("ADD", "c1", "eth0"),
        plugin.small().to_string().as_bytes(),
    );
    sleep(Duration::from_millis(300));
    assert!(!plugin.has("10.1.0.2"), "it did not wait");
    drop(held);
    wait(child).ok();
    assert!(plugin.has("10.1.0.2"));
}

#[test]
fn a_hundred_at_once_get_a_hundred_addresses() {
    let plugin = Plugin::new();
    let config = plugin.config(json!({ "subnet": "10.1.0.0/24" }));
    let input = config.to_string();
    let children: Vec<_> = (0..100)
        .map(|n| {
            start(
                plugin.command("ADD", &format!("p{n}"), "eth0"),
                input.as_bytes(),
            )
        })
        .collect();
    let given: BTreeSet<_> = children
        .into_iter()
        .flat_map(|child| wait(child).ok().addresses())
        .collect();
    assert_eq!(given.len(), 100);
}

#[test]
fn gc_beside_adds_spares_what_is_younger_than_itself() {
    let plugin = Plugin::new();
    plugin.put("10.1.0.2", "old\r\neth0");
    let mut config = plugin.config(json!({ "subnet": "10.1.0.0/24" }));
    config["cniVersion"] = json!("1.1.0");
    config["cni.dev/valid-attachments"] = json!([]);
    let input = config.to_string();
    // GC begins, and so does an ADD; the lock is held by somebody else until
    // both wait for it. Whoever is first then, the new container keeps its
    // address, and the old record goes.
    let held = hold(&plugin);
    let gc = start(plugin.command("GC", "", ""), input.as_bytes());
    sleep(Duration::from_millis(300));
    let add = start(plugin.command("ADD", "new", "eth0"), input.as_bytes());
    sleep(Duration::from_millis(300));
    drop(held);
    let given = wait(add).ok().addresses();
    wait(gc).ok();
    let name = given[0].split('/').next().unwrap();
    assert!(plugin.has(name), "{name} was given and is gone");
    assert!(!plugin.has("10.1.0.2") || name == "10.1.0.2");
}
