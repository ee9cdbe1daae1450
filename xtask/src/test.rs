//! Every test, from the smallest to the shipped binary.

use std::os::unix::fs::MetadataExt;
use std::time::Instant;

use crate::Outcome;
use crate::build;
use crate::playground;
use crate::setup;
use crate::shell::{self, cargo, program, root, target_dir};

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
    (
        "policies: built, checked, and put to their recorded cases",
        policies,
    ),
    (
        "recorded cases with a policy that has no opinion",
        recorded_with_policy,
    ),
    ("recorded cases against the component in node", node),
    ("the playground is built, and opens with little", site),
    ("the playground's engine in node", engine),
    ("the playground in Chromium", browser),
    (
        "recorded cases of the bridge against the shipped binary",
        recorded_bridge,
    ),
    ("real traffic through the bridge", traffic),
    ("failures injected at every step", injected),
    (
        "many processes at once, Go's plugin among them, some killed",
        stress,
    ),
    ("real clients: podman", podman),
    ("real clients: containerd", containerd),
];

/// What is shipped stays small: start-up time is mostly page faults.
const SIZES: &[(&str, u64)] = &[("host-local", 3_000_000), ("bridge", 4_200_000)];

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
    for (name, most) in SIZES {
        let size = std::fs::metadata(dist.join("bin").join(name))?.len();
        if size > *most {
            return Err(format!("{name}: wanted at most {most} bytes, found {size}").into());
        }
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

fn policies() -> Outcome {
    let built = build::policies()?;
    let wipam = root().join("dist/bin/wipam");
    for (name, cases) in [
        ("zones", &["zones/cases.json", "zones/cases-ipv6.json"][..]),
        ("zones-js", &["zones/cases.json", "zones/cases-ipv6.json"]),
        ("quota", &["quota/cases.json"]),
        ("spread", &["spread/cases.json"]),
    ] {
        let component = built.join(name).with_extension("wasm");
        shell::run(program(&wipam).args(["policy", "check"]).arg(&component))?;
        let cases = cases
            .iter()
            .map(|cases| root().join("policies").join(cases));
        shell::run(
            program(&wipam)
                .args(["policy", "test"])
                .arg(&component)
                .args(cases),
        )?;
    }
    shell::run(
        program("npm")
            .current_dir(root().join("policies/zones-js"))
            .args(["test", "--silent"]),
    )
}

fn recorded_with_policy() -> Outcome {
    shell::run(
        program("python3")
            .arg("conformance/host-local/run.py")
            .arg("dist/bin/host-local")
            .args(["--policy", "dist/policies/you-decide.wasm"]),
    )
}

fn node() -> Outcome {
    setup::node_modules()?;
    shell::run(
        program("node")
            .arg("playground/tests/recorded/replay.js")
            .arg("dist/wasm/host-local.wasm"),
    )
}

fn site() -> Outcome {
    playground::site()
}

fn engine() -> Outcome {
    script("test:engine")
}

fn browser() -> Outcome {
    setup::chromium()?;
    script("test:browser")
}

/// One of the scripts of `playground/package.json`.
fn script(name: &str) -> Outcome {
    shell::run(
        program("npm")
            .current_dir(root().join("playground"))
            .args(["run", "--silent", name]),
    )
}

/// Network namespaces are for root. CI is root, so nothing is missed there.
fn may_make_namespaces() -> Outcome<bool> {
    let root = std::fs::metadata("/proc/self")?.uid() == 0;
    if !root {
        println!("SKIP: makes network namespaces, which needs root");
    }
    Ok(root)
}

fn recorded_bridge() -> Outcome {
    if !may_make_namespaces()? {
        return Ok(());
    }
    let own = ["--cases", "conformance/bridge/cases-wipam", "--improved"];
    let go = setup::go_plugins()?;
    for more in [&[][..], &["--improved"], &own] {
        shell::run(
            program("python3")
                .args(["conformance/bridge/run.py", "dist/bin", "--jobs", "2"])
                .arg("--helpers")
                .arg(&go)
                .args(more),
        )?;
    }
    Ok(())
}

fn traffic() -> Outcome {
    if !may_make_namespaces()? {
        return Ok(());
    }
    shell::run(program("python3").args(["conformance/bridge/traffic.py", "dist/bin"]))
}

fn injected() -> Outcome {
    if !may_make_namespaces()? {
        return Ok(());
    }
    shell::run(cargo().args([
        "build",
        "--locked",
        "--package",
        "wipam-inject",
        "--package",
        "wipam-cni",
    ]))?;
    // The runner wants it under the plugin's name, with host-local beside it.
    let folder = target_dir().join("inject");
    std::fs::create_dir_all(&folder)?;
    for (built, name) in [("bridge-inject", "bridge"), ("host-local", "host-local")] {
        std::fs::copy(target_dir().join("debug").join(built), folder.join(name))?;
    }
    shell::run(
        program("python3")
            .arg("conformance/bridge/inject.py")
            .arg(folder)
            .args(["--jobs", "2"]),
    )
}

fn podman() -> Outcome {
    client("e2e/podman-e2e.sh")
}

fn containerd() -> Outcome {
    client("e2e/containerd-e2e.sh")
}

/// Runs a container runtime in a sandbox, with our plugins, and Go's for the
/// rest of the chain. The script installs the runtime.
fn client(script: &str) -> Outcome {
    if !may_make_namespaces()? {
        return Ok(());
    }
    shell::run(
        program(root().join(script))
            .arg("dist/bin")
            .env("REF_DIR", setup::go_plugins()?)
            // No timing: a test measures nothing.
            .env("E2E_RUNS", "0"),
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
