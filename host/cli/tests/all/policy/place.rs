//! A folder of a test's own, and the programs.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::SystemTime;

use serde_json::{Value, json};
use wit_component::StringEncoding;
use wit_parser::Resolve;

/// What a program did.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) status: Option<i32>,
    pub(crate) out: Vec<u8>,
    pub(crate) stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            status: output.status.code(),
            out: output.stdout,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Ran {
    #[track_caller]
    pub(crate) fn ok(&self) -> &Self {
        assert_eq!(self.status, Some(0), "{} {}", self.text(), self.stderr);
        assert!(self.stderr.is_empty(), "{}", self.stderr);
        self
    }

    /// It failed, and said so in one line.
    #[track_caller]
    pub(crate) fn fails(&self, with: &str) -> &Self {
        assert_eq!(self.status, Some(1), "{} {}", self.text(), self.stderr);
        assert!(self.stderr.starts_with("wipam: "), "{}", self.stderr);
        assert!(self.stderr.contains(with), "{with}: {}", self.stderr);
        self
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }

    #[track_caller]
    pub(crate) fn says(&self, what: &str) -> &Self {
        assert!(self.text().contains(what), "{what}: {}", self.text());
        self
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Runs `wipam policy`.
pub(crate) fn policy(arguments: &[&dyn AsRef<OsStr>]) -> Ran {
    with_input(
        Command::new(env!("CARGO_BIN_EXE_wipam"))
            .arg("policy")
            .args(arguments),
        b"",
    )
}

pub(crate) fn with_input(command: &mut Command, input: &[u8]) -> Ran {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Who has failed already closes its end.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap().into()
}

/// A core module, as compilers leave it: it says which world it is for, and is
/// no component yet.
pub(crate) fn core_module(text: &str) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let wit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit");
    let (package, _) = resolve.push_dir(wit).unwrap();
    let world = resolve.select_world(&[package], Some("policy")).unwrap();
    let mut module = wat::parse_str(text).unwrap();
    wit_component::embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)
        .unwrap();
    module
}

/// The rest of a module that leaves the choice to the strategy.
pub(crate) const LEAVES_THE_CHOICE: &str = r#"
    (memory (export "memory") 1)
    (global $top (mut i32) (i32.const 4096))
    (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (local $at i32)
        (local.set $at (i32.and (i32.add (global.get $top) (i32.const 7)) (i32.const -8)))
        (global.set $top (i32.add (local.get $at) (local.get 3)))
        (local.get $at))
    (func (export "wipam:ipam/choice@0.1.0#choose") (param i32) (result i32)
        (i32.store8 (i32.const 1024) (i32.const 2))
        (call $before)
        (i32.const 1024))"#;

/// A folder with a data directory in it.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// A configuration of network `n` with these fields in `ipam`.
    pub(crate) fn config(&self, ipam: Value) -> Value {
        let mut config = json!({
            "cniVersion": "1.1.0", "name": "n", "type": "t",
            "ipam": { "type": "host-local", "dataDir": self.path("d") },
        });
        for (name, value) in ipam.as_object().unwrap() {
            config["ipam"][name] = value.clone();
        }
        config
    }

    /// The same with a policy, whose code is kept in this place.
    pub(crate) fn with_policy(&self, ipam: Value, component: impl AsRef<Path>) -> Value {
        let mut config = self.config(ipam);
        config["ipam"]["policy"] =
            json!({ "component": component.as_ref(), "cache": self.path("cache") });
        config
    }

    /// What the plugin prints, and whether it succeeds.
    pub(crate) fn plugin(&self, command: &str, id: &str, args: &str, config: &Value) -> Ran {
        with_input(
            &mut plugin(command, id, args),
            config.to_string().as_bytes(),
        )
    }

    /// Adds by the plugin: the address, or the code of an error.
    #[track_caller]
    pub(crate) fn add(&self, id: &str, args: &str, config: &Value) -> Result<String, u64> {
        let ran = self.plugin("ADD", id, args, config);
        assert!(ran.stderr.is_empty(), "{ran:?}");
        answer(&ran.json())
    }

    /// Whether there is such a file in the network's directory.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.path("d/n").join(name).exists()
    }

    /// Everything in the data directory and when it was changed.
    pub(crate) fn snapshot(&self) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
        let mut found = BTreeMap::new();
        collect(&self.path("d"), &mut found);
        found
    }
}

fn collect(path: &Path, found: &mut BTreeMap<PathBuf, (Vec<u8>, SystemTime)>) {
    let changed = fs::symlink_metadata(path).unwrap().modified().unwrap();
    let content = match path.is_dir() {
        false => fs::read(path).unwrap(),
        true => {
            for entry in fs::read_dir(path).unwrap() {
                collect(&entry.unwrap().path(), found);
            }
            Vec::new()
        }
    };
    found.insert(path.to_owned(), (content, changed));
}

/// The first address of a result, or the code of an error.
pub(crate) fn answer(json: &Value) -> Result<String, u64> {
    match json["code"].as_u64() {
        Some(code) => Err(code),
        None => Ok(json["ips"][0]["address"].as_str().unwrap().to_owned()),
    }
}

pub(crate) fn plugin(command: &str, id: &str, args: &str) -> Command {
    let mut process = Command::new(host_local());
    process
        .env_clear()
        .env("CNI_COMMAND", command)
        .env("CNI_CONTAINERID", id)
        .env("CNI_IFNAME", "eth0")
        .env("CNI_NETNS", "/dev/null")
        .env("CNI_PATH", "/opt/cni/bin")
        .env("CNI_ARGS", args);
    process
}

/// The plugin beside `wipam`. It is of another package: whoever tests only this
/// one may not have built it, or have an old one.
pub(crate) fn host_local() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let wipam = Path::new(env!("CARGO_BIN_EXE_wipam"));
        let program = wipam.with_file_name("host-local");
        if build(&program).is_none() || build(&program) != build(wipam) {
            let mut cargo = Command::new(env!("CARGO"));
            cargo
                .args(["build", "--quiet", "--bin", "host-local"])
                .args(["--package", "wipam-cni", "--package", "wipam"]);
            if wipam.parent().unwrap().ends_with("release") {
                cargo.arg("--release");
            }
            assert!(cargo.status().unwrap().success());
        }
        program
    })
}

/// What the note in a program says of the sources it was built from.
fn build(program: &Path) -> Option<Vec<u8>> {
    const DIGITS: usize = 32;
    let owner = b"wipam\0\0\0";
    let bytes = fs::read(program).ok()?;
    let is_digest = |part: &&[u8]| part.iter().all(u8::is_ascii_hexdigit);
    let mut notes = bytes.windows(owner.len() + DIGITS);
    notes.find_map(|part| {
        let digest = part.strip_prefix(owner).filter(is_digest)?;
        Some(digest.to_owned())
    })
}
