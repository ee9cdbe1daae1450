//! `wipam policy list`.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use wipam_core::policy::{Limits, OnFailure, Setting};
use wipam_engine::policy::{NoCompiler, Policies, inspect};

use super::POLICIES;

#[derive(Args)]
pub(crate) struct List {
    /// The folder to look in.
    #[arg(long, value_name = "DIR", default_value = POLICIES)]
    from: PathBuf,
    /// The folder of compiled components, where configurations name another
    /// one as `policy.cache`.
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Policy {
    component: String,
    bytes: usize,
    sha256: Option<String>,
    world: Option<String>,
    /// Whether its machine code is ready.
    compiled: bool,
    fault: Option<String>,
}

impl List {
    pub(crate) fn run(&self) -> Result<(), Box<dyn Error>> {
        let mut policies = Vec::new();
        let named = |error: std::io::Error| format!("{}: {error}", self.from.display());
        for entry in fs::read_dir(&self.from).map_err(named)? {
            let path = entry?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "wasm")
            {
                policies.push(self.look(&std::path::absolute(path)?)?);
            }
        }
        policies.sort_by(|a, b| a.component.cmp(&b.component));
        if self.json {
            println!("{}", serde_json::to_string_pretty(&policies)?);
            return Ok(());
        }
        if policies.is_empty() {
            println!("no policies in {}", self.from.display());
        }
        for policy in policies {
            let Policy {
                component,
                bytes,
                sha256,
                world,
                compiled,
                fault,
            } = policy;
            let digest = sha256.unwrap_or_default();
            println!(
                "{component}\n  {bytes} bytes, sha256 {}, {}, {}",
                digest.get(..12).unwrap_or_default(),
                world.as_deref().unwrap_or("no policy"),
                if compiled {
                    "compiled"
                } else {
                    "not compiled: the first ADD will, or `wipam policy install`"
                }
            );
            if let Some(fault) = fault {
                println!("  fault: {fault}");
            }
        }
        Ok(())
    }

    fn look(&self, path: &std::path::Path) -> Result<Policy, Box<dyn Error>> {
        // One that cannot be read must not hide the others.
        let bytes = fs::read(path).map_err(|error| error.to_string());
        let setting = Setting {
            component: path.to_string_lossy().into_owned(),
            cache: match &self.cache {
                Some(cache) => std::path::absolute(cache)?.to_string_lossy().into_owned(),
                None => String::new(),
            },
            limits: Limits {
                component: u64::MAX,
                ..Limits::default()
            },
            config: "null".to_owned(),
            on_failure: OnFailure::Deny,
        };
        let ready = Policies::new(NoCompiler).is_compiled(&setting);
        let size = bytes.as_ref().map_or(0, Vec::len);
        let world = bytes.and_then(|bytes| inspect(&bytes)?.world);
        Ok(Policy {
            component: setting.component,
            bytes: size,
            sha256: ready.as_ref().ok().map(|(digest, _)| digest.clone()),
            compiled: ready.is_ok_and(|(_, compiled)| compiled),
            fault: world.as_ref().err().cloned(),
            world: world.ok().map(|world| world.to_string()),
        })
    }
}
