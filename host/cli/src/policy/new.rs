//! `wipam policy new`.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

#[derive(Args)]
pub(crate) struct New {
    /// The folder to make; its name is that of the policy.
    folder: PathBuf,
    /// In JavaScript, not in Rust.
    #[arg(long)]
    javascript: bool,
}

/// What the templates are called in themselves.
const PLACEHOLDER: &str = "my-policy";

/// The crate that comes with a project. Two packages of one name are one too
/// many for cargo.
const LIBRARY: &str = "wipam-policy";

/// A file of a project: where it goes, and what is in it.
type File = (&'static str, &'static str);

/// From `$path` of this repository, to `$name` of the project.
macro_rules! files {
    ($($name:literal from $path:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../", $path)))),*]
    };
}

const WIT: &[File] = files![
    "wit/types.wit" from "wit/types.wit",
    "wit/decision.wit" from "wit/decision.wit",
    "wit/policy.wit" from "wit/policy.wit",
];

const RUST: &[File] = files![
    ".gitignore" from "policies/template/rust/.gitignore",
    "Cargo.toml" from "policies/template/rust/Cargo.toml",
    "README.md" from "policies/template/rust/README.md",
    "cases.json" from "policies/template/rust/cases.json",
    "src/lib.rs" from "policies/template/rust/src/lib.rs",
    "wipam-policy/Cargo.toml" from "policy/Cargo.toml",
    "wipam-policy/src/cases.rs" from "policy/src/cases.rs",
    "wipam-policy/src/double.rs" from "policy/src/double.rs",
    "wipam-policy/src/guest.rs" from "policy/src/guest.rs",
    "wipam-policy/src/lib.rs" from "policy/src/lib.rs",
    "wipam-policy/src/pool.rs" from "policy/src/pool.rs",
    "wipam-policy/src/span.rs" from "policy/src/span.rs",
    "wipam-policy/src/types.rs" from "policy/src/types.rs",
];

const JAVASCRIPT: &[File] = files![
    ".gitignore" from "policies/template/javascript/.gitignore",
    "README.md" from "policies/template/javascript/README.md",
    "cases.json" from "policies/template/javascript/cases.json",
    "package.json" from "policies/template/javascript/package.json",
    "package-lock.json" from "policies/template/javascript/package-lock.json",
    "policy.js" from "policies/template/javascript/policy.js",
    "wipam-policy/build.mjs" from "policy/javascript/build.mjs",
    "wipam-policy/test.mjs" from "policy/javascript/test.mjs",
    "wipam-policy/wipam.mjs" from "policy/javascript/wipam.mjs",
];

impl New {
    pub(crate) fn run(&self) -> Result<(), Box<dyn Error>> {
        let name = self.folder.file_name().and_then(|name| name.to_str());
        let name = name.filter(|name| is_name(name)).ok_or_else(|| {
            format!(
                "{}: wanted a folder whose name begins with a lower-case letter and goes on with \
                 lower-case letters, digits and dashes, and is not {LIBRARY}",
                self.folder.display()
            )
        })?;
        // Nobody's files are written over.
        if self.folder.exists() {
            return Err(format!("{}: is there already", self.folder.display()).into());
        }
        let files = if self.javascript { JAVASCRIPT } else { RUST };
        for (path, content) in files {
            self.write(path, &named(content, name))?;
        }
        for (path, content) in WIT {
            self.write(path, content)?;
        }
        let folder = self.folder.display();
        println!(
            "{folder}: a policy in {}",
            if self.javascript {
                "JavaScript"
            } else {
                "Rust"
            }
        );
        println!("\n  cd {folder}");
        println!(
            "  {}",
            if self.javascript {
                "npm ci && npm test"
            } else {
                "cargo test"
            }
        );
        println!("  wipam policy build");
        println!("  wipam policy check {name}.wasm");
        println!("  wipam policy test {name}.wasm cases.json");
        Ok(())
    }

    fn write(&self, path: &str, content: &str) -> Result<(), Box<dyn Error>> {
        let path = self.folder.join(path);
        let named = |error: std::io::Error| format!("{}: {error}", path.display());
        fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).map_err(named)?;
        fs::write(&path, content).map_err(named)?;
        Ok(())
    }
}

/// What cargo and npm both take as the name of a package.
fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    name != LIBRARY
        && bytes.next().is_some_and(|b| b.is_ascii_lowercase())
        && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

fn named(content: &str, name: &str) -> String {
    let identifier = |name: &str| name.replace('-', "_");
    content
        .replace(PLACEHOLDER, name)
        .replace(&identifier(PLACEHOLDER), &identifier(name))
}
