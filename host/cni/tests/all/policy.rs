//! A policy that cannot be run: what becomes of the commands. What policies do
//! that can be run is tested where there is a compiler, in `host/cli`.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::plugin::{Plugin, Run, finish, start};

/// A plugin with no `wipam` beside it, and room for one elsewhere.
struct Alone {
    plugin: Plugin,
    folder: tempfile::TempDir,
}

/// An empty component: enough of one to be compiled.
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

impl Alone {
    fn new() -> Self {
        // Beside the program, so that it can be linked: a copy, written in one
        // thread, could not be started while another one forks.
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        fs::create_dir(folder.path().join("own")).unwrap();
        fs::hard_link(
            env!("CARGO_BIN_EXE_host-local"),
            folder.path().join("own/host-local"),
        )
        .unwrap();
        Self {
            plugin: Plugin::new(),
            folder,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn cache(&self) -> PathBuf {
        self.path("cache")
    }

    /// A file to name as a policy.
    fn component(&self, content: &[u8]) -> PathBuf {
        let path = self.path("policy.wasm");
        fs::write(&path, content).unwrap();
        path
    }

    /// A configuration with a policy.
    fn config(&self, component: impl AsRef<Path>) -> Value {
        let mut config = self.plugin.small();
        config["cniVersion"] = json!("1.1.0");
        config["ipam"]["policy"] =
            json!({ "component": component.as_ref(), "cache": self.cache() });
        config
    }

    /// Makes a program of this name, by hands of others for the same reason.
    fn script(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut shell = Command::new("sh");
        shell
            .args(["-c", "cat >\"$0\" && chmod 755 \"$0\""])
            .arg(path);
        let output = start(shell, format!("#!/bin/sh\n{text}\n").as_bytes()).wait_with_output();
        assert!(output.unwrap().status.success());
    }

    fn run(&self, command: &str, config: &Value, path: &str) -> Run {
        let mut process = Command::new(self.path("own/host-local"));
        process
            .env_clear()
            .env("CNI_COMMAND", command)
            .env("CNI_CONTAINERID", "c1")
            .env("CNI_IFNAME", "eth0")
            .env("CNI_NETNS", "/dev/null")
            .env("CNI_PATH", path)
            .current_dir(self.folder.path());
        finish(process, config.to_string().as_bytes())
    }

    /// What there is in the network's directory, and whether anything is
    /// beside it.
    fn files(&self) -> (BTreeSet<String>, bool) {
        let names = fs::read_dir(self.plugin.data_dir().join("n")).unwrap();
        let name = |entry: fs::DirEntry| entry.file_name().into_string().unwrap();
        (
            names.map(|entry| name(entry.unwrap())).collect(),
            self.plugin.data_dir().join(".wipam").exists(),
        )
    }

    /// An ADD fails because of the policy, and leaves nothing behind.
    #[track_caller]
    fn denied(&self, config: &Value, path: &str) -> Run {
        let run = self.run("ADD", config, path);
        assert_eq!(run.code(), 103, "{run:?}");
        run.says("failed to allocate for range 0: policy /");
        assert!(run.stderr.is_empty(), "{run:?}");
        assert_eq!(self.files(), (["lock".to_owned()].into(), false), "{run:?}");
        let lock = File::open(self.plugin.file("lock")).unwrap();
        lock.try_lock().unwrap();
        run
    }
}

/// Whether the system has a `wipam` that is found wherever there is none.
fn is_installed(test: &str) -> bool {
    let found = ["/usr/local/bin/wipam", "/usr/bin/wipam"]
        .iter()
        .any(|path| Path::new(path).exists());
    if found {
        println!("SKIP {test}: there is a wipam in /usr");
    }
    found
}

#[test]
fn what_is_no_policy_denies() {
    let alone = Alone::new();
    let missing = alone.denied(&alone.config("/none/policy.wasm"), "");
    missing.says("policy /none/policy.wasm could not be read: ");
    let folder = alone.denied(&alone.config(alone.folder.path()), "");
    folder.says(" is no regular file");
    for (content, wanted) in [
        (&b""[..], "is no policy: it is no component in binary form"),
        (
            b"(component)",
            "is no policy: it is no component in binary form",
        ),
        (
            b"\0asm\x01\0\0\0",
            "is no policy: it is a module, wanted a component",
        ),
    ] {
        let run = alone.denied(&alone.config(alone.component(content)), "");
        run.says(" (sha256 ").says(wanted);
    }
    let mut config = alone.config(alone.component(COMPONENT));
    config["ipam"]["policy"]["limits"] = json!({ "component": 7 });
    let run = alone.denied(&config, "");
    run.says("exceeded its limit of 7 bytes of component: it has 8");
    assert!(!alone.cache().exists());
}

#[test]
fn a_path_that_is_not_absolute_is_a_fault_of_the_configuration() {
    let alone = Alone::new();
    for path in ["policy.wasm", "./policy.wasm", ""] {
        alone.component(COMPONENT);
        let run = alone.run("ADD", &alone.config(path), "");
        assert_eq!(run.code(), 7);
        run.says("ipam.policy.component: wanted an absolute path");
    }
    let mut config = alone.config("/none");
    config["ipam"]["policy"]["cache"] = json!("cache");
    let run = alone.run("ADD", &config, "");
    assert_eq!(run.code(), 7);
    run.says("ipam.policy.cache: wanted an absolute path");
    assert!(alone.plugin.snapshot().is_empty());
}

#[test]
fn the_strategy_chooses_instead_where_that_is_wanted() {
    for (strategy, wanted) in [("round-robin", "10.1.0.5/29"), ("lowest", "10.1.0.2/29")] {
        let alone = Alone::new();
        alone.plugin.put("last_reserved_ip.0", "10.1.0.4");
        let mut config = alone.config("/none/policy.wasm");
        config["ipam"]["strategy"] = json!(strategy);
        config["ipam"]["policy"]["onFailure"] = json!("built-in");
        let run = alone.run("ADD", &config, "");
        assert_eq!(run.ok().addresses(), [wanted]);
        assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
        for part in [
            "host-local: policy /none/policy.wasm could not be read: ",
            &format!("; the built-in strategy chooses ({strategy})"),
        ] {
            assert!(run.stderr.contains(part), "{part}: {run:?}");
        }
    }
}

#[test]
fn a_request_by_name_needs_no_policy() {
    let alone = Alone::new();
    let mut config = alone.config("/none/policy.wasm");
    config["runtimeConfig"] = json!({ "ips": ["10.1.0.4"] });
    let run = alone.run("ADD", &config, "");
    assert_eq!(run.ok().addresses(), ["10.1.0.4/29"]);
    assert!(run.stderr.is_empty(), "{run:?}");
    // Neither does CHECK.
    config["prevResult"] = run.out.clone();
    assert!(alone.run("CHECK", &config, "").ok().stderr.is_empty());
}

#[test]
fn who_has_no_compiler_is_told_where_to_get_one() {
    if is_installed("who_has_no_compiler_is_told_where_to_get_one") {
        return;
    }
    let alone = Alone::new();
    let config = alone.config(alone.component(COMPONENT));
    for path in ["", "/none:/opt/cni/bin"] {
        let run = alone.denied(&config, path);
        run.says("could not be compiled: it is not compiled yet, and wipam, which compiles")
            .says("`wipam policy install` prepares a policy");
    }
    assert!(!alone.cache().exists());
}

#[test]
fn only_absolute_folders_are_looked_into() {
    if is_installed("only_absolute_folders_are_looked_into") {
        return;
    }
    let alone = Alone::new();
    for name in ["wipam", "bin/wipam"] {
        alone.script(name, "echo found >&2; exit 1");
    }
    let config = alone.config(alone.component(COMPONENT));
    for path in ["bin", ".", ":", "./bin::.", "own/../bin"] {
        let run = alone.denied(&config, path);
        run.says("it is not compiled yet");
    }
    let run = alone.denied(&config, &format!("bin:{}", alone.path("bin").display()));
    run.says("found");
}

#[test]
fn the_words_of_a_compiler_that_fails_are_passed_on() {
    let alone = Alone::new();
    // Neither of these is one.
    fs::create_dir_all(alone.path("a/wipam")).unwrap();
    fs::create_dir(alone.path("b")).unwrap();
    fs::write(alone.path("b/wipam"), "not to be executed").unwrap();
    alone.script(
        "c/wipam",
        "echo \"asked to $* with [$(/bin/cat | /usr/bin/wc -c)] bytes\" >&2; echo more >&2; exit 3",
    );
    let path = ["a", "b", "c"].map(|name| alone.path(name).display().to_string());
    let config = alone.config(alone.component(COMPONENT));
    let run = alone.denied(&config, &path.join(":"));
    run.says(&format!(
        "could not be compiled: {}: exit status: 3: ",
        alone.path("c/wipam").display()
    ))
    .says("asked to policy compile with [8] bytes more");
    assert!(!alone.cache().exists());

    // One that is killed has no words.
    alone.script("c/wipam", "kill -9 $$");
    alone.denied(&config, &path.join(":")).says("signal: 9");
}

#[test]
fn the_compiler_learns_nothing_of_the_container() {
    let alone = Alone::new();
    alone.script("bin/wipam", "/usr/bin/env >&2; exit 1");
    let config = alone.config(alone.component(COMPONENT));
    let run = alone.denied(&config, alone.path("bin").to_str().unwrap());
    assert!(
        !run.out["msg"].as_str().unwrap().contains("CNI_"),
        "{run:?}"
    );
}

#[test]
fn what_is_no_machine_code_is_neither_run_nor_kept() {
    let alone = Alone::new();
    for text in [":", "echo nonsense", "/bin/cat"] {
        alone.script("bin/wipam", text);
        let config = alone.config(alone.component(COMPONENT));
        let run = alone.denied(&config, alone.path("bin").to_str().unwrap());
        run.says(" could not be loaded: ");
        assert!(!alone.cache().exists(), "{text}");
    }
}

#[test]
fn what_is_released_stays_so_whatever_the_policy_is() {
    let alone = Alone::new();
    alone.script("bin/wipam", "echo cannot >&2; exit 1");
    let path = alone.path("bin").display().to_string();
    for component in [PathBuf::from("/none"), alone.component(COMPONENT)] {
        for command in ["DEL", "GC"] {
            alone.run("ADD", &alone.plugin.small(), "").ok();
            assert_eq!(alone.plugin.data_dir().read_dir().unwrap().count(), 1);
            let mut config = alone.config(&component);
            config["cni.dev/valid-attachments"] = json!([]);
            let run = alone.run(command, &config, &path);
            assert!(run.ok().out.is_null(), "{run:?}");
            assert!(
                run.stderr.contains("telling of the release of 10.1.0."),
                "{run:?}"
            );
            let (files, beside) = alone.files();
            assert!(
                !files.iter().any(|name| name.starts_with("10.")),
                "{files:?}"
            );
            assert!(!beside);
        }
    }
    // Where nothing is released there is nothing to tell.
    let run = alone.run("DEL", &alone.config("/none"), &path);
    assert!(run.ok().stderr.is_empty(), "{run:?}");
}

#[test]
fn a_policy_that_is_a_pipe_is_not_waited_for() {
    let alone = Alone::new();
    let pipe = alone.path("pipe");
    let made = Command::new("mkfifo")
        .arg(&pipe)
        .stdin(Stdio::null())
        .status();
    assert!(made.unwrap().success());
    alone
        .denied(&alone.config(&pipe), "")
        .says("is no regular file");
}

#[test]
fn a_set_of_several_gives_back_what_it_took_before_the_policy_failed() {
    let alone = Alone::new();
    let mut config = alone.config("/none/policy.wasm");
    config["ipam"].as_object_mut().unwrap().remove("subnet");
    config["ipam"]["ranges"] =
        json!([[{ "subnet": "10.1.0.0/29" }], [{ "subnet": "10.2.0.0/29" }]]);
    // The first one is asked for by name, the second one of the policy.
    config["runtimeConfig"] = json!({ "ips": ["10.1.0.4"] });
    let run = alone.run("ADD", &config, "");
    assert_eq!(run.code(), 103);
    run.says("failed to allocate for range 1: policy /none/policy.wasm");
    assert_eq!(alone.files(), (["lock".to_owned()].into(), false));
}

#[test]
fn status_tells_that_an_add_would_fail_for_want_of_the_policy() {
    let alone = Alone::new();
    let mut config = alone.config("/nowhere/policy.wasm");
    let refused = alone.run("STATUS", &config, "/opt/cni/bin");
    assert_eq!(refused.code(), 50);
    refused.says("policy /nowhere/policy.wasm could not be read");
    config["ipam"]["policy"]["onFailure"] = json!("built-in");
    alone.run("STATUS", &config, "/opt/cni/bin").ok();
}
