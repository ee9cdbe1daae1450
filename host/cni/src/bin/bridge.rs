//! The `bridge` plugin.

use std::process::ExitCode;

/// A process lives for a millisecond. musl's own allocator spends a tenth of
/// that on asking the kernel for memory, page by page.
#[global_allocator]
static HEAP: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

fn main() -> ExitCode {
    wipam_cni::bridge()
}
