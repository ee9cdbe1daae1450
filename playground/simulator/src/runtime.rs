//! What a program without the standard library has to bring along.

use core::panic::PanicInfo;

#[global_allocator]
static HEAP: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

/// A panic is a fault of ours, not of the input: the host reports the trap.
/// Its message is dropped, so that paths of the build machine stay out.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}
