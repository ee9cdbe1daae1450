//! Why a policy gave no answer, in words for whoever runs it or wrote it.

use std::fmt;
use std::time::Duration;

use wasmtime::{Error, Trap};
use wipam_core::policy::{Limits, PolicyFailure};
use wipam_core::store::StoreError;

use super::limits::MOST_HANDLES;
use super::log::one_line;

/// What the host ends a decision with.
#[derive(Debug, thiserror::Error)]
pub(super) enum Stop {
    /// The store failed: no fault of the policy's.
    #[error("{0}")]
    Store(StoreError),
    /// A limit was reached: its value and its name.
    #[error("a limit of {0}")]
    Limit(String),
    /// What the policy remembers cannot be read.
    #[error("what it remembers of the network cannot be read, and is left as it is: {0}")]
    Unreadable(String),
}

/// What a decision took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// Units of fuel. Where it trapped, at least as many: what was spent since
    /// it last called or was called is not known then.
    pub fuel: u64,
    /// Time, from before the component was instantiated.
    pub time: Duration,
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ({} units of fuel)",
            Milliseconds(self.time),
            self.fuel
        )
    }
}

struct Milliseconds(Duration);

impl fmt::Display for Milliseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.as_secs_f64() * 1000.0;
        write!(f, "{ms:.*} ms", usize::from(ms < 10.0))
    }
}

/// The policy, as messages name it.
#[derive(Clone, Debug)]
pub(super) struct Name {
    path: String,
    /// Whether messages leave out what it took, which is never the same twice.
    plain: bool,
    /// The first digits of the component's SHA-256: enough to tell whether it
    /// is the one that somebody has in mind.
    digest: Option<String>,
}

/// How many digits of a digest are shown.
const DIGITS: usize = 12;

impl Name {
    pub(super) fn new(path: &str, digest: Option<&str>) -> Self {
        Self {
            path: path.to_owned(),
            plain: false,
            digest: digest.and_then(|digest| digest.get(..DIGITS).map(str::to_owned)),
        }
    }

    /// The same, for messages that are alike whenever they are made.
    pub(super) fn plain(self) -> Self {
        Self {
            plain: true,
            ..self
        }
    }

    /// What something took, with the word before it, if it is told.
    pub(super) fn took(&self, word: &str, took: impl fmt::Display) -> String {
        match self.plain {
            true => String::new(),
            false => format!(" {word} {took}"),
        }
    }

    /// A failure of this policy.
    pub(super) fn fails(&self, how: impl fmt::Display) -> PolicyFailure {
        PolicyFailure::Policy(format!("{self} {how}"))
    }

    /// What became of a decision that ended before its answer.
    pub(super) fn ended(&self, error: &Error, limits: &Limits, spent: Spent) -> PolicyFailure {
        if let Some(limit) = limit(error, limits) {
            // How much fuel that was is said already.
            return match error.downcast_ref() {
                Some(Trap::OutOfFuel) => self.fails(format_args!(
                    "exceeded its limit of {limit}{}",
                    self.took("after", Milliseconds(spent.time))
                )),
                _ => self.fails(format_args!(
                    "exceeded its limit of {limit}{}",
                    self.took("after", spent)
                )),
            };
        }
        let after = self.took("after", spent);
        match error.downcast_ref() {
            Some(Stop::Store(error)) => return PolicyFailure::Store(error.clone()),
            Some(stop @ Stop::Unreadable(_)) => {
                return self.fails(format_args!("failed{after}: {stop}"));
            }
            Some(Stop::Limit(_)) | None => {}
        }
        match error.downcast_ref::<Trap>() {
            Some(trap) => self.fails(format_args!("trapped{after}: {trap}")),
            None => self.fails(format_args!(
                "failed{after}: {}",
                one_line(format!("{error:#}"))
            )),
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "policy {}", self.path)?;
        match &self.digest {
            Some(digest) => write!(f, " (sha256 {digest})"),
            None => Ok(()),
        }
    }
}

/// The limit that was reached, if it was one. Some are told by a type of
/// wasmtime's, some by words only; the tests know if those change.
fn limit(error: &Error, limits: &Limits) -> Option<String> {
    match error.downcast_ref() {
        Some(Trap::OutOfFuel) => return Some(format!("{} units of fuel", limits.fuel)),
        Some(Trap::StackOverflow) => return Some(format!("{} bytes of stack", limits.stack)),
        _ => {}
    }
    if let Some(Stop::Limit(limit)) = error.downcast_ref() {
        return Some(limit.clone());
    }
    let words = error.root_cause().to_string();
    if words.contains("fuel allocated for hostcalls") {
        return Some(format!("{} bytes handed to the host", limits.lifted));
    }
    if words.contains("store handle limit exceeded") {
        return Some(format!("{MOST_HANDLES} handles"));
    }
    let counted = words.strip_prefix("resource limit exceeded: ")?;
    let what = match counted.split(' ').next() {
        Some("memory") => "memories",
        Some("table") => "tables",
        _ => "instances",
    };
    Some(format!("{} {what}", limits.instances))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_times_are_told_with_a_decimal() {
        for (micros, wanted) in [(320, "0.3 ms"), (9_949, "9.9 ms"), (412_300, "412 ms")] {
            let time = Duration::from_micros(micros);
            assert_eq!(Milliseconds(time).to_string(), wanted);
        }
    }

    #[test]
    fn a_policy_that_was_not_read_has_no_digest() {
        assert_eq!(Name::new("/p.wasm", None).to_string(), "policy /p.wasm");
        let name = Name::new("/p.wasm", Some("3f2a9c0d1e22aaaa"));
        assert_eq!(name.to_string(), "policy /p.wasm (sha256 3f2a9c0d1e22)");
    }
}
