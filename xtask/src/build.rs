//! Release builds.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use crate::setup;
use crate::shell::{cargo, program, root, run, target_dir};

/// What is shipped in `dist/bin`: the plugins, and the program for people.
const BINARIES: [&str; 3] = ["host-local", "bridge", "wipam"];

/// Static binaries and the component, in `dist/`.
pub(crate) fn dist() -> Outcome<PathBuf> {
    setup::wasm_target()?;
    let (target, flags) = static_target()?;
    // One after the other: built together, the plugins would get the features
    // of the other's engine, and with them a compiler.
    for package in ["wipam-cni", "wipam"] {
        run(cargo()
            .args(["build", "--release", "--locked", "--target", &target])
            .args(["--package", package])
            .env("RUSTFLAGS", flags))?;
    }
    let built = target_dir().join(&target).join("release");
    let dist = root().join("dist");
    let (bin, wasm) = (dist.join("bin"), dist.join("wasm"));
    fs::create_dir_all(&bin)?;
    fs::create_dir_all(&wasm)?;
    for name in BINARIES {
        copy(&built.join(name), &bin.join(name))?;
    }
    copy(&component(&built)?, &wasm.join("host-local.wasm"))?;
    Ok(dist)
}

/// What guests are built for.
const GUEST: &str = "wasm32-unknown-unknown";

/// Policies in Rust of this workspace: package, and name of the component.
const POLICIES: [(&str, &str); 4] = [
    ("wipam-policy-zones", "zones"),
    ("wipam-policy-quota", "quota"),
    ("wipam-policy-spread", "spread"),
    ("wipam-policy-you-decide", "you-decide"),
];

/// The example policies, as components in `dist/policies`, made by the `wipam`
/// of `dist/bin`.
pub(crate) fn policies() -> Outcome<PathBuf> {
    setup::componentizer()?;
    let to = root().join("dist/policies");
    guests(&POLICIES, &to)?;
    run(program("npm")
        .current_dir(root().join("policies/zones-js"))
        .args(["run", "--silent", "build"]))?;
    Ok(to)
}

/// What the playground counts with, as a component in `dist/wasm`, made by the
/// `wipam` of `dist/bin`.
pub(crate) fn simulator() -> Outcome {
    guests(
        &[("wipam-simulator", "simulator")],
        &root().join("dist/wasm"),
    )
}

/// Builds packages for components, and makes components of them.
fn guests(packages: &[(&str, &str)], to: &Path) -> Outcome {
    setup::wasm_target()?;
    let wanted = packages
        .iter()
        .flat_map(|(package, _)| ["--package", *package]);
    run(cargo()
        .args(["build", "--profile", "guest", "--locked", "--target", GUEST])
        .args(wanted))?;
    fs::create_dir_all(to)?;
    let built = target_dir().join(GUEST).join("guest");
    let wipam = root().join("dist/bin/wipam");
    for (package, name) in packages {
        let module = built.join(format!("{}.wasm", package.replace('-', "_")));
        run(program(&wipam)
            .args(["policy", "component"])
            .arg(module)
            .arg(to.join(name).with_extension("wasm")))?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Outcome {
    // A running binary cannot be overwritten, but it can be replaced.
    let _ = fs::remove_file(to);
    let size = fs::copy(from, to).map_err(|e| format!("{}: {e}", from.display()))?;
    println!(
        "{:<28} {size:>9} bytes",
        to.strip_prefix(root()).unwrap_or(to).display()
    );
    Ok(())
}

/// What to build for, and with which flags for it. Naming the target keeps the
/// flags away from build scripts and macros, which cannot be static.
///
/// With musl, binaries are smaller and start sooner: glibc begins by asking the
/// processor what it is, which in a virtual machine takes a tenth of the life
/// of a process.
fn static_target() -> Outcome<(String, &'static str)> {
    let found = Command::new("rustc").arg("-vV").output()?;
    let text = String::from_utf8(found.stdout)?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.ok_or("rustc -vV names no host")?;
    let arch = host.split('-').next().unwrap_or(host);
    if setup::musl(arch)? {
        return Ok((format!("{arch}-unknown-linux-musl"), ""));
    }
    println!("musl cannot be had: linking glibc statically");
    Ok((host.to_owned(), "-C target-feature=+crt-static"))
}

/// The component that the newest build made: beside its compiled form, in the
/// build script's output.
fn component(built: &Path) -> Outcome<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(built.join("build"))? {
        let file = entry?.path().join("out/host-local.wasm");
        if let Ok(made) = fs::metadata(&file).and_then(|metadata| metadata.modified()) {
            found.push((made, file));
        }
    }
    let newest = found.into_iter().max();
    Ok(newest.ok_or("the build left no component")?.1)
}
