//! Whatever comes in: an error object, exit status 1, and nothing changed.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;

use serde_json::{Value, json};

use crate::plugin::{Plugin, finish};

/// Runs ADD with this input and returns the code; nothing may have changed.
#[track_caller]
fn refused(plugin: &Plugin, input: &[u8]) -> u64 {
    let before = plugin.snapshot();
    let run = finish(plugin.command("ADD", "c1", "eth0"), input);
    let code = run.code();
    assert_eq!(before, plugin.snapshot(), "{run:?} changed something");
    code
}

#[test]
fn malformed_json() {
    let plugin = Plugin::new();
    for input in [
        "",
        "{",
        "{}x",
        "[]",
        "\"x\"",
        "\u{feff}{}",
        "{'a':1}",
        "nul",
    ] {
        assert_eq!(refused(&plugin, input.as_bytes()), 6, "{input:?}");
    }
    assert_eq!(refused(&plugin, &[0xff, 0xfe, 0x00]), 6);
    assert_eq!(refused(&plugin, "[".repeat(3_000_000).as_bytes()), 6);
}

#[test]
fn wrong_types_name_the_field() {
    let plugin = Plugin::new();
    for (field, value) in [
        ("subnet", json!(5)),
        ("ranges", json!([[["10.0.0.0/8"]]])),
        ("dataDir", json!(["x"])),
        ("routes", json!("0.0.0.0/0")),
        ("resolvConf", json!({})),
        ("lockWaitSeconds", json!("soon")),
        ("lockWaitSeconds", json!(1e9)),
        ("sync", json!("yes")),
        ("repeatedAdd", json!("perhaps")),
        ("gatewayOnLink", json!(1)),
    ] {
        let mut config = plugin.small();
        config["ipam"][field] = value;
        let run = plugin.run("ADD", "c1", &config);
        assert_eq!(run.code(), 7, "{field}: {run:?}");
        run.says(&format!("ipam.{field}"));
    }
    assert!(plugin.snapshot().is_empty());
}

#[test]
fn a_hundred_megabytes_of_input() {
    let plugin = Plugin::new();
    let padding = "x".repeat(100 << 20);
    let mut config = plugin.small();
    config["padding"] = Value::from(padding);
    let run = finish(
        plugin.command("ADD", "c1", "eth0"),
        config.to_string().as_bytes(),
    );
    assert_eq!(run.code(), 6);
    assert!(plugin.snapshot().is_empty());
}

#[test]
fn names_with_path_characters() {
    let plugin = Plugin::new();
    for name in ["../evil", "a/b", ".", "..", "a b", "", "a\n", "-a"] {
        let mut config = plugin.small();
        config["name"] = Value::from(name);
        assert_eq!(plugin.run("ADD", "c1", &config).code(), 7, "{name:?}");
        assert_eq!(plugin.run("DEL", "c1", &config).code(), 7, "{name:?}");
    }
    for id in ["../x", "a/b", "..", "a b", "a\nb"] {
        assert_eq!(plugin.run("ADD", id, &plugin.small()).code(), 4, "{id:?}");
        assert_eq!(
            plugin.run_on("ADD", "c1", id, &plugin.small()).code(),
            4,
            "{id:?}"
        );
    }
    assert!(plugin.snapshot().is_empty());
}

#[test]
fn data_directories_that_are_none() {
    let plugin = Plugin::new();
    fs::write(plugin.place().join("file"), "precious").unwrap();
    symlink(
        plugin.place().join("nowhere"),
        plugin.place().join("dangling"),
    )
    .unwrap();
    let before = plugin.snapshot();
    for (path, codes) in [
        ("file", [5, 7]),
        ("file/below", [5, 7]),
        ("dangling", [5, 7]),
        (&"x".repeat(300), [5, 7]),
    ] {
        let mut config = plugin.small();
        config["ipam"]["dataDir"] = json!(plugin.place().join(path));
        let run = plugin.run("ADD", "c1", &config);
        assert!(codes.contains(&run.code()), "{path}: {run:?}");
        run.says(path);
    }
    let mut config = plugin.small();
    config["ipam"]["dataDir"] = json!("relative/path");
    let run = plugin.run("ADD", "c1", &config);
    assert_eq!(run.code(), 7);
    run.says("relative/path");
    assert_eq!(before, plugin.snapshot());
}

#[test]
fn a_data_directory_behind_a_link_is_used() {
    let plugin = Plugin::new();
    fs::create_dir(plugin.place().join("real")).unwrap();
    symlink(plugin.place().join("real"), plugin.data_dir()).unwrap();
    plugin.run("ADD", "c1", &plugin.small()).ok();
    assert!(plugin.place().join("real/n/10.1.0.2").exists());
    plugin.run("DEL", "c1", &plugin.small()).ok();
    assert!(!plugin.has("10.1.0.2"));
}

#[test]
fn a_directory_that_may_not_be_written() {
    let plugin = Plugin::new();
    // The place itself must be open to the user that the plugin runs as.
    fs::set_permissions(plugin.place(), Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(plugin.data_dir()).unwrap();
    fs::set_permissions(plugin.data_dir(), Permissions::from_mode(0o555)).unwrap();
    let before = plugin.snapshot();
    let mut process = plugin.command("ADD", "c1", "eth0");
    let root = rustix::process::geteuid().is_root();
    if root {
        process.uid(65534).gid(65534);
    }
    let run = finish(process, plugin.small().to_string().as_bytes());
    assert_eq!(run.code(), 5, "{run:?}");
    run.says(plugin.data_dir().to_str().unwrap());
    let uid = if root {
        65534
    } else {
        rustix::process::geteuid().as_raw()
    };
    run.says(&format!("user id {uid}"));
    assert_eq!(before, plugin.snapshot());
}

#[test]
fn an_ordinary_amount_of_address_space_will_do() {
    let plugin = Plugin::new();
    let mut process = std::process::Command::new("sh");
    process
        .args([
            "-c",
            "ulimit -v 524288; exec \"$0\"",
            env!("CARGO_BIN_EXE_host-local"),
        ])
        .env("CNI_COMMAND", "ADD")
        .env("CNI_CONTAINERID", "c1")
        .env("CNI_IFNAME", "eth0")
        .env("CNI_NETNS", "/dev/null");
    let run = finish(process, plugin.small().to_string().as_bytes());
    assert_eq!(run.ok().addresses(), ["10.1.0.2/29"]);
}

#[test]
fn an_id_that_no_record_could_hold() {
    let plugin = Plugin::new();
    let run = plugin.run("ADD", &"x".repeat(5000), &plugin.small());
    assert_eq!(run.code(), 4);
    run.says("too long");
    assert!(plugin.snapshot().is_empty());
    let longest = "x".repeat(1024);
    plugin.run("ADD", &longest, &plugin.small()).ok();
    plugin.run("DEL", &longest, &plugin.small()).ok();
    assert!(!plugin.has("10.1.0.2"));
}

#[test]
fn a_resolv_conf_that_is_a_pipe() {
    let plugin = Plugin::new();
    let pipe = plugin.place().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let mut config = plugin.small();
    config["ipam"]["resolvConf"] = json!(pipe);
    assert_eq!(plugin.run("ADD", "c1", &config).code(), 5);
    assert!(!plugin.data_dir().exists());
}

#[test]
fn no_memory_has_to_become_executable() {
    let plugin = Plugin::new();
    // PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN: what systemd's
    // MemoryDenyWriteExecute= does.
    let script = "import ctypes, os, sys\n\
                  if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0): sys.exit(77)\n\
                  os.execv(sys.argv[1], sys.argv[1:])";
    let mut process = std::process::Command::new("python3");
    process
        .args(["-c", script, env!("CARGO_BIN_EXE_host-local")])
        .env("CNI_COMMAND", "ADD")
        .env("CNI_CONTAINERID", "c1")
        .env("CNI_IFNAME", "eth0")
        .env("CNI_NETNS", "/dev/null");
    let run = finish(process, plugin.small().to_string().as_bytes());
    if run.status == Some(77) {
        println!("SKIP no_memory_has_to_become_executable: kernels before 6.3 cannot forbid it");
        return;
    }
    assert_eq!(run.ok().addresses(), ["10.1.0.2/29"]);
}
