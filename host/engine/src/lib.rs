//! Runs IPAM components.
//!
//! A component gets what an [`Environment`] of `wipam-core` offers and nothing
//! else: no files, no network, no clock, nothing of WASI. Each invocation has a
//! store of its own, with limits that hold before its first instruction.
//! Components of others, which choose addresses, get less: see [`policy`].
//!
//! ```
//! use wipam_engine::{Engine, Limits};
//! use wipam_core::{memory::MemoryStore, parameters::Invocation};
//!
//! let engine = Engine::new(wipam_artifact::compiled(), Limits::default())?;
//! let invocation = Invocation { command: "VERSION".into(), ..Invocation::default() };
//! let answer = engine.invoke(&invocation, MemoryStore::default())?;
//! assert!(answer.is_ok_and(|text| text.contains("supportedVersions")));
//! # Ok::<(), wipam_engine::EngineError>(())
//! ```

mod bindings;
mod convert;
mod host;
mod limits;
mod load;
pub mod policy;
mod settings;

use wasmtime::component::{HasSelf, Linker};
use wasmtime::{Store, Trap};
use wipam_core::environment::Environment;
use wipam_core::parameters::Invocation;

pub use limits::Limits;
pub use load::Code;

use bindings::Plugin;
use host::State;
use load::Loaded;

/// A component, ready to be invoked any number of times.
pub struct Engine {
    engine: wasmtime::Engine,
    code: Loaded,
    limits: Limits,
    /// The fuel of each invocation, if it is counted.
    fuel: Option<u64>,
}

/// Why a component gave no answer. What it reserved before it failed is still
/// reserved: the caller knows what that was, and undoes it.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The code is not for this engine, or damaged.
    #[error("loading the component: {0}")]
    Load(String),
    /// It asks for something it does not get, or lacks what it should have.
    #[error("instantiating the component: {0}")]
    Instantiate(String),
    /// A limit was reached.
    #[error("the component exceeded its limit of {0}")]
    Overran(String),
    /// It crashed.
    #[error("the component trapped: {0}")]
    Trapped(String),
}

impl Engine {
    /// Takes code that was compiled ahead of time with this engine's settings.
    pub fn new(code: Code, limits: Limits) -> Result<Self, EngineError> {
        let (engine, code) =
            load::load(code).map_err(|error| EngineError::Load(format!("{error:#}")))?;
        let fuel = Some(limits.fuel);
        Ok(Self {
            engine,
            code,
            limits,
            fuel,
        })
    }

    /// Compiles a component for the processor of this machine, to be invoked
    /// very often: fuel is not counted, so it has to be one that is trusted to
    /// end, and memory takes gigabytes of address space.
    #[cfg(feature = "compile")]
    pub fn compile(component: &[u8], limits: Limits) -> Result<Self, EngineError> {
        let (engine, code) =
            load::compile(component).map_err(|error| EngineError::Load(format!("{error:#}")))?;
        Ok(Self {
            engine,
            code,
            limits,
            fuel: None,
        })
    }

    /// Runs one invocation in a fresh store.
    pub fn invoke<E: Environment + 'static>(
        &self,
        invocation: &Invocation,
        environment: E,
    ) -> Result<Result<String, String>, EngineError> {
        self.session(environment)?.invoke(invocation)
    }

    /// Describes a network configuration in words, or says what is wrong with
    /// it.
    pub fn explain<E: Environment + 'static>(
        &self,
        config: &[u8],
        environment: E,
    ) -> Result<Result<String, String>, EngineError> {
        let mut session = self.session(environment)?;
        session.call(|store, plugin| plugin.wipam_ipam_cni().call_explain(store, config))
    }

    /// An instance for any number of invocations, one after the other.
    pub fn session<E: Environment + 'static>(
        &self,
        environment: E,
    ) -> Result<Session<E>, EngineError> {
        let mut linker = Linker::<State<E>>::new(&self.engine);
        let instantiate = |error: wasmtime::Error| EngineError::Instantiate(format!("{error:#}"));
        Plugin::add_to_linker::<_, HasSelf<_>>(&mut linker, |state| state).map_err(instantiate)?;

        let mut store = Store::new(&self.engine, State::new(environment, &self.limits));
        store.limiter(|state| &mut state.limiter);
        let fuel = self.fuel;
        refuel(&mut store, fuel).map_err(instantiate)?;
        let plugin = Plugin::instantiate(&mut store, &self.code.component, &linker)
            .map_err(|error| ended(&mut store, fuel, &error, EngineError::Instantiate))?;
        Ok(Session {
            store,
            plugin,
            fuel,
        })
    }
}

/// A component that is invoked several times: for simulations, which have no
/// time to begin anew each time. Each invocation has the whole limit of fuel,
/// all of them together that of memory. After an error it is of no use.
pub struct Session<E: Environment + 'static> {
    store: Store<State<E>>,
    plugin: Plugin,
    fuel: Option<u64>,
}

impl<E: Environment + 'static> Session<E> {
    /// Runs one invocation.
    pub fn invoke(
        &mut self,
        invocation: &Invocation,
    ) -> Result<Result<String, String>, EngineError> {
        let invocation = convert::invocation(invocation);
        self.call(|store, plugin| plugin.wipam_ipam_cni().call_invoke(store, &invocation))
    }

    /// What the component gets its answers from.
    pub fn environment(&mut self) -> &mut E {
        &mut self.store.data_mut().environment
    }

    fn call<T>(
        &mut self,
        function: impl FnOnce(&mut Store<State<E>>, &Plugin) -> wasmtime::Result<T>,
    ) -> Result<T, EngineError> {
        self.store.data_mut().begin();
        let begun = refuel(&mut self.store, self.fuel);
        begun
            .and_then(|()| function(&mut self.store, &self.plugin))
            .map_err(|error| ended(&mut self.store, self.fuel, &error, EngineError::Trapped))
    }
}

/// Gives an invocation its fuel, if it is counted.
fn refuel<T>(store: &mut Store<T>, fuel: Option<u64>) -> wasmtime::Result<()> {
    fuel.map_or(Ok(()), |fuel| store.set_fuel(fuel))
}

/// Why a call was not answered.
fn ended<E: Environment + 'static>(
    store: &mut Store<State<E>>,
    fuel: Option<u64>,
    error: &wasmtime::Error,
    kind: fn(String) -> EngineError,
) -> EngineError {
    let refused = store.data_mut().limiter.refused.take();
    match (error.downcast_ref::<Trap>(), refused) {
        (Some(Trap::OutOfFuel), _) => {
            EngineError::Overran(format!("{} units of fuel", fuel.unwrap_or_default()))
        }
        (Some(Trap::StackOverflow), _) => {
            EngineError::Overran(format!("{} bytes of stack", settings::STACK))
        }
        (_, Some(what)) => EngineError::Overran(what),
        _ => kind(format!("{error:#}")),
    }
}
