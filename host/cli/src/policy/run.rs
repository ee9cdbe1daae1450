//! `wipam policy run`: commands on a copy of a store, with every reason.

use std::cell::RefCell;
use std::error::Error;
use std::fs;
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::SystemTime;

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::Value;
use wipam_core::config;
use wipam_core::environment::{Environment, Inputs};
use wipam_core::json::{Field, to_text};
use wipam_core::parameters::{Invocation, Network};
use wipam_core::policy::{Decision, Notice, PolicyFailure, Request, Setting, View};
use wipam_core::store::{Access, Location, StoreError, StoreErrorKind};
use wipam_engine::policy::{InProcess, Policies};
use wipam_engine::{Engine, Limits};
use wipam_store::{MemoryNetwork, MemoryStore};

/// Most that is read of a resolv.conf, as the plugin has it.
const MOST_RESOLV_CONF: u64 = 1 << 20;

#[derive(Args)]
pub(crate) struct Run {
    /// A network configuration, of one plugin or a list of plugins.
    config: PathBuf,
    /// A data directory, or a copy of one, in place of the configuration's.
    #[arg(long, value_name = "DIR", conflicts_with = "empty")]
    store: Option<PathBuf>,
    /// Begin with an empty pool.
    #[arg(long)]
    empty: bool,
    /// A component in place of the configuration's policy.
    #[arg(long, value_name = "COMPONENT")]
    policy: Option<PathBuf>,
    /// What to do.
    #[arg(long, value_enum, default_value = "add", ignore_case = true)]
    command: Command,
    /// How often. Container ids get a number then.
    #[arg(long, default_value_t = 1)]
    count: u32,
    /// `CNI_CONTAINERID`
    #[arg(long, default_value = "dry-run")]
    container: String,
    /// `CNI_IFNAME`
    #[arg(long, default_value = "eth0")]
    interface: String,
    /// `CNI_ARGS`, such as `IgnoreUnknown=1;K8S_POD_NAMESPACE=a;K8S_POD_NAME=b`.
    #[arg(long, default_value = "")]
    args: String,
    /// The first seed; each further run has the next one. Any without.
    #[arg(long)]
    seed: Option<u64>,
    /// The time, in milliseconds since 1970. Now without.
    #[arg(long, value_name = "MS")]
    time: Option<u64>,
    /// Print JSON: answer, notes and warnings of each run.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Command {
    Add,
    Check,
    Del,
    Gc,
    Status,
}

/// What one run came to.
#[derive(Serialize)]
struct Report {
    command: String,
    container: String,
    interface: String,
    /// What the plugin would print: a result, an error object, or nothing.
    answer: Value,
    failed: bool,
    /// Why which address.
    notes: Vec<String>,
    warnings: Vec<String>,
}

impl Run {
    pub(crate) fn run(&self) -> Result<(), Box<dyn Error>> {
        let config = self.configuration()?;
        let dry = DryRun {
            network: self.copy(&config)?,
            policies: Rc::new(Policies::new(InProcess)),
            inputs: Inputs {
                time_ms: self.time.unwrap_or_else(now),
                seed: self.seed.unwrap_or_else(now),
            },
            said: Rc::default(),
        };
        let engine = Engine::new(wipam_artifact::compiled(), Limits::default())?;
        let mut reports = Vec::new();
        for number in 0..self.count {
            reports.push(self.once(&engine, &dry, &config, number)?);
        }
        if self.json {
            println!("{}", serde_json::to_string_pretty(&reports)?);
            return Ok(());
        }
        for (number, report) in reports.iter().enumerate() {
            report.print(number + 1);
        }
        println!("nothing was written");
        Ok(())
    }

    fn once(
        &self,
        engine: &Engine,
        dry: &DryRun,
        config: &[u8],
        number: u32,
    ) -> Result<Report, Box<dyn Error>> {
        let container = match self.count {
            1 => self.container.clone(),
            _ => format!("{}-{}", self.container, number + 1),
        };
        let invocation = Invocation {
            command: format!("{:?}", self.command).to_uppercase(),
            container_id: container,
            interface_name: self.interface.clone(),
            netns: "/dry-run".to_owned(),
            own_netns: false,
            args: self.args.clone(),
            path: "/dry-run".to_owned(),
            config: config.to_vec(),
        };
        let mut dry = dry.clone();
        dry.inputs.seed = dry.inputs.seed.wrapping_add(number.into());
        let said = Rc::clone(&dry.said);
        let answer = engine.invoke(&invocation, dry)?;
        let Said { notes, warnings } = said.take();
        let failed = answer.is_err();
        let text = answer.unwrap_or_else(|error| error);
        Ok(Report {
            command: invocation.command,
            container: invocation.container_id,
            interface: invocation.interface_name,
            answer: match text.as_str() {
                "" => Value::Null,
                text => serde_json::from_str(text)?,
            },
            failed,
            notes,
            warnings,
        })
    }

    /// The configuration, with what the command line has in place of its own.
    fn configuration(&self) -> Result<Vec<u8>, Box<dyn Error>> {
        let named = |path: &Path, error: &dyn std::fmt::Display| -> Box<dyn Error> {
            format!("{}: {error}", path.display()).into()
        };
        let bytes = fs::read(&self.config).map_err(|error| named(&self.config, &error))?;
        let mut value: Value =
            serde_json::from_slice(&bytes).map_err(|error| named(&self.config, &error))?;
        let of_list = of_list(&value);
        let Some(component) = &self.policy else {
            return Ok(match of_list {
                Some(plugin) => serde_json::to_vec(&plugin)?,
                None => bytes,
            });
        };
        let absolute = fs::canonicalize(component).map_err(|error| named(component, &error))?;
        value = of_list.unwrap_or(value);
        let ipam = value.get_mut("ipam").and_then(Value::as_object_mut);
        let ipam =
            ipam.ok_or_else(|| named(&self.config, &"there is no ipam to try a policy in"))?;
        let policy = ipam
            .entry("policy")
            .or_insert_with(|| Value::Object(Default::default()));
        policy["component"] = Value::from(absolute.to_string_lossy());
        Ok(serde_json::to_vec(&value)?)
    }

    /// The store to try it on: what there is, in memory.
    fn copy(&self, config: &[u8]) -> Result<MemoryNetwork, Box<dyn Error>> {
        if self.empty {
            return Ok(MemoryNetwork::default());
        }
        let text = to_text(config);
        let document = Field::document(&text).and_then(|field| field.object())?;
        let network = Network::read(&document).map_err(|fault| fault.to_string())?;
        let mut location = config::location(&document, network.name, |_| {})?;
        if let Some(store) = &self.store {
            let absolute =
                fs::canonicalize(store).map_err(|error| format!("{}: {error}", store.display()))?;
            location.data_dir = absolute.to_string_lossy().into_owned();
        }
        Ok(MemoryNetwork::copy_of(&location)?)
    }
}

/// Of a .conflist, the configuration of the plugin that has addresses, as a
/// runtime would hand it over.
fn of_list(list: &Value) -> Option<Value> {
    let plugins = list.get("plugins")?.as_array()?;
    let mut plugin = plugins
        .iter()
        .find(|plugin| plugin["ipam"].is_object())?
        .clone();
    for name in ["name", "cniVersion"] {
        if let Some(value) = list.get(name) {
            plugin[name] = value.clone();
        }
    }
    Some(plugin)
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

impl Report {
    fn print(&self, number: usize) {
        let Self {
            command,
            container,
            interface,
            answer,
            ..
        } = self;
        let what = if self.failed {
            let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
            format!("error {}: {}", answer["code"], text("msg"))
        } else {
            let ips = answer["ips"].as_array().into_iter().flatten();
            let ips: Vec<String> = ips
                .map(|ip| {
                    let address = ip["address"].as_str().unwrap_or_default();
                    match ip["gateway"].as_str() {
                        Some(gateway) => format!("{address}, gateway {gateway}"),
                        None => address.to_owned(),
                    }
                })
                .collect();
            match (ips.is_empty(), answer.is_null()) {
                (false, _) => ips.join("; "),
                (true, true) => "done".to_owned(),
                (true, false) => answer.to_string(),
            }
        };
        println!("{number}. {command} {container} {interface}: {what}");
        for note in &self.notes {
            println!("     {note}");
        }
        for warning in &self.warnings {
            println!("     warning: {warning}");
        }
    }
}

#[derive(Default)]
struct Said {
    notes: Vec<String>,
    warnings: Vec<String>,
}

/// A host whose network is a copy, and who listens. Clones share both.
#[derive(Clone)]
struct DryRun {
    network: MemoryNetwork,
    policies: Rc<Policies>,
    inputs: Inputs,
    said: Rc<RefCell<Said>>,
}

impl Environment for DryRun {
    type Store = MemoryStore;

    fn open(
        &mut self,
        location: &Location,
        access: Access,
    ) -> Result<Option<MemoryStore>, StoreError> {
        Ok(Some(MemoryStore::open(
            &self.network,
            access,
            location.history,
        )))
    }

    fn resolv_conf(&mut self, path: &str) -> Result<String, StoreError> {
        let failed = |cause: &dyn std::fmt::Display| StoreError {
            kind: StoreErrorKind::Io,
            message: format!("reading resolvConf {path}: {cause}"),
        };
        // As the plugin does: a pipe is not waited for, nor a device read to
        // its end.
        let kind = fs::metadata(path).map_err(|error| failed(&error))?;
        let kind = kind.file_type();
        if !kind.is_file() && !kind.is_char_device() {
            return Err(failed(&"wanted a file, found something else"));
        }
        let mut text = Vec::new();
        fs::File::open(path)
            .and_then(|file| file.take(MOST_RESOLV_CONF + 1).read_to_end(&mut text))
            .map_err(|error| failed(&error))?;
        if text.len() as u64 > MOST_RESOLV_CONF {
            return Err(failed(&format_args!(
                "wanted at most {MOST_RESOLV_CONF} bytes, found more"
            )));
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn warn(&mut self, message: &str) {
        self.said.borrow_mut().warnings.push(message.to_owned());
    }

    fn inputs(&mut self) -> Inputs {
        self.inputs
    }

    fn noting(&mut self) -> bool {
        true
    }

    fn note(&mut self, message: &str) {
        self.said.borrow_mut().notes.push(message.to_owned());
    }

    fn choose(
        &mut self,
        store: &mut MemoryStore,
        setting: &Setting,
        request: &Request,
        view: &View,
    ) -> Result<Decision, PolicyFailure> {
        let said = Rc::clone(&self.said);
        self.policies.choose(store, setting, request, view, |line| {
            said.borrow_mut()
                .notes
                .push(format!("the policy says: {line}"));
        })
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
        let said = Rc::clone(&self.said);
        self.policies.released(store, setting, notice, |line| {
            said.borrow_mut()
                .notes
                .push(format!("the policy says: {line}"));
        })
    }
}
