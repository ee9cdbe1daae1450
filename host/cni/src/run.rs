//! One execution of a plugin.

use std::env;
use std::process::ExitCode;
use std::time::SystemTime;

use wipam_core::parameters::Invocation;
use wipam_engine::{Engine, EngineError, Limits};

use crate::about;
use crate::build;
use crate::deliver::deliver;
use crate::environment::Host;
use crate::failure::Failure;
use crate::input;
use crate::undo::Undo;

const NAME: &str = "host-local";

/// Runs the `host-local` plugin: what `main` does.
pub fn host_local() -> ExitCode {
    build::keep();
    let host_local = HostLocal::new();
    let command = input::variable("CNI_COMMAND");
    let answer = match (command.as_str(), env::args().nth(1).as_deref()) {
        ("", Some("explain")) => return about::explain(NAME, host_local.explain()),
        ("", _) => return about::tell(NAME, "host-local explain"),
        _ => input::read(command).and_then(|invocation| host_local.invoke(&invocation)),
    };
    match answer {
        Ok(answer) => deliver(NAME, answer, || host_local.undo()),
        Err(failure) => {
            // A component that failed half way has given nothing back.
            host_local.undo();
            let text = serde_json::to_string_pretty(&failure.to_cni()).unwrap_or_default();
            deliver(NAME, Err(text), || {})
        }
    }
}

/// The component on this host, for one invocation.
pub(crate) struct HostLocal {
    started: SystemTime,
    undo: Undo,
}

impl HostLocal {
    pub(crate) fn new() -> Self {
        Self {
            started: SystemTime::now(),
            undo: Undo::default(),
        }
    }

    /// The answer: a result, or an error object.
    pub(crate) fn invoke(
        &self,
        invocation: &Invocation,
    ) -> Result<Result<String, String>, Failure> {
        engine()
            .and_then(|engine| engine.invoke(invocation, self.host()))
            .map_err(Failure::Engine)
    }

    /// Takes back what was reserved.
    pub(crate) fn undo(&self) {
        self.undo.run(NAME);
    }

    /// Describes the configuration on standard input.
    fn explain(&self) -> Result<String, String> {
        let config = input::standard_input().map_err(|failure| failure.to_string())?;
        engine()
            .and_then(|engine| engine.explain(&config, self.host()))
            .unwrap_or_else(|error| Err(error.to_string()))
    }

    fn host(&self) -> Host {
        Host::new(NAME, self.started, self.undo.clone())
    }
}

fn engine() -> Result<Engine, EngineError> {
    Engine::new(wipam_artifact::compiled(), Limits::default())
}
