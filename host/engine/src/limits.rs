//! What a component may use.

use wasmtime::{ResourceLimiter, Result, StoreLimits, StoreLimitsBuilder};

/// Limits of one invocation.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Units of fuel, about one an instruction.
    pub fuel: u64,
    /// Bytes of memory.
    pub memory: usize,
}

impl Default for Limits {
    /// Ample for the built-in component: the largest input that is accepted,
    /// 8 MiB, takes a hundredth of the fuel and half of the memory.
    fn default() -> Self {
        Self {
            fuel: 20_000_000_000,
            memory: 64 << 20,
        }
    }
}

impl Limits {
    pub(crate) fn limiter(&self) -> Limiter {
        let limits = StoreLimitsBuilder::new()
            .memory_size(self.memory)
            .memories(1)
            // A component is a handful of instances: the module, and the shims
            // that connect it to its imports.
            .instances(8)
            .tables(4)
            .table_elements(1024)
            .build();
        Limiter {
            limits,
            memory: self.memory,
            refused: None,
        }
    }
}

/// The limits, and whether one was reached: a component that gets no memory
/// traps like one that has crashed.
pub(crate) struct Limiter {
    limits: StoreLimits,
    memory: usize,
    pub(crate) refused: Option<String>,
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> Result<bool> {
        let allowed = self.limits.memory_growing(current, desired, maximum)?;
        if !allowed {
            self.refused = Some(format!(
                "{} bytes of memory, wanting {desired}",
                self.memory
            ));
        }
        Ok(allowed)
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> Result<bool> {
        let allowed = self.limits.table_growing(current, desired, maximum)?;
        if !allowed {
            self.refused = Some(format!("tables, wanting {desired} elements"));
        }
        Ok(allowed)
    }

    fn instances(&self) -> usize {
        self.limits.instances()
    }

    fn tables(&self) -> usize {
        self.limits.tables()
    }

    fn memories(&self) -> usize {
        self.limits.memories()
    }
}
