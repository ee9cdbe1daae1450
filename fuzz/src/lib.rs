//! The fuzz targets of `wipam-core`, as plain functions: each takes any bytes
//! and panics where a rule is broken. libFuzzer calls them through
//! `fuzz_targets/`; `tests/replay.rs` calls them with the corpora.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a panic is how a fuzz target says that it found something"
)]

mod cni_args;
mod cni_config;
mod input;
mod range_set;
mod store_plan;

// The rules are those of the property tests.
#[path = "../../core/tests/all/model.rs"]
mod model;
#[path = "../../core/tests/all/world.rs"]
#[allow(
    dead_code,
    reason = "only the property tests count calls and make them fail"
)]
mod world;

pub use cni_args::cni_args;
pub use cni_config::cni_config;
pub use range_set::range_set;
pub use store_plan::store_plan;

/// A target: panics where a rule is broken.
pub type Target = fn(&[u8]);

/// Every target by its name.
pub const TARGETS: [(&str, Target); 4] = [
    ("cni_args", cni_args),
    ("cni_config", cni_config),
    ("range_set", range_set),
    ("store_plan", store_plan),
];

/// A fuzz target's `main`. Under cargo-fuzz it is libFuzzer's; otherwise the
/// program runs the files that it is given, to look at a crash on stable.
#[macro_export]
macro_rules! target {
    ($name:ident) => {
        #[cfg(fuzzing)]
        libfuzzer_sys::fuzz_target!(|data: &[u8]| $crate::$name(data));

        #[cfg(not(fuzzing))]
        fn main() -> std::io::Result<()> {
            std::env::args_os()
                .skip(1)
                .try_for_each(|path| std::fs::read(path).map(|data| $crate::$name(&data)))
        }
    };
}
