//! Recorded cases: what a policy is asked, and what it answers.
//!
//! A file of cases is a JSON list of [`Case`]s. It says nothing about the
//! language of the policy: the same file is put to the Rust function natively,
//! to the component, and to a policy in JavaScript.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;

use serde::Deserialize;

use crate::types::{Attachment, Notice, Owner, Pod, Request};
use crate::{Answer, Pool, Span, State, TestPool};

/// A question and its answer. It has either a `request` and what it `want`s,
/// or a notice that an address was `released`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Case {
    /// What it shows.
    pub name: String,
    /// The ranges of the set, as a network configuration has them.
    #[serde(default)]
    pub ranges: Vec<RangeSpec>,
    /// Addresses of the ranges that are not to be given.
    #[serde(default)]
    pub exclude: Vec<Span>,
    /// Addresses that are reserved, and the container whose eth0 has them.
    #[serde(default)]
    pub reservations: BTreeMap<IpAddr, String>,
    /// The address last given.
    pub last_reserved: Option<IpAddr>,
    /// What the policy remembers; values are text.
    #[serde(default)]
    pub state: BTreeMap<String, String>,
    /// An address is wanted.
    pub request: Option<RequestSpec>,
    /// An address was released.
    pub released: Option<ReleasedSpec>,
    /// The answer to `request`.
    pub want: Option<Want>,
    /// What the policy remembers then; absent where that does not change.
    pub state_after: Option<BTreeMap<String, String>>,
}

/// A range.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RangeSpec {
    /// In CIDR notation.
    pub subnet: String,
    /// Inclusive.
    pub range_start: Option<IpAddr>,
    /// Inclusive.
    pub range_end: Option<IpAddr>,
    /// Default: the first address after the network address.
    pub gateway: Option<IpAddr>,
}

/// A [`Request`]; what is not written has the default that is named here.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RequestSpec {
    /// `net`
    pub network: String,
    /// `c1`
    pub container: String,
    /// `eth0`
    pub interface: String,
    /// None.
    pub pod: Option<PodSpec>,
    /// None. They are put in the order of the keys.
    pub args: BTreeMap<String, String>,
    /// 0
    pub set: u32,
    /// `null`
    pub config: serde_json::Value,
    /// None.
    pub remembered: Option<IpAddr>,
    /// 0
    pub time_ms: u64,
    /// 0
    pub seed: u64,
}

impl Default for RequestSpec {
    fn default() -> Self {
        Self {
            network: "net".to_owned(),
            container: "c1".to_owned(),
            interface: "eth0".to_owned(),
            pod: None,
            args: BTreeMap::new(),
            set: 0,
            config: serde_json::Value::Null,
            remembered: None,
            time_ms: 0,
            seed: 0,
        }
    }
}

/// A pod.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PodSpec {
    /// `K8S_POD_NAMESPACE`
    pub namespace: String,
    /// `K8S_POD_NAME`
    #[serde(default)]
    pub name: String,
    /// `K8S_POD_UID`
    pub uid: Option<String>,
}

/// A [`Notice`]. `network`, `container` and `interface` have the defaults of
/// [`RequestSpec`].
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReleasedSpec {
    /// Name of the network.
    pub network: Option<String>,
    /// The address.
    pub address: IpAddr,
    /// The container that held it.
    pub container: Option<String>,
    /// Its interface.
    pub interface: Option<String>,
    /// `ipam.policy.config`
    #[serde(default)]
    pub config: serde_json::Value,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    #[serde(default)]
    pub time_ms: u64,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Want {
    /// These addresses, in this order.
    Candidates(Vec<IpAddr>),
    /// No address, and a text that contains this one.
    None(String),
    /// The choice is left to the built-in strategy.
    YouDecide,
}

/// Reads a file of cases.
pub fn read(cases: &str) -> Result<Vec<Case>, Failures> {
    serde_json::from_str(cases).map_err(|error| Failures(format!("no list of cases: {error}")))
}

/// The cases in which the answer was another one. Made for `fn test() ->
/// Result<(), Failures>`: it reads the same with `Debug`.
pub struct Failures(String);

impl fmt::Display for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Failures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for Failures {}

/// Puts cases to a policy.
pub fn run<A: Into<Answer>>(
    cases: &str,
    choose: impl Fn(&Request, &Pool) -> A,
) -> Result<(), Failures> {
    run_with_releases(cases, choose, |_, _| {
        Err("the policy is not told of releases".to_owned())
    })
}

/// Puts cases to a policy that is told of releases.
pub fn run_with_releases<A: Into<Answer>>(
    cases: &str,
    choose: impl Fn(&Request, &Pool) -> A,
    released: impl Fn(&Notice, &State) -> Result<(), String>,
) -> Result<(), Failures> {
    let cases = read(cases)?;
    let mut wrong = Vec::new();
    for case in &cases {
        let checked = case.check(
            |request, pool| choose(request, pool).into(),
            |notice, state| released(notice, state),
        );
        if let Err(why) = checked {
            wrong.push(format!("{}: {why}", case.name));
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    let (few, all) = (wrong.len(), cases.len());
    Err(Failures(format!(
        "{few} of {all} cases:\n{}",
        wrong.join("\n")
    )))
}

impl Case {
    fn check(
        &self,
        choose: impl FnOnce(&Request, &Pool) -> Answer,
        released: impl FnOnce(&Notice, &State) -> Result<(), String>,
    ) -> Result<(), String> {
        let pool = self.pool()?;
        match (&self.request, &self.released, &self.want) {
            (Some(request), None, Some(want)) => {
                let answer = choose(&request.request(), &pool);
                let agree = match (want, &answer) {
                    (Want::Candidates(wanted), Answer::Candidates(found)) => wanted == found,
                    (Want::None(wanted), Answer::Nothing(found)) => found.contains(wanted),
                    (Want::YouDecide, Answer::YouDecide) => true,
                    _ => false,
                };
                if !agree {
                    return Err(format!("wanted {want:?}, found {answer:?}"));
                }
            }
            (None, Some(notice), None) => released(&notice.notice(), pool.state())?,
            _ => return Err("wanted either `request` and `want`, or `released`".to_owned()),
        }
        let wanted = self.state_after.as_ref().unwrap_or(&self.state);
        let state = pool.state();
        let found: BTreeMap<_, _> = state
            .keys()
            .into_iter()
            .map(|key| {
                let value = state.get(&key).unwrap_or_default();
                (key, String::from_utf8_lossy(&value).to_string())
            })
            .collect();
        if *wanted != found {
            return Err(format!("wanted the state {wanted:?}, found {found:?}"));
        }
        Ok(())
    }

    /// The pool as it is before.
    pub fn pool(&self) -> Result<Pool, String> {
        let mut pool = TestPool::default();
        for range in &self.ranges {
            let (start, end) = (range.range_start, range.range_end);
            pool = pool.range(&range.subnet, start, end, range.gateway)?;
        }
        for span in &self.exclude {
            pool = pool.exclude(*span);
        }
        for (address, container) in &self.reservations {
            pool = pool.reserve(*address, container);
        }
        if let Some(last) = self.last_reserved {
            pool = pool.last_reserved(last);
        }
        for (key, value) in &self.state {
            pool = pool.state(key, value.as_bytes());
        }
        Ok(pool.pool())
    }
}

impl RequestSpec {
    /// As the policy gets it.
    pub fn request(&self) -> Request {
        let pod = self.pod.as_ref().map(|pod| Pod {
            namespace: pod.namespace.clone(),
            name: pod.name.clone(),
            uid: pod.uid.clone(),
        });
        Request {
            network: self.network.clone(),
            attachment: Attachment {
                container: self.container.clone(),
                interface: self.interface.clone(),
            },
            pod,
            args: self.args.clone().into_iter().collect(),
            set: self.set,
            config: self.config.to_string(),
            remembered: self.remembered,
            time_ms: self.time_ms,
            seed: self.seed,
        }
    }
}

impl ReleasedSpec {
    /// As the policy gets it.
    pub fn notice(&self) -> Notice {
        let or = |value: &Option<String>, default: &str| {
            value.clone().unwrap_or_else(|| default.to_owned())
        };
        Notice {
            network: or(&self.network, "net"),
            address: self.address,
            owner: Owner {
                container: or(&self.container, "c1"),
                interface: Some(or(&self.interface, "eth0")),
            },
            config: self.config.to_string(),
            time_ms: self.time_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASES: &str = r#"[
        {
            "name": "one",
            "ranges": [{ "subnet": "10.1.0.0/24" }],
            "request": {},
            "want": { "candidates": ["10.1.0.2"] }
        },
        { "name": "two", "request": {}, "want": "youDecide" },
        { "name": "three", "request": {}, "want": { "none": "room" } },
        { "name": "four", "released": { "address": "10.1.0.2" } }
    ]"#;

    #[test]
    fn a_wrong_answer_is_told_with_its_case() {
        let told = run(CASES, |_, pool| match pool.next_in_turn() {
            Some(address) => address.into(),
            None => Answer::Nothing("no room".to_owned()),
        });
        let text = told.err().map(|failures| failures.to_string());
        let text = text.unwrap_or_default();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(
            lines,
            [
                "2 of 4 cases:",
                "two: wanted YouDecide, found Nothing(\"no room\")",
                "four: the policy is not told of releases",
            ]
        );
    }

    #[test]
    fn a_state_that_changes_has_to_be_wanted() {
        let cases = r#"[{ "name": "one", "request": {}, "want": "youDecide" }]"#;
        let told = run(cases, |_, pool| {
            pool.state()
                .set("key", b"value")
                .map(|()| Answer::YouDecide)
        });
        let text = told.err().map(|failures| failures.to_string());
        assert!(text.is_some_and(|text| text.contains("found {\"key\": \"value\"}")));
    }

    #[test]
    fn what_is_misspelt_is_no_case() {
        for text in [
            "{}",
            r#"[{ "name": "one", "reqest": {}, "want": "youDecide" }]"#,
            r#"[{ "name": "one", "request": { "contaner": "a" }, "want": "youDecide" }]"#,
            r#"[{ "name": "one", "request": {}, "want": "youdecide" }]"#,
        ] {
            assert!(read(text).is_err(), "{text}");
        }
        let cases = r#"[{ "name": "one", "want": "youDecide" }]"#;
        assert!(run(cases, |_, _| Answer::YouDecide).is_err());
    }
}
