//! What users of such plugins suffered from, each as the kind of fault it is.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::plugin::{Plugin, finish, start};

#[test]
fn del_releases_whatever_else_is_wrong() {
    let plugin = Plugin::new();
    let good = plugin.small();
    type Spoil = fn(&mut Value);
    let spoil: [(&str, Spoil); 8] = [
        ("another range", |c| {
            c["ipam"]["subnet"] = json!("10.9.0.0/24")
        }),
        ("no range", |c| {
            drop(c["ipam"].as_object_mut().unwrap().remove("subnet"))
        }),
        ("a bad route", |c| {
            c["ipam"]["routes"] = json!([{ "dst": "x" }])
        }),
        ("a bad request", |c| {
            c["runtimeConfig"] = json!({ "ips": [null, 5] })
        }),
        ("an unknown version", |c| c["cniVersion"] = json!("9.9.9")),
        ("a version of no type", |c| c["cniVersion"] = json!(1.0)),
        ("a missing resolv.conf", |c| {
            c["ipam"]["resolvConf"] = json!("/none")
        }),
        ("bad settings", |c| {
            c["ipam"]["lockWaitSeconds"] = json!("x")
        }),
    ];
    for (what, spoil) in spoil {
        plugin.run("ADD", "c1", &good).ok();
        let mut bad = good.clone();
        spoil(&mut bad);
        let run = plugin.run("DEL", "c1", &bad);
        run.ok();
        let quiet = matches!(what, "another range" | "a missing resolv.conf");
        assert_eq!(run.stderr.is_empty(), quiet, "{what}: {run:?}");
        let left: Vec<_> = (2..7)
            .filter(|n| plugin.has(&format!("10.1.0.{n}")))
            .collect();
        assert!(left.is_empty(), "{what}: {left:?} left");
    }
    for (variable, value) in [
        ("CNI_ARGS", "FOO=bar;;"),
        ("CNI_NETNS", ""),
        ("CNI_PATH", ""),
    ] {
        plugin.run("ADD", "c1", &good).ok();
        let mut process = plugin.command("DEL", "c1", "eth0");
        process.env(variable, value);
        finish(process, good.to_string().as_bytes()).ok();
        assert!(
            (2..7).all(|n| !plugin.has(&format!("10.1.0.{n}"))),
            "{variable}"
        );
    }
}

#[test]
fn del_makes_nothing() {
    let plugin = Plugin::new();
    plugin.run("DEL", "c1", &plugin.small()).ok();
    assert!(plugin.snapshot().is_empty());
}

#[test]
fn a_repeated_add_says_what_is_held_or_returns_it() {
    let plugin = Plugin::new();
    let mut config = plugin.small();
    plugin.run("ADD", "c1", &config).ok();
    let again = plugin.run("ADD", "c1", &config);
    assert_eq!(again.code(), 999);
    again.says("10.1.0.2").says("c1").says("eth0");
    assert_eq!(again.out["details"], "network n");
    config["ipam"]["repeatedAdd"] = json!("return");
    assert_eq!(
        plugin.run("ADD", "c1", &config).ok().addresses(),
        ["10.1.0.2/29"]
    );
    assert!(!plugin.has("10.1.0.3"));
}

#[test]
fn a_taken_address_names_its_owner() {
    let plugin = Plugin::new();
    plugin.run("ADD", "web", &plugin.small()).ok();
    let mut config = plugin.small();
    config["runtimeConfig"] = json!({ "ips": ["10.1.0.2"] });
    let run = plugin.run("ADD", "db", &config);
    assert_eq!(run.code(), 11);
    run.says("held by container web, interface eth0");
}

#[test]
fn full_pools_answer_at_once() {
    let plugin = Plugin::new();
    let config = plugin.config(json!({
        "ranges": [[{ "subnet": "10.1.0.0/30" }, { "subnet": "10.2.0.0/30" }]]
    }));
    plugin.put("10.1.0.2", "a");
    plugin.put("10.2.0.2", "b");
    for marker in ["10.1.0.1", "10.1.0.2", "10.2.0.1", "10.2.0.2"] {
        plugin.put("last_reserved_ip.0", marker);
        let begin = Instant::now();
        assert_eq!(plugin.run("ADD", "c", &config).code(), 11);
        assert!(begin.elapsed() < Duration::from_secs(10));
    }
}

#[test]
fn huge_pools_cost_no_more_than_small_ones() {
    let plugin = Plugin::new();
    for (subnet, wanted) in [
        ("::/0", "::2/0"),
        ("0.0.0.0/0", "0.0.0.2/0"),
        ("fd00:1::/64", "fd00:1::2/64"),
    ] {
        let run = plugin.run("ADD", "c1", &plugin.config(json!({ "subnet": subnet })));
        assert_eq!(run.ok().addresses(), [wanted]);
    }
    let upper = plugin
        .config(json!({ "subnet": "fd00:2::/64", "rangeStart": "fd00:2::ffff:ffff:ffff:fffe" }));
    for (id, wanted) in [("a", "fffe"), ("b", "ffff")] {
        let run = plugin.run("ADD", id, &upper);
        assert_eq!(
            run.ok().addresses(),
            [format!("fd00:2::ffff:ffff:ffff:{wanted}/64")]
        );
    }
    assert_eq!(plugin.run("ADD", "c", &upper).code(), 11);
    plugin.run("DEL", "a", &upper).ok();
    plugin.run("ADD", "c", &upper).ok();
}

#[test]
fn subnets_without_room_for_a_network() {
    let plugin = Plugin::new();
    let pair = plugin.config(json!({ "subnet": "10.1.0.0/31" }));
    assert_eq!(
        plugin.run("ADD", "a", &pair).ok().addresses(),
        ["10.1.0.0/31"]
    );
    let second = plugin.run("ADD", "b", &pair);
    assert_eq!(second.ok().addresses(), ["10.1.0.1/31"]);
    assert_eq!(second.out["ips"][0].get("gateway"), None);
    let with_gateway = plugin.config(json!({ "subnet": "10.2.0.0/31", "gateway": "10.2.0.0" }));
    assert_eq!(
        plugin.run("ADD", "c", &with_gateway).ok().addresses(),
        ["10.2.0.1/31"]
    );
    for (subnet, wanted) in [
        ("10.1.0.7/32", "10.1.0.7/32"),
        ("fd00:1::7/128", "fd00:1::7/128"),
    ] {
        let run = plugin.run("ADD", "d", &plugin.config(json!({ "subnet": subnet })));
        assert_eq!(run.ok().addresses(), [wanted]);
        assert_eq!(run.out["ips"][0].get("gateway"), None);
    }
}

#[test]
fn ranges_that_can_give_nothing_say_so() {
    let plugin = Plugin::new();
    let last = "255.255.255.255";
    let run = plugin.run("ADD", "c1", &plugin.config(
        json!({ "ranges": [[{ "subnet": "255.255.255.252/30", "rangeStart": last, "gateway": last }]] }),
    ));
    assert_eq!(run.code(), 7);
    run.says("rangeStart");
    let last = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";
    let run = plugin.run("ADD", "c1", &plugin.config(json!({ "ranges": [[{
        "subnet": "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffc/126", "rangeStart": last, "gateway": last,
    }]] })));
    run.code();
    run.says("rangeStart");
}

#[test]
fn a_gateway_out_of_reach_is_refused() {
    let plugin = Plugin::new();
    for gateway in ["192.168.9.1", "fd00::1"] {
        let mut config = plugin.config(json!({ "subnet": "10.1.0.0/24", "gateway": gateway }));
        let run = plugin.run("ADD", "c1", &config);
        assert_eq!(run.code(), 7);
        run.says(gateway).says("10.1.0.0/24");
        config["ipam"]["gatewayOnLink"] = json!(true);
        let run = plugin.run("ADD", "c1", &config);
        assert_eq!(
            run.status,
            Some(i32::from(gateway.contains(':'))),
            "{run:?}"
        );
    }
}

#[test]
fn dual_stack_is_all_or_nothing() {
    let plugin = Plugin::new();
    plugin.put("fd00::2", "x");
    plugin.put("fd00::3", "y");
    let config = plugin.config(json!({
        "ranges": [[{ "subnet": "10.1.0.0/29" }], [{ "subnet": "fd00::/126" }]]
    }));
    assert_eq!(plugin.run("ADD", "c1", &config).code(), 11);
    assert!(!plugin.has("10.1.0.2"));
    assert!(!plugin.has("last_reserved_ip.0"));
}

#[test]
fn foreign_files_are_left_alone() {
    let plugin = Plugin::new();
    let mut config = plugin.small();
    plugin.put("10.1.0.2.bak", "hi");
    plugin.put(".nfs000", "");
    plugin.put("10.1.0.4", "binary\0");
    fs::create_dir(plugin.file("10.1.0.3")).unwrap();
    assert_eq!(
        plugin.run("ADD", "c1", &config).ok().addresses(),
        ["10.1.0.2/29"]
    );
    assert_eq!(
        plugin.run("ADD", "c2", &config).ok().addresses(),
        ["10.1.0.5/29"]
    );
    config["cniVersion"] = json!("1.1.0");
    config["cni.dev/valid-attachments"] = json!([]);
    let run = plugin.run("GC", "", &config);
    run.ok();
    assert!(run.stderr.contains("10.1.0.5 of container c2"), "{run:?}");
    for name in [
        "10.1.0.2.bak",
        ".nfs000",
        "10.1.0.3",
        "10.1.0.4",
        "last_reserved_ip.0",
        "lock",
    ] {
        assert!(plugin.has(name), "{name} is gone");
    }
    assert!(!plugin.has("10.1.0.2") && !plugin.has("10.1.0.5"));
}

#[test]
fn gc_by_either_key_and_by_container() {
    let plugin = Plugin::new();
    for key in ["cni.dev/valid-attachments", "cni.dev/attachments"] {
        plugin.put("10.1.0.2", "keep\r\neth0");
        plugin.put("10.1.0.3", "drop\r\neth0");
        plugin.put("10.1.0.4", "keep");
        plugin.put("10.1.0.5", "");
        plugin.put("last_reserved_ip.0", "10.1.0.3");
        let mut config = plugin.small();
        config["cniVersion"] = json!("1.1.0");
        config[key] = json!([{ "containerID": "keep", "ifname": "eth0" }]);
        plugin.run("GC", "", &config).ok();
        let left: Vec<_> = (2..7)
            .filter(|n| plugin.has(&format!("10.1.0.{n}")))
            .collect();
        assert_eq!(left, [2, 4], "{key}");
        assert!(plugin.has("last_reserved_ip.0"));
    }
}

#[test]
fn old_records_are_told_apart_or_kept() {
    let plugin = Plugin::new();
    plugin.put("10.1.0.2", "c1");
    plugin.put("10.1.0.3", "c1");
    let mut config = plugin.small();
    let run = plugin.run("DEL", "c1", &config);
    assert!(run.ok().stderr.contains("10.1.0.2 10.1.0.3"), "{run:?}");
    assert!(plugin.has("10.1.0.2") && plugin.has("10.1.0.3"));
    config["prevResult"] = json!({ "cniVersion": "1.0.0", "ips": [{ "address": "10.1.0.2/29" }] });
    plugin.run("DEL", "c1", &config).ok();
    assert!(!plugin.has("10.1.0.2") && plugin.has("10.1.0.3"));
}

#[test]
fn markers_are_hints() {
    for marker in ["garbage", "", "10.9.9.9", "10.1.0.3\n", "\0\0"] {
        let plugin = Plugin::new();
        plugin.put("last_reserved_ip.0", marker);
        assert_eq!(
            plugin.run("ADD", "c1", &plugin.small()).ok().addresses(),
            ["10.1.0.2/29"]
        );
    }
    let plugin = Plugin::new();
    let tiny = plugin.config(json!({ "subnet": "10.1.0.0/30" }));
    for _ in 0..3 {
        assert_eq!(
            plugin.run("ADD", "c1", &tiny).ok().addresses(),
            ["10.1.0.2/30"]
        );
        plugin.run("DEL", "c1", &tiny).ok();
    }
}

#[test]
fn ranges_of_a_moment_do_not_disturb_the_round_robin() {
    let plugin = Plugin::new();
    let mut config = plugin.small();
    config["runtimeConfig"] = json!({ "ipRanges": [[{ "subnet": "10.7.0.0/29" }]] });
    let run = plugin.run("ADD", "c1", &config);
    assert_eq!(run.ok().addresses(), ["10.7.0.2/29", "10.1.0.2/29"]);
    plugin.run("DEL", "c1", &plugin.small()).ok();
    assert!(!plugin.has("10.7.0.2") && !plugin.has("10.1.0.2"));
    assert_eq!(
        plugin.run("ADD", "c2", &plugin.small()).ok().addresses(),
        ["10.1.0.3/29"]
    );
}

#[test]
fn misplaced_requests_are_pointed_out() {
    let plugin = Plugin::new();
    let mut config = plugin.small();
    config["ipam"]["args"] = json!({ "ip": "10.1.0.5" });
    let run = plugin.run("ADD", "c1", &config);
    assert_eq!(run.ok().addresses(), ["10.1.0.2/29"]);
    assert!(run.stderr.contains("ipam.args is not read"), "{run:?}");
}

#[test]
fn resolv_conf_is_read_as_the_manual_has_it() {
    let plugin = Plugin::new();
    let file = plugin.place().join("resolv.conf");
    fs::write(
        &file,
        "nameserver\t192.0.2.1 # first\nnameserver bogus\nnameserver fe80::1%eth0\n\
         search a b\nsearch c\ndomain d\noptions x\noptions y\n",
    )
    .unwrap();
    let mut config = plugin.small();
    config["ipam"]["resolvConf"] = json!(file);
    let run = plugin.run("ADD", "c1", &config);
    let wanted = json!({
        "nameservers": ["192.0.2.1", "fe80::1%eth0"], "domain": "d", "options": ["x", "y"]
    });
    assert_eq!(run.ok().out["dns"], wanted);
    assert!(run.stderr.contains("bogus"), "{run:?}");
    config["ipam"]["resolvConf"] = json!(plugin.place().join("none"));
    assert_eq!(plugin.run("ADD", "c2", &config).code(), 5);
    plugin.run("DEL", "c1", &config).ok();
}

#[test]
fn the_namespace_of_the_plugin_itself_is_refused_before_anything_is_reserved() {
    let plugin = Plugin::new();
    let mut process = plugin.command("ADD", "c1", "eth0");
    process.env("CNI_NETNS", "/proc/self/ns/net");
    let run = finish(process, plugin.small().to_string().as_bytes());
    assert_eq!(run.code(), 8);
    assert!(plugin.snapshot().is_empty());
}

#[test]
fn errors_carry_the_version_that_was_asked_for() {
    let plugin = Plugin::new();
    for version in [
        "0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0",
    ] {
        let mut config = plugin.config(json!({}));
        config["cniVersion"] = json!(version);
        let run = plugin.run("ADD", "c1", &config);
        assert_eq!(run.code(), 7);
        assert_eq!(run.out["cniVersion"], version);
    }
}

#[test]
fn a_configuration_can_be_explained_before_it_is_used() {
    let plugin = Plugin::new();
    let config = plugin.config(json!({
        "ranges": [[{ "subnet": "10.1.0.0/30" }], [{ "subnet": "10.2.0.0/30" }]]
    }));
    let explain = |config: &Value| {
        let mut process = std::process::Command::new(env!("CARGO_BIN_EXE_host-local"));
        process.env_clear().arg("explain");
        let child = start(process, config.to_string().as_bytes());
        child.wait_with_output().unwrap()
    };
    let output = explain(&config);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("takes 2 addresses, one from each range set"),
        "{text}"
    );
    let output = explain(&json!({ "name": "n" }));
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("'ipam'"));
    assert!(plugin.snapshot().is_empty());
}

#[test]
fn gc_of_a_good_configuration_complains_of_nothing() {
    let plugin = Plugin::new();
    let mut config = plugin.config(json!({
        "ranges": [[{ "subnet": "10.1.0.0/30" }], [{ "subnet": "10.2.0.0/30" }]]
    }));
    config["cniVersion"] = json!("1.1.0");
    config["cni.dev/valid-attachments"] = json!([]);
    plugin.run("ADD", "c1", &config).ok();
    let run = plugin.run("GC", "", &config);
    assert_eq!(run.ok().stderr.lines().count(), 2, "{run:?}");
    assert!(!run.stderr.contains("ignored"), "{run:?}");
}
