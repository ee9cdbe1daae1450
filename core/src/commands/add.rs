//! ADD: reserves one address from each range set.

use alloc::string::String;
use alloc::vec::Vec;

use super::Frame;
use crate::allocate::allocate;
use crate::config::Config;
use crate::dns::Dns;
use crate::environment::Environment;
use crate::error::Fault;
use crate::names::Attachment;
use crate::result::{Ip, Success};
use crate::store::{Access, Location, StoreError, StoreErrorKind};
use crate::version::Version;

pub(crate) fn add<E: Environment>(
    frame: Frame<'_, '_, E>,
    version: Version,
    location: &Location,
    attachment: &Attachment,
) -> Result<String, Fault> {
    let Frame {
        args,
        document,
        environment,
    } = frame;
    let config = Config::read(document, args, version)?;
    for warning in &config.warnings {
        environment.warn(warning);
    }
    // Before anything is reserved: a missing file must cost nothing.
    let dns = match &config.resolv_conf {
        None => Dns::default(),
        Some(path) => {
            let text = environment.resolv_conf(path)?;
            Dns::from_resolv_conf(&text, |warning| {
                environment.warn(&alloc::format!("{path}: {warning}"))
            })
        }
    };
    let location = &Location {
        history: config.choosing.remembers(),
        ..location.clone()
    };
    let mut store = environment
        .open(location, Access::Reserve)?
        .ok_or_else(|| StoreError {
            kind: StoreErrorKind::Io,
            message: alloc::format!("network {}: the store opened nothing", location.network),
        })?;
    let allocations = allocate(
        &config,
        &location.network,
        attachment,
        environment,
        &mut store,
    )
    .map_err(|cause| Fault::Allocate {
        network: location.network.clone(),
        cause,
    })?;
    let success = Success {
        interfaces: Vec::new(),
        ips: allocations.iter().map(Ip::from).collect(),
        routes: config.routes,
        dns,
    };
    success.render(version).map_err(Fault::Result)
}
