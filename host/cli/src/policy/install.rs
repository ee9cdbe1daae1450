//! `wipam policy install`.

use std::error::Error;
use std::fs::{self, DirBuilder};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use wipam_core::policy::{Limits, OnFailure, Setting};
use wipam_engine::policy::{InProcess, Policies, inspect};

use super::{POLICIES, component};

#[derive(Args)]
pub(crate) struct Install {
    /// A component, or a core module to make one of.
    component: PathBuf,
    /// The folder to put it into.
    #[arg(long, value_name = "DIR", default_value = POLICIES)]
    to: PathBuf,
    /// The folder of compiled components, where configurations name another
    /// one as `policy.cache`.
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    component: String,
    sha256: String,
    bytes: usize,
    compiled_bytes: usize,
    cache: Option<String>,
    warning: Option<String>,
}

impl Install {
    pub(crate) fn run(&self) -> Result<(), Box<dyn Error>> {
        let bytes = component::read(&self.component)?;
        let description = inspect(&bytes)?;
        description
            .world
            .map_err(|reason| format!("{}: {reason}", self.component.display()))?;
        let name = self.component.file_name().ok_or("wanted a file name")?;
        let target = self.to.join(name).with_extension("wasm");
        put(&target, &bytes).map_err(|error| format!("{}: {error}", target.display()))?;
        // A configuration names it by an absolute path.
        let target = fs::canonicalize(&target)?;
        let cache = self.cache.as_deref().map(absolute).transpose()?;
        let setting = Setting {
            component: target.to_string_lossy().into_owned(),
            cache: cache.map_or(String::new(), |path| path.to_string_lossy().into_owned()),
            limits: Limits {
                component: u64::MAX,
                ..Limits::default()
            },
            config: "null".to_owned(),
            on_failure: OnFailure::Deny,
        };
        let installed = Policies::new(InProcess).install(&setting)?;
        let report = Report {
            component: setting.component,
            sha256: installed.digest,
            bytes: installed.component,
            compiled_bytes: installed.compiled,
            warning: installed.cached.as_ref().err().map(|cause| {
                format!("its machine code cannot be kept, so each ADD compiles it: {cause}")
            }),
            cache: installed.cached.ok().map(|path| path.display().to_string()),
        };
        if self.json {
            println!("{}", serde_json::to_string_pretty(&report)?);
        } else {
            report.print();
        }
        Ok(())
    }
}

/// A running ADD reads the old file or the new one, and never half of it.
fn put(target: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = target.parent().unwrap_or(Path::new("/"));
    DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(folder)?;
    let mut new = tempfile::NamedTempFile::new_in(folder)?;
    new.write_all(bytes)?;
    new.as_file()
        .set_permissions(fs::Permissions::from_mode(0o644))?;
    new.persist(target)?;
    Ok(())
}

fn absolute(path: &Path) -> std::io::Result<PathBuf> {
    std::path::absolute(path)
}

impl Report {
    fn print(&self) {
        println!("{}: {} bytes", self.component, self.bytes);
        println!("  sha256   {}", self.sha256);
        match &self.cache {
            Some(cache) => println!("  compiled {} bytes, in {cache}", self.compiled_bytes),
            None => println!("  compiled {} bytes", self.compiled_bytes),
        }
        if let Some(warning) = &self.warning {
            println!("  warning  {warning}");
        }
        println!(
            "\nIn a network configuration:\n\n  \"ipam\": {{ ..., \"policy\": {{ \"component\": \
             {:?} }} }}",
            self.component
        );
    }
}
