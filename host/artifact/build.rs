//! Builds `plugin-wasm` and compiles it ahead of time.

use std::env;
use std::error::Error;
use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use wasmtime::Engine;

#[path = "../engine/src/settings.rs"]
mod settings;

const GUEST_TARGET: &str = "wasm32-unknown-unknown";

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for watched in [
        "core",
        "plugin-wasm",
        "wit",
        "Cargo.toml",
        "Cargo.lock",
        "host/engine/src/settings.rs",
    ] {
        println!("cargo::rerun-if-changed={}", root.join(watched).display());
    }
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let module = fs::read(build_guest(&root, &out)?)?;
    let component = wit_component::ComponentEncoder::default()
        .validate(true)
        .module(&module)?
        .encode()?;

    // Without a target named, the code would ask for the features of the
    // processor that happens to build it.
    let mut config = settings::config();
    config.target(&env::var("TARGET")?)?;
    let compiled = Engine::new(&config)?.precompile_component(&component)?;

    // The assembler reads the file, which the compiler does not know: where it
    // compiles incrementally it would keep what it had before.
    let mut digest = DefaultHasher::new();
    digest.write(&compiled);
    println!("cargo::rustc-env=WIPAM_COMPILED={:016x}", digest.finish());

    fs::write(out.join("host-local.wasm"), component)?;
    fs::write(out.join("host-local.cwasm"), compiled)?;
    Ok(())
}

/// The core module. It has a target directory of its own: the outer cargo
/// holds the lock of the usual one.
fn build_guest(root: &Path, out: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let target_dir = out.join("guest");
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .current_dir(root)
        .args([
            "build",
            "--quiet",
            "--profile",
            "guest",
            "--locked",
            "--package",
            "wipam-plugin",
        ])
        .args(["--target", GUEST_TARGET, "--target-dir"])
        .arg(&target_dir);
    // What the outer build says about its own target does not hold here.
    for (name, _) in env::vars_os() {
        let Some(text) = name.to_str() else { continue };
        let outer =
            text.starts_with("CARGO_") && text != "CARGO_HOME" && text != "CARGO_NET_OFFLINE"
                || text.starts_with("RUSTFLAGS")
                || text.starts_with("RUSTC_") && text != "RUSTC_BOOTSTRAP";
        if outer {
            cargo.env_remove(&name);
        }
    }
    let status = cargo.status()?;
    if !status.success() {
        return Err(format!(
            "plugin-wasm did not build ({status}); if the target is missing: rustup target add \
             {GUEST_TARGET}, or cargo xtask setup"
        )
        .into());
    }
    Ok(target_dir
        .join(GUEST_TARGET)
        .join("guest/wipam_plugin.wasm"))
}
