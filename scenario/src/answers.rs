//! The file of answers: a line for each operation.

use alloc::string::String;

use serde::Serialize;

use crate::simulation::{Operation, Outcome, Task};

#[derive(Serialize)]
struct Line<'a> {
    operation: u32,
    ms: u64,
    command: &'a str,
    #[serde(flatten)]
    execution: Option<Execution<'a>>,
}

#[derive(Serialize)]
struct Execution<'a> {
    container: &'a str,
    interface: &'a str,
    /// Exit status.
    status: u8,
    /// Standard output, as it is.
    answer: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    warnings: &'a [String],
}

/// The line for an operation and what came of it, without its end.
pub fn line(operation: &Operation, outcome: &Outcome) -> String {
    let execution = |answer, status| match &operation.task {
        Task::Reboot => None,
        Task::Invoke(invocation) => Some(Execution {
            container: &invocation.container_id,
            interface: &invocation.interface_name,
            status,
            answer,
            warnings: &outcome.warnings,
        }),
    };
    let line = Line {
        operation: operation.number,
        ms: operation.ms,
        command: operation.command(),
        execution: match &outcome.answer {
            Ok(answer) => execution(answer.as_str(), 0),
            Err(answer) => execution(answer.as_str(), 1),
        },
    };
    // Texts and numbers: nothing of it can fail.
    serde_json::to_string(&line).unwrap_or_default()
}
