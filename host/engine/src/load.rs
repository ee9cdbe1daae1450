//! Loading code that was compiled before.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io;
use rustix::mm::{MprotectFlags, mprotect};
use rustix::param::page_size;
use wasmtime::component::Component;
use wasmtime::{CustomCodeMemory, Engine, Error, Result};

/// Whether a component executes in place already. wasmtime keeps one entry for
/// each piece of code in a process, so the same bytes cannot be loaded twice.
static IN_PLACE: AtomicBool = AtomicBool::new(false);

/// A component and, if it executes in place, the claim to do so. Dropped in
/// this order.
pub(crate) struct Loaded {
    pub(crate) component: Component,
    _claim: Option<Claim>,
}

struct Claim;

impl Drop for Claim {
    fn drop(&mut self) {
        IN_PLACE.store(false, Ordering::Release);
    }
}

/// Code from this program's own read-only data. The first component that is
/// loaded is executed where it is: nothing is copied, only the pages that are
/// used are ever read, and no memory has to be writable before it becomes
/// executable. Further ones are copied.
#[allow(
    unsafe_code,
    reason = "machine code cannot be checked; it has to be trusted"
)]
pub(crate) fn trusted(engine: &Engine, compiled: &'static [u8]) -> Result<Loaded> {
    let aligned = compiled.as_ptr().addr().is_multiple_of(page_size());
    // Not `then_some`: that would make a claim, and drop it, in any case.
    let claim = (aligned && !IN_PLACE.swap(true, Ordering::Acquire)).then(|| Claim);
    // SAFETY: both functions ask that the bytes come from
    // `precompile_component` unchanged, the first one that they stay as they
    // are; they check version, target and settings themselves. The bytes are
    // `'static` and shared: part of the executable, put there by the build
    // script of `wipam-artifact`. Whoever can change them can change this
    // function, too.
    let component = unsafe {
        match claim {
            Some(_) => Component::deserialize_raw(engine, NonNull::from(compiled)),
            None => Component::deserialize(engine, compiled),
        }
    }?;
    Ok(Loaded {
        component,
        _claim: claim,
    })
}

/// Makes code executable that lies in the program's own image.
pub(crate) struct InPlace;

impl CustomCodeMemory for InPlace {
    fn required_alignment(&self) -> usize {
        page_size()
    }

    fn publish_executable(&self, code: *const u8, length: usize) -> Result<()> {
        allow(code, length, MprotectFlags::READ | MprotectFlags::EXEC)
    }

    fn unpublish_executable(&self, code: *const u8, length: usize) -> Result<()> {
        allow(code, length, MprotectFlags::READ)
    }
}

#[allow(unsafe_code, reason = "the kernel is told what may be executed")]
fn allow(code: *const u8, length: usize, what: MprotectFlags) -> Result<()> {
    // SAFETY: wasmtime calls this with the text of what `trusted` was given,
    // or its copy of it, mapped as long as the component lives. Reading remains
    // allowed, which is all that anybody else does with these pages.
    let done: io::Result<()> = unsafe { mprotect(code.cast_mut().cast(), length, what) };
    done.map_err(|error| Error::msg(format!("making the component's code executable: {error}")))
}
