//! Running the plugin in a directory of its own.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

/// A place with a data directory in it, and the plugin.
pub(crate) struct Plugin {
    place: tempfile::TempDir,
}

/// What one run gave.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) status: Option<i32>,
    pub(crate) out: Value,
    pub(crate) stderr: String,
}

impl Run {
    /// The error code; fails unless this is a CNI error and exit status 1.
    #[track_caller]
    pub(crate) fn code(&self) -> u64 {
        assert_eq!(self.status, Some(1), "{self:?}");
        assert!(
            self.out["msg"].as_str().is_some_and(|msg| !msg.is_empty()),
            "{self:?}"
        );
        self.out["code"]
            .as_u64()
            .unwrap_or_else(|| panic!("no code in {self:?}"))
    }

    #[track_caller]
    pub(crate) fn says(&self, what: &str) -> &Self {
        assert!(
            self.out["msg"].as_str().unwrap().contains(what),
            "{self:?} does not say {what:?}"
        );
        self
    }

    #[track_caller]
    pub(crate) fn ok(&self) -> &Self {
        assert_eq!(self.status, Some(0), "{self:?}");
        self
    }

    pub(crate) fn addresses(&self) -> Vec<String> {
        let ips = self.out["ips"].as_array().cloned().unwrap_or_default();
        ips.iter()
            .map(|ip| ip["address"].as_str().unwrap().to_owned())
            .collect()
    }
}

impl Plugin {
    pub(crate) fn new() -> Self {
        Self {
            place: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn place(&self) -> &Path {
        self.place.path()
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.place().join("d")
    }

    /// A file in the directory of network `n`.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.data_dir().join("n").join(name)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        fs::symlink_metadata(self.file(name)).is_ok()
    }

    pub(crate) fn put(&self, name: &str, content: &str) {
        fs::create_dir_all(self.data_dir().join("n")).unwrap();
        fs::write(self.file(name), content).unwrap();
    }

    /// A configuration with these fields in `ipam`.
    pub(crate) fn config(&self, ipam: Value) -> Value {
        let mut config = json!({
            "cniVersion": "1.0.0", "name": "n", "type": "t",
            "ipam": { "type": "host-local", "dataDir": self.data_dir() },
        });
        for (name, value) in ipam.as_object().unwrap() {
            config["ipam"][name] = value.clone();
        }
        config
    }

    /// 10.1.0.0/29: gateway .1, and .2 to .6 to give.
    pub(crate) fn small(&self) -> Value {
        self.config(json!({ "subnet": "10.1.0.0/29" }))
    }

    pub(crate) fn command(&self, command: &str, id: &str, interface: &str) -> Command {
        let mut process = Command::new(env!("CARGO_BIN_EXE_host-local"));
        process
            .env_clear()
            .env("CNI_COMMAND", command)
            .env("CNI_CONTAINERID", id)
            .env("CNI_IFNAME", interface)
            .env("CNI_NETNS", "/dev/null")
            .env("CNI_PATH", "/opt/cni/bin");
        process
    }

    pub(crate) fn run(&self, command: &str, id: &str, config: &Value) -> Run {
        self.run_on(command, id, "eth0", config)
    }

    pub(crate) fn run_on(&self, command: &str, id: &str, interface: &str, config: &Value) -> Run {
        finish(
            self.command(command, id, interface),
            config.to_string().as_bytes(),
        )
    }

    /// Everything in the place, path to content.
    pub(crate) fn snapshot(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        collect(self.place(), &mut found);
        found
    }
}

fn collect(directory: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.is_symlink() {
            collect(&path, found);
            found.insert(path, Vec::new());
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap_or_default());
        }
    }
}

/// Starts a process with this on its standard input.
pub(crate) fn start(mut process: Command, input: &[u8]) -> Child {
    process
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = process.spawn().unwrap();
    // A plugin that has heard enough closes its end.
    let _ = child.stdin.take().unwrap().write_all(input);
    child
}

pub(crate) fn finish(process: Command, input: &[u8]) -> Run {
    wait(start(process, input))
}

pub(crate) fn wait(child: Child) -> Run {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let out = if text.is_empty() {
        Value::Null
    } else {
        serde_json::from_str(&text).unwrap()
    };
    Run {
        status: output.status.code(),
        out,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}
