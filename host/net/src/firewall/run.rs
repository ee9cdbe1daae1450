//! Running a program with something on its standard input.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::FirewallError;

/// Runs `command`, gives it `input`, and returns what it printed.
pub(super) fn run(
    command: &mut Command,
    input: &[u8],
    wanted: &'static str,
) -> Result<Vec<u8>, FirewallError> {
    let program = Path::new(command.get_program()).to_owned();
    let start = |source| FirewallError::Start {
        program: program.clone(),
        source,
    };
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(start)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that ends without reading says why on its own.
        stdin.write_all(input).ok();
    }
    let output = child.wait_with_output().map_err(start)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let words: Vec<_> = words.split_whitespace().collect();
    let found = if words.is_empty() {
        output.status.to_string()
    } else {
        words.join(" ")
    };
    Err(FirewallError::Refused {
        program,
        wanted,
        found,
    })
}
