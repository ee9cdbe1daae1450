//! The component's imports, answered by an `Environment`.

use std::net::IpAddr;

use wasmtime::component::Resource;
use wasmtime::{Error, Result};
use wipam_core::environment::Environment;
use wipam_core::store::{Store, StoreError};

use crate::bindings::wipam::ipam::{decision, environment, policies, storage, types};
use crate::convert;
use crate::limits::{Limiter, Limits};

/// What a resource handle stands for. The type is erased because generated
/// bindings take no parameters; `State` knows which it is.
#[allow(unreachable_pub, reason = "the generated bindings re-export it")]
pub struct Network;

/// What a store holds.
pub(crate) struct State<E: Environment> {
    pub(crate) environment: E,
    /// What handles stand for, by number. Not `ResourceTable`: that wants
    /// `Send`, which a store that lives on one thread need not be.
    networks: Vec<Option<E::Store>>,
    pub(crate) limiter: Limiter,
}

impl<E: Environment + 'static> State<E> {
    pub(crate) fn new(environment: E, limits: &Limits) -> Self {
        Self {
            environment,
            networks: Vec::new(),
            limiter: limits.limiter(),
        }
    }

    /// An invocation begins: handles of earlier ones stand for nothing.
    pub(crate) fn begin(&mut self) {
        self.networks.clear();
    }

    /// Asks the network behind a handle. The outer error traps: the component
    /// used a handle that it does not have.
    fn ask<T>(
        &mut self,
        handle: &Resource<Network>,
        question: impl FnOnce(&mut E::Store) -> Result<T, StoreError>,
    ) -> Result<Result<T, storage::Error>> {
        let store = slot(&mut self.networks, handle)?;
        let store = store.as_mut().ok_or_else(no_handle)?;
        Ok(question(store).map_err(convert::error))
    }
}

fn slot<'a, S>(
    networks: &'a mut [Option<S>],
    handle: &Resource<Network>,
) -> Result<&'a mut Option<S>> {
    let index = usize::try_from(handle.rep())?;
    networks.get_mut(index).ok_or_else(no_handle)
}

fn no_handle() -> Error {
    Error::msg("the component used a network that is not open")
}

/// How many networks one invocation may open. It needs one.
const MOST_NETWORKS: usize = 4;

impl<E: Environment + 'static> types::Host for State<E> {}

impl<E: Environment + 'static> decision::Host for State<E> {}

impl<E: Environment + 'static> environment::Host for State<E> {
    fn resolv_conf(&mut self, path: String) -> Result<Result<String, storage::Error>> {
        Ok(self.environment.resolv_conf(&path).map_err(convert::error))
    }

    fn warn(&mut self, message: String) -> Result<()> {
        self.environment.warn(&message);
        Ok(())
    }

    fn time_ms(&mut self) -> Result<u64> {
        Ok(self.environment.inputs().time_ms)
    }

    fn seed(&mut self) -> Result<u64> {
        Ok(self.environment.inputs().seed)
    }

    fn noting(&mut self) -> Result<bool> {
        Ok(self.environment.noting())
    }

    fn note(&mut self, message: String) -> Result<()> {
        self.environment.note(&message);
        Ok(())
    }
}

impl<E: Environment + 'static> policies::Host for State<E> {
    fn choose(
        &mut self,
        network: Resource<Network>,
        setting: policies::Setting,
        request: decision::Request,
        view: policies::View,
    ) -> Result<Result<policies::Decision, policies::Failure>> {
        let setting = convert::policy::setting(setting, &request.config);
        let request = convert::policy::request(request)?;
        let view = convert::policy::view(view)?;
        let store = slot(&mut self.networks, &network)?;
        let store = store.as_mut().ok_or_else(no_handle)?;
        let decided = self.environment.choose(store, &setting, &request, &view);
        Ok(decided
            .map(convert::policy::to_decision)
            .map_err(convert::policy::failure))
    }

    fn ready(&mut self, setting: policies::Setting) -> Result<Result<(), policies::Failure>> {
        let setting = convert::policy::setting(setting, "null");
        let ready = self.environment.ready(&setting);
        Ok(ready.map_err(convert::policy::failure))
    }

    fn released(
        &mut self,
        network: Resource<Network>,
        setting: policies::Setting,
        notice: decision::Notice,
    ) -> Result<Result<(), policies::Failure>> {
        let setting = convert::policy::setting(setting, &notice.config);
        let notice = convert::policy::notice(notice)?;
        let store = slot(&mut self.networks, &network)?;
        let store = store.as_mut().ok_or_else(no_handle)?;
        let told = self.environment.released(store, &setting, &notice);
        Ok(told.map_err(convert::policy::failure))
    }
}

impl<E: Environment + 'static> storage::Host for State<E> {
    fn open(
        &mut self,
        location: storage::Location,
        access: storage::Access,
    ) -> Result<Result<Option<Resource<Network>>, storage::Error>> {
        let location = convert::location(location)?;
        if self.networks.len() == MOST_NETWORKS {
            return Err(Error::msg("the component opened too many networks"));
        }
        match self.environment.open(&location, convert::access(access)) {
            Err(error) => Ok(Err(convert::error(error))),
            Ok(None) => Ok(Ok(None)),
            Ok(Some(store)) => {
                let handle = Resource::new_own(u32::try_from(self.networks.len())?);
                self.networks.push(Some(store));
                Ok(Ok(Some(handle)))
            }
        }
    }
}

impl<E: Environment + 'static> storage::HostNetwork for State<E> {
    fn held_by(
        &mut self,
        network: Resource<Network>,
        container: String,
    ) -> Result<Result<Vec<types::Reservation>, storage::Error>> {
        let container = convert::container(&container)?;
        self.ask(&network, |store| {
            Ok(store
                .held_by(&container)?
                .iter()
                .map(convert::reservation)
                .collect())
        })
    }

    fn holder(
        &mut self,
        network: Resource<Network>,
        address: types::IpAddress,
    ) -> Result<Result<storage::Holder, storage::Error>> {
        self.ask(&network, |store| {
            Ok(convert::holder(&store.holder(convert::address(address))?))
        })
    }

    fn next_free(
        &mut self,
        network: Resource<Network>,
        span: types::Span,
    ) -> Result<Result<Option<types::IpAddress>, storage::Error>> {
        let span = convert::span(&span)?;
        self.ask(&network, |store| {
            Ok(store.next_free(span)?.map(convert::to_address))
        })
    }

    fn reserve(
        &mut self,
        network: Resource<Network>,
        address: types::IpAddress,
        owner: types::Attachment,
    ) -> Result<Result<bool, storage::Error>> {
        let owner = convert::attachment(&owner)?;
        self.ask(&network, |store| {
            store.reserve(convert::address(address), &owner)
        })
    }

    fn release(
        &mut self,
        network: Resource<Network>,
        address: types::IpAddress,
        owner: types::Owner,
    ) -> Result<Result<bool, storage::Error>> {
        let owner = convert::owner(&owner)?;
        self.ask(&network, |store| {
            store.release(convert::address(address), &owner)
        })
    }

    fn last_reserved(
        &mut self,
        network: Resource<Network>,
        index: u32,
    ) -> Result<Result<Option<types::IpAddress>, storage::Error>> {
        self.ask(&network, |store| {
            Ok(store.last_reserved(index)?.map(convert::to_address))
        })
    }

    fn all_last_reserved(
        &mut self,
        network: Resource<Network>,
    ) -> Result<Result<Vec<types::IpAddress>, storage::Error>> {
        self.ask(&network, |store| {
            Ok(store
                .all_last_reserved()?
                .into_iter()
                .map(convert::to_address)
                .collect())
        })
    }

    fn set_last_reserved(
        &mut self,
        network: Resource<Network>,
        index: u32,
        address: types::IpAddress,
    ) -> Result<Result<(), storage::Error>> {
        self.ask(&network, |store| {
            store.set_last_reserved(index, convert::address(address))
        })
    }

    fn reservations(
        &mut self,
        network: Resource<Network>,
        after: Option<types::IpAddress>,
    ) -> Result<Result<Vec<types::Reservation>, storage::Error>> {
        let after: Option<IpAddr> = after.map(convert::address);
        self.ask(&network, |store| {
            Ok(store
                .reservations(after)?
                .iter()
                .map(convert::reservation)
                .collect())
        })
    }

    fn reclaim(
        &mut self,
        network: Resource<Network>,
    ) -> Result<Result<Vec<types::IpAddress>, storage::Error>> {
        self.ask(&network, |store| {
            Ok(store
                .reclaim()?
                .into_iter()
                .map(convert::to_address)
                .collect())
        })
    }

    fn next_unused(
        &mut self,
        network: Resource<Network>,
        span: types::Span,
    ) -> Result<Result<Option<types::IpAddress>, storage::Error>> {
        let span = convert::span(&span)?;
        self.ask(&network, |store| {
            Ok(store.next_unused(span)?.map(convert::to_address))
        })
    }

    fn past(
        &mut self,
        network: Resource<Network>,
        address: types::IpAddress,
    ) -> Result<Result<Option<storage::Past>, storage::Error>> {
        self.ask(&network, |store| {
            let past = store.past(convert::address(address))?;
            Ok(past.as_ref().map(convert::past))
        })
    }

    fn released(
        &mut self,
        network: Resource<Network>,
        skip: u32,
    ) -> Result<Result<Vec<storage::Past>, storage::Error>> {
        self.ask(&network, |store| {
            Ok(store.released(skip)?.iter().map(convert::past).collect())
        })
    }

    fn remembered(
        &mut self,
        network: Resource<Network>,
        key: String,
    ) -> Result<Result<Option<types::IpAddress>, storage::Error>> {
        self.ask(&network, |store| {
            Ok(store.remembered(&key)?.map(convert::to_address))
        })
    }

    fn remember(
        &mut self,
        network: Resource<Network>,
        address: types::IpAddress,
        key: String,
    ) -> Result<Result<(), storage::Error>> {
        let key = convert::key(key)?;
        self.ask(&network, |store| {
            store.remember(convert::address(address), &key)
        })
    }

    fn keep_state(&mut self, network: Resource<Network>) -> Result<Result<(), storage::Error>> {
        self.ask(&network, Store::keep_state)
    }

    fn drop(&mut self, network: Resource<Network>) -> Result<()> {
        // Closing the store is what lets go of the lock.
        slot(&mut self.networks, &network)?.take();
        Ok(())
    }
}
