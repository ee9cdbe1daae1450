//! `wipam policy build`.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use serde_json::Value;

use super::component;

/// What policies in Rust are built for.
const TARGET: &str = "wasm32-unknown-unknown";

#[derive(Args)]
pub(crate) struct Build {
    /// The folder of the policy.
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// Where to put the component; beside the source without.
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
}

impl Build {
    pub(crate) fn run(&self) -> Result<(), Box<dyn Error>> {
        let has = |name: &str| self.folder.join(name).is_file();
        if has("Cargo.toml") {
            self.rust()
        } else if has("package.json") {
            self.javascript()
        } else {
            let folder = self.folder.display();
            Err(format!("{folder}: wanted a Cargo.toml or a package.json, found neither").into())
        }
    }

    fn rust(&self) -> Result<(), Box<dyn Error>> {
        let mut cargo = self.program("cargo");
        run(cargo.args(["build", "--release", "--target", TARGET]))?;
        let output = self
            .program("cargo")
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .output()?;
        let metadata: Value = serde_json::from_slice(&output.stdout)?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        // Other packages of a workspace may come first.
        let manifest = fs::canonicalize(self.folder.join("Cargo.toml"))?;
        let packages = metadata["packages"].as_array().into_iter().flatten();
        let mut packages = packages
            .filter(|package| package["manifest_path"].as_str().map(Path::new) == Some(&manifest));
        let name = packages.next().and_then(|package| text(&package["name"]));
        let name = name.ok_or_else(|| format!("{}: names no package", manifest.display()))?;
        let target = text(&metadata["target_directory"]).ok_or("cargo metadata names no target")?;
        let module = Path::new(&target)
            .join(TARGET)
            .join("release")
            .join(format!("{}.wasm", name.replace('-', "_")));
        let bytes = component::read(&module)?;
        let to = self.to.as_ref().unwrap_or(&self.folder);
        let made = to.join(format!("{name}.wasm"));
        fs::write(&made, &bytes).map_err(|error| format!("{}: {error}", made.display()))?;
        println!("{}: {} bytes", made.display(), bytes.len());
        Ok(())
    }

    fn javascript(&self) -> Result<(), Box<dyn Error>> {
        if !self.folder.join("node_modules").is_dir() {
            run(self.program("npm").args(["ci", "--no-audit", "--no-fund"]))?;
        }
        run(self.program("npm").args(["run", "--silent", "build"]))
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.current_dir(&self.folder);
        command
    }
}

fn run(command: &mut Command) -> Result<(), Box<dyn Error>> {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command
        .status()
        .map_err(|error| format!("{name}: {error}"))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{name} failed: {status}").into())
    }
}
