//! One execution of a plugin.

use std::env;
use std::process::ExitCode;
use std::time::SystemTime;

use wipam_core::invoke::Invocation;
use wipam_engine::{Engine, EngineError, Limits};

use crate::about;
use crate::deliver::deliver;
use crate::environment::Host;
use crate::failure::Failure;
use crate::input;
use crate::undo::Undo;

const NAME: &str = "host-local";

/// Runs the `host-local` plugin: what `main` does.
pub fn host_local() -> ExitCode {
    let host = Host {
        name: NAME,
        started: SystemTime::now(),
        undo: Undo::default(),
    };
    let undo = host.undo.clone();
    let command = input::variable("CNI_COMMAND");
    let answer = match (command.as_str(), env::args().nth(1).as_deref()) {
        ("", Some("explain")) => return about::explain(NAME, explain(host)),
        ("", _) => return about::tell(NAME),
        _ => input::read(command).and_then(|invocation| invoke(&invocation, host)),
    };
    match answer {
        Ok(answer) => deliver(NAME, answer, &undo),
        Err(failure) => {
            // A component that failed half way has given nothing back.
            undo.run(NAME);
            let text = serde_json::to_string_pretty(&failure.to_cni()).unwrap_or_default();
            deliver(NAME, Err(text), &Undo::default())
        }
    }
}

fn engine() -> Result<Engine, EngineError> {
    Engine::new(wipam_artifact::compiled(), Limits::default())
}

fn invoke(invocation: &Invocation, host: Host) -> Result<Result<String, String>, Failure> {
    engine()
        .and_then(|engine| engine.invoke(invocation, host))
        .map_err(Failure::Engine)
}

/// Describes the configuration on standard input.
fn explain(host: Host) -> Result<String, String> {
    let config = input::standard_input().map_err(|failure| failure.to_string())?;
    engine()
        .and_then(|engine| engine.explain(&config, host))
        .unwrap_or_else(|error| Err(error.to_string()))
}
