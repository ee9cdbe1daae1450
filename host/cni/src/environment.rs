//! What the component may ask for, answered from this host.

use std::fs::File;
use std::io::{Read, Write, stderr};
use std::time::SystemTime;

use wipam_core::invoke::Environment;
use wipam_core::store::{Access, Location, StoreError, StoreErrorKind};
use wipam_store::{DiskStore, Settings};

use crate::journal::{Journal, JournaledStore};

/// Most that is read of a resolv.conf.
const MOST_RESOLV_CONF: u64 = 1 << 20;

/// This host, for one invocation.
pub(crate) struct Host {
    /// Name of the program, for messages.
    pub(crate) name: &'static str,
    /// When the invocation began.
    pub(crate) started: SystemTime,
    /// Told of everything that is reserved.
    pub(crate) journal: Journal,
}

impl Environment for Host {
    type Store = JournaledStore;

    fn open(
        &mut self,
        location: &Location,
        access: Access,
    ) -> Result<Option<JournaledStore>, StoreError> {
        let settings = Settings { started: self.started };
        let store = DiskStore::open(location, access, &settings)?;
        self.journal.opened(location);
        Ok(store.map(|store| JournaledStore::new(store, self.journal.clone())))
    }

    fn resolv_conf(&mut self, path: &str) -> Result<String, StoreError> {
        let failed = |cause: &dyn std::fmt::Display| StoreError {
            kind: StoreErrorKind::Io,
            message: format!("reading resolvConf {path}: {cause}"),
        };
        let mut text = Vec::new();
        let file = File::open(path).map_err(|error| failed(&error))?;
        file.take(MOST_RESOLV_CONF + 1).read_to_end(&mut text).map_err(|error| failed(&error))?;
        if text.len() as u64 > MOST_RESOLV_CONF {
            return Err(failed(&format_args!("wanted at most {MOST_RESOLV_CONF} bytes, found more")));
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn warn(&mut self, message: &str) {
        // A warning that cannot be written must not keep an address from
        // being given or freed.
        let _ = writeln!(stderr(), "{}: {message}", self.name);
    }
}
