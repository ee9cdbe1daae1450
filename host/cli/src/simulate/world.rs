//! A host in memory, whose clock goes as a scenario says.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use wipam_core::config;
use wipam_core::environment::{Environment, Inputs};
use wipam_core::json::Field;
use wipam_core::memory::{Changes, MemoryStore};
use wipam_core::parameters::Network;
use wipam_core::policy::{Decision, Notice, PolicyFailure, Request, Setting, View};
use wipam_core::store::{Access, Location, Store, StoreError, StoreErrorKind};
use wipam_engine::policy::Policies;
use wipam_scenario::{DATA_DIR, Meaning, Scenario};

/// The host. Clones are the same one.
#[derive(Clone)]
pub(crate) struct World {
    policies: Rc<Policies>,
    state: Rc<RefCell<State>>,
}

#[derive(Default)]
struct State {
    /// Networks, by their directories.
    networks: BTreeMap<PathBuf, MemoryStore>,
    inputs: Inputs,
    warnings: Vec<String>,
}

impl World {
    pub(crate) fn new(policies: Policies) -> Self {
        Self {
            policies: Rc::new(policies),
            state: Rc::default(),
        }
    }

    /// Puts the files of a scenario into the directory of its network.
    pub(crate) fn put(&self, scenario: &Scenario, network: &str) -> Result<(), String> {
        if scenario.files.is_empty() {
            return Ok(());
        }
        let unusable = |error: &dyn std::fmt::Display| {
            format!("files: the network configuration says nowhere to put them: {error}")
        };
        let document = Field::document(network)
            .and_then(|field| field.object())
            .map_err(|error| unusable(&error))?;
        let network = Network::read(&document).map_err(|error| unusable(&error))?;
        let location =
            config::location(&document, network.name, |_| {}).map_err(|error| unusable(&error))?;
        let mut store = MemoryStore::default();
        for file in &scenario.files {
            match &file.meaning {
                Meaning::Record(address, owner) => {
                    store.put(*address, owner.clone());
                }
                Meaning::Marker(index, address) => store
                    .set_last_reserved(*index, *address)
                    .map_err(|error| error.to_string())?,
            }
        }
        let mut state = self.state.borrow_mut();
        state.networks.insert(directory(&location), store);
        Ok(())
    }

    /// An operation begins, at this time.
    pub(crate) fn begin(&self, inputs: Inputs) {
        let mut state = self.state.borrow_mut();
        state.inputs = inputs;
        for network in state.networks.values() {
            network.set_inputs(inputs);
        }
    }

    /// The machine boots.
    pub(crate) fn reboot(&self) {
        self.state
            .borrow()
            .networks
            .values()
            .for_each(MemoryStore::reboot);
    }

    /// What became of addresses since the operation began, and what was said.
    pub(crate) fn end(&self) -> (Changes, Vec<String>) {
        let mut state = self.state.borrow_mut();
        let mut all = Changes::default();
        for network in state.networks.values() {
            let changes = network.take_changes();
            all.reserved.extend(changes.reserved);
            all.released.extend(changes.released);
        }
        (all, std::mem::take(&mut state.warnings))
    }
}

/// Where a network's reservations would be, by the rules of Go's
/// `filepath.Join`.
fn directory(location: &Location) -> PathBuf {
    let data_dir = match location.data_dir.as_str() {
        "" => DATA_DIR,
        given => given,
    };
    let mut directory = PathBuf::from("/");
    for name in Path::new(data_dir).components() {
        match name {
            Component::Normal(name) => directory.push(name),
            Component::ParentDir => {
                directory.pop();
            }
            Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
        }
    }
    directory.push(location.network.to_string());
    directory
}

impl Environment for World {
    type Store = MemoryStore;

    fn open(
        &mut self,
        location: &Location,
        access: Access,
    ) -> Result<Option<MemoryStore>, StoreError> {
        let data_dir = &location.data_dir;
        if !data_dir.is_empty() && !data_dir.starts_with('/') {
            return Err(StoreError {
                kind: StoreErrorKind::Location,
                message: format!("data directory {data_dir}: not absolute"),
            });
        }
        let mut state = self.state.borrow_mut();
        let inputs = state.inputs;
        let directory = directory(location);
        let mut network = match state.networks.get(&directory) {
            Some(network) => network.clone(),
            None if access != Access::Reserve => return Ok(None),
            None => {
                let network = MemoryStore::default();
                network.set_inputs(inputs);
                state.networks.insert(directory, network.clone());
                network
            }
        };
        Environment::open(&mut network, location, access)
    }

    fn resolv_conf(&mut self, path: &str) -> Result<String, StoreError> {
        Err(StoreError {
            kind: StoreErrorKind::Io,
            message: format!("reading resolvConf {path}: No such file or directory (os error 2)"),
        })
    }

    fn warn(&mut self, message: &str) {
        self.state.borrow_mut().warnings.push(message.to_owned());
    }

    fn inputs(&mut self) -> Inputs {
        self.state.borrow().inputs
    }

    fn noting(&mut self) -> bool {
        false
    }

    fn note(&mut self, _: &str) {}

    fn choose(
        &mut self,
        store: &mut MemoryStore,
        setting: &Setting,
        request: &Request,
        view: &View,
    ) -> Result<Decision, PolicyFailure> {
        self.policies.choose(store, setting, request, view, |_| {})
    }

    fn ready(&mut self, setting: &Setting) -> Result<(), PolicyFailure> {
        self.policies.ready(setting)
    }

    fn released(
        &mut self,
        store: &mut MemoryStore,
        setting: &Setting,
        notice: &Notice,
    ) -> Result<(), PolicyFailure> {
        self.policies.released(store, setting, notice, |_| {})
    }
}
