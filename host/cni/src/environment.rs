//! What the component may ask for, answered from this host.

use std::fs::OpenOptions;
use std::io::{Read, Write, stderr};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::time::SystemTime;

use rustix::fs::OFlags;

use wipam_core::environment::Environment;
use wipam_core::store::{Access, Location, StoreError, StoreErrorKind};
use wipam_store::{DiskStore, Settings};

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
}

impl Environment for Host {
    type Store = DiskStore;

    fn open(
        &mut self,
        location: &Location,
        access: Access,
    ) -> Result<Option<DiskStore>, StoreError> {
        let settings = Settings {
            started: self.started,
            journal: self.undo.journal.clone(),
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
}
