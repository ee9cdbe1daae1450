//! Taking back what an ADD did, in the same process or in a later one.

use std::fmt;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use wipam_net::firewall::{Table, remove_unused};
use wipam_net::{Address, Kernel, Namespace, NetError, Sysctl};

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
    GiveBack { link: String, address: Address },
    /// Take an address away.
    RemoveAddress { link: String, address: IpNet },
    /// Remove a table of the firewall, if it serves nobody.
    RemoveTable(Table),
}

impl Undo {
    /// What goes along with a change of forwarding. That of the whole host sets
    /// that of every interface, and with it what single ones have of their own:
    /// those come back after it.
    pub(crate) fn of_forwarding(setting: &Sysctl) -> Vec<Self> {
        let family = match setting.path() {
            "ipv4/ip_forward" => "ipv4",
            "ipv6/conf/all/forwarding" => "ipv6",
            _ => return Vec::new(),
        };
        let mut undo = Vec::new();
        let mut keep = |link: &str, name: &str, unless: &str| {
            let setting = Sysctl::of_link(family, link, name);
            if let Ok(Some(value)) = setting.read()
                && value != unless
            {
                undo.push(Self::Set {
                    setting: setting.path().to_owned(),
                    value,
                });
            }
        };
        // "unless": what setting it back to 0 makes of it anyway.
        let folder = format!("/proc/sys/net/{family}/conf");
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            if let Some(link) = entry.file_name().to_str().filter(|link| *link != "all") {
                keep(link, "forwarding", "0");
            }
        }
        if family == "ipv4" {
            keep("all", "accept_redirects", "1");
        }
        undo
    }

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
            Self::GiveBack { link, address } => {
                if let Some(found) = kernel.link(link)? {
                    kernel.restore_address(found.index, address)?;
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
            Self::GiveBack { link, address } => {
                write!(f, "give {link} back {}", address.address)
            }
            Self::RemoveAddress { link, address } => write!(f, "take {address} from {link}"),
            Self::RemoveTable(table) => write!(f, "remove {table} if it serves nobody"),
        }
    }
}

/// What is to be undone.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Undos {
    /// The ports that bridges of this host had before anything was done that
    /// others may count on.
    pub(crate) ports: Vec<u32>,
    /// In the order in which things were done.
    pub(crate) list: Vec<Undo>,
}

/// How undoing ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Undone {
    /// All that could be undone is.
    Finished,
    /// Somebody is at work here: what others may count on has to wait.
    Busy,
}

impl Undos {
    /// Undoes, the last thing first. Everything is tried; `complain` hears of
    /// what fails.
    ///
    /// What others may count on is left alone while somebody else is at work
    /// here, and for good if there are new ports: it is theirs then. Through
    /// `home`, which is the host's namespace, the lock is asked for: locks of
    /// two handles would stand in each other's way.
    pub(crate) fn run(
        &self,
        home: &Namespace,
        kernel: &mut Kernel,
        container: Option<&Namespace>,
        complain: &mut dyn FnMut(&Undo, BridgeError),
    ) -> Undone {
        let (shared, own): (Vec<_>, Vec<_>) = self.list.iter().partition(|undo| undo.is_shared());
        // The own pair goes first: it is a port as well.
        let mut run = |undos: Vec<&Undo>, kernel: &mut Kernel| {
            for undo in undos.into_iter().rev() {
                if let Err(error) = undo.run(kernel, container) {
                    complain(undo, error);
                }
            }
        };
        run(own, kernel);
        if shared.is_empty() {
            return Undone::Finished;
        }
        if !matches!(home.lock_alone(), Ok(true)) {
            return Undone::Busy;
        }
        if self.is_unused(kernel) {
            run(shared, kernel);
        }
        Undone::Finished
    }

    /// Whether nobody was attached meanwhile, to whichever bridge: forwarding
    /// and the firewall's tables serve them all. Where that cannot be told,
    /// somebody may have been.
    fn is_unused(&self, kernel: &mut Kernel) -> bool {
        let Ok(links) = kernel.links() else {
            return false;
        };
        // A VLAN's gateway interface is plugged in by its other end.
        let ours: Vec<_> = self
            .list
            .iter()
            .filter_map(|undo| match undo {
                Undo::RemoveLink { link } => links.iter().find(|l| l.name == *link)?.peer,
                _ => None,
            })
            .collect();
        let mut ports = links.iter().filter(|link| link.master.is_some());
        ports.all(|port| self.ports.contains(&port.index) || ours.contains(&port.index))
    }
}
