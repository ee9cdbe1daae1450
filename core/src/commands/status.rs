//! STATUS: whether an ADD would work.

use alloc::format;
use alloc::string::{String, ToString};

use super::Frame;
use crate::allocate::usable;
use crate::config::{Config, ConfigError};
use crate::environment::Environment;
use crate::error::Fault;
use crate::store::{Access, Location, Store, StoreError};
use crate::version::Version;

pub(crate) fn status<E: Environment>(
    frame: Frame<'_, '_, E>,
    version: Version,
    location: Result<Location, ConfigError>,
) -> Result<String, Fault> {
    let unusable = |error: ConfigError| Fault::Unavailable(error.to_string());
    let config = Config::read(frame.document, frame.args, version).map_err(unusable)?;
    let location = location.map_err(unusable)?;
    let failed = |error: StoreError| Fault::Unavailable(error.to_string());
    let Some(mut store) = frame
        .environment
        .open(&location, Access::Inspect)
        .map_err(failed)?
    else {
        return Ok(String::new());
    };
    for (index, set) in config.sets.iter().enumerate() {
        let mut free = None;
        for part in set
            .ranges()
            .iter()
            .flat_map(|range| usable(&config.sets, range, range.span()))
        {
            free = free.or(store.next_free(part).map_err(failed)?);
        }
        if free.is_none() {
            return Err(Fault::Unavailable(format!(
                "network {}, range set {index}: every address of {set} is reserved",
                location.network
            )));
        }
    }
    Ok(String::new())
}
