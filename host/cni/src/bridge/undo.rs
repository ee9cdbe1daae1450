//! Taking back what an ADD did, in the same process or in a later one.

use std::fmt;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use wipam_net::firewall::{Table, remove_unused};
use wipam_net::{Kernel, Namespace, NetError, Sysctl};

use super::error::BridgeError;

/// What puts one thing back as it was. Each can be done twice, and does
/// nothing where there is nothing to put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Undo {
    /// Remove the pair.
    RemovePair { link: String },
    /// Remove the bridge, or a VLAN's gateway interface.
    RemoveLink { link: String },
    /// Set it down.
    SetDown { link: String },
    /// Have it take its own frames only.
    NotPromiscuous { link: String },
    /// Give a kernel setting of this namespace its value again.
    Set { setting: String, value: String },
    /// The same in the container.
    SetInside { setting: String, value: String },
    /// Give an address back.
    AddAddress { link: String, address: IpNet },
    /// Take an address away.
    RemoveAddress { link: String, address: IpNet },
    /// Remove a table of the firewall, if it serves nobody.
    RemoveTable(Table),
}

impl Undo {
    /// Whether others may count on it by now: the bridge and its addresses,
    /// the host's settings and tables.
    pub(crate) fn is_shared(&self) -> bool {
        !matches!(self, Self::RemovePair { .. } | Self::SetInside { .. })
    }

    pub(crate) fn run(
        &self,
        kernel: &mut Kernel,
        container: Option<&Namespace>,
    ) -> Result<(), BridgeError> {
        match self {
            Self::RemovePair { link } | Self::RemoveLink { link } => {
                if let Some(found) = kernel.link(link)? {
                    kernel.delete_link(found.index)?;
                }
            }
            Self::SetDown { link } => absent_is_fine(kernel.set_down(link))?,
            Self::NotPromiscuous { link } => absent_is_fine(kernel.set_promiscuous(link, false))?,
            Self::Set { setting, value } => set(setting, value)?,
            Self::SetInside { setting, value } => {
                if let Some(container) = container {
                    container.within(|| set(setting, value))??;
                }
            }
            Self::AddAddress { link, address } => {
                if let Some(found) = kernel.link(link)? {
                    match kernel.add_address(found.index, *address) {
                        Err(error) if error.is(rustix::io::Errno::EXIST) => {}
                        outcome => outcome?,
                    }
                }
            }
            Self::RemoveAddress { link, address } => {
                if let Some(found) = kernel.link(link)? {
                    kernel.delete_address(found.index, *address)?;
                }
            }
            Self::RemoveTable(table) => {
                remove_unused(*table)?;
            }
        }
        Ok(())
    }
}

/// A setting that went with its interface needs no value.
fn set(setting: &str, value: &str) -> Result<(), NetError> {
    let setting = Sysctl::new(setting);
    if setting.read()?.is_some() {
        setting.set(value)?;
    }
    Ok(())
}

fn absent_is_fine(outcome: Result<(), NetError>) -> Result<(), NetError> {
    match outcome {
        Err(error) if error.is(rustix::io::Errno::NODEV) => Ok(()),
        outcome => outcome,
    }
}

impl fmt::Display for Undo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RemovePair { link } | Self::RemoveLink { link } => write!(f, "remove {link}"),
            Self::SetDown { link } => write!(f, "set {link} down"),
            Self::NotPromiscuous { link } => write!(f, "end promiscuous mode of {link}"),
            Self::Set { setting, value } => write!(f, "set net/{setting} back to {value}"),
            Self::SetInside { setting, value } => {
                write!(f, "set net/{setting} back to {value} in the container")
            }
            Self::AddAddress { link, address } => write!(f, "give {link} back {address}"),
            Self::RemoveAddress { link, address } => write!(f, "take {address} from {link}"),
            Self::RemoveTable(table) => write!(f, "remove {table} if it serves nobody"),
        }
    }
}

/// Runs undos, the last one first. Every one is tried; `complain` hears of
/// those that fail.
///
/// What others may count on is left alone if somebody else is at work here, or
/// if the bridge has ports: it is theirs then. `lock` is a namespace handle
/// through which this process holds no lock.
pub(crate) fn run_all(
    undos: &[Undo],
    bridge: &str,
    lock: &Namespace,
    kernel: &mut Kernel,
    container: Option<&Namespace>,
    complain: &mut dyn FnMut(&Undo, BridgeError),
) {
    let mut shared_too = None;
    for undo in undos.iter().rev() {
        if undo.is_shared() {
            // Asked here, after the own pair is gone.
            let free = *shared_too.get_or_insert_with(|| unused(bridge, undos, lock, kernel));
            if !free {
                continue;
            }
        }
        if let Err(error) = undo.run(kernel, container) {
            complain(undo, error);
        }
    }
}

/// Whether nobody else counts on the bridge. Where that cannot be told,
/// somebody may.
fn unused(bridge: &str, undos: &[Undo], lock: &Namespace, kernel: &mut Kernel) -> bool {
    if !matches!(lock.lock_alone(), Ok(true)) {
        return false;
    }
    let Ok(links) = kernel.links() else {
        return false;
    };
    let Some(index) = links.iter().find(|l| l.name == bridge).map(|l| l.index) else {
        return true;
    };
    // Ports that this ADD made itself, for a VLAN's gateway, go with the rest.
    let ours: Vec<_> = undos
        .iter()
        .filter_map(|undo| match undo {
            Undo::RemoveLink { link } => links.iter().find(|l| l.name == *link)?.peer,
            _ => None,
        })
        .collect();
    !links
        .iter()
        .any(|link| link.master == Some(index) && !ours.contains(&link.index))
}
