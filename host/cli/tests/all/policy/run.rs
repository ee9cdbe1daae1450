//! Dry runs: as the real ones would be, and without a trace.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use super::place::{Place, answer, policy, with_input};
use crate::guest::{self, NEXT_FREE, YOU_DECIDE};

fn pod(name: &str) -> String {
    format!("IgnoreUnknown=1;K8S_POD_NAMESPACE=d;K8S_POD_NAME={name}")
}

impl Place {
    fn conf(&self, config: &Value) -> PathBuf {
        self.file("n.conf", config.to_string())
    }

    /// A dry run, and what each of its steps came to. Nothing may have changed.
    #[track_caller]
    fn dry(&self, config: &Value, arguments: &[&str]) -> Vec<Value> {
        let is_there = self.path("d").exists();
        let before = is_there.then(|| self.snapshot());
        let conf = self.conf(config);
        let ran = with_input(
            Command::new(env!("CARGO_BIN_EXE_wipam"))
                .args(["policy", "run", "--json"])
                .arg(conf)
                .args(arguments),
            b"",
        );
        let reports = ran.ok().json();
        assert_eq!(self.path("d").exists(), is_there);
        assert_eq!(is_there.then(|| self.snapshot()), before);
        assert!(!self.path("cache").exists() || config["ipam"].get("policy").is_some());
        reports.as_array().unwrap().clone()
    }

    #[track_caller]
    fn dry_addresses(&self, config: &Value, arguments: &[&str]) -> Vec<Result<String, u64>> {
        let reports = self.dry(config, arguments);
        reports.iter().map(|r| answer(&r["answer"])).collect()
    }

    /// Ten ADDs dry, and then for real: the same answers.
    #[track_caller]
    fn same_as_real(&self, config: &Value, args: &str) {
        let dry = self.dry_addresses(
            config,
            &["--count", "10", "--container", "c", "--args", args],
        );
        let real: Vec<_> = (1..=10)
            .map(|n| self.add(&format!("c-{n}"), args, config))
            .collect();
        assert_eq!(dry, real, "{config}");
        // Some succeed and some do not, or nothing is shown by this.
        assert!(real.iter().any(Result::is_ok) && real.iter().any(Result::is_err));
    }
}

fn notes(report: &Value) -> Vec<&str> {
    let notes = report["notes"].as_array().unwrap();
    notes.iter().map(|note| note.as_str().unwrap()).collect()
}

#[test]
fn ten_dry_runs_are_answered_as_ten_real_ones() {
    for settings in [
        json!({}),
        json!({ "strategy": "lowest" }),
        json!({ "strategy": "owner-hash" }),
        json!({ "exclude": ["10.1.0.4-10.1.0.6"], "static": ["10.2.0.3"] }),
        json!({ "cooldown": 3600 }),
        json!({ "cooldown": { "seconds": 3600, "whenFull": "use" } }),
        json!({ "sticky": true, "strategy": "lowest" }),
        json!({ "sticky": true, "cooldown": 3600, "strategy": "owner-hash" }),
    ] {
        let place = Place::new();
        let mut ipam =
            json!({ "ranges": [[{ "subnet": "10.1.0.0/29" }, { "subnet": "10.2.0.0/29" }]] });
        for (name, value) in settings.as_object().unwrap() {
            ipam[name] = value.clone();
        }
        let config = place.config(ipam);
        for (id, args) in [
            ("old1", pod("db-0")),
            ("old2", pod("db-1")),
            ("old3", String::new()),
        ] {
            place.add(id, &args, &config).unwrap();
        }
        place.plugin("DEL", "old1", "", &config).ok();
        place.plugin("DEL", "old2", "", &config).ok();
        place.same_as_real(&config, &pod("db-1"));
    }
}

#[test]
fn ten_dry_runs_with_a_policy_are_answered_as_ten_real_ones() {
    let place = Place::new();
    let next = place.file("next.wasm", guest::policy(NEXT_FREE));
    let mut config = place.with_policy(
        json!({ "subnet": "10.1.0.0/24", "rangeEnd": "10.1.0.56", "exclude": ["10.1.0.52"] }),
        next,
    );
    // It goes on at .50, and answers nothing after .56: a fault.
    place.add("old", "IP=10.1.0.51", &config).unwrap();
    place.same_as_real(&config, "");
    config["ipam"]["policy"]["onFailure"] = json!("built-in");
    let dry = place.dry(&config, &[]);
    assert_eq!(answer(&dry[0]["answer"]), Ok("10.1.0.2/24".to_owned()));
    let warning = dry[0]["warnings"][0].as_str().unwrap();
    assert!(
        warning.ends_with("; the built-in strategy chooses (round-robin)"),
        "{warning}"
    );
}

#[test]
fn every_address_that_was_skipped_has_a_reason() {
    let place = Place::new();
    let mut config = place.config(json!({
        "subnet": "10.1.0.0/28", "strategy": "lowest", "sticky": true,
        "exclude": ["10.1.0.2"], "static": ["10.1.0.3"]
    }));
    place.add("old", "", &config).unwrap();
    place.add("gone", &pod("db-0"), &config).unwrap();
    place.plugin("DEL", "gone", "", &config).ok();
    fs::create_dir(place.path("d/n/10.1.0.6")).unwrap();
    let report = place.dry(&config, &[]).remove(0);
    assert_eq!(answer(&report["answer"]), Ok("10.1.0.7/28".to_owned()));
    let found = notes(&report);
    for wanted in [
        "10.1.0.1: the gateway",
        "10.1.0.2: excluded",
        "10.1.0.3: static, for requests only",
        "10.1.0.4: held by container old, interface eth0",
        "10.1.0.6: a file that is no record has its name",
    ] {
        assert!(found.contains(&wanted), "{wanted}: {found:?}");
    }
    let kept = found.iter().find(|note| note.starts_with("10.1.0.5: "));
    assert!(
        kept.unwrap().contains("kept for d/db-0@eth0 for another 3"),
        "{found:?}"
    );
    // Who had it gets it.
    let report = place.dry(&config, &["--args", &pod("db-0")]).remove(0);
    assert_eq!(answer(&report["answer"]), Ok("10.1.0.5/28".to_owned()));
    assert!(notes(&report).contains(&"10.1.0.5: the last one it had"));

    config["ipam"]["sticky"] = Value::Null;
    config["ipam"]["cooldown"] = json!(600);
    let report = place.dry(&config, &[]).remove(0);
    let found = notes(&report);
    assert!(
        found
            .iter()
            .any(|note| note.starts_with("10.1.0.5: cooling for another ")),
        "{found:?}"
    );
}

#[test]
fn people_get_lines() {
    let place = Place::new();
    let config = place.config(json!({ "subnet": "10.1.0.0/30", "excludes": [] }));
    let conf = place.conf(&config);
    let ran = policy(&[&"run", &conf, &"--count", &"2", &"--container", &"web"]);
    for line in [
        "1. ADD web-1 eth0: 10.1.0.2/30, gateway 10.1.0.1\n",
        "     10.1.0.1: the gateway\n",
        "     warning: ipam.excludes is not read: is exclude meant?\n",
        "2. ADD web-2 eth0: error 11: failed to allocate for range 0: ",
        "     10.1.0.2: held by container web-1, interface eth0\n",
        "nothing was written\n",
    ] {
        ran.ok().says(line);
    }
    assert!(!place.path("d").exists());
}

#[test]
fn releases_are_tried_as_well() {
    let place = Place::new();
    let mut config = place.config(json!({ "subnet": "10.1.0.0/29" }));
    for id in ["c-1", "c-2", "c-3"] {
        place.add(id, "", &config).unwrap();
    }
    let dry = place.dry(
        &config,
        &["--command", "del", "--count", "4", "--container", "c"],
    );
    for report in &dry {
        assert_eq!(report["command"], "DEL");
        assert_eq!(
            (&report["answer"], &report["failed"]),
            (&json!(null), &json!(false))
        );
    }
    config["cni.dev/valid-attachments"] = json!([{ "containerID": "c-2", "ifname": "eth0" }]);
    let report = place.dry(&config, &["--command", "GC"]).remove(0);
    assert_eq!(
        report["warnings"],
        json!([
            "network n: released 10.1.0.2 of container c-1, interface eth0",
            "network n: released 10.1.0.4 of container c-3, interface eth0"
        ])
    );
    config["cni.dev/valid-attachments"] = Value::Null;
    let report = place.dry(&config, &["--command", "gc"]).remove(0);
    assert_eq!(report["answer"]["code"], 7);
    assert_eq!(report["failed"], true);
}

#[test]
fn a_policy_is_told_of_releases_and_its_words_are_shown() {
    let place = Place::new();
    let words = "(i32.store (i32.const 512) (i32.const 0x20657962))
        (call $log (i32.const 512) (i32.const 3))";
    let told = place.file(
        "told.wasm",
        guest::policy_with_releases(&format!("{words} {YOU_DECIDE}"), words),
    );
    let mut config = place.with_policy(json!({ "subnet": "10.1.0.0/29" }), &told);
    place
        .add("c1", "", &place.config(json!({ "subnet": "10.1.0.0/29" })))
        .unwrap();
    config["cni.dev/valid-attachments"] = json!([]);
    for command in ["del", "gc", "add"] {
        let report = place
            .dry(&config, &["--command", command, "--container", "c1"])
            .remove(0);
        assert_eq!(report["failed"], json!(command == "add"), "{report}");
        assert_eq!(
            notes(&report).contains(&"the policy says: bye"),
            command != "add",
            "{report}"
        );
    }
    let report = place.dry(&config, &[]).remove(0);
    let found = notes(&report);
    assert!(found.contains(&"the policy says: bye"), "{found:?}");
    assert!(
        found
            .iter()
            .any(|note| note.contains(" leaves the choice to the built-in strategy")),
        "{found:?}"
    );
}

#[test]
fn status_and_check_are_tried_as_well() {
    let place = Place::new();
    let mut config = place.config(json!({ "subnet": "10.1.0.0/30" }));
    let status = |config: &Value| place.dry(config, &["--command", "status"]).remove(0);
    assert_eq!(status(&config)["failed"], false);
    let given = place.plugin("ADD", "c1", "", &config).json();
    assert_eq!(status(&config)["answer"]["code"], 50);
    config["prevResult"] = given;
    for (container, failed) in [("c1", false), ("c2", true)] {
        let report = place
            .dry(&config, &["--command", "check", "--container", container])
            .remove(0);
        assert_eq!(report["failed"], failed, "{report}");
    }
}

#[test]
fn a_policy_on_the_command_line_takes_the_place_of_the_configurations() {
    let place = Place::new();
    let next = place.file("next.wasm", guest::policy(NEXT_FREE));
    let next = next.to_str().unwrap();
    let config = place.config(json!({ "subnet": "10.1.0.0/24" }));
    let found = place.dry_addresses(&config, &["--policy", next, "--count", "2"]);
    assert_eq!(
        found,
        [Ok("10.1.0.50/24".to_owned()), Ok("10.1.0.51/24".to_owned())]
    );
    // Its other settings stay.
    let mut config = place.with_policy(json!({ "subnet": "10.1.0.0/24" }), "/none");
    assert_eq!(place.dry_addresses(&config, &[]), [Err(103)]);
    let found = place.dry_addresses(&config, &["--policy", next]);
    assert_eq!(found, [Ok("10.1.0.50/24".to_owned())]);
    config["ipam"]["policy"]["limits"] = json!({ "fuel": 10 });
    let report = place.dry(&config, &["--policy", next]).remove(0);
    let text = report["answer"]["msg"].as_str().unwrap();
    assert!(text.contains("exceeded its limit of 10 units"), "{text}");
    // The path is that of whoever types it.
    let ran = with_input(
        Command::new(env!("CARGO_BIN_EXE_wipam"))
            .args(["policy", "run", "n.conf", "--policy", "next.wasm"])
            .current_dir(place.path("")),
        b"",
    );
    ran.ok().says("exceeded its limit of 10 units");
    let conf = place.conf(&config);
    policy(&[&"run", &conf, &"--policy", &"none.wasm"]).fails("none.wasm: No such file");
    let bare = place.file("bare.conf", r#"{ "name": "n" }"#);
    policy(&[&"run", &bare, &"--policy", &next]).fails("there is no ipam to try a policy in");
}

#[test]
fn a_copy_of_the_store_will_do() {
    let place = Place::new();
    let elsewhere = Place::new();
    let settings = json!({ "subnet": "10.1.0.0/29", "sticky": true, "strategy": "lowest" });
    let config = elsewhere.config(settings.clone());
    elsewhere.add("a", &pod("db-0"), &config).unwrap();
    elsewhere.add("b", "", &config).unwrap();
    elsewhere.plugin("DEL", "a", "", &config).ok();
    let copied = Command::new("cp")
        .arg("-r")
        .args([elsewhere.path("d"), place.path("copy")])
        .status();
    assert!(copied.unwrap().success());
    drop(elsewhere);

    let config = place.config(settings);
    let copy = place.path("copy");
    let copy = copy.to_str().unwrap();
    let on_copy = |args: &str| place.dry_addresses(&config, &["--store", copy, "--args", args]);
    assert_eq!(on_copy(""), [Ok("10.1.0.4/29".to_owned())]);
    assert_eq!(on_copy(&pod("db-0")), [Ok("10.1.0.2/29".to_owned())]);
    assert_eq!(
        place.dry_addresses(&config, &[]),
        [Ok("10.1.0.2/29".to_owned())]
    );
    place.add("c", "", &config).unwrap();
    assert_eq!(
        place.dry_addresses(&config, &["--empty"]),
        [Ok("10.1.0.2/29".to_owned())]
    );
    let conf = place.conf(&config);
    policy(&[&"run", &conf, &"--store", &place.path("none")]).fails("none: No such file");
    let both = policy(&[&"run", &conf, &"--store", &copy, &"--empty"]);
    assert_eq!(both.status, Some(2));
}

#[test]
fn equal_seeds_give_equal_answers() {
    let place = Place::new();
    let config = place.config(json!({ "subnet": "10.0.0.0/8", "strategy": "random" }));
    let run = |seed: &str| place.dry_addresses(&config, &["--seed", seed, "--count", "5"]);
    assert_eq!(run("7"), run("7"));
    assert_ne!(run("7"), run("99"));
}

#[test]
fn a_policy_is_given_time_and_seed_of_the_command_line() {
    let place = Place::new();
    let picky = guest::policy(&format!(
        "(if (i64.ne (i64.load offset=104 (local.get $request)) (i64.const 1700000000000))
            (then (unreachable)))
         (if (i64.ne (i64.load offset=112 (local.get $request)) (i64.const 42))
            (then (unreachable)))
         {YOU_DECIDE}"
    ));
    let picky = place.file("picky.wasm", picky);
    let config = place.with_policy(json!({ "subnet": "10.1.0.0/24" }), picky);
    let run = |seed: &str, count: &str| {
        place.dry_addresses(
            &config,
            &["--time", "1700000000000", "--seed", seed, "--count", count],
        )
    };
    assert_eq!(run("42", "1"), [Ok("10.1.0.2/24".to_owned())]);
    // Each run has the next one.
    assert_eq!(run("41", "2"), [Err(103), Ok("10.1.0.2/24".to_owned())]);
}

#[test]
fn what_a_policy_remembers_lasts_for_the_run_and_no_longer() {
    let place = Place::new();
    // It refuses whom it has seen.
    let once = guest::policy_with(
        r#"(data (i32.const 512) "once")"#,
        &format!(
            "(call $get (i32.const 512) (i32.const 1) (i32.const 2048))
             (if (i32.load8_u (i32.const 2048)) (then (unreachable)))
             (call $set (i32.const 512) (i32.const 1) (i32.const 512) (i32.const 1)
                (i32.const 2048))
             {YOU_DECIDE}"
        ),
    );
    let once = place.file("once.wasm", once);
    let config = place.with_policy(json!({ "subnet": "10.1.0.0/24" }), once);
    for _ in 0..2 {
        let found = place.dry_addresses(&config, &["--count", "2"]);
        assert_eq!(found, [Ok("10.1.0.2/24".to_owned()), Err(103)]);
    }
    place.add("c1", "", &config).unwrap();
    assert_eq!(place.dry_addresses(&config, &[]), [Err(103)]);
}

#[test]
fn name_servers_are_read_as_the_plugin_reads_them() {
    let place = Place::new();
    let pipe = place.path("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let mut long = b"nameserver 192.0.2.1\nsearch \xff\n".to_vec();
    let short = place.file("short", &long);
    long.resize((1 << 20) + 1, b'#');
    let files = [
        (short, Ok("10.1.0.2/29".to_owned())),
        (place.file("long", long), Err(5)),
        ("/dev/null".into(), Ok("10.1.0.2/29".to_owned())),
        ("/dev/zero".into(), Err(5)),
        (place.path("none"), Err(5)),
        (pipe, Err(5)),
    ];
    for (path, wanted) in files {
        let config = place.config(json!({ "subnet": "10.1.0.0/29", "resolvConf": path }));
        let dry = place.dry(&config, &[]).remove(0);
        let real = place.plugin("ADD", "dry-run", "", &config).json();
        assert_eq!(dry["answer"], real, "{path:?}");
        assert_eq!(answer(&real), wanted, "{path:?}");
        place.plugin("DEL", "dry-run", "", &config).ok();
        let _ = fs::remove_file(place.path("d/n/last_reserved_ip.0"));
    }
}

#[test]
fn configurations_that_cannot_be_read_are_told() {
    let place = Place::new();
    policy(&[&"run", &place.path("none.conf")]).fails("none.conf: No such file");
    let text = place.file("text.conf", "name: n");
    policy(&[&"run", &text]).fails("");
    let nameless = place.file("nameless.conf", "{}");
    policy(&[&"run", &nameless]).fails("missing network name");
    // What the plugin itself would say is an answer like any other.
    let config = place.config(json!({}));
    let report = place.dry(&config, &[]).remove(0);
    assert_eq!(report["answer"]["code"], 7);
}
