//! Settings for code of others. What is compiled with them runs with them.

use wasmtime::{Config, OperatorCost, WasmFeatures};
use wipam_core::policy::Limits;

use crate::settings;

/// What compiled code depends on besides the component and the processor. It
/// is a part of the cache's keys: to be raised whenever `config` changes, and
/// when the version of wasmtime does, down to the last number. wasmtime itself
/// looks at the first one only, and would go on running what a compiler with a
/// known fault has made.
pub(super) const REVISION: &str = "wasmtime 48.0.8, settings 1";

/// Most bytes of address space that a memory reserves to grow into.
const MOST_RESERVED: u64 = 16 << 20;

/// How code is generated. Equal inputs give equal answers, whatever the
/// processor. Whether it can be interrupted is known by the component alone.
pub(super) fn config(watched: bool) -> Config {
    let mut config = settings::config();
    config
        .operator_cost(costs())
        .relaxed_simd_deterministic(true)
        .concurrency_support(false)
        .epoch_interruption(watched)
        .wasm_features(WasmFeatures::THREADS, false)
        .wasm_memory64(false);
    config
}

/// How code is run.
pub(super) fn running(limits: &Limits, watched: bool) -> Config {
    let mut config = config(watched);
    config
        .max_wasm_stack(usize::try_from(limits.stack).unwrap_or(settings::STACK))
        // A memory that outgrows what it has reserved is copied: for a moment
        // it is there twice, and a policy would take twice what it may. Within
        // reason, for address space may be scarce as well.
        .memory_reservation_for_growth(limits.memory.min(MOST_RESERVED))
        // Where in the component it was says little to people, in many lines.
        .wasm_backtrace_max_frames(None);
    #[cfg(feature = "compile")]
    config.enable_compiler(false);
    config
}

/// Growing asks the kernel, and may fail as often as it is tried. What copies
/// and fills pays by the byte already.
fn costs() -> OperatorCost {
    let mut costs = OperatorCost::new();
    costs.MemoryGrow = 255;
    costs.TableGrow = 255;
    costs.variable.memory_grow_per_page = 255;
    costs
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn the_revision_names_the_version_that_is_locked() {
        let lock = include_str!("../../../../Cargo.lock");
        let (_, rest) = lock
            .split_once("name = \"wasmtime\"\nversion = \"")
            .unwrap();
        let (version, _) = rest.split_once('"').unwrap();
        assert!(
            REVISION.starts_with(&format!("wasmtime {version},")),
            "found {version}, REVISION is {REVISION:?}"
        );
    }
}
