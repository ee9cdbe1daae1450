//! Loading code that was compiled before.

use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use wasmtime::component::Component;
use wasmtime::{CustomCodeMemory, Engine, Result};

use crate::settings;

/// A component, compiled ahead of time, in this program's own text.
#[derive(Clone, Copy, Debug)]
pub struct Code(&'static [u8]);

impl Code {
    /// Code that is executable where it is.
    ///
    /// # Safety
    ///
    /// The bytes are what `precompile_component` made, unchanged. They begin at
    /// a page boundary in memory that is executable and that nobody writes to.
    #[allow(
        unsafe_code,
        reason = "machine code cannot be checked; it has to be trusted"
    )]
    pub unsafe fn in_text(bytes: &'static [u8]) -> Self {
        Self(bytes)
    }
}

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

/// An engine and the component in it. The first one of a process executes the
/// code where it is: nothing is copied, only the pages that are used are ever
/// read, and no memory is made executable. Further ones get a copy.
#[allow(
    unsafe_code,
    reason = "machine code cannot be checked; it has to be trusted"
)]
pub(crate) fn load(code: Code) -> Result<(Engine, Loaded)> {
    // Not `then_some`: that would make a claim, and drop it, in any case.
    let claim = (!IN_PLACE.swap(true, Ordering::Acquire)).then(|| Claim);
    let mut config = settings::config();
    // It is compiled already.
    #[cfg(feature = "compile")]
    config.enable_compiler(false);
    if claim.is_some() {
        config.with_custom_code_memory(Some(Arc::new(AsItIs)));
    }
    let engine = Engine::new(&config)?;
    // SAFETY: both functions ask that the bytes come from
    // `precompile_component` unchanged, the first one that they stay as they
    // are: so `Code` promises. Version, target and settings they check
    // themselves.
    let component = unsafe {
        match claim {
            Some(_) => Component::deserialize_raw(&engine, NonNull::from(code.0)),
            None => Component::deserialize(&engine, code.0),
        }
    }?;
    let loaded = Loaded {
        component,
        _claim: claim,
    };
    Ok((engine, loaded))
}

/// An engine for speed, and a component compiled by it: nothing is counted, and
/// guard pages take the place of bounds checks.
#[cfg(feature = "compile")]
pub(crate) fn compile(component: &[u8]) -> Result<(Engine, Loaded)> {
    let mut config = wasmtime::Config::new();
    config.max_wasm_stack(settings::STACK);
    let engine = Engine::new(&config)?;
    let component = Component::new(&engine, component)?;
    let loaded = Loaded {
        component,
        _claim: None,
    };
    Ok((engine, loaded))
}

/// Code that is executable already, and stays so.
struct AsItIs;

impl CustomCodeMemory for AsItIs {
    fn required_alignment(&self) -> usize {
        // What code is aligned to within what `precompile_component` makes;
        // `Code` is aligned to at least as much.
        4096
    }

    fn publish_executable(&self, _: *const u8, _: usize) -> Result<()> {
        Ok(())
    }

    fn unpublish_executable(&self, _: *const u8, _: usize) -> Result<()> {
        Ok(())
    }
}
