//! STATUS: 0 where an ADD would work, 50 where it would not.

use std::fs;

use serde_json::{Value, json};

use crate::plugin::Plugin;

fn modern(mut config: Value) -> Value {
    config["cniVersion"] = json!("1.1.0");
    config
}

#[test]
fn says_whether_an_add_would_work() {
    let plugin = Plugin::new();
    let config = modern(plugin.small());
    plugin.run("STATUS", "", &config).ok();
    assert!(plugin.snapshot().is_empty(), "STATUS made something");
    plugin.run("ADD", "c1", &config).ok();
    plugin.run("STATUS", "", &config).ok();
    for n in 2..=6 {
        plugin.put(&format!("10.1.0.{n}"), "o\r\neth0");
    }
    let full = plugin.run("STATUS", "", &config);
    assert_eq!(full.code(), 50);
    full.says("10.1.0.1-10.1.0.6");
}

#[test]
fn does_not_wait_for_the_lock() {
    let plugin = Plugin::new();
    let config = modern(plugin.small());
    plugin.put("lock", "");
    let lock = fs::File::open(plugin.file("lock")).unwrap();
    lock.lock().unwrap();
    plugin.run("STATUS", "", &config).ok();
}

#[test]
fn bad_configurations_and_directories() {
    let plugin = Plugin::new();
    let reversed = modern(plugin.config(
        json!({ "subnet": "10.1.0.0/29", "rangeStart": "10.1.0.5", "rangeEnd": "10.1.0.4" }),
    ));
    assert_eq!(plugin.run("STATUS", "", &reversed).code(), 50);
    fs::write(plugin.data_dir(), "a file").unwrap();
    assert_eq!(plugin.run("STATUS", "", &modern(plugin.small())).code(), 50);
    let old = plugin.small();
    assert_eq!(plugin.run("STATUS", "", &old).code(), 1);
}
