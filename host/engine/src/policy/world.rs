//! The imports of a policy. Nothing here changes the pool.
//!
//! They are linked by hand, because what bindings are generated for has no
//! hands on the store's fuel.

use wasmtime::component::{Linker, LinkerInstance};
use wasmtime::{Engine, Result, StoreContextMut};
use wipam_core::pool::next_givable;
use wipam_core::store::{Holder, PolicyState, Store, StoreError};

use super::failure::Stop;
use super::fit::{LOG, POOL, STATE};
use super::host::State;
use super::meter::{CALL, ITEM, LOOK, RECORD, SEARCH, lifted, pay};
use crate::bindings::wipam::ipam::types::{IpAddress, Range, Reservation, Span};
use crate::convert;

/// A call of the policy with its store.
type Call<'a, S> = StoreContextMut<'a, State<S>>;

pub(super) fn link<S>(engine: &Engine) -> Result<Linker<State<S>>>
where
    S: Store + PolicyState + 'static,
{
    let mut linker = Linker::new(engine);
    pool(&mut linker.instance(POOL)?)?;
    state(&mut linker.instance(STATE)?)?;
    log(&mut linker.instance(LOG)?)?;
    Ok(linker)
}

fn pool<S>(pool: &mut LinkerInstance<'_, State<S>>) -> Result<()>
where
    S: Store + 'static,
{
    pool.func_wrap("ranges", |mut call: Call<'_, S>, (): ()| {
        let ranges: Vec<Range> = call.data().pool.ranges.clone();
        pay(&mut call, CALL + ITEM * ranges.len() as u64)?;
        Ok((ranges,))
    })?;
    pool.func_wrap("spans", |mut call: Call<'_, S>, (): ()| {
        let spans: Vec<Span> = call.data().pool.spans.clone();
        pay(&mut call, CALL + ITEM * spans.len() as u64)?;
        Ok((spans,))
    })?;
    pool.func_wrap(
        "is-reserved",
        |mut call: Call<'_, S>, (address,): (IpAddress,)| {
            pay(&mut call, CALL + LOOK)?;
            let store = &mut call.data_mut().store;
            let holder = store.holder(convert::address(address)).map_err(failed)?;
            Ok((holder != Holder::Nobody,))
        },
    )?;
    pool.func_wrap("next-free", |mut call: Call<'_, S>, (at,): (IpAddress,)| {
        pay(&mut call, CALL + SEARCH)?;
        let State { store, pool, .. } = call.data_mut();
        let at = convert::address(at);
        let free = next_givable(store, &pool.givable, &pool.hold_back, at).map_err(failed)?;
        Ok((free.map(convert::to_address),))
    })?;
    pool.func_wrap("last-reserved", |mut call: Call<'_, S>, (): ()| {
        pay(&mut call, CALL)?;
        Ok((call.data().pool.last_reserved,))
    })?;
    pool.func_wrap(
        "reservations",
        |mut call: Call<'_, S>, (after,): (Option<IpAddress>,)| {
            pay(&mut call, CALL + SEARCH)?;
            let store = &mut call.data_mut().store;
            let page = store
                .reservations(after.map(convert::address))
                .map_err(failed)?;
            pay(&mut call, RECORD * page.len() as u64)?;
            let page: Vec<Reservation> = page
                .iter()
                .map(|reservation| Reservation {
                    newer: false,
                    ..convert::reservation(reservation)
                })
                .collect();
            Ok((page,))
        },
    )
}

fn state<S>(state: &mut LinkerInstance<'_, State<S>>) -> Result<()>
where
    S: PolicyState + 'static,
{
    state.func_wrap("get", |mut call: Call<'_, S>, (key,): (String,)| {
        pay(&mut call, CALL)?;
        lifted(&mut call, key.len())?;
        let State { store, memory, .. } = call.data_mut();
        let value = memory.get(store, &key)?;
        pay(&mut call, value.as_ref().map_or(0, Vec::len) as u64)?;
        Ok((value,))
    })?;
    state.func_wrap(
        "set",
        |mut call: Call<'_, S>, (key, value): (String, Vec<u8>)| {
            pay(&mut call, CALL)?;
            lifted(&mut call, key.len() + value.len())?;
            let State { store, memory, .. } = call.data_mut();
            Ok((memory.set(store, key, value)?,))
        },
    )?;
    state.func_wrap("remove", |mut call: Call<'_, S>, (key,): (String,)| {
        pay(&mut call, CALL)?;
        lifted(&mut call, key.len())?;
        let State { store, memory, .. } = call.data_mut();
        Ok(memory.remove(store, &key)?)
    })?;
    state.func_wrap("keys", |mut call: Call<'_, S>, (): ()| {
        let State { store, memory, .. } = call.data_mut();
        let keys = memory.keys(store)?;
        pay(&mut call, CALL + ITEM * keys.len() as u64)?;
        Ok((keys,))
    })
}

fn log<S: 'static>(log: &mut LinkerInstance<'_, State<S>>) -> Result<()> {
    log.func_wrap("write", |mut call: Call<'_, S>, (message,): (String,)| {
        pay(&mut call, CALL)?;
        lifted(&mut call, message.len())?;
        call.data_mut().log.write(message);
        Ok(())
    })
}

fn failed(error: StoreError) -> Stop {
    Stop::Store(error)
}
