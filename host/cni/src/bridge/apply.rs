//! Carrying out a plan: one step after the other, each with what undoes it
//! noted before it is taken.

use std::collections::HashMap;
use std::fmt::Display;
use std::io::{Write, stderr};

use rustix::io::Errno;
use wipam_net::firewall::{Backend, Table, Tools, absent_tables, check_mac, masquerade, remove};
use wipam_net::{
    Kernel, Namespace, NetError, NewBridge, NewPair, Route, Sysctl, announce, forget_flows,
};

use super::error::BridgeError;
use super::pending::Pending;
use super::plan::Attached;
use super::step::{Place, Step};
use super::undo::{Undo, Undone, Undos};
use super::wait;

/// Told of every step before it is taken: its number, counted from 1, and what
/// it is. Answers whether to go on.
pub(crate) type Observer<'a> = &'a mut dyn FnMut(usize, &dyn Display) -> bool;

/// An ADD at work.
pub(crate) struct Work<'a> {
    pub(crate) attached: &'a Attached,
    pub(crate) host: Kernel,
    /// The plugin's own namespace, through which this ADD shares its lock.
    pub(crate) home: Namespace,
    pub(crate) container: Kernel,
    pub(crate) namespace: Namespace,
    pub(crate) tools: &'a Tools,
    pub(crate) observer: Observer<'a>,
    pending: Pending,
    undo: Undos,
    rules: bool,
    steps: usize,
    links: HashMap<(Place, String), u32>,
    /// Metrics that routes got, by their number in the result.
    pub(crate) metrics: Vec<(usize, u32)>,
    /// What went another way than it was meant to, without being an error.
    pub(crate) warnings: Vec<String>,
}

impl<'a> Work<'a> {
    #[allow(clippy::too_many_arguments, reason = "made in one place")]
    pub(crate) fn new(
        attached: &'a Attached,
        host: Kernel,
        home: Namespace,
        container: Kernel,
        namespace: Namespace,
        tools: &'a Tools,
        pending: Pending,
        observer: Observer<'a>,
    ) -> Self {
        Self {
            attached,
            host,
            home,
            container,
            namespace,
            tools,
            observer,
            pending,
            undo: Undos::default(),
            rules: false,
            steps: 0,
            links: HashMap::new(),
            metrics: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Takes the steps, until one fails.
    pub(crate) fn run(&mut self, steps: &[Step]) -> Result<(), BridgeError> {
        steps.iter().try_for_each(|step| self.step(step))
    }

    /// Tells the observer what comes next, if it is not a step of a plan.
    pub(crate) fn observe(&mut self, what: &dyn Display) -> Result<(), BridgeError> {
        self.steps += 1;
        if (self.observer)(self.steps, what) {
            Ok(())
        } else {
            Err(BridgeError::Stopped {
                number: self.steps,
                step: what.to_string(),
            })
        }
    }

    /// All is done: nothing will be taken back any more.
    pub(crate) fn done(&mut self) {
        self.undo.list.clear();
        self.rules = false;
        self.pending.done();
    }

    /// Takes back what was done, as far as nobody else counts on it. Failures
    /// are told: there is nobody else to turn to.
    pub(crate) fn undo(&mut self) {
        let tell = |what: &dyn Display, error: &dyn Display| {
            let _ = writeln!(stderr(), "bridge: undoing: {what}: {error}");
        };
        if std::mem::take(&mut self.rules)
            && let Err(error) = remove(self.tools, &self.attached.owner, &[], &self.live())
        {
            tell(&"firewall rules", &error);
        }
        let undone = std::mem::take(&mut self.undo).run(
            &self.home,
            &mut self.host,
            Some(&self.namespace),
            &mut |undo, error| tell(undo, &error),
        );
        // Otherwise the note stays, for DEL or GC.
        if undone == Undone::Finished {
            self.pending.done();
        }
    }

    /// Addresses of the container's other interfaces.
    pub(crate) fn live(&mut self) -> Vec<std::net::IpAddr> {
        let own = self.attached.owner.attachment.interface.to_string();
        let own = self.link(Place::Container, &own).ok();
        let addresses = self.container.addresses(None).unwrap_or_default();
        addresses
            .iter()
            .filter(|address| Some(address.link) != own)
            .map(|address| address.address.addr())
            .collect()
    }

    fn step(&mut self, step: &Step) -> Result<(), BridgeError> {
        let undo = match self.before(step) {
            Ok(Plan::Take(undo)) => undo,
            Ok(Plan::Skip) => return Ok(()),
            Err(error) => return Err(error),
        };
        for undo in undo {
            self.note(undo)?;
        }
        if step.changes() {
            self.observe(step)?;
        }
        self.take(step)
    }

    /// Notes what undoes the next step: in memory, and on disk if DEL would
    /// not find it by itself.
    fn note(&mut self, undo: Undo) -> Result<(), BridgeError> {
        let durable = undo.is_shared() || matches!(undo, Undo::SetInside { .. });
        if undo.is_shared() && !self.undo.list.iter().any(Undo::is_shared) {
            self.undo.ports = self.ports()?;
        }
        self.undo.list.push(undo);
        if durable && let Err(error) = self.pending.note(&self.undo) {
            // It would only be missed if this process were killed.
            self.warnings.push(format!(
                "no note of this ADD could be written, which matters only if it is killed: {error}"
            ));
        }
        Ok(())
    }

    /// The ports of every bridge.
    fn ports(&mut self) -> Result<Vec<u32>, BridgeError> {
        let links = self.host.links()?;
        let ports = links.iter().filter(|link| link.master.is_some());
        Ok(ports.map(|link| link.index).collect())
    }

    /// What undoes a step, last thing first undone; or that there is nothing to
    /// do.
    fn before(&mut self, step: &Step) -> Result<Plan, BridgeError> {
        let undo = match step {
            Step::AddBridge { name, .. } => vec![Undo::RemoveLink { link: name.clone() }],
            Step::SetUp {
                place: Place::Host,
                link,
            } => vec![Undo::SetDown { link: link.clone() }],
            Step::Promiscuous { link } => vec![Undo::NotPromiscuous { link: link.clone() }],
            Step::AddPair {
                place: Place::Container,
                host,
                ..
            } => vec![Undo::RemovePair { link: host.clone() }],
            Step::AddPair {
                place: Place::Host,
                container,
                ..
            } => vec![Undo::RemoveLink {
                link: container.clone(),
            }],
            Step::AddAddress {
                place: Place::Host,
                link,
                address,
            } => vec![Undo::RemoveAddress {
                link: link.clone(),
                address: *address,
            }],
            Step::RemoveAddress {
                place,
                link,
                address,
            } => {
                let index = self.link(*place, link)?;
                let addresses = self.kernel(*place).addresses(Some(index))?;
                let old = addresses.into_iter().find(|old| old.address == *address);
                old.map(|address| Undo::GiveBack {
                    link: link.clone(),
                    address,
                })
                .into_iter()
                .collect()
            }
            Step::Set {
                place,
                setting,
                value,
                optional,
            } => return self.before_setting(*place, setting, value, *optional),
            Step::Masquerade(backend, _) => self.tables(Some(*backend), false)?,
            Step::CheckMac(_) => self.tables(None, true)?,
            _ => Vec::new(),
        };
        Ok(Plan::Take(undo))
    }

    fn tables(
        &self,
        masquerade: Option<Backend>,
        spoof_check: bool,
    ) -> Result<Vec<Undo>, BridgeError> {
        let absent: Vec<Table> = absent_tables(masquerade, spoof_check)?;
        Ok(absent.into_iter().map(Undo::RemoveTable).collect())
    }

    fn before_setting(
        &self,
        place: Place,
        setting: &Sysctl,
        value: &str,
        optional: bool,
    ) -> Result<Plan, BridgeError> {
        let read = || setting.read();
        let old = match place {
            Place::Host => read(),
            Place::Container => self.namespace.within(read)?,
        };
        let old = match old {
            Ok(Some(old)) => old,
            // Not there: without IPv6 nothing has to be set for it.
            Ok(None) if optional || setting.path().starts_with("ipv6/conf/lo/") => {
                return Ok(Plan::Skip);
            }
            Ok(None) => {
                return Err(BridgeError::NoSetting {
                    setting: setting.to_string(),
                    wanted: value.to_owned(),
                });
            }
            Err(_) if optional => return Ok(Plan::Skip),
            Err(error) => return Err(error.into()),
        };
        if old == value {
            return Ok(Plan::Skip);
        }
        Ok(Plan::Take(match place {
            // The settings of the container's own interface go with it.
            Place::Container if !setting.path().contains("/conf/lo/") => Vec::new(),
            Place::Container => vec![Undo::SetInside {
                setting: setting.path().to_owned(),
                value: old,
            }],
            Place::Host if self.made_here(setting) => Vec::new(),
            Place::Host => Undo::of_forwarding(setting)
                .into_iter()
                .chain([Undo::Set {
                    setting: setting.path().to_owned(),
                    value: old,
                }])
                .collect(),
        }))
    }

    /// Whether a setting goes with an interface that this ADD made.
    fn made_here(&self, setting: &Sysctl) -> bool {
        self.undo.list.iter().any(|undo| match undo {
            Undo::RemovePair { link } | Undo::RemoveLink { link } => {
                setting.path().split('/').any(|part| part == link)
            }
            _ => false,
        })
    }

    fn take(&mut self, step: &Step) -> Result<(), BridgeError> {
        match step {
            Step::AddBridge {
                name,
                mtu,
                mac,
                vlan_filtering,
            } => self.add_bridge(&NewBridge {
                name,
                mtu: *mtu,
                mac: *mac,
                vlan_filtering: *vlan_filtering,
            })?,
            Step::SetUp { place, link } => self.kernel(*place).set_up(link)?,
            Step::Promiscuous { link } => self.host.set_promiscuous(link, true)?,
            Step::Set {
                place,
                setting,
                value,
                optional,
            } => {
                let set = || setting.set(value).map(|_| ());
                let outcome = match place {
                    Place::Host => set(),
                    Place::Container => self.namespace.within(set)?,
                };
                if !optional {
                    outcome?;
                }
            }
            Step::AddPair {
                host,
                host_mac,
                bridge,
                place,
                container,
                container_mac,
                mtu,
            } => {
                let pair = NewPair {
                    host_name: host,
                    host_mac: *host_mac,
                    master: self.link(Place::Host, bridge)?,
                    container_name: container,
                    container_mac: *container_mac,
                    mtu: *mtu,
                };
                let into = match place {
                    Place::Host => &self.home,
                    Place::Container => &self.namespace,
                };
                self.host.add_pair(&pair, into)?;
            }
            Step::Label { link, label } => {
                // Only people and GC read it, and kernels before 5.5 have none.
                let _ = self.host.add_alternative_name(link, label);
            }
            Step::Port {
                link,
                hairpin,
                isolated,
            } => self.host.set_port(link, Some(*hairpin), Some(*isolated))?,
            Step::AddVlan {
                link,
                vlan,
                membership,
            } => {
                let port = self.link(Place::Host, link)?;
                self.host.add_vlan(port, *vlan, *membership)?;
            }
            Step::RemoveVlan { link, vlan } => {
                let port = self.link(Place::Host, link)?;
                self.host.remove_vlan(port, *vlan)?;
            }
            Step::AddAddress {
                place,
                link,
                address,
            } => {
                let index = self.link(*place, link)?;
                match self.kernel(*place).add_address(index, *address) {
                    // Another ADD was quicker, with the same address.
                    Err(error) if *place == Place::Host && error.is(Errno::EXIST) => {}
                    outcome => outcome?,
                }
            }
            Step::RemoveAddress {
                place,
                link,
                address,
            } => {
                let index = self.link(*place, link)?;
                self.kernel(*place).delete_address(index, *address)?;
            }
            Step::KeepMac { link, mac } => self.host.set_mac(link, *mac)?,
            Step::WaitForAddresses { link, limit } => {
                let index = self.link(Place::Container, link)?;
                wait::for_addresses(&mut self.container, index, link, *limit)?;
            }
            Step::AddRoute { .. } => self.add_route(step)?,
            Step::CheckMac(check) => {
                self.rules = true;
                check_mac(self.tools, check)?;
            }
            Step::Masquerade(backend, wanted) => {
                self.rules = true;
                masquerade(self.tools, *backend, wanted)?;
            }
            Step::ForgetNeighbour { link, address } => {
                let index = self.link(Place::Host, link)?;
                self.try_to(|work| work.host.forget_neighbour(index, *address));
            }
            Step::ForgetFlows { address } => self.try_to(|_| forget_flows(*address)),
            Step::WaitForPort {
                link,
                bridge,
                limit,
                required,
            } => {
                let late = wait::for_port(&mut self.host, link, bridge, *limit, *required)?;
                self.warnings.extend(late);
            }
            Step::Announce { link, mac } => {
                let kernel = &mut self.container;
                let outcome = self.namespace.within(|| announce(kernel, link, *mac));
                if let Err(error) = outcome.and_then(|outcome| outcome) {
                    self.warnings.push(error.to_string());
                }
            }
        }
        Ok(())
    }

    /// Something that helps, and without which the attachment works as well.
    fn try_to(&mut self, what: impl FnOnce(&mut Self) -> Result<(), NetError>) {
        if let Err(error) = what(self) {
            self.warnings.push(error.to_string());
        }
    }

    fn kernel(&mut self, place: Place) -> &mut Kernel {
        match place {
            Place::Host => &mut self.host,
            Place::Container => &mut self.container,
        }
    }

    /// An interface's number.
    fn link(&mut self, place: Place, name: &str) -> Result<u32, BridgeError> {
        let key = (place, name.to_owned());
        if let Some(index) = self.links.get(&key) {
            return Ok(*index);
        }
        let found = self.kernel(place).link(name)?;
        let index = found.map(|link| link.index).ok_or(NetError::Refused {
            operation: format!("looking for interface {name}"),
            cause: Errno::NODEV.into(),
            explanation: String::new(),
        })?;
        self.links.insert(key, index);
        Ok(index)
    }

    fn add_bridge(&mut self, new: &NewBridge<'_>) -> Result<(), BridgeError> {
        match self.host.add_bridge(new) {
            // Another ADD was quicker. It is as good as ours if it is one.
            Err(error) if error.is(Errno::EXIST) => match self.host.link(new.name)? {
                Some(link) if link.bridge.is_some() => Ok(()),
                Some(link) => Err(BridgeError::NotABridge {
                    name: link.name,
                    kind: link.kind,
                }),
                None => Err(error.into()),
            },
            outcome => Ok(outcome?),
        }
    }

    fn add_route(&mut self, step: &Step) -> Result<(), BridgeError> {
        let Step::AddRoute {
            link,
            number,
            destination,
            gateway,
            metric,
            table,
            scope,
            mtu,
            advertised_mss,
        } = step
        else {
            return Ok(());
        };
        let mut route = Route {
            destination: *destination,
            gateway: *gateway,
            link: self.link(Place::Container, link)?,
            metric: *metric,
            table: *table,
            scope: *scope,
            mtu: *mtu,
            advertised_mss: *advertised_mss,
        };
        match self.container.add_route(&route) {
            // Of another interface of the container: both are kept, and the
            // one that came first goes first.
            Err(error) if error.is(Errno::EXIST) && *metric == 0 => {
                route.metric = self.free_metric(&route)?.ok_or(error)?;
                self.metrics.push((*number, route.metric));
                Ok(self.container.add_route(&route)?)
            }
            outcome => Ok(outcome?),
        }
    }

    /// A metric after those of other interfaces' routes to the same
    /// destination; nothing if this interface has one.
    fn free_metric(&mut self, route: &Route) -> Result<Option<u32>, BridgeError> {
        const APART: u32 = 100;
        let routes = self.container.routes()?;
        let same = routes.iter().filter(|other| {
            other.destination == route.destination && other.table_or_main() == route.table_or_main()
        });
        if same.clone().any(|other| other.link == route.link) {
            return Ok(None);
        }
        let highest = same.map(|other| other.metric).max().unwrap_or_default();
        Ok(highest.checked_add(APART))
    }
}

/// Whether and how a step is taken.
enum Plan {
    /// With these undos noted first.
    Take(Vec<Undo>),
    /// Not: things are as wanted.
    Skip,
}
