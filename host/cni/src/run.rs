//! One execution of a plugin.

use std::process::ExitCode;
use std::time::SystemTime;

use wipam_engine::{Engine, Limits};

use crate::about;
use crate::deliver::deliver;
use crate::environment::Host;
use crate::failure::Failure;
use crate::input;
use crate::journal::Journal;

/// Runs the `host-local` plugin: what `main` does.
pub fn host_local() -> ExitCode {
    let name = "host-local";
    let started = SystemTime::now();
    let journal = Journal::default();
    let answer = input::read().and_then(|invocation| {
        if invocation.command.is_empty() {
            return Ok(None);
        }
        let host = Host { name, started, journal: journal.clone() };
        let engine = Engine::new(wipam_artifact::COMPILED, Limits::default());
        let answer = engine.and_then(|engine| engine.invoke(&invocation, host));
        answer.map(Some).map_err(Failure::Engine)
    });
    match answer {
        Ok(None) => {
            about::tell(name);
            ExitCode::SUCCESS
        }
        Ok(Some(answer)) => deliver(name, answer, &journal),
        Err(failure) => {
            // A component that failed half way has given nothing back.
            journal.undo(name);
            let text = serde_json::to_string_pretty(&failure.to_cni()).unwrap_or_default();
            deliver(name, Err(text), &Journal::default())
        }
    }
}
