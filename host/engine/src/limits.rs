//! What a component may use.

use wasmtime::{StoreLimits, StoreLimitsBuilder};

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
        Self { fuel: 20_000_000_000, memory: 64 << 20 }
    }
}

impl Limits {
    pub(crate) fn limiter(&self) -> StoreLimits {
        StoreLimitsBuilder::new()
            .memory_size(self.memory)
            .memories(1)
            // A component is a handful of instances: the module, and the shims
            // that connect it to its imports.
            .instances(8)
            .tables(4)
            .table_elements(1024)
            .build()
    }
}
