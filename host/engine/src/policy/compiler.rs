//! Where machine code comes from. What runs policies need not be able to make
//! it.

/// Makes machine code of a component. It is asked only for what is not in the
/// cache.
///
/// What it gives is executed: it has to come from `precompile`, in this
/// process or in one that is as trustworthy. Compiling what others have
/// written takes memory and time in no proportion to its size, so a compiler
/// in a process of its own, with limits set by the system, is the better one.
pub trait Compiler: Send + Sync {
    /// Compiles, or says why not.
    fn compile(&self, component: &[u8]) -> Result<Vec<u8>, String>;
}

/// No compiler: only what is in the cache can be run.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoCompiler;

impl Compiler for NoCompiler {
    fn compile(&self, _: &[u8]) -> Result<Vec<u8>, String> {
        Err("there is no compiled code of it in the cache, and no compiler here".into())
    }
}

#[cfg(feature = "compile")]
pub use with::{InProcess, precompile};

#[cfg(feature = "compile")]
mod with {
    use std::env::consts::ARCH;

    use wasmtime::{Config, Engine};

    use super::Compiler;
    use crate::policy::{fit, settings};

    /// A compiler in this process.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct InProcess;

    impl Compiler for InProcess {
        fn compile(&self, component: &[u8]) -> Result<Vec<u8>, String> {
            precompile(component)
        }
    }

    /// Machine code of a component, for any processor of this architecture.
    pub fn precompile(component: &[u8]) -> Result<Vec<u8>, String> {
        config(component)
            .and_then(|config| Engine::new(&config))
            .and_then(|engine| engine.precompile_component(component))
            .map_err(|error| format!("{error:#}"))
    }

    fn config(component: &[u8]) -> wasmtime::Result<Config> {
        let mut config = settings::config(fit::is_composed(component));
        // Without a target named, the code would ask for the features of the
        // processor that happens to be here, and the cache may outlive it.
        config
            .target(&format!("{ARCH}-unknown-linux-gnu"))?
            // The bits of a NaN are the one thing that processors do not agree
            // upon.
            .cranelift_nan_canonicalization(true);
        Ok(config)
    }
}
