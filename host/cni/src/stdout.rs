//! Whether there is a standard output at all.

use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::{Errno, fcntl_getfd};
use rustix::stdio::stdout;

static CLOSED: AtomicBool = AtomicBool::new(false);

/// Whether standard output was closed when the program was started. An answer
/// written to it reaches nobody, though writing succeeds: the standard library
/// puts /dev/null in its place before `main`.
pub(crate) fn was_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// Has the C library run `look` before `main` and what comes before that.
#[allow(unsafe_code, reason = "the linker is told where a pointer goes")]
// SAFETY: `.init_array` holds pointers to functions without arguments and
// results, which this is; `look` needs nothing of the standard library's.
#[unsafe(link_section = ".init_array")]
#[used]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    if fcntl_getfd(stdout()) == Err(Errno::BADF) {
        CLOSED.store(true, Ordering::Relaxed);
    }
}
