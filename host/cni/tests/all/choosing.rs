//! Which address it is: exclude, static, strategy, sticky and cooldown.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::plugin::{Plugin, Run, finish};

/// `CNI_ARGS` of a pod.
fn pod(name: &str) -> String {
    format!("IgnoreUnknown=1;K8S_POD_NAMESPACE=d;K8S_POD_NAME={name}")
}

/// A line of a history.
#[derive(Clone, Debug)]
struct Line {
    address: String,
    event: String,
    boot: String,
    ms: u64,
    key: String,
}

impl Plugin {
    fn run_as(&self, args: &str, command: &str, id: &str, config: &Value) -> Run {
        let mut process = self.command(command, id, "eth0");
        process.env("CNI_ARGS", args);
        finish(process, config.to_string().as_bytes())
    }

    /// The address that an ADD gives, without its prefix length.
    #[track_caller]
    fn gives(&self, args: &str, id: &str, config: &Value) -> String {
        let addresses = self.run_as(args, "ADD", id, config).ok().addresses();
        assert_eq!(addresses.len(), 1);
        addresses[0].split('/').next().unwrap().to_owned()
    }

    #[track_caller]
    fn del(&self, id: &str, config: &Value) {
        let run = self.run("DEL", id, config);
        assert!(run.ok().stderr.is_empty(), "{run:?}");
    }

    #[track_caller]
    fn history(&self) -> Vec<Line> {
        let text = fs::read_to_string(self.data_dir().join(".wipam/n/history")).unwrap();
        let line = |line: &str| {
            let fields: Vec<_> = line.split(' ').collect();
            let [address, event, boot, ms, key] = fields[..] else {
                panic!("{line:?}")
            };
            Line {
                address: address.to_owned(),
                event: event.to_owned(),
                boot: boot.to_owned(),
                ms: ms.parse().unwrap(),
                key: key.to_owned(),
            }
        };
        text.lines().map(line).collect()
    }

    /// Rewrites the history: what passes for another time or boot.
    fn change_history(&self, change: impl Fn(&mut Line)) {
        let mut text = String::new();
        for mut line in self.history() {
            change(&mut line);
            let Line {
                address,
                event,
                boot,
                ms,
                key,
            } = line;
            text += &format!("{address} {event} {boot} {ms} {key}\n");
        }
        fs::write(self.data_dir().join(".wipam/n/history"), text).unwrap();
    }

    /// As if so many seconds had passed. Moments before the boot cannot be
    /// written down.
    fn let_pass(&self, seconds: u64) {
        self.change_history(|line| line.ms = line.ms.checked_sub(seconds * 1000).unwrap());
    }

    /// The content of the network's own directory.
    fn directory(&self) -> BTreeMap<String, Vec<u8>> {
        let entries = fs::read_dir(self.data_dir().join("n")).unwrap();
        let file = |entry: fs::DirEntry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(entry.path()).unwrap())
        };
        entries.map(|entry| file(entry.unwrap())).collect()
    }
}

/// Whole seconds since this machine booted.
fn uptime() -> u64 {
    let text = fs::read_to_string("/proc/uptime").unwrap();
    text.split('.').next().unwrap().parse().unwrap()
}

/// In how many seconds the next address can be given.
#[track_caller]
fn wait(run: &Run) -> u64 {
    assert_eq!(run.code(), 11);
    let text = run.out["msg"].as_str().unwrap();
    let (_, rest) = text.split_once("the next can be given in ").unwrap();
    rest.split(' ').next().unwrap().parse().unwrap()
}

/// One address to give, which is cooling for as long as this says.
fn one_address(plugin: &Plugin, cooldown: Value) -> Value {
    plugin.config(json!({ "subnet": "10.1.0.0/30", "cooldown": cooldown }))
}

#[test]
fn what_is_excluded_is_never_given() {
    let plugin = Plugin::new();
    let config =
        plugin.config(json!({ "subnet": "10.1.0.0/29", "exclude": ["10.1.0.2/31", "10.1.0.4"] }));
    assert_eq!(plugin.gives("", "c1", &config), "10.1.0.5");
    assert_eq!(plugin.gives("", "c2", &config), "10.1.0.6");
    let full = plugin.run("ADD", "c3", &config);
    assert_eq!(full.code(), 11);
    full.says("every address is reserved");
}

#[test]
fn what_is_excluded_in_a_range_counts_everywhere() {
    let plugin = Plugin::new();
    let config = plugin.config(json!({ "ranges": [[
        { "subnet": "10.1.0.0/29", "exclude": ["10.1.0.2-10.1.0.5", "10.2.0.2"] },
        { "subnet": "10.2.0.0/29" },
    ]] }));
    let given: Vec<_> = ["a", "b", "c"]
        .map(|id| plugin.gives("", id, &config))
        .into();
    assert_eq!(given, ["10.1.0.6", "10.2.0.3", "10.2.0.4"]);
}

#[test]
fn an_excluded_address_can_be_requested_where_that_is_allowed() {
    let plugin = Plugin::new();
    let mut config =
        plugin.config(json!({ "subnet": "10.1.0.0/29", "exclude": ["10.1.0.4-10.1.0.5"] }));
    let refused = plugin.run_as("IP=10.1.0.4", "ADD", "c1", &config);
    assert_eq!(refused.code(), 7);
    refused
        .says("requested ip 10.1.0.4 is excluded (10.1.0.4-10.1.0.5;")
        .says("requestExcluded");
    assert!(!plugin.has("10.1.0.4"));
    config["ipam"]["requestExcluded"] = json!(true);
    assert_eq!(plugin.gives("IP=10.1.0.4", "c1", &config), "10.1.0.4");
    assert_eq!(plugin.gives("", "c2", &config), "10.1.0.6");
}

#[test]
fn static_addresses_are_for_those_who_request_them() {
    let plugin = Plugin::new();
    let config = plugin.config(json!({ "subnet": "10.1.0.0/29", "static": ["10.1.0.2"] }));
    assert_eq!(plugin.gives("", "dyn", &config), "10.1.0.3");
    assert_eq!(plugin.gives("IP=10.1.0.2", "fixed", &config), "10.1.0.2");
    plugin.del("fixed", &config);
    for (id, wanted) in [("a", "10.1.0.4"), ("b", "10.1.0.5"), ("c", "10.1.0.6")] {
        assert_eq!(plugin.gives("", id, &config), wanted);
    }
    let full = plugin.run("ADD", "d", &config);
    assert_eq!(full.code(), 11);
    assert_eq!(plugin.gives("IP=10.1.0.2", "fixed", &config), "10.1.0.2");
}

#[test]
fn nothing_to_give_is_told_from_everything_given() {
    let plugin = Plugin::new();
    let mut config = plugin.config(json!({
        "subnet": "10.1.0.0/29", "exclude": ["10.1.0.2-10.1.0.4"], "static": ["10.1.0.5/32", "10.1.0.6"]
    }));
    let run = plugin.run("ADD", "c1", &config);
    assert_eq!(run.code(), 11);
    run.says("rangeStart, rangeEnd, exclude and static leave nothing");
    config["cniVersion"] = json!("1.1.0");
    assert_eq!(plugin.run("STATUS", "", &config).code(), 50);
}

#[test]
fn slips_and_contradictions_are_pointed_out() {
    for (settings, wanted) in [
        (
            json!({ "excludes": ["10.1.0.2"] }),
            "ipam.excludes is not read: is exclude meant?",
        ),
        (
            json!({ "staticOnly": ["10.1.0.2"] }),
            "ipam.staticOnly is not read: is static meant?",
        ),
        (
            json!({ "stiky": true }),
            "ipam.stiky is not read: is sticky meant?",
        ),
        (
            json!({ "exclude": ["10.9.0.0/24"] }),
            "exclude: 10.9.0.0-10.9.0.255 is outside of every subnet",
        ),
        (
            json!({ "exclude": ["10.1.0.4/31"], "static": ["10.1.0.5"] }),
            "static: 10.1.0.5-10.1.0.5 is for requests, but exclude has 10.1.0.4-10.1.0.5",
        ),
        (
            json!({ "sticky": { "keepSeconds": 0 } }),
            "sticky.keepSeconds is 0",
        ),
    ] {
        let plugin = Plugin::new();
        let mut config = plugin.small();
        for (name, value) in settings.as_object().unwrap() {
            config["ipam"][name] = value.clone();
        }
        let run = plugin.run("ADD", "c1", &config);
        assert_eq!(run.ok().addresses(), ["10.1.0.2/29"]);
        assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
        assert!(run.stderr.contains(wanted), "{wanted}: {run:?}");
    }
}

#[test]
fn settings_that_cannot_be_used_name_their_field() {
    let plugin = Plugin::new();
    for (name, value, path) in [
        ("exclude", json!("10.1.0.2"), "ipam.exclude"),
        ("exclude", json!(["10.1.0.3/31"]), "ipam.exclude[0]"),
        ("exclude", json!(["10.1.0.5-10.1.0.2"]), "ipam.exclude[0]"),
        ("static", json!(["10.1.0.2", "x"]), "ipam.static[1]"),
        ("strategy", json!("Lowest"), "ipam.strategy"),
        ("requestExcluded", json!("yes"), "ipam.requestExcluded"),
        ("sticky", json!("yes"), "ipam.sticky"),
        ("sticky", json!({ "keep": 5 }), "ipam.sticky.keep"),
        ("sticky", json!({ "key": [] }), "ipam.sticky.key"),
        ("cooldown", json!(-1), "ipam.cooldown"),
        ("cooldown", json!(31_622_401), "ipam.cooldown"),
        ("cooldown", json!({ "second": 5 }), "ipam.cooldown.second"),
        (
            "cooldown",
            json!({ "whenFull": "wait" }),
            "ipam.cooldown.whenFull",
        ),
        ("policy", json!({}), "ipam.policy.component"),
        (
            "policy",
            json!({ "component": "/p", "limits": { "fule": 1 } }),
            "ipam.policy.limits.fule",
        ),
        (
            "policy",
            json!({ "component": "/p", "limits": { "state": 0 } }),
            "ipam.policy.limits.state",
        ),
    ] {
        let mut config = plugin.small();
        config["ipam"][name] = value;
        let run = plugin.run("ADD", "c1", &config);
        assert_eq!(run.code(), 7, "{path}: {run:?}");
        run.says(path);
    }
    assert!(plugin.snapshot().is_empty());
}

#[test]
fn the_lowest_is_given_again_at_once() {
    let plugin = Plugin::new();
    let config = plugin.config(json!({ "subnet": "10.1.0.0/29", "strategy": "lowest" }));
    assert_eq!(plugin.gives("", "a", &config), "10.1.0.2");
    assert_eq!(plugin.gives("", "b", &config), "10.1.0.3");
    plugin.del("a", &config);
    assert_eq!(plugin.gives("", "c", &config), "10.1.0.2");
    assert_eq!(plugin.gives("", "d", &config), "10.1.0.4");
}

#[test]
fn who_asks_is_where_owner_hash_begins() {
    let plugin = Plugin::new();
    let config = plugin.config(json!({ "subnet": "10.1.0.0/16", "strategy": "owner-hash" }));
    let first = plugin.gives("", "a", &config);
    let second = plugin.gives("", "b", &config);
    assert_ne!(first, second);
    for id in ["a", "b"] {
        plugin.del(id, &config);
    }
    assert_eq!(plugin.gives("", "b", &config), second);
    assert_eq!(plugin.gives("", "a", &config), first);
}

#[test]
fn chance_is_asked_for_the_whole_pool() {
    let plugin = Plugin::new();
    let config = plugin.config(json!({ "subnet": "fd00:1::/112", "strategy": "random" }));
    // That all of them lie in one half has a chance of one in 2^30.
    let given: BTreeSet<u16> = (0..32)
        .map(|n| {
            let address = plugin.gives("", &format!("c{n}"), &config);
            u16::from_str_radix(address.rsplit(':').next().unwrap(), 16).unwrap()
        })
        .collect();
    assert_eq!(given.len(), 32);
    assert!(given.iter().any(|low| *low < 0x8000), "{given:?}");
    assert!(given.iter().any(|low| *low >= 0x8000), "{given:?}");

    // The last one is found, however few are left.
    let plugin = Plugin::new();
    let config = plugin.config(json!({ "subnet": "10.1.0.0/28", "strategy": "random" }));
    let given: BTreeSet<_> = (0..13)
        .map(|n| plugin.gives("", &format!("c{n}"), &config))
        .collect();
    assert_eq!(given.len(), 13);
    assert_eq!(plugin.run("ADD", "one-too-many", &config).code(), 11);
}

#[test]
fn a_pod_that_comes_back_has_its_address_again() {
    let plugin = Plugin::new();
    // Without `sticky`, the lowest would go to whoever comes next.
    let config =
        plugin.config(json!({ "subnet": "10.1.0.0/29", "strategy": "lowest", "sticky": true }));
    let db = pod("db-0");
    assert_eq!(plugin.gives(&db, "a", &config), "10.1.0.2");
    plugin.del("a", &config);
    assert_eq!(plugin.gives("", "other", &config), "10.1.0.3");
    assert_eq!(plugin.gives(&pod("db-1"), "db1", &config), "10.1.0.4");
    assert_eq!(plugin.gives(&db, "b", &config), "10.1.0.2");
}

#[test]
fn a_pod_has_an_address_of_each_set_again() {
    let plugin = Plugin::new();
    let config = plugin.config(json!({
        "ranges": [[{ "subnet": "10.1.0.0/29" }], [{ "subnet": "fd00:1::/64" }]],
        "strategy": "lowest", "sticky": true
    }));
    let add = |args: &str, id: &str| plugin.run_as(args, "ADD", id, &config).ok().addresses();
    let both = ["10.1.0.2/29", "fd00:1::2/64"];
    assert_eq!(add(&pod("db-0"), "a"), both);
    plugin.del("a", &config);
    assert_eq!(add("", "other"), ["10.1.0.3/29", "fd00:1::3/64"]);
    // Another interface of the pod is somebody else.
    let mut process = plugin.command("ADD", "b", "eth1");
    process.env("CNI_ARGS", pod("db-0"));
    let run = finish(process, config.to_string().as_bytes());
    assert_eq!(run.ok().addresses(), ["10.1.0.4/29", "fd00:1::4/64"]);
    assert_eq!(add(&pod("db-0"), "c"), both);
}

#[test]
fn sticky_keys_need_no_ignore_unknown() {
    let plugin = Plugin::new();
    let config = plugin.config(json!({
        "subnet": "10.1.0.0/29", "strategy": "lowest", "sticky": { "key": "VM" }
    }));
    assert_eq!(plugin.gives("VM=x", "a", &config), "10.1.0.2");
    plugin.del("a", &config);
    assert_eq!(plugin.gives("VM=y", "b", &config), "10.1.0.3");
    assert_eq!(plugin.gives("VM=x", "c", &config), "10.1.0.2");
    let unknown = plugin.run_as("VM=x;FOO=1", "ADD", "d", &config);
    assert_eq!(unknown.code(), 4);
}

#[test]
fn what_is_kept_is_given_up_rather_than_refused() {
    let plugin = Plugin::new();
    let config = plugin.config(json!({ "subnet": "10.1.0.0/29", "sticky": true }));
    for (id, name) in [("a", "db-0"), ("b", "db-1")] {
        plugin.gives(&pod(name), id, &config);
        plugin.del(id, &config);
    }
    for wanted in ["10.1.0.4", "10.1.0.5", "10.1.0.6"] {
        assert_eq!(plugin.gives("", wanted, &config), wanted);
    }
    // Released longest ago first.
    assert_eq!(plugin.gives("", "c", &config), "10.1.0.2");
    assert_eq!(plugin.gives(&pod("db-1"), "d", &config), "10.1.0.3");
    let full = plugin.run_as(&pod("db-0"), "ADD", "e", &config);
    assert_eq!(full.code(), 11);
}

#[test]
fn an_address_is_kept_for_no_longer_than_is_set() {
    let plugin = Plugin::new();
    let config = plugin.config(json!({
        "subnet": "10.1.0.0/29", "strategy": "lowest", "sticky": { "keepSeconds": 20 }
    }));
    plugin.gives(&pod("db-0"), "a", &config);
    plugin.del("a", &config);
    plugin.let_pass(10);
    assert_eq!(plugin.gives("", "b", &config), "10.1.0.3");
    plugin.let_pass(10);
    assert_eq!(plugin.gives("", "c", &config), "10.1.0.2");
}

#[test]
fn a_late_del_takes_nothing_from_the_new_container_of_a_pod() {
    let plugin = Plugin::new();
    let config = plugin.config(json!({ "subnet": "10.1.0.0/29", "sticky": true }));
    let db = pod("db-0");
    assert_eq!(plugin.gives(&db, "a", &config), "10.1.0.2");
    assert_eq!(plugin.gives(&db, "b", &config), "10.1.0.3");
    plugin.run_as(&db, "DEL", "a", &config).ok();
    assert!(!plugin.has("10.1.0.2") && plugin.has("10.1.0.3"));
    let before = plugin.snapshot();
    plugin.run_as(&db, "DEL", "a", &config).ok();
    assert_eq!(plugin.snapshot(), before);
    // The key has the address of the new one.
    plugin.run_as(&db, "DEL", "b", &config).ok();
    assert_eq!(plugin.gives(&db, "c", &config), "10.1.0.3");
}

#[test]
fn another_address_by_name_is_the_one_that_is_kept_from_then_on() {
    let plugin = Plugin::new();
    let config = plugin.config(json!({
        "subnet": "10.1.0.0/24", "rangeStart": "10.1.0.10", "strategy": "lowest",
        "sticky": { "keepSeconds": 60 }
    }));
    let db = pod("db-0");
    assert_eq!(plugin.gives(&db, "a", &config), "10.1.0.10");
    plugin.del("a", &config);
    let named = format!("{db};IP=10.1.0.20");
    assert_eq!(plugin.gives(&named, "b", &config), "10.1.0.20");
    // The former one is free.
    assert_eq!(plugin.gives("", "other", &config), "10.1.0.10");
    for n in 11..20 {
        let id = format!("c{n}");
        assert_eq!(plugin.gives("", &id, &config), format!("10.1.0.{n}"));
    }
    plugin.del("b", &config);
    let last = plugin.history().pop().unwrap();
    assert_eq!(
        (last.address.as_str(), last.event.as_str()),
        ("10.1.0.20", "left")
    );
    assert_eq!(last.key, "d/db-0@eth0");
    assert_eq!(plugin.gives("", "c20", &config), "10.1.0.21");
    plugin.let_pass(60);
    assert_eq!(plugin.gives("", "c21", &config), "10.1.0.20");
}

#[test]
fn a_released_address_is_refused_until_it_has_cooled() {
    let plugin = Plugin::new();
    let config = plugin.config(json!({
        "subnet": "10.1.0.0/29", "rangeStart": "10.1.0.2", "rangeEnd": "10.1.0.4", "cooldown": 5
    }));
    assert_eq!(plugin.gives("", "a", &config), "10.1.0.2");
    plugin.del("a", &config);
    assert_eq!(plugin.gives("", "b", &config), "10.1.0.3");
    assert_eq!(plugin.gives("", "c", &config), "10.1.0.4");
    let before = plugin.directory();
    let refused = plugin.run("ADD", "d", &config);
    assert!((4..=5).contains(&wait(&refused)), "{refused:?}");
    refused
        .says("no IP addresses available in range set: 10.1.0.2-10.1.0.4")
        .says("1 is cooling")
        .says("every other address is reserved");
    assert_eq!(plugin.directory(), before);
    plugin.let_pass(5);
    assert_eq!(plugin.gives("", "d", &config), "10.1.0.2");
}

#[test]
fn what_has_rested_longest_comes_first() {
    let plugin = Plugin::new();
    let config =
        plugin.config(json!({ "subnet": "10.1.0.0/29", "strategy": "lowest", "cooldown": 5 }));
    for id in ["a", "b", "c", "d", "e"] {
        plugin.gives("", id, &config);
    }
    for id in ["d", "b", "c"] {
        plugin.del(id, &config);
    }
    plugin.let_pass(5);
    let given = ["f", "g", "h"].map(|id| plugin.gives("", id, &config));
    assert_eq!(given, ["10.1.0.5", "10.1.0.3", "10.1.0.4"]);
}

#[test]
fn a_cooling_address_can_be_requested_or_used_where_that_is_allowed() {
    let plugin = Plugin::new();
    let config = one_address(&plugin, json!(true));
    assert_eq!(plugin.gives("", "a", &config), "10.1.0.2");
    plugin.del("a", &config);
    let refused = plugin.run("ADD", "b", &config);
    assert!((149..=150).contains(&wait(&refused)), "{refused:?}");
    assert_eq!(plugin.gives("IP=10.1.0.2", "b", &config), "10.1.0.2");
    plugin.del("b", &config);
    let mut lenient = one_address(&plugin, json!({ "seconds": 60, "whenFull": "use" }));
    lenient["cniVersion"] = json!("1.1.0");
    plugin.run("STATUS", "", &lenient).ok();
    assert_eq!(plugin.gives("", "c", &lenient), "10.1.0.2");
}

#[test]
fn status_tells_of_a_pool_that_is_cooling() {
    let plugin = Plugin::new();
    let mut config = one_address(&plugin, json!(60));
    config["cniVersion"] = json!("1.1.0");
    plugin.run("STATUS", "", &config).ok();
    plugin.gives("", "a", &config);
    plugin.del("a", &config);
    let before = plugin.snapshot();
    let status = plugin.run("STATUS", "", &config);
    assert_eq!(status.code(), 50);
    status.says("is reserved or cooling");
    assert_eq!(plugin.snapshot(), before);
    plugin.let_pass(60);
    plugin.run("STATUS", "", &config).ok();
}

#[test]
fn the_same_pod_need_not_wait() {
    let plugin = Plugin::new();
    let mut config = one_address(&plugin, json!(60));
    config["ipam"]["sticky"] = json!(true);
    plugin.gives(&pod("db-0"), "a", &config);
    plugin.del("a", &config);
    let other = plugin.run_as(&pod("db-1"), "ADD", "b", &config);
    assert!(wait(&other) > 50);
    assert_eq!(plugin.gives(&pod("db-0"), "c", &config), "10.1.0.2");
}

#[test]
fn a_cooldown_survives_processes_and_is_never_longer_than_its_length() {
    let plugin = Plugin::new();
    let config = one_address(&plugin, json!(60));
    plugin.gives("", "a", &config);
    plugin.del("a", &config);
    let rest = wait(&plugin.run("ADD", "b", &config));
    assert!((55..=60).contains(&rest), "{rest}");

    // The clock of boot is what counts, and the moment is of this boot.
    let line = plugin.history().pop().unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    assert_eq!(line.boot, boot.replace('-', "")[..16]);
    assert!(line.ms.abs_diff(uptime() * 1000) < 60_000, "{line:?}");

    // Somebody set it back: a moment that is still to come.
    plugin.change_history(|line| line.ms += 3_600_000);
    assert_eq!(wait(&plugin.run("ADD", "b", &config)), 60);
    plugin.change_history(|line| line.ms -= 3_600_000 + 40_000);
    let rest = wait(&plugin.run("ADD", "b", &config));
    assert!((1..=20).contains(&rest), "{rest}");
    plugin.let_pass(rest);
    assert_eq!(plugin.gives("", "b", &config), "10.1.0.2");
}

#[test]
fn what_another_boot_released_counts_as_released_when_this_one_began() {
    let plugin = Plugin::new();
    // Longer than this machine has run.
    let length = uptime() + 1000;
    let config = one_address(&plugin, json!(length));
    plugin.gives("", "a", &config);
    plugin.del("a", &config);
    for ms in [0, 5, u64::MAX] {
        plugin.change_history(|line| {
            line.boot = "0123456789abcdef".to_owned();
            line.ms = ms;
        });
        let rest = wait(&plugin.run("ADD", "b", &config));
        assert!((900..=1000).contains(&rest), "{rest}");
    }
    let shorter = one_address(&plugin, json!(uptime()));
    assert_eq!(plugin.gives("", "b", &shorter), "10.1.0.2");
}

#[test]
fn the_wall_clock_is_not_asked() {
    // What the files seem to be from does not count.
    for time in [
        SystemTime::UNIX_EPOCH,
        SystemTime::now() + Duration::from_secs(1 << 30),
    ] {
        let plugin = Plugin::new();
        let config = one_address(&plugin, json!(60));
        plugin.gives("", "a", &config);
        plugin.del("a", &config);
        for path in [".wipam/n/history", ".wipam/n", ".wipam", "n/lock", "n"] {
            let file = File::open(plugin.data_dir().join(path)).unwrap();
            file.set_modified(time).unwrap();
        }
        let rest = wait(&plugin.run("ADD", "b", &config));
        assert!((50..=60).contains(&rest), "{rest}");
    }
}

#[test]
fn a_release_is_remembered_whatever_is_wrong_with_the_configuration() {
    type Spoil = fn(&mut Value);
    let spoil: [(&str, Spoil); 5] = [
        ("no cooldown", |config| {
            drop(config["ipam"].as_object_mut().unwrap().remove("cooldown"));
        }),
        ("an unusable cooldown", |config| {
            config["ipam"]["cooldown"] = json!("long");
        }),
        ("no range", |config| {
            drop(config["ipam"].as_object_mut().unwrap().remove("subnet"));
        }),
        ("an unknown version", |config| {
            config["cniVersion"] = json!("9.9.9");
        }),
        ("a policy that is none", |config| {
            config["ipam"]["policy"] = json!(5);
        }),
    ];
    for (what, spoil) in spoil {
        let plugin = Plugin::new();
        let config = one_address(&plugin, json!(60));
        plugin.gives("", "a", &config);
        let mut broken = config.clone();
        spoil(&mut broken);
        plugin.run("DEL", "a", &broken).ok();
        assert!(!plugin.has("10.1.0.2"));
        assert_eq!(plugin.history().len(), 1, "{what}");
        assert!(wait(&plugin.run("ADD", "b", &config)) > 50, "{what}");
    }
}

#[test]
fn what_gc_releases_is_cooling() {
    let plugin = Plugin::new();
    let mut config = one_address(&plugin, json!(60));
    config["cniVersion"] = json!("1.1.0");
    config["cni.dev/valid-attachments"] = json!([]);
    plugin.gives("", "a", &config);
    plugin.run("GC", "", &config).ok();
    assert!(!plugin.has("10.1.0.2"));
    assert!(wait(&plugin.run("ADD", "b", &config)) > 50);
}

#[test]
fn without_its_folder_nothing_is_remembered_and_every_answer_is_right() {
    let plugin = Plugin::new();
    let mut config = plugin.config(json!({
        "subnet": "10.1.0.0/29", "rangeEnd": "10.1.0.3", "sticky": true, "cooldown": 60
    }));
    assert_eq!(plugin.gives(&pod("db-0"), "a", &config), "10.1.0.2");
    assert_eq!(plugin.gives("", "b", &config), "10.1.0.3");
    fs::remove_dir_all(plugin.data_dir().join(".wipam")).unwrap();
    // What is reserved stays so.
    let full = plugin.run("ADD", "c", &config);
    assert_eq!(full.code(), 11);
    full.says("every address is reserved");
    plugin.del("a", &config);
    assert_eq!(plugin.gives("", "c", &config), "10.1.0.2");
    plugin.del("c", &config);
    assert!(wait(&plugin.run("ADD", "d", &config)) > 50);

    // Where it cannot be made, likewise.
    fs::remove_dir_all(plugin.data_dir().join(".wipam")).unwrap();
    fs::write(plugin.data_dir().join(".wipam"), "in the way").unwrap();
    assert_eq!(plugin.gives(&pod("db-0"), "d", &config), "10.1.0.2");
    plugin.del("d", &config);
    config["ipam"]["sync"] = json!(true);
    assert_eq!(plugin.gives("", "e", &config), "10.1.0.2");
}

#[test]
fn a_history_that_is_damaged_costs_no_more_than_memory() {
    for damage in [
        &b""[..],
        b"\0\xff\xfe",
        b"10.1.0.2 left",
        b"10.1.0.2 left x 5 -\n",
    ] {
        let plugin = Plugin::new();
        let config = one_address(&plugin, json!(60));
        plugin.gives("", "a", &config);
        plugin.del("a", &config);
        fs::write(plugin.data_dir().join(".wipam/n/history"), damage).unwrap();
        assert_eq!(plugin.gives("", "b", &config), "10.1.0.2");
        plugin.del("b", &config);
        assert!(wait(&plugin.run("ADD", "c", &config)) > 50);
    }
}

#[test]
fn the_files_that_go_plugins_know_are_what_they_would_be_without() {
    let with = |settings: Value| {
        let plugin = Plugin::new();
        let mut config = plugin.config(json!({ "subnet": "10.1.0.0/24" }));
        for (name, value) in settings.as_object().unwrap() {
            config["ipam"][name] = value.clone();
        }
        let mut given = Vec::new();
        for (n, id) in ["a", "b", "c"].iter().enumerate() {
            given.push(plugin.gives(&pod(&format!("p{n}")), id, &config));
        }
        plugin.del("b", &config);
        given.push(plugin.gives(&pod("q"), "d", &config));
        given.push(plugin.gives(&format!("{};IP=10.1.0.9", pod("r")), "e", &config));
        assert_eq!(plugin.run("ADD", "a", &config).code(), 999);
        plugin.del("a", &config);
        config["cniVersion"] = json!("1.1.0");
        config["cni.dev/valid-attachments"] = json!([{ "containerID": "d", "ifname": "eth0" }]);
        plugin.run("GC", "", &config).ok();
        (given, plugin.directory(), plugin)
    };
    let (given, directory, plain) = with(json!({}));
    assert!(!plain.data_dir().join(".wipam").exists());
    for settings in [
        json!({ "sticky": true }),
        json!({ "cooldown": 60 }),
        json!({ "sticky": { "keepSeconds": 5 }, "cooldown": { "whenFull": "use" },
                "exclude": ["10.1.0.100/30"], "static": ["10.1.0.200"], "requestExcluded": true }),
    ] {
        let (same, files, _plugin) = with(settings.clone());
        assert_eq!(same, given, "{settings}");
        assert_eq!(files, directory, "{settings}");
    }
}

#[test]
fn a_failed_add_is_not_remembered() {
    let plugin = Plugin::new();
    // The second set is full, so what was taken of the first one goes back.
    let config = plugin.config(json!({
        "ranges": [[{ "subnet": "10.1.0.0/30" }], [{ "subnet": "10.2.0.0/30" }]],
        "sticky": true, "cooldown": 60
    }));
    plugin.put("10.2.0.2", "somebody\r\neth0");
    let failed = plugin.run_as(&pod("db-0"), "ADD", "a", &config);
    assert_eq!(failed.code(), 11);
    assert!(plugin.history().is_empty());
    plugin.run("DEL", "somebody", &config).ok();
    let other = plugin.run("ADD", "b", &config);
    assert_eq!(other.code(), 11);
    other.says("range 1").says("1 is cooling");
    // It is the other's that is cooling, and what was never used is not.
    let only = plugin.config(json!({ "subnet": "10.1.0.0/30", "cooldown": 60 }));
    assert_eq!(plugin.gives("", "c", &only), "10.1.0.2");
}
