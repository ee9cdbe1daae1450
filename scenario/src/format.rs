//! The format of scenarios, as docs/playground.md describes it.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::{Deserializer, Error};
use serde_json::{Map, Value};

use wipam_core::record;
use wipam_core::store::Owner;

use crate::duration::Duration;

/// `wipam`: the format and its version.
const FORMAT: &str = "scenario/1";

/// 2026-01-01T00:00:00Z, in milliseconds since 1970.
const START_MS: u64 = 1_767_225_600_000;

/// The largest integer that JavaScript has, too.
const MOST_NUMBER: u64 = (1 << 53) - 1;

/// A scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// `title`; empty where there is none.
    pub title: String,
    /// `start`: milliseconds since 1970-01-01T00:00:00Z of the first operation.
    pub start_ms: u64,
    /// `components`: the policies that come with it.
    pub components: Vec<Component>,
    /// `files`: what the network's directory holds at first, as in
    /// docs/on-disk-format.md.
    pub files: Vec<File>,
    pub(crate) seed: u64,
    pub(crate) pace_ms: u64,
    pub(crate) network: Text,
    pub(crate) steps: Vec<Step>,
}

/// A file of the network's directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub content: String,
    /// What that means.
    pub meaning: Meaning,
}

/// What a file means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// An address is reserved.
    Record(IpAddr, Owner),
    /// The address last reserved for the range set of this index.
    Marker(u32, IpAddr),
}

/// A policy that comes with a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Component {
    /// What `ipam.policy.component` names.
    pub path: String,
    /// Where it is.
    pub source: ComponentSource,
    /// SHA-256 in hexadecimal digits, which it must have.
    pub sha256: Option<String>,
}

/// Where a policy is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ComponentSource {
    /// `file`: a file of this name, in a folder known to whoever runs the
    /// scenario.
    File(String),
    /// `wasm`: its bytes.
    Bytes(Vec<u8>),
}

/// Why a text is no scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScenarioError {
    /// It is not JSON, or a field is not what it has to be. Says where.
    Json(String),
    /// A file that a simulation can do nothing with.
    File {
        /// Its name.
        name: String,
        /// What it holds.
        content: String,
    },
    /// It is of another format.
    Format {
        /// `wipam`, as it is.
        found: String,
    },
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(error) => f.write_str(error),
            Self::File { name, content } => write!(
                f,
                "files: wanted records and markers of a network's directory, found {name:?} with {content:?}"
            ),
            Self::Format { found } => write!(f, "wipam: wanted {FORMAT:?}, found {found:?}"),
        }
    }
}

impl core::error::Error for ScenarioError {}

impl Scenario {
    /// Reads a scenario.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let document: Document = serde_json::from_str(text).map_err(json)?;
        if document.wipam != FORMAT {
            return Err(ScenarioError::Format {
                found: document.wipam,
            });
        }
        Ok(Self {
            title: document.title,
            start_ms: document.start.map_or(START_MS, |Number(start)| start),
            components: document
                .components
                .into_iter()
                .map(|(path, component)| Component { path, ..component })
                .collect(),
            files: document
                .files
                .into_iter()
                .map(|(name, content)| file(name, content))
                .collect::<Result<_, _>>()?,
            seed: document.seed.map_or(0, |Number(seed)| seed),
            pace_ms: document.pace.map_or(1_000, |Duration(ms)| ms),
            network: document.network,
            steps: document.steps,
        })
    }
}

fn file(name: String, content: String) -> Result<File, ScenarioError> {
    let bytes = content.as_bytes();
    let meaning = match record::Name::parse(&name) {
        Some(record::Name::Record(address)) => match record::parse(bytes) {
            record::Content::Owner(owner) => Some(Meaning::Record(address, owner)),
            record::Content::Nothing | record::Content::Unknown => None,
        },
        Some(record::Name::Marker(index)) => {
            record::parse_marker(bytes).map(|address| Meaning::Marker(index, address))
        }
        Some(record::Name::Temporary(_)) | None => None,
    };
    match meaning {
        Some(meaning) => Ok(File {
            name,
            content,
            meaning,
        }),
        None => Err(ScenarioError::File { name, content }),
    }
}

/// Reads a step.
pub(crate) fn step(text: &str) -> Result<Step, ScenarioError> {
    serde_json::from_str(text).map_err(json)
}

fn json(error: serde_json::Error) -> ScenarioError {
    ScenarioError::Json(error.to_string())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    wipam: String,
    #[serde(default)]
    title: String,
    /// For people only.
    #[serde(default, rename = "about")]
    _about: String,
    seed: Option<Number>,
    start: Option<Number>,
    pace: Option<Duration>,
    network: Text,
    #[serde(default)]
    components: BTreeMap<String, Component>,
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    steps: Vec<Step>,
}

/// A whole number that every language has.
struct Number(u64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = u64::deserialize(deserializer)?;
        if number > MOST_NUMBER {
            return Err(D::Error::custom(format!(
                "wanted a whole number of at most {MOST_NUMBER}, found {number}"
            )));
        }
        Ok(Self(number))
    }
}

/// A network configuration: exactly this text, or an object that stands for
/// its text with an indent of two blanks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text(pub(crate) String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) => Ok(Self(text)),
            object @ Value::Object(_) => serde_json::to_string_pretty(&object)
                .map(Self)
                .map_err(D::Error::custom),
            other => Err(D::Error::custom(format!(
                "wanted a network configuration, as an object or as its text, found {other}"
            ))),
        }
    }
}

impl<'de> Deserialize<'de> for Component {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Fields {
            file: Option<String>,
            wasm: Option<String>,
            sha256: Option<String>,
        }
        let Fields { file, wasm, sha256 } = Fields::deserialize(deserializer)?;
        let source = match (file, wasm) {
            // A name, and no way out of the folder.
            (Some(name), None) if is_name(&name) => ComponentSource::File(name),
            (Some(name), None) => {
                return Err(D::Error::custom(format!(
                    "file: wanted the name of a file, found {name:?}"
                )));
            }
            (None, Some(text)) => ComponentSource::Bytes(
                STANDARD
                    .decode(text)
                    .map_err(|error| D::Error::custom(format!("wasm: no base64: {error}")))?,
            ),
            _ => return Err(D::Error::custom("wanted either file or wasm")),
        };
        Ok(Self {
            path: String::new(),
            source,
            sha256,
        })
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\\', '\0'])
}

/// One thing that happens, or the load of a while.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Step {
    Add(Attachment),
    Del(Attachment),
    Check(Attachment),
    Gc(Gc),
    Status(Nothing),
    Wait(Duration),
    Reboot(Nothing),
    Network(Text),
    Load(Load),
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Nothing {}

/// Whom a command is about: an object, or just the container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attachment {
    pub(crate) container: String,
    pub(crate) interface: String,
    pub(crate) args: String,
}

impl<'de> Deserialize<'de> for Attachment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Fields {
            container: String,
            #[serde(default = "eth0")]
            interface: String,
            #[serde(default)]
            args: String,
        }
        let fields = match Value::deserialize(deserializer)? {
            Value::String(container) => Fields {
                container,
                interface: eth0(),
                args: String::new(),
            },
            value => Fields::deserialize(value).map_err(D::Error::custom)?,
        };
        Ok(Self {
            container: fields.container,
            interface: fields.interface,
            args: fields.args,
        })
    }
}

fn eth0() -> String {
    "eth0".to_owned()
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Gc {
    /// `container/interface` of those that are alive; without, those that are.
    pub(crate) keep: Option<Vec<String>>,
}

/// Load that is made up.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Load {
    /// It ends after so many operations.
    pub(crate) operations: u32,
    /// Mean time between new pods.
    #[serde(deserialize_with = "some_time")]
    pub(crate) arrivals: Duration,
    /// Mean time that a container lives.
    pub(crate) lifetimes: Duration,
    /// How both are distributed.
    #[serde(default)]
    pub(crate) spread: Spread,
    /// How many names pods have, by turns.
    #[serde(default, deserialize_with = "at_least_one")]
    pub(crate) names: Option<u32>,
    /// Pods that crash.
    pub(crate) crashes: Option<Crashes>,
    /// Percentage of DELs that never come.
    #[serde(default, deserialize_with = "percent")]
    pub(crate) lost_dels: f64,
    /// Time between boots of the node.
    #[serde(default, deserialize_with = "maybe_some_time")]
    pub(crate) reboots: Option<Duration>,
    /// Time between GCs.
    #[serde(default, deserialize_with = "maybe_some_time")]
    pub(crate) gc: Option<Duration>,
    /// Percentage of containers that are CHECKed halfway.
    #[serde(default, deserialize_with = "percent")]
    pub(crate) checks: f64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Spread {
    /// All alike.
    Even,
    /// Exponential.
    #[default]
    Random,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Crashes {
    /// Percentage of pods that crash.
    #[serde(deserialize_with = "percent")]
    pub(crate) share: f64,
    /// Mean time that their containers live.
    pub(crate) lifetime: Duration,
    /// How often they come back.
    pub(crate) restarts: u32,
}

fn percent<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let percent = f64::deserialize(deserializer)?;
    match (0.0..=100.0).contains(&percent) {
        true => Ok(percent),
        false => Err(D::Error::custom(format!(
            "wanted a percentage from 0 to 100, found {percent}"
        ))),
    }
}

/// Time has to pass between what comes again and again.
fn some_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    match Duration::deserialize(deserializer)? {
        Duration(0) => Err(D::Error::custom("wanted a time of at least 1ms, found 0")),
        time => Ok(time),
    }
}

fn maybe_some_time<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Duration>, D::Error> {
    some_time(deserializer).map(Some)
}

fn at_least_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    match u32::deserialize(deserializer)? {
        0 => Err(D::Error::custom("wanted at least 1 name, found 0")),
        names => Ok(Some(names)),
    }
}

/// What the configuration of a step says, for those who want to look into it.
pub(crate) fn object(text: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(text).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use alloc::vec;

    use super::*;

    fn with(fields: &str) -> Result<Scenario, ScenarioError> {
        Scenario::parse(&format!(
            r#"{{"wipam": "scenario/1", "network": {{}}, {fields}}}"#
        ))
    }

    #[test]
    fn an_object_stands_for_its_text() {
        let object = r#"{"wipam":"scenario/1","network":{"b":1,"a":[1.0,{}]}}"#;
        let scenario = Scenario::parse(object).unwrap();
        let text = "{\n  \"b\": 1,\n  \"a\": [\n    1.0,\n    {}\n  ]\n}";
        assert_eq!(scenario.network.0, text);
        let broken = r#"{"wipam":"scenario/1","network":"{oops"}"#;
        assert_eq!(Scenario::parse(broken).unwrap().network.0, "{oops");
    }

    #[test]
    fn a_container_may_stand_for_an_attachment() {
        let scenario = with(
            r#""steps": [{"add": "a"}, {"del": {"container": "a", "interface": "net1", "args": "x=1"}}]"#,
        );
        let attachment = |container: &str, interface: &str, args: &str| Attachment {
            container: container.into(),
            interface: interface.into(),
            args: args.into(),
        };
        let wanted = vec![
            Step::Add(attachment("a", "eth0", "")),
            Step::Del(attachment("a", "net1", "x=1")),
        ];
        assert_eq!(scenario.unwrap().steps, wanted);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        for (fields, wanted) in [
            (r#""steps": [{"add": 1}]"#, "expected"),
            (r#""steps": [{"wait": "5"}]"#, "such as 500ms"),
            (r#""steps": [{"gc": {"kep": []}}]"#, "unknown field `kep`"),
            (r#""steps": [{"boot": {}}]"#, "unknown variant `boot`"),
            (
                r#""steps": [{"load": {"operations": 1, "arrivals": "0s", "lifetimes": "1s"}}]"#,
                "at least 1ms",
            ),
            (
                r#""steps": [{"load": {"operations": 1, "arrivals": "1s", "lifetimes": "1s", "lostDels": 101}}]"#,
                "from 0 to 100, found 101",
            ),
            (r#""seed": 9007199254740992"#, "at most 9007199254740991"),
            (
                r#""components": {"/p": {"file": "../p"}}"#,
                "the name of a file",
            ),
            (r#""components": {"/p": {"wasm": "%"}}"#, "no base64"),
            (r#""components": {"/p": {}}"#, "either file or wasm"),
            (r#""colour": 1"#, "unknown field `colour`"),
        ] {
            let error = with(fields).unwrap_err().to_string();
            assert!(error.contains(wanted), "{fields}: {error}");
            assert!(error.contains("line 1 column"), "{fields}: {error}");
        }
        let other = Scenario::parse(r#"{"wipam": "scenario/2", "network": {}}"#);
        assert_eq!(
            other.unwrap_err().to_string(),
            r#"wipam: wanted "scenario/1", found "scenario/2""#
        );
    }

    #[test]
    fn files_are_records_and_markers() {
        let scenario =
            with(r#""files": {"10.1.0.2": "c0\r\neth0", "last_reserved_ip.0": "10.1.0.2"}"#);
        let address = IpAddr::from([10, 1, 0, 2]);
        let meanings: Vec<_> = scenario.unwrap().files;
        assert!(matches!(&meanings[0].meaning, Meaning::Record(at, _) if *at == address));
        assert_eq!(meanings[1].meaning, Meaning::Marker(0, address));
        for (name, content) in [("lock", ""), ("10.1.0.2", ""), ("010.1.0.2", "c0")] {
            let error = with(&format!(r#""files": {{"{name}": "{content}"}}"#)).unwrap_err();
            assert!(error.to_string().contains(name), "{error}");
        }
    }

    #[test]
    fn components_have_bytes_or_a_name() {
        let scenario =
            with(r#""components": {"/a": {"wasm": "AGFzbQ=="}, "/b": {"file": "b.wasm"}}"#);
        let sources: Vec<_> = scenario.unwrap().components;
        assert_eq!(sources[0].source, ComponentSource::Bytes(b"\0asm".to_vec()));
        assert_eq!(sources[1].source, ComponentSource::File("b.wasm".into()));
        assert_eq!(sources[1].path, "/b");
    }
}
