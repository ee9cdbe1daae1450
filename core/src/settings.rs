//! How an address is chosen: the fields of `ipam` that are ours and that the
//! Go plugin passes over.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::config::ConfigError;
use crate::json::{Field, Object};
use crate::names::Attachment;
use crate::policy::{Limits, OnFailure, Setting};
use crate::pool::HoldBack;
use crate::spans::{Spans, parse_span};
use crate::store::LONGEST_KEY;

/// `ipam.sticky.keepSeconds` where it is not set.
pub const DEFAULT_KEEP_SECONDS: u64 = 3600;

/// `ipam.cooldown.seconds` where it is not set: longer than connection
/// tracking remembers an unanswered SYN, which is 120 s.
pub const DEFAULT_COOLDOWN_SECONDS: u64 = 150;

/// Longest time that either can be set to, in seconds: a year.
const LONGEST_SECONDS: u64 = 366 * 24 * 3600;

/// The fields of `ipam` that this module or `config` reads. One that differs
/// from one of them by a slip is reported.
const FIELDS: &[&str] = &[
    "type",
    "subnet",
    "rangeStart",
    "rangeEnd",
    "gateway",
    "gatewayOnLink",
    "ranges",
    "routes",
    "dataDir",
    "resolvConf",
    "lockWaitSeconds",
    "sync",
    "repeatedAdd",
    "exclude",
    "static",
    "requestExcluded",
    "strategy",
    "sticky",
    "cooldown",
    "policy",
];

/// In which order addresses that can be given are given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strategy {
    /// The one after the last given.
    #[default]
    RoundRobin,
    /// The lowest one of the first range that has room.
    Lowest,
    /// Any, by the seed.
    Random,
    /// Beginning at a place that is computed from the owner.
    OwnerHash,
}

impl Strategy {
    const ALL: [(&'static str, Self); 4] = [
        ("round-robin", Self::RoundRobin),
        ("lowest", Self::Lowest),
        ("random", Self::Random),
        ("owner-hash", Self::OwnerHash),
    ];

    /// Its name in a configuration.
    pub fn name(self) -> &'static str {
        let named = Self::ALL.iter().find(|(_, strategy)| *strategy == self);
        named.map_or("", |(name, _)| name)
    }
}

/// `ipam.sticky`: who comes back gets the address it had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sticky {
    /// `key`: the keys of `CNI_ARGS` whose values tell who comes back.
    pub args: Vec<String>,
    /// `keepSeconds`: how long a released address is kept, in milliseconds.
    pub keep_ms: u64,
}

/// What becomes of an ADD if nothing is free but addresses that are cooling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// It fails.
    #[default]
    Refuse,
    /// It gets the one that has cooled longest.
    Use,
}

/// `ipam.cooldown`: released addresses rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cooldown {
    /// `seconds`, in milliseconds.
    pub ms: u64,
    /// `whenFull`
    pub when_full: WhenFull,
}

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choosing {
    /// `strategy`
    pub strategy: Strategy,
    /// `sticky`
    pub sticky: Option<Sticky>,
    /// `cooldown`
    pub cooldown: Option<Cooldown>,
    /// `requestExcluded`: whether an address of `exclude` may be asked for.
    pub request_excluded: bool,
    /// `policy`
    pub policy: Option<Setting>,
}

impl Choosing {
    /// Reads the fields.
    pub(crate) fn read(ipam: &Object<'_>) -> Result<Self, ConfigError> {
        Ok(Self {
            strategy: one_of(ipam, "strategy", &Strategy::ALL, STRATEGIES)?,
            sticky: sticky(ipam)?,
            cooldown: cooldown(ipam)?,
            request_excluded: ipam.boolean("requestExcluded")?,
            policy: policy(ipam)?,
        })
    }

    /// Whether releases have to be remembered for it.
    pub fn remembers(&self) -> bool {
        self.sticky.is_some() || self.cooldown.is_some()
    }

    /// Who an attachment is to `sticky`, for one of its range sets. `None`
    /// where it has not all of the arguments, or they are too long.
    pub(crate) fn key(
        &self,
        args: &[(String, String)],
        attachment: &Attachment,
        set: usize,
    ) -> Option<String> {
        let mut key = String::new();
        for name in &self.sticky.as_ref()?.args {
            let (_, value) = args.iter().rev().find(|(key, _)| key == name)?;
            if value.is_empty() {
                return None;
            }
            if !key.is_empty() {
                key.push('/');
            }
            escape(value, &mut key);
        }
        key.push('@');
        escape(attachment.interface.as_str(), &mut key);
        if set > 0 {
            key.push_str(&format!("#{set}"));
        }
        (key.len() <= LONGEST_KEY).then_some(key)
    }

    /// What is held back from whoever has this key.
    pub(crate) fn hold_back(&self, key: Option<String>) -> HoldBack {
        HoldBack {
            cooldown_ms: self.cooldown.map_or(0, |cooldown| cooldown.ms),
            keep_ms: self.sticky.as_ref().map_or(0, |sticky| sticky.keep_ms),
            key,
        }
    }
}

/// Writes a value so that no two keys look the same, and without blanks.
fn escape(value: &str, key: &mut String) {
    for c in value.chars() {
        if c.is_whitespace() || c.is_control() || matches!(c, '%' | '/' | '@' | '#') {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                key.push_str(&format!("%{byte:02X}"));
            }
        } else {
            key.push(c);
        }
    }
}

const STRATEGIES: &str = "\"round-robin\", \"lowest\", \"random\" or \"owner-hash\"";

fn one_of<T: Copy + Default>(
    object: &Object<'_>,
    name: &str,
    choices: &[(&str, T)],
    wanted: &'static str,
) -> Result<T, ConfigError> {
    let Some(field) = object.get(name) else {
        return Ok(T::default());
    };
    let text = field.text()?;
    let found = choices.iter().find(|(name, _)| *name == text);
    found
        .map(|(_, choice)| *choice)
        .ok_or_else(|| ConfigError::Setting {
            path: field.path().to_owned(),
            found: format!("{text:?}"),
            wanted,
        })
}

/// Milliseconds from a number of seconds.
fn seconds(field: &Field<'_>) -> Result<u64, ConfigError> {
    match field.unsigned()? {
        seconds @ 0..=LONGEST_SECONDS => Ok(seconds * 1000),
        seconds => Err(ConfigError::Setting {
            path: field.path().to_owned(),
            found: format!("{seconds}"),
            wanted: "0 to 31622400 seconds",
        }),
    }
}

/// Fields that nobody reads are a mistake where all fields are ours.
fn only(object: &Object<'_>, known: &'static [&'static str]) -> Result<(), ConfigError> {
    let unknown = object
        .names()
        .find(|name| !known.iter().any(|known| known.eq_ignore_ascii_case(name)));
    match unknown {
        None => Ok(()),
        Some(name) => Err(ConfigError::UnknownSetting {
            path: object.path_of(name),
            known,
        }),
    }
}

fn sticky(ipam: &Object<'_>) -> Result<Option<Sticky>, ConfigError> {
    let Some(field) = ipam.get("sticky") else {
        return Ok(None);
    };
    let mut sticky = Sticky {
        args: ["K8S_POD_NAMESPACE".to_owned(), "K8S_POD_NAME".to_owned()].into(),
        keep_ms: DEFAULT_KEEP_SECONDS * 1000,
    };
    if let Ok(on) = field.boolean() {
        return Ok(on.then_some(sticky));
    }
    let object = field
        .object()
        .map_err(|_| field.mismatch("true, false or an object"))?;
    only(&object, &["key", "keepSeconds"])?;
    if let Some(key) = object.get("key") {
        sticky.args = match key.text() {
            Ok(one) => [one].into(),
            Err(_) => {
                let list = key.list().map_err(|_| key.mismatch("a list of keys"))?;
                let texts: Result<Vec<_>, _> = list.iter().map(Field::text).collect();
                texts?
            }
        };
        if sticky.args.is_empty() || sticky.args.iter().any(String::is_empty) {
            return Err(ConfigError::Setting {
                path: key.path().to_owned(),
                found: "nothing".to_owned(),
                wanted: "keys of CNI_ARGS, such as K8S_POD_NAME",
            });
        }
    }
    if let Some(keep) = object.get("keepSeconds") {
        sticky.keep_ms = seconds(&keep)?;
    }
    Ok(Some(sticky))
}

fn cooldown(ipam: &Object<'_>) -> Result<Option<Cooldown>, ConfigError> {
    let Some(field) = ipam.get("cooldown") else {
        return Ok(None);
    };
    let mut cooldown = Cooldown {
        ms: DEFAULT_COOLDOWN_SECONDS * 1000,
        when_full: WhenFull::Refuse,
    };
    if let Ok(on) = field.boolean() {
        return Ok(on.then_some(cooldown));
    }
    if field.unsigned().is_ok() {
        cooldown.ms = seconds(&field)?;
    } else {
        let wanted = "seconds, true, false or an object";
        let object = field.object().map_err(|_| field.mismatch(wanted))?;
        only(&object, &["seconds", "whenFull"])?;
        if let Some(length) = object.get("seconds") {
            cooldown.ms = seconds(&length)?;
        }
        let choices = [("refuse", WhenFull::Refuse), ("use", WhenFull::Use)];
        cooldown.when_full = one_of(&object, "whenFull", &choices, "\"refuse\" or \"use\"")?;
    }
    Ok((cooldown.ms > 0).then_some(cooldown))
}

fn policy(ipam: &Object<'_>) -> Result<Option<Setting>, ConfigError> {
    const KNOWN: &[&str] = &["component", "config", "limits", "onFailure", "cache"];
    if ipam.get("policy").is_none() {
        return Ok(None);
    }
    let object = ipam.object("policy")?;
    only(&object, KNOWN)?;
    let path = |name: &str, required: bool| match object.text(name)? {
        Some(path) if path.starts_with('/') => Ok(path),
        None if !required => Ok(String::new()),
        found => Err(ConfigError::Setting {
            path: object.path_of(name),
            found: found.map_or("nothing".to_owned(), |path| format!("{path:?}")),
            wanted: "an absolute path",
        }),
    };
    let on_failure = [("deny", OnFailure::Deny), ("built-in", OnFailure::BuiltIn)];
    Ok(Some(Setting {
        component: path("component", true)?,
        cache: path("cache", false)?,
        limits: limits(&object.object("limits")?)?,
        config: object
            .get("config")
            .map_or("null".to_owned(), |config| config.json().to_owned()),
        on_failure: one_of(
            &object,
            "onFailure",
            &on_failure,
            "\"deny\" or \"built-in\"",
        )?,
    }))
}

fn limits(object: &Object<'_>) -> Result<Limits, ConfigError> {
    const KNOWN: &[&str] = &[
        "fuel",
        "memory",
        "tableElements",
        "instances",
        "stack",
        "lifted",
        "component",
        "state",
    ];
    only(object, KNOWN)?;
    let number = |name: &str, default: u64, most: u64| match object.unsigned(name)? {
        None => Ok(default),
        Some(number) if (1..=most).contains(&number) => Ok(number),
        Some(number) => Err(ConfigError::Limit {
            path: object.path_of(name),
            found: number,
            most,
        }),
    };
    let small = |name: &str, default: u32, most: u32| {
        let number = number(name, default.into(), most.into())?;
        // OK because it is at most `most`.
        Ok::<_, ConfigError>(u32::try_from(number).unwrap_or(most))
    };
    let default = Limits::default();
    Ok(Limits {
        fuel: number("fuel", default.fuel, 1_000_000_000_000)?,
        memory: number("memory", default.memory, 1 << 30)?,
        table_elements: small("tableElements", default.table_elements, 1_000_000)?,
        instances: small("instances", default.instances, 1000)?,
        stack: small("stack", default.stack, 1 << 20)?,
        lifted: number("lifted", default.lifted, 64 << 20)?,
        component: number("component", default.component, 256 << 20)?,
        state: small("state", default.state, 1 << 20)?,
    })
}

/// The addresses that a list of spans names.
pub(crate) fn spans(object: &Object<'_>, name: &str) -> Result<Spans, ConfigError> {
    let mut spans = Vec::new();
    for field in object.list(name)? {
        let text = field.text()?;
        let span = parse_span(&text).map_err(|cause| ConfigError::Span {
            path: field.path().to_owned(),
            found: text,
            cause,
        })?;
        spans.push(span);
    }
    Ok(spans.into_iter().collect())
}

/// Fields of `ipam` that nobody reads, but that look like one that somebody
/// does: what is said of each.
pub(crate) fn slips(ipam: &Object<'_>) -> Vec<String> {
    let mut slips = Vec::new();
    for name in ipam.names() {
        let is = |field: &&&str| field.eq_ignore_ascii_case(name);
        if FIELDS.iter().find(is).is_some() {
            continue;
        }
        let near = FIELDS.iter().find(|field| {
            let (name, field) = (name.to_ascii_lowercase(), field.to_ascii_lowercase());
            // "staticOnly", "excluded", "excludes", "strategie", "stiky"
            field.len() > 4 && (name.starts_with(&field) || distance(&name, &field) <= 2)
        });
        if let Some(near) = near {
            let path = ipam.path_of(name);
            slips.push(format!("{path} is not read: is {near} meant?"));
        }
    }
    slips
}

/// How many letters have to be changed, added or left out to make one text of
/// another; 3 means three or more.
fn distance(a: &str, b: &str) -> usize {
    if a.len().abs_diff(b.len()) > 2 {
        return 3;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut corner = i;
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
        let mut left = i + 1;
        for (cell, y) in row.iter_mut().skip(1).zip(b.bytes()) {
            let best = (corner + usize::from(x != y)).min(left + 1).min(*cell + 1);
            corner = *cell;
            *cell = best;
            left = best;
        }
    }
    row.last().map_or(3, |last| (*last).min(3))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::names::{ContainerId, InterfaceName};

    fn key(args: &[(&str, &str)], interface: &str, set: usize) -> Option<String> {
        let choosing = Choosing {
            sticky: Some(Sticky {
                args: ["A".to_string(), "B".to_string()].into(),
                keep_ms: 0,
            }),
            ..Choosing::default()
        };
        let attachment = Attachment {
            container: ContainerId::new("c").unwrap(),
            interface: InterfaceName::new(interface).unwrap(),
        };
        let args: Vec<_> = args
            .iter()
            .map(|(key, value)| (key.to_string(), value.to_string()))
            .collect();
        choosing.key(&args, &attachment, set)
    }

    #[test]
    fn no_two_keys_look_the_same_and_none_has_blanks() {
        let values = [
            "x", "y", "x/y", "x%2Fy", "%", "%25", "@", "#", "#1", "x@eth0", "x y", "\u{2003}", "é",
            "\u{7f}",
        ];
        let mut keys = Vec::new();
        for a in values {
            for b in values {
                for interface in ["eth0", "a@b", "a#1"] {
                    for set in [0, 1] {
                        let key = key(&[("A", a), ("B", b)], interface, set).unwrap();
                        assert!(!key.contains(|c: char| c.is_whitespace() || c.is_control()));
                        keys.push(key);
                    }
                }
            }
        }
        let count = keys.len();
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), count);
    }

    #[test]
    fn a_key_has_all_of_its_parts_and_fits() {
        assert_eq!(
            key(&[("B", "2"), ("A", "0"), ("A", "1")], "eth0", 2).as_deref(),
            Some("1/2@eth0#2")
        );
        assert_eq!(key(&[("A", "1")], "eth0", 0), None);
        assert_eq!(key(&[("A", "1"), ("B", "")], "eth0", 0), None);
        // "/2@eth0" is the rest of it.
        let long = "x".repeat(LONGEST_KEY - 7);
        assert!(key(&[("A", &long), ("B", "2")], "eth0", 0).is_some());
        assert_eq!(key(&[("A", &long), ("B", "22")], "eth0", 0), None);
        // Blanks count as what they are written as.
        let blank = long.replacen('x', " ", 1);
        assert_eq!(key(&[("A", &blank), ("B", "2")], "eth0", 0), None);
    }

    #[test]
    fn a_distance_is_how_many_letters_differ() {
        for (a, b, wanted) in [
            ("static", "static", 0),
            ("stiky", "sticky", 1),
            ("sticyk", "sticky", 2),
            ("polices", "policy", 2),
            ("extra", "exclude", 3),
            ("", "ab", 2),
            ("abcdef", "uvwxyz", 3),
            ("subnet", "subnetworks", 3),
        ] {
            assert_eq!(
                (distance(a, b), distance(b, a)),
                (wanted, wanted),
                "{a} {b}"
            );
        }
    }
}
