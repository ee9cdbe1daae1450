//! What a clean machine lacks. Nothing is installed that is there already,
//! and everything that is installed is said.

use std::path::PathBuf;
use std::process::Command;

use crate::Outcome;
use crate::shell::{cargo, has, program, root, run};

/// All of it.
pub(crate) fn everything() -> Outcome {
    wasm_target()?;
    let _ = bare_metal_target()?;
    test_tools()?;
    node_modules()
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
    let wanted = [
        ("python3", "python3"),
        ("strace", "strace"),
        ("ip", "iproute2"),
        ("iptables", "iptables"),
        ("jq", "jq"),
        ("nft", "nftables"),
        ("ping", "iputils-ping"),
        ("node", "nodejs"),
        ("npm", "npm"),
    ];
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

/// jco, from its lock file.
pub(crate) fn node_modules() -> Outcome {
    let folder = root().join("conformance/node");
    if folder.join("node_modules/@bytecodealliance/jco").is_dir() {
        return Ok(());
    }
    println!("installing jco from conformance/node/package-lock.json");
    run(program("npm")
        .current_dir(folder)
        .args(["ci", "--no-audit", "--no-fund", "--silent"]))
}

/// What makes components of JavaScript, from its lock file.
pub(crate) fn componentizer() -> Outcome {
    let folder = root().join("policies/zones-js");
    if folder.join("node_modules/componentize-qjs").is_dir() {
        return Ok(());
    }
    println!("installing componentize-qjs from policies/zones-js/package-lock.json");
    run(program("npm")
        .current_dir(folder)
        .args(["ci", "--no-audit", "--no-fund", "--silent"]))
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
