//! Format, lints, documentation.

use crate::Outcome;
use crate::setup;
use crate::shell::{self, cargo};

pub(crate) fn run() -> Outcome {
    setup::wasm_target()?;
    shell::run(cargo().args(["fmt", "--all", "--check"]))?;
    shell::run(cargo().args([
        "clippy",
        "--locked",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]))?;
    shell::run(
        cargo()
            .args([
                "doc",
                "--locked",
                "--workspace",
                "--no-deps",
                "--document-private-items",
            ])
            .env("RUSTDOCFLAGS", "-D warnings"),
    )
}
