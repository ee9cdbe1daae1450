//! What a decision has of the host while it runs.

use std::time::Instant;

use wipam_core::policy::{Limits, View};
use wipam_core::pool::HoldBack;
use wipam_core::span::Span;

use super::limits::Limiter;
use super::log::Log;
use super::state::Memory;
use crate::bindings::wipam::ipam::types;
use crate::convert;

/// What the store of one decision holds.
pub(super) struct State<S> {
    pub(super) store: S,
    pub(super) pool: Pool,
    pub(super) memory: Memory,
    pub(super) log: Log,
    pub(super) limiter: Limiter,
    pub(super) started: Instant,
}

impl<S> State<S> {
    pub(super) fn new(store: S, pool: Pool, limits: &Limits) -> Self {
        Self {
            store,
            pool,
            memory: Memory::new(limits.state),
            log: Log::default(),
            limiter: Limiter::new(limits),
            started: Instant::now(),
        }
    }
}

/// The view of the pool, in the words of the component. None of a set, where
/// the decision is about none.
#[derive(Default)]
pub(super) struct Pool {
    pub(super) ranges: Vec<types::Range>,
    pub(super) spans: Vec<types::Span>,
    pub(super) givable: Vec<Span>,
    pub(super) hold_back: HoldBack,
    pub(super) last_reserved: Option<types::IpAddress>,
}

impl From<&View> for Pool {
    fn from(view: &View) -> Self {
        Self {
            ranges: view.ranges.iter().map(convert::policy::to_range).collect(),
            spans: view.spans.iter().copied().map(convert::to_span).collect(),
            givable: view.spans.clone(),
            hold_back: view.hold_back.clone(),
            last_reserved: view.last_reserved.map(convert::to_address),
        }
    }
}
