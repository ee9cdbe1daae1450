//! What the plugin says when a person runs it.

use std::io::{Write, stderr};

use wipam_core::version::Version;

/// Name, version and what it speaks, on standard error as the reference has
/// it: standard output belongs to the protocol.
pub(crate) fn tell(name: &str) {
    let versions: Vec<_> = Version::ALL.iter().map(|version| version.as_str()).collect();
    let text = format!(
        "CNI {name} plugin, wipam {}\nCNI protocol versions supported: {}\n\
         Container runtimes run this program with CNI_COMMAND set and a network configuration on \
         standard input.\n",
        env!("CARGO_PKG_VERSION"),
        versions.join(", ")
    );
    // Nobody is left to be told if this fails.
    let _ = stderr().write_all(text.as_bytes());
}
