//! Machine code of policies, made by the program that has a compiler.
//!
//! The plugins have none: it would make them five times as large, and no ADD
//! but the first with a new policy needs it.

use std::env;
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::{MemfdFlags, memfd_create};
use wipam_engine::policy::Compiler;

/// The program, and what it is asked to do.
const PROGRAM: &str = "wipam";
const ARGUMENTS: [&str; 2] = ["policy", "compile"];

/// Where it is looked for beside this program's own folder and `CNI_PATH`.
const FOLDERS: [&str; 2] = ["/usr/local/bin", "/usr/bin"];

/// Hands components to `wipam policy compile`.
pub(crate) struct HandOver;

impl Compiler for HandOver {
    fn compile(&self, component: &[u8]) -> Result<Vec<u8>, String> {
        let program = find().ok_or_else(|| {
            format!(
                "it is not compiled yet, and {PROGRAM}, which compiles, is not beside this \
                 program, in CNI_PATH, {}: `{PROGRAM} policy install` prepares a policy",
                FOLDERS.join(" or ")
            )
        })?;
        run(&program, component).map_err(|cause| format!("{}: {cause}", program.display()))
    }
}

fn find() -> Option<PathBuf> {
    let own = env::current_exe().ok();
    let own = own.as_deref().and_then(Path::parent).map(Path::to_owned);
    let plugins = env::var_os("CNI_PATH").unwrap_or_default();
    let plugins: Vec<PathBuf> = env::split_paths(&plugins).collect();
    let folders = own
        .into_iter()
        .chain(plugins)
        .chain(FOLDERS.map(PathBuf::from));
    folders.map(|folder| folder.join(PROGRAM)).find(|program| {
        // An empty element of CNI_PATH is no reason to look where we happen
        // to be.
        program.is_absolute()
            && fs::metadata(program)
                .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    })
}

/// The component goes in, its code comes out.
fn run(program: &Path, component: &[u8]) -> Result<Vec<u8>, String> {
    let stdin = in_memory(component).map_err(|error| format!("its input: {error}"))?;
    let output = Command::new(program)
        .args(ARGUMENTS)
        .env_clear()
        .stdin(stdin)
        .stderr(Stdio::piped())
        .output()
        .map_err(|error| format!("starting it: {error}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let text = String::from_utf8_lossy(&output.stderr);
    Err(format!("{}: {}", output.status, text.trim()))
}

/// A file with this content that nobody else has. Not a pipe, which would have
/// to be filled beside reading the output; not the component's own file, which
/// may be another one by now.
fn in_memory(content: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create("component", MemfdFlags::CLOEXEC)?);
    file.write_all(content)?;
    file.rewind()?;
    Ok(file)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_and_out_does_not_stop_either() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("wipam");
        let script = |text: &str| {
            fs::write(&program, format!("#!/bin/sh\n{text}\n")).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        };
        let large = vec![7; 1 << 20];
        script("/bin/cat");
        assert_eq!(run(&program, &large).unwrap(), large);
        script("exec /bin/dd if=/dev/zero bs=1048576 count=1 2>/dev/null");
        assert_eq!(run(&program, &large).unwrap().len(), 1 << 20);
        script("echo no component >&2; exit 3");
        let error = run(&program, &large).unwrap_err();
        assert_eq!(error, "exit status: 3: no component");
        assert!(run(Path::new("/nowhere"), &[]).is_err());
    }
}
