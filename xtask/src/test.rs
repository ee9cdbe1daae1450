//! Every test, from the smallest to the shipped binary.

use std::time::Instant;

use crate::Outcome;
use crate::build;
use crate::setup;
use crate::shell::{self, cargo, program, root};

/// One part of the suite.
type Part = (&'static str, fn() -> Outcome);

const PARTS: &[Part] = &[
    ("core builds without an operating system", bare_metal),
    (
        "unit, property and recorded tests of the workspace",
        workspace,
    ),
    ("fuzz targets build, and replay their corpus", fuzz),
    ("static release build", release),
    ("recorded cases against the shipped binary", recorded),
    ("recorded cases against the component in node", node),
    (
        "many processes at once, Go's plugin among them, some killed",
        stress,
    ),
];

pub(crate) fn run() -> Outcome {
    setup::wasm_target()?;
    setup::test_tools()?;
    let begin = Instant::now();
    for (number, (name, part)) in PARTS.iter().enumerate() {
        let begin = Instant::now();
        println!("\n== {}/{} {name}", number + 1, PARTS.len());
        part().map_err(|error| format!("{name}: {error}"))?;
        println!(
            "== {name}: passed in {:.0} s",
            begin.elapsed().as_secs_f32()
        );
    }
    println!(
        "\nall {} parts passed in {:.0} s",
        PARTS.len(),
        begin.elapsed().as_secs_f32()
    );
    Ok(())
}

fn bare_metal() -> Outcome {
    let target = if setup::bare_metal_target()? {
        setup::BARE_METAL
    } else {
        println!(
            "SKIP {}: rustup cannot install it; wasm32-unknown-unknown has to do, which proves \
             that core needs no host, but not that it never asks for std",
            setup::BARE_METAL
        );
        "wasm32-unknown-unknown"
    };
    shell::run(cargo().args([
        "build",
        "--locked",
        "--package",
        "wipam-core",
        "--target",
        target,
    ]))
}

fn workspace() -> Outcome {
    shell::run(cargo().args(["test", "--locked", "--workspace"]))
}

fn fuzz() -> Outcome {
    shell::run(
        cargo()
            .current_dir(root().join("fuzz"))
            .args(["test", "--locked"]),
    )
}

fn release() -> Outcome {
    let dist = build::dist()?;
    let size = std::fs::metadata(dist.join("bin/host-local"))?.len();
    // What is shipped stays small: start-up time is mostly page faults.
    if size > 3_000_000 {
        return Err(format!("host-local: wanted at most 3,000,000 bytes, found {size}").into());
    }
    Ok(())
}

fn recorded() -> Outcome {
    shell::run(
        program("python3")
            .arg("conformance/host-local/run.py")
            .arg("dist/bin/host-local"),
    )
}

fn node() -> Outcome {
    setup::node_modules()?;
    shell::run(
        program("node")
            .arg("conformance/node/replay.js")
            .arg("dist/wasm/host-local.wasm"),
    )
}

fn stress() -> Outcome {
    let go = setup::go_plugins()?;
    shell::run(
        program("python3")
            .args([
                "conformance/host-local/stress.py",
                "dist/bin/host-local",
                "--ref",
            ])
            .arg(go.join("host-local"))
            .args(["--seconds", "8"]),
    )
}
