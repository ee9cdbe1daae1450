//! A choice of an address, put to a policy: code of others, which the host
//! runs in a sandbox of its own. Nothing it answers is believed.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;

use serde::Serialize;

use crate::names::{Attachment, NetworkName};
use crate::pool::HoldBack;
use crate::range::Range;
use crate::span::Span;
use crate::store::{Owner, StoreError};

/// What a policy may use: `ipam.policy.limits`. A decision beyond it is a
/// failure of the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// `fuel`: units, about one per instruction and per nanosecond.
    pub fuel: u64,
    /// `memory`: bytes, all memories together.
    pub memory: u64,
    /// `tableElements`: elements of all tables together.
    pub table_elements: u32,
    /// `instances`: instances of modules; as many memories and tables.
    pub instances: u32,
    /// `stack`: bytes.
    pub stack: u32,
    /// `lifted`: bytes that one decision may hand to the host.
    pub lifted: u64,
    /// `component`: bytes of the component.
    pub component: u64,
    /// `state`: bytes of keys and values that it may keep for a network.
    pub state: u32,
}

impl Default for Limits {
    /// Room for a scripting language with its interpreter: QuickJS takes 2 MB
    /// of memory and a component of 1 MB.
    fn default() -> Self {
        Self {
            fuel: 500_000_000,
            memory: 16 << 20,
            table_elements: 10_000,
            instances: 16,
            stack: 512 << 10,
            lifted: 1 << 20,
            component: 16 << 20,
            state: 64 << 10,
        }
    }
}

/// What happens if a policy fails: `ipam.policy.onFailure`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// The ADD fails.
    #[default]
    Deny,
    /// The built-in strategy chooses, and the failure is told.
    BuiltIn,
}

/// The policy of a configuration: `ipam.policy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// `component`: an absolute path.
    pub component: String,
    /// `cache`: folder of compiled components, an absolute path; empty for the
    /// built-in default.
    pub cache: String,
    /// `limits`
    pub limits: Limits,
    /// `config`: JSON text; `null` where there is none.
    pub config: String,
    /// `onFailure`
    pub on_failure: OnFailure,
}

/// What Kubernetes says of a container, by way of `CNI_ARGS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    /// `K8S_POD_NAMESPACE`
    pub namespace: String,
    /// `K8S_POD_NAME`
    pub name: String,
    /// `K8S_POD_UID`
    pub uid: Option<String>,
}

/// An address is wanted, for one range set of an ADD.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The network.
    pub network: NetworkName,
    /// Who the address is for.
    pub attachment: Attachment,
    /// Who that is in Kubernetes.
    pub pod: Option<Pod>,
    /// `CNI_ARGS`, as pairs of key and value, in their order.
    pub args: Vec<(String, String)>,
    /// Number of the range set, from 0.
    pub set: u32,
    /// `ipam.policy.config`, as JSON text.
    pub config: String,
    /// The address that `ipam.sticky` remembers, if it could be given.
    pub remembered: Option<IpAddr>,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub time_ms: u64,
    /// A number that differs from ADD to ADD.
    pub seed: u64,
}

/// What of the pool a policy gets to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// The ranges of the set.
    pub ranges: Vec<Range>,
    /// What of them may be given, in the same order.
    pub spans: Vec<Span>,
    /// What is held back although it is free.
    pub hold_back: HoldBack,
    /// The marker of the set.
    pub last_reserved: Option<IpAddr>,
}

/// What a policy decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Addresses, the best one first.
    Candidates(Vec<IpAddr>),
    /// No address for this one, and why.
    Nothing(String),
    /// The choice is left to the built-in strategy.
    YouDecide,
}

/// What a policy decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The answer.
    pub answer: Answer,
    /// The policy, for messages: its path and digest, and what it took.
    pub by: String,
}

/// An address was released.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The network.
    pub network: NetworkName,
    /// The address.
    pub address: IpAddr,
    /// Who held it.
    pub owner: Owner,
    /// `ipam.policy.config`, as JSON text.
    pub config: String,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub time_ms: u64,
}

/// Why a policy gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyFailure {
    /// The store failed: no fault of the policy's.
    Store(StoreError),
    /// The policy failed. The text names it and says how.
    Policy(String),
}

impl fmt::Display for PolicyFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::Policy(text) => f.write_str(text),
        }
    }
}

impl core::error::Error for PolicyFailure {}
