//! GC: removes what belongs to no valid attachment.

use wipam_core::valid::ValidAttachments;
use wipam_net::firewall::collect;
use wipam_net::{Kernel, Namespace};

use super::call::Call;
use super::config::{ipam_type, state_dir};
use super::delegate::Ipam;
use super::error::BridgeError;
use super::pending;
use super::plan;

/// Removes ports, rules, reservations and notes of attachments that are not
/// listed. Every part is tried.
pub(crate) fn gc(call: &Call<'_>, warn: &mut dyn FnMut(&str)) -> Result<(), BridgeError> {
    let Some(valid) = ValidAttachments::find(call.document)? else {
        // Without a list everything would go.
        warn("GC without a list of valid attachments: nothing was removed");
        return Ok(());
    };
    let mut errors = Vec::new();
    errors.extend(ports(call, &valid, warn).err());
    let attachments = valid.attachments();
    match collect(call.tools(), &call.network, &attachments) {
        Ok(removed) => removed
            .iter()
            .for_each(|what| warn(&format!("removed {what}"))),
        Err(error) => errors.push(error.into()),
    }
    errors.extend(notes(call, &valid, warn).err());
    let ipam = ipam_type(call.document)
        .map_err(|error| BridgeError::Config(error.into()))
        .and_then(|kind| match kind {
            Some(kind) => Ipam::find(&kind, call.invocation)?.command("GC"),
            None => Ok(()),
        });
    errors.extend(ipam.err());
    BridgeError::all(errors)
}

/// Host ends whose label names an attachment of this network that is not
/// listed. The Go plugin's have none, and stay.
fn ports(
    call: &Call<'_>,
    valid: &ValidAttachments,
    warn: &mut dyn FnMut(&str),
) -> Result<(), BridgeError> {
    let prefix = plan::label_of_network(&call.network);
    let mut kernel = Kernel::open()?;
    let mut errors = Vec::new();
    for link in kernel.links()? {
        let label = link
            .alternative_names
            .iter()
            .find_map(|name| name.strip_prefix(&prefix));
        let Some((container, interface)) = label.and_then(|label| label.split_once('+')) else {
            continue;
        };
        if valid.holds(container, Some(interface)) {
            continue;
        }
        match kernel.delete_link(link.index) {
            Ok(true) => warn(&format!(
                "removed port {} of container {container}, interface {interface}",
                link.name
            )),
            Ok(false) => {}
            Err(error) => errors.push(error.into()),
        }
    }
    BridgeError::all(errors)
}

/// ADDs that never ended. One that is still at work is known by the lock.
fn notes(
    call: &Call<'_>,
    valid: &ValidAttachments,
    warn: &mut dyn FnMut(&str),
) -> Result<(), BridgeError> {
    let state = state_dir(call.document)?;
    let home = Namespace::current()?;
    let mut errors = Vec::new();
    for (file, note) in pending::of_network(&state, &home, &call.network) {
        if valid.holds(&note.container, Some(&note.interface)) {
            continue;
        }
        let container = Namespace::open(&note.netns).ok();
        let outcome = note.take_back(&file, &home, container.as_ref(), warn);
        errors.extend(outcome.err().map(BridgeError::from));
    }
    BridgeError::all(errors)
}
