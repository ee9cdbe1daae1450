//! CHECK: whether the attachment still holds an address.

use alloc::format;
use alloc::string::{String, ToString};

use super::Frame;
use crate::config::Config;
use crate::environment::Environment;
use crate::error::Fault;
use crate::names::Attachment;
use crate::store::{Access, Location, Store};
use crate::version::Version;

pub(crate) fn check<E: Environment>(
    frame: Frame<'_, '_, E>,
    version: Version,
    location: &Location,
    attachment: &Attachment,
) -> Result<String, Fault> {
    Config::read(frame.document, frame.args, version)?;
    let held = match frame.environment.open(location, Access::Read)? {
        Some(mut store) => store.held_by(&attachment.container)?,
        None => Default::default(),
    };
    if held
        .iter()
        .any(|r| r.owner.is(attachment) || r.owner.interface.is_none())
    {
        return Ok(String::new());
    }
    Err(Fault::NotReserved {
        container: attachment.container.to_string(),
        sought: format!(
            "network {}: no reservation of {attachment}",
            location.network
        ),
    })
}
