//! Measurements. No test fails on them.

use std::path::Path;

use crate::Outcome;
use crate::build;
use crate::shell::{self, cargo, program};

pub(crate) fn run(go_plugins: &Path, counts: &str) -> Outcome {
    let plugins = go_plugins
        .canonicalize()
        .map_err(|error| format!("{}: {error}", go_plugins.display()))?;
    build::dist()?;
    println!("\nwhole processes, ours (BIN) and Go's (REF) in turn");
    shell::run(
        program("python3")
            .args([
                "conformance/host-local/bench.py",
                "dist/bin/host-local",
                "--ref",
            ])
            .arg(plugins.join("host-local"))
            .args(["--counts", counts]),
    )?;
    println!("\nchoosing an address: strategies, and a policy");
    let policies = build::policies()?;
    let zones = policies.join("zones.wasm");
    let config = r#"{"zones":{},"default":["10.0.0.0/16"]}"#;
    shell::run(
        program("python3")
            .args([
                "conformance/host-local/bench-choosing.py",
                "dist/bin/host-local",
                "--policy",
            ])
            .arg(policies.join("you-decide.wasm"))
            .arg("--policy")
            .arg(format!("{}={config}", zones.display())),
    )?;
    println!("\nthe bridge, ours and Go's in turn, host-local included");
    shell::run(
        program("python3")
            .args(["conformance/bridge/bench.py", "dist/bin", "--ref"])
            .arg(&plugins),
    )?;
    println!("\nwhat the kernel alone takes for the same");
    shell::run(cargo().args([
        "bench",
        "--locked",
        "--package",
        "wipam-net",
        "--bench",
        "kernel",
    ]))?;
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
