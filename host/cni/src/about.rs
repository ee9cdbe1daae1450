//! What the plugin says when a person runs it. No runtime gets here: all of
//! them set `CNI_COMMAND`.

use std::io::{Write, stderr, stdout};
use std::process::ExitCode;

use wipam_core::version::Version;

/// Name, version and what it speaks, on standard error as the reference has
/// it: standard output belongs to the protocol.
pub(crate) fn tell(name: &str, explained_by: &str) -> ExitCode {
    let versions: Vec<_> = Version::ALL
        .iter()
        .map(|version| version.as_str())
        .collect();
    let text = format!(
        "CNI {name} plugin, wipam {}\nCNI protocol versions supported: {}\n\
         Container runtimes run this program with CNI_COMMAND set and a network configuration on \
         standard input.\nTo see what a configuration means: {explained_by} < FILE\n",
        env!("CARGO_PKG_VERSION"),
        versions.join(", ")
    );
    // Nobody is left to be told if this fails.
    let _ = stderr().write_all(text.as_bytes());
    ExitCode::SUCCESS
}

/// What a configuration means.
pub(crate) fn explain(name: &str, explanation: Result<String, String>) -> ExitCode {
    let (written, status) = match explanation {
        Ok(text) => (stdout().write_all(text.as_bytes()), ExitCode::SUCCESS),
        Err(text) => (writeln!(stderr(), "{name}: {text}"), ExitCode::FAILURE),
    };
    if written.is_ok() {
        status
    } else {
        ExitCode::FAILURE
    }
}
