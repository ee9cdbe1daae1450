//! The words of the question and of the answer.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Display;
use core::net::IpAddr;

use serde::de::DeserializeOwned;

use crate::span::Span;

/// One interface of one container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attachment {
    /// `CNI_CONTAINERID`
    pub container: String,
    /// `CNI_IFNAME`
    pub interface: String,
}

/// What Kubernetes says of a container, by way of `CNI_ARGS`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pod {
    /// `K8S_POD_NAMESPACE`
    pub namespace: String,
    /// `K8S_POD_NAME`
    pub name: String,
    /// `K8S_POD_UID`, where the runtime passes it.
    pub uid: Option<String>,
}

/// An address is wanted, for one range set of an ADD.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Name of the network.
    pub network: String,
    /// Who the address is for.
    pub attachment: Attachment,
    /// Who that is in Kubernetes, where there is one.
    pub pod: Option<Pod>,
    /// `CNI_ARGS`, as pairs of key and value, in their order.
    pub args: Vec<(String, String)>,
    /// Number of the range set, from 0.
    pub set: u32,
    /// `ipam.policy.config`, as JSON text; `null` where there is none.
    pub config: String,
    /// The address that `ipam.sticky` remembers, if it could be given.
    pub remembered: Option<IpAddr>,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub time_ms: u64,
    /// A number that differs from ADD to ADD.
    pub seed: u64,
}

impl Request {
    /// `ipam.policy.config`, read as a `T`. Without one, `{}` is read: a `T`
    /// all of whose fields have a default does without a configuration.
    ///
    /// The error says what is wrong, in words for whoever wrote the
    /// configuration. It is meant to become the answer, by way of `?`.
    pub fn config<T: DeserializeOwned>(&self) -> Result<T, String> {
        read_config(&self.config)
    }

    /// The value of a key of `CNI_ARGS`; of equal keys the last one counts, as
    /// it does for the runtime's own.
    pub fn arg(&self, key: &str) -> Option<&str> {
        let pair = self.args.iter().rev().find(|(name, _)| name == key);
        pair.map(|(_, value)| value.as_str())
    }

    /// The namespace of the pod.
    pub fn namespace(&self) -> Option<&str> {
        self.pod.as_ref().map(|pod| pod.namespace.as_str())
    }

    /// [`Self::remembered`], where one of `spans` holds it.
    pub fn remembered_in(&self, spans: &[Span]) -> Option<IpAddr> {
        self.remembered
            .filter(|address| spans.iter().any(|span| span.contains(*address)))
    }
}

/// What a policy decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Addresses, the best one first: the first that can be given is. One that
    /// is reserved, cooling or kept is passed over; one outside of
    /// [`Pool::spans`](crate::Pool::spans) is a fault of the policy.
    Candidates(Vec<IpAddr>),
    /// No address for this one, and why: the ADD fails.
    Nothing(String),
    /// The choice is left to the built-in strategy.
    YouDecide,
}

impl From<IpAddr> for Answer {
    fn from(address: IpAddr) -> Self {
        Self::Candidates(alloc::vec![address])
    }
}

impl From<Vec<IpAddr>> for Answer {
    fn from(addresses: Vec<IpAddr>) -> Self {
        Self::Candidates(addresses)
    }
}

/// An error is a refusal: so a policy can use `?`.
impl<E: Display> From<Result<Answer, E>> for Answer {
    fn from(result: Result<Answer, E>) -> Self {
        result.unwrap_or_else(|error| Self::Nothing(error.to_string()))
    }
}

/// An address was released.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Name of the network.
    pub network: String,
    /// The address.
    pub address: IpAddr,
    /// Who held it.
    pub owner: Owner,
    /// `ipam.policy.config`, as JSON text; `null` where there is none.
    pub config: String,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub time_ms: u64,
}

impl Notice {
    /// As [`Request::config`].
    pub fn config<T: DeserializeOwned>(&self) -> Result<T, String> {
        read_config(&self.config)
    }
}

fn read_config<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let text = match text.trim() {
        "" | "null" => "{}",
        text => text,
    };
    serde_json::from_str(text).map_err(|error| format!("config: {error}"))
}

/// A range, as it is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// `subnet`: the network address.
    pub subnet: IpAddr,
    /// `subnet`: the prefix length.
    pub prefix_length: u8,
    /// From `rangeStart` to `rangeEnd`.
    pub span: Span,
    /// `gateway`, where it has one.
    pub gateway: Option<IpAddr>,
}

/// Whom a record names as the holder of its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The container.
    pub container: String,
    /// Absent in records of old plugins: they stand for every interface.
    pub interface: Option<String>,
}

/// An address and who holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// The address.
    pub address: IpAddr,
    /// Who holds it.
    pub owner: Owner,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq, Eq, serde::Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Config {
        limit: u32,
    }

    fn config(text: &str) -> Result<Config, String> {
        let config = text.to_string();
        Request {
            config,
            ..Request::default()
        }
        .config()
    }

    #[test]
    fn no_configuration_is_an_empty_one_and_a_wrong_one_says_why() {
        for text in ["", "null", " null ", "{}", r#"{"limit": 0}"#] {
            assert_eq!(config(text), Ok(Config { limit: 0 }), "{text}");
        }
        for (text, wanted) in [
            ("{", "config: EOF"),
            ("7", "config: invalid type: integer `7`"),
            (r#"{"limit": -1}"#, "config: invalid value: integer `-1`"),
            (r#"{"limits": 1}"#, "config: unknown field `limits`"),
        ] {
            let found = config(text);
            assert!(
                found.as_ref().is_err_and(|why| why.starts_with(wanted)),
                "{found:?}"
            );
        }
    }

    #[test]
    fn of_equal_arguments_the_last_one_counts() {
        let args = [("A", "1"), ("B", "2"), ("A", "3")];
        let args = args
            .map(|(key, value)| (key.to_string(), value.to_string()))
            .into();
        let request = Request {
            args,
            ..Request::default()
        };
        assert_eq!(request.arg("A"), Some("3"));
        assert_eq!(request.arg("a"), None);
    }

    #[test]
    fn an_error_is_a_refusal() {
        let failed: Result<Answer, &str> = Err("why");
        assert_eq!(Answer::from(failed), Answer::Nothing("why".to_string()));
    }
}
