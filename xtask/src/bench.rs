//! Measurements. No test fails on them.

use std::path::Path;

use crate::Outcome;
use crate::build;
use crate::shell::{self, cargo, program};

pub(crate) fn run(go_plugins: &Path, counts: &str) -> Outcome {
    let go = go_plugins
        .join("host-local")
        .canonicalize()
        .map_err(|error| format!("{}/host-local: {error}", go_plugins.display()))?;
    build::dist()?;
    println!("\nwhole processes, ours (BIN) and Go's (REF) in turn");
    shell::run(
        program("python3")
            .args([
                "conformance/host-local/bench.py",
                "dist/bin/host-local",
                "--ref",
            ])
            .arg(go)
            .args(["--counts", counts]),
    )?;
    println!("\nthe price of the sandbox: the same core, native and as a component");
    shell::run(cargo().args([
        "bench",
        "--locked",
        "--package",
        "wipam-engine",
        "--bench",
        "sandbox",
    ]))
}
