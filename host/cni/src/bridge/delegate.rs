//! The IPAM plugin: spec 1.1, "Plugin delegation".
//!
//! Any plugin found in `CNI_PATH` is executed, as the protocol asks. Where the
//! one found is our own `host-local` of the same build, what it would do is
//! done here, without another process.

use std::env;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;
use wipam_core::json::{Field, to_text};
use wipam_core::parameters::Invocation;
use wipam_core::result::Success;
use wipam_core::version::Version;

use super::error::{BridgeError, IpamFault};
use crate::build;
use crate::run::HostLocal;

/// The name under which our own is found.
const OURS: &str = "host-local";

/// An IPAM plugin that was found.
pub(crate) struct Ipam {
    kind: String,
    program: PathBuf,
    invocation: Invocation,
    ours: bool,
    /// Whether an ADD gave a result.
    allocated: bool,
    /// What an ADD of ours reserved.
    reserved: Option<HostLocal>,
}

/// The error object of a plugin: spec 1.1, "Error".
#[derive(Deserialize)]
struct ErrorObject {
    #[serde(default)]
    code: u32,
    #[serde(default)]
    msg: String,
    #[serde(default)]
    details: String,
}

impl Ipam {
    /// Looks for a plugin in the directories of `CNI_PATH`.
    pub(crate) fn find(kind: &str, invocation: &Invocation) -> Result<Self, BridgeError> {
        if kind.contains('/') || kind == "." || kind == ".." {
            return Err(BridgeError::NoIpam(format!(
                "ipam.type: invalid plugin name: wanted the name of a file in CNI_PATH, found \
                 {kind:?}"
            )));
        }
        let executable = |path: &PathBuf| {
            path.metadata()
                .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
        };
        let program = env::split_paths(&invocation.path)
            .map(|directory| directory.join(kind))
            .find(executable)
            .ok_or_else(|| {
                BridgeError::NoIpam(format!(
                    "failed to find plugin {kind:?} in path [{}]",
                    invocation.path
                ))
            })?;
        Ok(Self {
            ours: kind == OURS && build::is_ours(&program),
            kind: kind.to_owned(),
            program,
            invocation: invocation.clone(),
            allocated: false,
            reserved: None,
        })
    }

    /// Its name: `ipam.type`.
    pub(crate) fn kind(&self) -> &str {
        &self.kind
    }

    /// Where it was found.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// Has it allocate. `version` is that of the configuration.
    pub(crate) fn add(&mut self, version: Version) -> Result<Success, BridgeError> {
        let answer = self.run("ADD")?;
        let text = to_text(answer.as_bytes());
        let read = |text: &str| {
            let document = Field::document(text)
                .and_then(|field| field.object())
                .map_err(|error| error.to_string())?;
            Success::read(&document, version).map_err(|error| error.to_string())
        };
        let result = read(&text).map_err(|cause| BridgeError::IpamResult {
            plugin: self.kind.clone(),
            cause: IpamFault::Unreadable(cause),
        })?;
        self.allocated = true;
        Ok(result)
    }

    /// Has it take back what [`Self::add`] did. Nothing is taken back from a
    /// plugin that gave no result.
    ///
    /// An allocation that was `unusable` is released, so that the next ADD is
    /// offered another one. After any other failure, and with our own plugin,
    /// everything is as if there had been no ADD.
    pub(crate) fn undo(&mut self, unusable: bool) -> Result<(), BridgeError> {
        match self.reserved.take().filter(|_| !unusable) {
            // Knows what was reserved, and what was there before.
            Some(host_local) => {
                host_local.undo();
                Ok(())
            }
            None if self.allocated => self.command("DEL"),
            None => Ok(()),
        }
    }

    /// Has it do one of the other commands.
    pub(crate) fn command(&mut self, command: &str) -> Result<(), BridgeError> {
        self.run(command).map(|_| ())
    }

    fn run(&mut self, command: &str) -> Result<String, BridgeError> {
        if self.ours {
            self.in_process(command)
        } else {
            self.execute(command)
        }
    }

    fn in_process(&mut self, command: &str) -> Result<String, BridgeError> {
        let host_local = HostLocal::new();
        let invocation = Invocation {
            command: command.to_owned(),
            ..self.invocation.clone()
        };
        let answer = host_local.invoke(&invocation)?;
        if command == "ADD" {
            self.reserved = Some(host_local);
        }
        answer.map_err(|text| self.failure(&text, "nothing"))
    }

    fn execute(&self, command: &str) -> Result<String, BridgeError> {
        let broken = |what: &str, error: std::io::Error| {
            BridgeError::NoIpam(format!("{}: {what}: {error}", self.program.display()))
        };
        // The environment is handed on as it is, but for the command.
        let mut child = Command::new(&self.program)
            .env("CNI_COMMAND", command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| broken("starting it", error))?;
        if let Some(mut stdin) = child.stdin.take() {
            // One that ends without reading it may still have answered.
            let _ = stdin.write_all(&self.invocation.config);
        }
        let output = child
            .wait_with_output()
            .map_err(|error| broken("waiting for it", error))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            Ok(text)
        } else {
            Err(self.failure(&text, &output.status.to_string()))
        }
    }

    /// The error of a plugin that failed.
    fn failure(&self, text: &str, status: &str) -> BridgeError {
        let unsaid = |msg| BridgeError::Ipam {
            code: 0,
            msg,
            details: String::new(),
        };
        if text.trim().is_empty() {
            return unsaid(format!(
                "IPAM plugin {} failed with no error message: {status}",
                self.kind
            ));
        }
        match serde_json::from_str::<ErrorObject>(text) {
            Ok(error) => BridgeError::Ipam {
                code: error.code,
                msg: error.msg,
                details: error.details,
            },
            Err(cause) => unsaid(format!(
                "IPAM plugin {} failed ({status}) with something else than an error object, \
                 {text:?}: {cause}",
                self.kind
            )),
        }
    }
}
