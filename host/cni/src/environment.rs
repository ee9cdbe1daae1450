//! What the component may ask for, answered from this host.

use std::fs::OpenOptions;
use std::io::{Read, Write, stderr};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::rc::Rc;
use std::time::SystemTime;

use rustix::fs::OFlags;
use rustix::rand::GetRandomFlags;

use wipam_core::environment::{Environment, Inputs};
use wipam_core::policy::{Decision, Notice, PolicyFailure, Request, Setting, View};
use wipam_core::store::{Access, Location, StoreError, StoreErrorKind};
use wipam_store::{DiskStore, Settings};

use wipam_engine::policy::Policies;

use crate::compiler::HandOver;
use crate::undo::Undo;

/// Most that is read of a resolv.conf.
const MOST_RESOLV_CONF: u64 = 1 << 20;

/// This host, for one invocation.
pub(crate) struct Host {
    /// Name of the program, for messages.
    pub(crate) name: &'static str,
    /// When the invocation began.
    pub(crate) started: SystemTime,
    /// Told of everything that is reserved.
    pub(crate) undo: Undo,
    inputs: Option<Inputs>,
    policies: Option<Rc<Policies>>,
}

impl Host {
    pub(crate) fn new(name: &'static str, started: SystemTime, undo: Undo) -> Self {
        Self {
            name,
            started,
            undo,
            inputs: None,
            policies: None,
        }
    }

    fn policies(&mut self) -> Rc<Policies> {
        let policies = || Rc::new(Policies::new(HandOver));
        Rc::clone(self.policies.get_or_insert_with(policies))
    }

    /// Tells what a policy says. It may be anything, so it is marked.
    fn said(name: &str, setting: &Setting, line: &str) {
        let _ = writeln!(
            stderr(),
            "{name}: policy {} says: {line}",
            setting.component
        );
    }
}

impl Environment for Host {
    type Store = DiskStore;

    fn open(
        &mut self,
        location: &Location,
        access: Access,
    ) -> Result<Option<DiskStore>, StoreError> {
        let settings = Settings {
            journal: self.undo.journal.clone(),
            ..Settings::new(self.started)
        };
        self.undo.opened(location);
        DiskStore::open(location, access, &settings)
    }

    fn resolv_conf(&mut self, path: &str) -> Result<String, StoreError> {
        let failed = |cause: &dyn std::fmt::Display| StoreError {
            kind: StoreErrorKind::Io,
            message: format!("reading resolvConf {path}: {cause}"),
        };
        let mut text = Vec::new();
        // A pipe without a writer would keep this waiting.
        let nonblocking = OFlags::NONBLOCK.bits().cast_signed();
        let file = OpenOptions::new()
            .read(true)
            .custom_flags(nonblocking)
            .open(path)
            .map_err(|error| failed(&error))?;
        let kind = file.metadata().map_err(|error| failed(&error))?.file_type();
        // /dev/null is a way to say "none".
        if !kind.is_file() && !kind.is_char_device() {
            return Err(failed(&"wanted a file, found something else"));
        }
        file.take(MOST_RESOLV_CONF + 1)
            .read_to_end(&mut text)
            .map_err(|error| failed(&error))?;
        if text.len() as u64 > MOST_RESOLV_CONF {
            return Err(failed(&format_args!(
                "wanted at most {MOST_RESOLV_CONF} bytes, found more"
            )));
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn warn(&mut self, message: &str) {
        // A warning that cannot be written must not keep an address from
        // being given or freed.
        let _ = writeln!(stderr(), "{}: {message}", self.name);
    }

    fn inputs(&mut self) -> Inputs {
        let started = self.started;
        *self.inputs.get_or_insert_with(|| inputs(started))
    }

    fn noting(&mut self) -> bool {
        false
    }

    fn note(&mut self, _: &str) {}

    fn choose(
        &mut self,
        store: &mut DiskStore,
        setting: &Setting,
        request: &Request,
        view: &View,
    ) -> Result<Decision, PolicyFailure> {
        let name = self.name;
        self.policies()
            .choose(store, setting, request, view, |line| {
                Self::said(name, setting, line);
            })
    }

    fn ready(&mut self, setting: &Setting) -> Result<(), PolicyFailure> {
        self.policies().ready(setting)
    }

    fn released(
        &mut self,
        store: &mut DiskStore,
        setting: &Setting,
        notice: &Notice,
    ) -> Result<(), PolicyFailure> {
        let name = self.name;
        self.policies().released(store, setting, notice, |line| {
            Self::said(name, setting, line);
        })
    }
}

/// The time at which the invocation began, and a seed from the kernel.
fn inputs(started: SystemTime) -> Inputs {
    let since = started.duration_since(SystemTime::UNIX_EPOCH);
    let time_ms = since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    });
    let mut seed = [0; 8];
    // Without the kernel's help, the nanoseconds of the clock have to do.
    let drawn = rustix::rand::getrandom(&mut seed, GetRandomFlags::NONBLOCK);
    let seed = match drawn {
        Ok(8) => u64::from_ne_bytes(seed),
        _ => since_nanos(started),
    };
    Inputs { time_ms, seed }
}

fn since_nanos(started: SystemTime) -> u64 {
    let since = started.duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.subsec_nanos().into())
}
