//! The `host-local` IPAM plugin.

use std::process::ExitCode;

fn main() -> ExitCode {
    wipam_cni::host_local()
}
