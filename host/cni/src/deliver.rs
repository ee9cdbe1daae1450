//! The only writer to standard output.

use std::io::{self, Write, stderr, stdout};
use std::process::ExitCode;

use rustix::io::Errno;

use crate::stdout::was_closed;

/// Prints an answer. What nobody learns of would never be released, so an
/// answer that cannot be delivered is undone.
pub(crate) fn deliver(name: &str, answer: Result<String, String>, undo: impl FnOnce()) -> ExitCode {
    let (text, status) = match answer {
        Ok(text) => (text, ExitCode::SUCCESS),
        Err(text) => (text, ExitCode::FAILURE),
    };
    if text.is_empty() {
        return status;
    }
    if let Err(error) = print(&text) {
        let _ = writeln!(stderr(), "{name}: the answer could not be written: {error}");
        undo();
        return ExitCode::FAILURE;
    }
    status
}

/// Prints an answer.
pub(crate) fn print(text: &str) -> io::Result<()> {
    if was_closed() {
        return Err(Errno::BADF.into());
    }
    let mut out = stdout().lock();
    out.write_all(text.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}
