//! What a policy may use, over all its memories and tables together.

use wasmtime::{ResourceLimiter, Result};
use wipam_core::policy::Limits;

use super::failure::Stop;

/// Handles that a component with resources of its own may hold: each takes
/// memory of the host. Not to be configured, since a policy needs none.
pub(super) const MOST_HANDLES: usize = 1000;

/// Counts what the instances of one decision use. A policy that wants more is
/// ended: what a program does that is told there is no memory is anybody's
/// guess, and the cause would be lost.
pub(super) struct Limiter {
    memory: Count,
    tables: Count,
    instances: usize,
}

/// What is granted counts even where it cannot be had then: a failure to grow
/// is also reported for what was never asked here, so nothing is ever given
/// back.
struct Count {
    used: usize,
    most: usize,
}

impl Count {
    fn new(most: u64) -> Self {
        Self {
            used: 0,
            most: usize::try_from(most).unwrap_or(usize::MAX),
        }
    }

    /// `Ok(false)` where the module itself wants no more than `maximum`.
    fn grow(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
        what: &str,
    ) -> Result<bool> {
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let used = self.used.saturating_add(desired.saturating_sub(current));
        if used > self.most {
            return Err(Stop::Limit(format!("{} {what}", self.most)).into());
        }
        self.used = used;
        Ok(true)
    }
}

impl Limiter {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            memory: Count::new(limits.memory),
            tables: Count::new(limits.table_elements.into()),
            instances: usize::try_from(limits.instances).unwrap_or(usize::MAX),
        }
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> Result<bool> {
        self.memory
            .grow(current, desired, maximum, "bytes of memory")
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> Result<bool> {
        self.tables
            .grow(current, desired, maximum, "elements of tables")
    }

    fn instances(&self) -> usize {
        self.instances
    }

    fn tables(&self) -> usize {
        self.instances
    }

    fn memories(&self) -> usize {
        self.instances
    }
}
