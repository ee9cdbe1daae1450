//! What calls to the host cost: fuel, bytes handed over, and time.
//!
//! A loop of calls is short in the policy and long in the host, so calls are
//! paid for in the same fuel, by what they take at most as a rule. Prices are
//! fixed: a decision takes the same fuel each time.

use std::time::Duration;

use wasmtime::{Result, StoreContextMut, Trap};

use super::failure::Stop;
use super::host::State;

/// A call as such.
pub(super) const CALL: u64 = 200;
/// Something small that is copied into the policy's memory.
pub(super) const ITEM: u64 = 20;
/// A question to the store that takes it one look.
pub(super) const LOOK: u64 = 2_000;
/// A question to the store that may take it more.
pub(super) const SEARCH: u64 = 10_000;
/// A reservation that the store has to read.
pub(super) const RECORD: u64 = 1_000;

/// After this time no call to the host is answered any more. The network's
/// lock is held meanwhile, and a store may be slower than its prices say.
pub(super) const LONGEST: Duration = Duration::from_secs(5);

/// Whether there is time left.
pub(super) fn in_time<S>(state: &State<S>) -> Result<()> {
    if state.started.elapsed() < LONGEST {
        return Ok(());
    }
    Err(Stop::Limit(format!("{} seconds", LONGEST.as_secs())).into())
}

/// Takes fuel for a call.
pub(super) fn pay<S>(cx: &mut StoreContextMut<'_, State<S>>, price: u64) -> Result<()> {
    in_time(cx.data())?;
    match cx.get_fuel()?.checked_sub(price) {
        Some(left) => cx.set_fuel(left),
        None => {
            cx.set_fuel(0)?;
            Err(Trap::OutOfFuel.into())
        }
    }
}

/// Counts what a call handed over. wasmtime's own count begins anew at every
/// call.
pub(super) fn lifted<S>(cx: &mut StoreContextMut<'_, State<S>>, bytes: usize) -> Result<()> {
    let left = cx.hostcall_fuel().saturating_sub(bytes);
    cx.set_hostcall_fuel(left);
    // Copying takes time as well.
    pay(cx, bytes as u64)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use wasmtime::{AsContextMut, Engine, Store};
    use wipam_core::policy::Limits;

    use super::super::host::Pool;
    use super::super::settings;
    use super::*;

    fn store(fuel: u64) -> Store<State<()>> {
        let limits = Limits::default();
        let engine = Engine::new(&settings::running(&limits, false)).unwrap();
        let mut store = Store::new(&engine, State::new((), Pool::default(), &limits));
        store.set_fuel(fuel).unwrap();
        store
    }

    #[test]
    fn what_cannot_be_paid_leaves_nothing() {
        let mut store = store(10);
        pay(&mut store.as_context_mut(), 4).unwrap();
        assert_eq!(store.get_fuel().unwrap(), 6);
        let error = pay(&mut store.as_context_mut(), 7).unwrap_err();
        assert_eq!(error.downcast_ref(), Some(&Trap::OutOfFuel));
        assert_eq!(store.get_fuel().unwrap(), 0);
    }

    #[test]
    fn what_is_handed_over_counts_from_call_to_call() {
        let mut store = store(1000);
        store.set_hostcall_fuel(100);
        for left in [60, 20, 0] {
            lifted(&mut store.as_context_mut(), 40).unwrap();
            assert_eq!(store.hostcall_fuel(), left);
        }
    }

    #[test]
    fn a_decision_that_takes_too_long_gets_no_answers() {
        let mut store = store(10);
        store.data_mut().started -= LONGEST;
        let error = pay(&mut store.as_context_mut(), 1).unwrap_err();
        assert_eq!(error.to_string(), "a limit of 5 seconds");
    }
}
