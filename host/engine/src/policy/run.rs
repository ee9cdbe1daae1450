//! One decision: a store of its own, a call, and what came of it.

use wasmtime::component::{Instance, TypedFunc};
use wasmtime::{Result, Store};
use wipam_core::policy::{Limits, PolicyFailure};
use wipam_core::store::{PolicyState, Store as Reservations};

use super::failure::Spent;
use super::host::{Pool, State};
use super::limits::MOST_HANDLES;
use super::load::Loaded;
use super::watch::Watch;
use super::world;
use crate::bindings::wipam::ipam::decision::{Answer, Notice, Request};

/// What came of a decision.
pub(super) struct Outcome<S, T> {
    pub(super) result: std::result::Result<T, PolicyFailure>,
    pub(super) spent: Spent,
    pub(super) state: State<S>,
}

/// Calls `choose`.
pub(super) fn choose<S>(
    policy: &Loaded,
    limits: &Limits,
    store: S,
    pool: Pool,
    request: &Request,
) -> Outcome<S, Answer>
where
    S: Reservations + PolicyState + 'static,
{
    run(policy, limits, store, pool, |store, instance| {
        let function: TypedFunc<(&Request,), (Answer,)> =
            instance.get_typed_func(&mut *store, policy.exports.choose)?;
        Ok(function.call(store, (request,))?.0)
    })
}

/// Calls `released`, where there is such a function.
pub(super) fn released<S>(
    policy: &Loaded,
    limits: &Limits,
    store: S,
    notice: &Notice,
) -> Outcome<S, ()>
where
    S: Reservations + PolicyState + 'static,
{
    run(policy, limits, store, Pool::default(), |store, instance| {
        let Some(released) = policy.exports.released else {
            return Ok(());
        };
        let function: TypedFunc<(&Notice,), ()> = instance.get_typed_func(&mut *store, released)?;
        function.call(store, (notice,))
    })
}

fn run<S, T>(
    policy: &Loaded,
    limits: &Limits,
    store: S,
    pool: Pool,
    call: impl FnOnce(&mut Store<State<S>>, Instance) -> Result<T>,
) -> Outcome<S, T>
where
    S: Reservations + PolicyState + 'static,
{
    let mut store = Store::new(&policy.engine, State::new(store, pool, limits));
    let result = attempt(policy, limits, &mut store, call);
    let left = store.get_fuel().unwrap_or(0);
    let state = store.into_data();
    let spent = Spent {
        fuel: limits.fuel.saturating_sub(left),
        time: state.started.elapsed(),
    };
    Outcome {
        result: result.map_err(|error| policy.name.ended(&error, limits, spent)),
        spent,
        state,
    }
}

/// Sets the limits first: instantiating runs the component's start function.
fn attempt<S, T>(
    policy: &Loaded,
    limits: &Limits,
    store: &mut Store<State<S>>,
    call: impl FnOnce(&mut Store<State<S>>, Instance) -> Result<T>,
) -> Result<T>
where
    S: Reservations + PolicyState + 'static,
{
    store.limiter(|state| &mut state.limiter);
    store.set_fuel(limits.fuel)?;
    store.set_hostcall_fuel(usize::try_from(limits.lifted).unwrap_or(usize::MAX));
    store.set_max_component_handles(MOST_HANDLES);
    let watch = policy.watched.then(|| Watch::over(store)).transpose()?;
    let instance = world::link(&policy.engine)?.instantiate(&mut *store, &policy.component)?;
    let answer = call(store, instance);
    drop(watch);
    answer
}
