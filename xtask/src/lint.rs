//! Format, lints, documentation, dependencies.

use crate::Outcome;
use crate::setup;
use crate::shell::{self, cargo, program, root};

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
    // What is compiled for components only.
    shell::run(cargo().args([
        "clippy",
        "--locked",
        "--target",
        "wasm32-unknown-unknown",
        "--package",
        "wipam-plugin",
        "--package",
        "wipam-policy-you-decide",
        "--package",
        "wipam-simulator",
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
    )?;
    playground()?;
    dependencies()
}

/// The types of the playground, which are in comments.
fn playground() -> Outcome {
    setup::node_modules()?;
    shell::run(
        program("npm")
            .current_dir(root().join("playground"))
            .args(["run", "--silent", "types"]),
    )
}

/// Licences, sources and bans; advisories as well, where their database can be
/// fetched.
fn dependencies() -> Outcome {
    let deny = setup::cargo_deny()?;
    shell::run(program(&deny).args([
        "check",
        "--hide-inclusion-graph",
        "bans",
        "licenses",
        "sources",
    ]))?;
    match shell::run(program(&deny).args(["fetch", "db"])) {
        Ok(()) => shell::run(program(&deny).args(["check", "advisories"])),
        Err(error) => {
            println!("SKIP advisories: their database cannot be fetched from here ({error})");
            Ok(())
        }
    }
}
