//! DEL: removes a container from the network.

use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;
use std::thread;

use wipam_core::names::Attachment;
use wipam_core::result::Success;
use wipam_net::firewall::remove;
use wipam_net::{Kernel, Link, Namespace, NetError, forget_flows};

use super::call::Call;
use super::config::{ipam_type, state_dir};
use super::delegate::Ipam;
use super::error::BridgeError;
use super::pending;

/// The container's side, as far as it is still there.
struct Inside {
    kernel: Kernel,
    link: Link,
}

/// What is left in the container's namespace.
#[derive(Default)]
struct Found {
    namespace: Option<Namespace>,
    inside: Option<Inside>,
    /// Addresses of the interface.
    own: Vec<IpAddr>,
    /// Those of the container's other interfaces.
    live: Vec<IpAddr>,
}

/// Removes. Every part is tried, whatever becomes of the others, and what is
/// gone already is fine.
pub(crate) fn del(
    call: &Call<'_>,
    attachment: &Attachment,
    warn: &mut dyn FnMut(&str),
) -> Result<(), BridgeError> {
    let mut errors = Vec::new();
    // Not in the namespace this runs in: an ADD would not have been done there.
    let netns = match call.invocation.own_netns {
        true => "",
        false => call.invocation.netns.as_str(),
    };
    let mut found = match look(netns, attachment, warn) {
        Ok(found) => found,
        Err(error) => {
            errors.push(error);
            Found::default()
        }
    };
    // Without knowing what other interfaces the container has, its rules cannot
    // be told from theirs. The error has DEL called again, or GC.
    let known = errors.is_empty();
    let inside = found.inside.take();
    let gone: BTreeSet<_> = found.own.iter().copied().chain(previous(call)).collect();
    let (owner, own, live) = (call.owner(attachment), &found.own, &found.live);
    // The kernel takes its time to remove a pair, and holds no lock that the
    // rest needs: so that begins first.
    let (link, rules) = thread::scope(|scope| {
        let link = scope.spawn(|| match inside {
            Some(mut inside) => inside.kernel.delete_link(inside.link.index).map(|_| ()),
            None => Ok(()),
        });
        let rules = scope.spawn(|| {
            let removed = match known {
                true => remove(call.tools(), &owner, own, live).map(|_| ()),
                false => Ok(()),
            };
            let forgotten = gone.iter().map(|address| forget_flows(*address));
            (
                removed,
                forgotten.filter_map(Result::err).collect::<Vec<_>>(),
            )
        });
        errors.extend(release(call).err());
        (link.join(), rules.join())
    });
    // A thread that panicked ends the process in what is shipped.
    if let Ok(Err(error)) = link {
        errors.push(error.into());
    }
    if let Ok((removed, forgotten)) = rules {
        errors.extend(removed.err().map(BridgeError::from));
        forgotten.iter().for_each(|error| warn(&error.to_string()));
    }
    match state_dir(call.document) {
        Ok(state) => {
            let container = found.namespace.as_ref();
            let outcome = Namespace::current()
                .and_then(|home| pending::take_back(&state, &home, attachment, container, warn));
            errors.extend(outcome.err().map(BridgeError::from));
        }
        Err(error) => warn(&format!("ignored while releasing: {error}")),
    }
    BridgeError::all(errors)
}

/// Has the IPAM plugin release what it allocated.
fn release(call: &Call<'_>) -> Result<(), BridgeError> {
    let kind = ipam_type(call.document).map_err(|error| BridgeError::Config(error.into()))?;
    match kind {
        Some(kind) => Ipam::find(&kind, call.invocation)?.command("DEL"),
        None => Ok(()),
    }
}

/// Looks for the interface. A namespace that is gone, or whose path leads to a
/// file that is left of it, has none.
fn look(
    netns: &str,
    attachment: &Attachment,
    warn: &mut dyn FnMut(&str),
) -> Result<Found, BridgeError> {
    let mut found = Found::default();
    if netns.is_empty() {
        return Ok(found);
    }
    let namespace = match Namespace::open(netns) {
        Ok(namespace) => namespace,
        Err(error) if is_gone(netns, &error) => return Ok(found),
        Err(cause) => {
            return Err(BridgeError::Netns {
                path: netns.to_owned(),
                cause,
            });
        }
    };
    let mut kernel = namespace.within(Kernel::open)??;
    let link = kernel.link(attachment.interface.as_str())?;
    let number = link.as_ref().map(|link| link.index);
    for address in kernel.addresses(None)? {
        if Some(address.link) == number {
            // Flows of one link are not tracked across others.
            if !address.link_local {
                found.own.push(address.address.addr());
            }
        } else {
            found.live.push(address.address.addr());
        }
    }
    if let Some(link) = link {
        if is_of_a_pair(&link, &mut Kernel::open()?)? {
            found.inside = Some(Inside { kernel, link });
        } else {
            warn(&format!(
                "{} in {netns} is left alone: it is no end of a pair whose other end is here, so no \
                 ADD made it",
                link.name
            ));
        }
    }
    found.namespace = Some(namespace);
    Ok(found)
}

/// Whether an interface in the container can have been made by an ADD. A
/// runtime calls DEL as well after an ADD that failed because the name was
/// somebody else's.
fn is_of_a_pair(link: &Link, host: &mut Kernel) -> Result<bool, NetError> {
    let Some(peer) = link.peer.filter(|_| link.kind == "veth") else {
        return Ok(false);
    };
    let other = host.link_by_index(peer)?;
    Ok(other.is_some_and(|other| other.kind == "veth" && other.peer == Some(link.index)))
}

fn is_gone(netns: &str, error: &NetError) -> bool {
    match error {
        NetError::Namespace { cause, .. } if cause.kind() == io::ErrorKind::NotFound => true,
        // A mount that is gone leaves the file it was mounted on.
        NetError::Namespace { .. } => {
            std::fs::metadata(netns).is_ok_and(|metadata| metadata.is_file())
        }
        _ => false,
    }
}

/// Addresses of prevResult, for the flows alone: nothing else hangs on it.
fn previous(call: &Call<'_>) -> Vec<IpAddr> {
    let Ok(document) = call.document.object("prevResult") else {
        return Vec::new();
    };
    let result = Success::read(&document, call.version).unwrap_or_default();
    let ips = result.ips.iter();
    ips.map(|ip| ip.address.addr()).collect()
}
