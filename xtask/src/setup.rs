//! What a clean machine lacks. Nothing is installed that is there already,
//! and everything that is installed is said.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::Outcome;
use crate::shell::{cargo, has, program, root, run};

/// All of it.
pub(crate) fn everything() -> Outcome {
    wasm_target()?;
    let _ = bare_metal_target()?;
    test_tools()?;
    chromium()?;
    node_modules()?;
    componentizer()
}

fn library_of(target: &str) -> Outcome<PathBuf> {
    let found = Command::new("rustc")
        .args(["--print", "sysroot"])
        .output()?;
    let sysroot = PathBuf::from(String::from_utf8(found.stdout)?.trim());
    Ok(sysroot.join("lib/rustlib").join(target).join("lib"))
}

/// The target of the component. Where rustup cannot bring it, it is compiled
/// from Debian's source package of the same compiler.
pub(crate) fn wasm_target() -> Outcome {
    if library_of("wasm32-unknown-unknown")?.is_dir() {
        return Ok(());
    }
    println!("installing the Rust target wasm32-unknown-unknown");
    run(&mut program(root().join("scripts/install-wasm-target")))
}

/// The target that proves core needs no operating system; `false` where rustup
/// cannot bring it.
pub(crate) fn bare_metal_target() -> Outcome<bool> {
    if library_of(BARE_METAL)?.is_dir() {
        return Ok(true);
    }
    println!("installing the Rust target {BARE_METAL}");
    Ok(run(program("rustup").args(["target", "add", BARE_METAL])).is_ok())
}

/// A target without an operating system.
pub(crate) const BARE_METAL: &str = "x86_64-unknown-none";

/// The target `ARCH-unknown-linux-musl` and the compiler for its bits of C;
/// `false` where they cannot be had.
pub(crate) fn musl(arch: &str) -> Outcome<bool> {
    let target = format!("{arch}-unknown-linux-musl");
    if !library_of(&target)?.is_dir() {
        println!("installing the Rust target {target}");
        if run(program("rustup").args(["target", "add", &target])).is_err() {
            return Ok(false);
        }
    }
    let compiler = format!("{arch}-linux-musl-gcc");
    if !has(&compiler) {
        from_debian(&["musl-tools"])?;
    }
    Ok(has(&compiler))
}

/// Programs that tests run.
pub(crate) fn test_tools() -> Outcome {
    programs(&[
        ("python3", "python3"),
        ("strace", "strace"),
        ("ip", "iproute2"),
        ("iptables", "iptables"),
        ("jq", "jq"),
        ("nft", "nftables"),
        ("ping", "iputils-ping"),
    ])?;
    node()
}

/// The oldest node that has everything: playwright-core wants it.
const NODE: u32 = 20;

/// node and npm, for the playground and for policies in JavaScript.
fn node() -> Outcome {
    programs(&[("node", "nodejs"), ("npm", "npm")])?;
    let found = Command::new("node").arg("--version").output()?;
    let found = String::from_utf8(found.stdout)?;
    let major = found.trim().trim_start_matches('v').split('.').next();
    if major.and_then(|major| major.parse().ok()) < Some(NODE) {
        return Err(format!("wanted node {NODE} or newer, found {}", found.trim()).into());
    }
    Ok(())
}

/// A browser to test the playground with.
pub(crate) fn chromium() -> Outcome {
    programs(&[("chromium", "chromium")])
}

/// Installs those programs that are missing; beside each is Debian's package.
fn programs(wanted: &[(&str, &'static str)]) -> Outcome {
    let missing: Vec<_> = wanted
        .iter()
        .filter(|(name, _)| !has(name))
        .map(|(_, p)| *p)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    from_debian(&missing)
}

fn from_debian(packages: &[&str]) -> Outcome {
    println!("installing from Debian: {}", packages.join(" "));
    run(program("apt-get").args(["-qq", "update"]))?;
    run(program("apt-get")
        .args(["-qq", "install", "-y", "--no-install-recommends"])
        .args(packages))
}

/// cargo-deny, in a place of its own if it is not installed. Unoptimised: it
/// runs for a second, and takes minutes to build as it is.
pub(crate) fn cargo_deny() -> Outcome<PathBuf> {
    if has("cargo-deny") {
        return Ok("cargo-deny".into());
    }
    let folder = root().join("target/tools");
    let program = folder.join("bin/cargo-deny");
    if !program.is_file() {
        println!("installing cargo-deny into target/tools (some minutes)");
        run(cargo()
            .args([
                "install",
                "--quiet",
                "--locked",
                "--debug",
                "cargo-deny@0.20.2",
                "--root",
            ])
            .arg(&folder))?;
    }
    Ok(program)
}

/// What the playground is built and tested with, from its lock file.
pub(crate) fn node_modules() -> Outcome {
    locked_modules("playground")
}

/// What makes components of JavaScript, from its lock file.
pub(crate) fn componentizer() -> Outcome {
    locked_modules("policies/zones-js")
}

/// Installs what a lock file names, unless just that is installed.
fn locked_modules(folder: &str) -> Outcome {
    node()?;
    let folder_of = root().join(folder);
    let wanted = fs::read(folder_of.join("package-lock.json"))?;
    // A copy of the lock file that was installed from, since what npm leaves
    // there itself is another file.
    let note = folder_of.join("node_modules/.installed-lock.json");
    if fs::read(&note).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    println!("installing from {folder}/package-lock.json");
    run(program("npm")
        .current_dir(folder_of)
        .args(["ci", "--no-audit", "--no-fund", "--silent"]))?;
    Ok(fs::write(note, wanted)?)
}

/// The Go plugins, for tests that mix them with ours.
pub(crate) fn go_plugins() -> Outcome<PathBuf> {
    let folder = root().join("target/go-plugins");
    if !folder.join("host-local").is_file() {
        println!(
            "fetching the Go plugins (Debian's containernetworking-plugins) for side-by-side tests"
        );
        run(program(root().join("scripts/get-go-plugins")).arg(&folder))?;
    }
    Ok(folder)
}
