//! The `bridge` plugin.

use std::process::ExitCode;

fn main() -> ExitCode {
    wipam_cni::bridge()
}
