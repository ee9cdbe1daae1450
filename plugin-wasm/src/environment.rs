//! Core's ports over the component's imports.

use alloc::string::String;
use alloc::vec::Vec;
use core::net::IpAddr;

use wipam_core::environment::{Environment, Inputs};
use wipam_core::names::{Attachment, ContainerId};
use wipam_core::policy::{Decision, Notice, PolicyFailure, Request, Setting, View};
use wipam_core::span::Span;
use wipam_core::store::{Access, Holder, Location, Owner, Past, Reservation, Store, StoreError};

use crate::bindings::wipam::ipam::{environment, policies, storage};
use crate::convert;

pub(crate) struct Imports;

impl Environment for Imports {
    type Store = Network;

    fn open(&mut self, location: &Location, access: Access) -> Result<Option<Network>, StoreError> {
        storage::open(&convert::to_location(location), convert::to_access(access))
            .map(|network| network.map(Network))
            .map_err(convert::error)
    }

    fn resolv_conf(&mut self, path: &str) -> Result<String, StoreError> {
        environment::resolv_conf(path).map_err(convert::error)
    }

    fn warn(&mut self, message: &str) {
        environment::warn(message);
    }

    fn inputs(&mut self) -> Inputs {
        Inputs {
            time_ms: environment::time_ms(),
            seed: environment::seed(),
        }
    }

    fn noting(&mut self) -> bool {
        environment::noting()
    }

    fn note(&mut self, message: &str) {
        environment::note(message);
    }

    fn choose(
        &mut self,
        store: &mut Network,
        setting: &Setting,
        request: &Request,
        view: &View,
    ) -> Result<Decision, PolicyFailure> {
        policies::choose(
            &store.0,
            &convert::to_setting(setting),
            &convert::to_request(request),
            &convert::to_view(view),
        )
        .map(convert::decision)
        .map_err(convert::failure)
    }

    fn ready(&mut self, setting: &Setting) -> Result<(), PolicyFailure> {
        policies::ready(&convert::to_setting(setting)).map_err(convert::failure)
    }

    fn released(
        &mut self,
        store: &mut Network,
        setting: &Setting,
        notice: &Notice,
    ) -> Result<(), PolicyFailure> {
        policies::released(
            &store.0,
            &convert::to_setting(setting),
            &convert::to_notice(notice),
        )
        .map_err(convert::failure)
    }
}

pub(crate) struct Network(storage::Network);

impl Store for Network {
    fn held_by(&mut self, container: &ContainerId) -> Result<Vec<Reservation>, StoreError> {
        let held = self.0.held_by(container.as_str()).map_err(convert::error)?;
        held.iter().map(convert::reservation).collect()
    }

    fn holder(&mut self, address: IpAddr) -> Result<Holder, StoreError> {
        let holder = self
            .0
            .holder(convert::to_address(address))
            .map_err(convert::error)?;
        convert::holder(&holder)
    }

    fn next_free(&mut self, span: Span) -> Result<Option<IpAddr>, StoreError> {
        let free = self
            .0
            .next_free(convert::to_span(span))
            .map_err(convert::error)?;
        Ok(free.map(convert::address))
    }

    fn reserve(&mut self, address: IpAddr, owner: &Attachment) -> Result<bool, StoreError> {
        let owner = convert::to_attachment(owner);
        self.0
            .reserve(convert::to_address(address), &owner)
            .map_err(convert::error)
    }

    fn release(&mut self, address: IpAddr, owner: &Owner) -> Result<bool, StoreError> {
        let owner = convert::to_owner(owner);
        self.0
            .release(convert::to_address(address), &owner)
            .map_err(convert::error)
    }

    fn last_reserved(&mut self, index: u32) -> Result<Option<IpAddr>, StoreError> {
        let last = self.0.last_reserved(index).map_err(convert::error)?;
        Ok(last.map(convert::address))
    }

    fn all_last_reserved(&mut self) -> Result<Vec<IpAddr>, StoreError> {
        let all = self.0.all_last_reserved().map_err(convert::error)?;
        Ok(all.into_iter().map(convert::address).collect())
    }

    fn set_last_reserved(&mut self, index: u32, address: IpAddr) -> Result<(), StoreError> {
        self.0
            .set_last_reserved(index, convert::to_address(address))
            .map_err(convert::error)
    }

    fn reservations(&mut self, after: Option<IpAddr>) -> Result<Vec<Reservation>, StoreError> {
        let page = self
            .0
            .reservations(after.map(convert::to_address))
            .map_err(convert::error)?;
        page.iter().map(convert::reservation).collect()
    }

    fn reclaim(&mut self) -> Result<Vec<IpAddr>, StoreError> {
        let freed = self.0.reclaim().map_err(convert::error)?;
        Ok(freed.into_iter().map(convert::address).collect())
    }

    fn next_unused(&mut self, span: Span) -> Result<Option<IpAddr>, StoreError> {
        let unused = self
            .0
            .next_unused(convert::to_span(span))
            .map_err(convert::error)?;
        Ok(unused.map(convert::address))
    }

    fn past(&mut self, address: IpAddr) -> Result<Option<Past>, StoreError> {
        let past = self
            .0
            .past(convert::to_address(address))
            .map_err(convert::error)?;
        Ok(past.map(convert::past))
    }

    fn released(&mut self, skip: u32) -> Result<Vec<Past>, StoreError> {
        let page = self.0.released(skip).map_err(convert::error)?;
        Ok(page.into_iter().map(convert::past).collect())
    }

    fn remembered(&mut self, key: &str) -> Result<Option<IpAddr>, StoreError> {
        let last = self.0.remembered(key).map_err(convert::error)?;
        Ok(last.map(convert::address))
    }

    fn remember(&mut self, address: IpAddr, key: &str) -> Result<(), StoreError> {
        self.0
            .remember(convert::to_address(address), key)
            .map_err(convert::error)
    }

    fn keep_state(&mut self) -> Result<(), StoreError> {
        self.0.keep_state().map_err(convert::error)
    }
}
