//! Reading what lies in a network's directory, whatever it is.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime};

use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt};
use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, openat, readlinkat};
use rustix::io::Errno;
use wipam_core::store::StoreError;

use super::place::{Opened, Place};
use crate::directory::Item;
use crate::error;
use wipam_core::record::{self, Name};

/// What is known about the time before the lock was held.
#[derive(Debug)]
pub(crate) struct Session {
    started: SystemTime,
    /// The addresses that had a record just before waiting for the lock.
    pub(super) seen: Option<HashSet<IpAddr>>,
}

impl Session {
    pub(super) fn new(started: SystemTime) -> Self {
        Self {
            started,
            seen: None,
        }
    }

    /// Whether a record was made after this invocation began. Its change time
    /// would not tell: our own hard links move it.
    fn is_newer(&self, name: Name, stat: &Stat) -> bool {
        let unseen = match (name, &self.seen) {
            (Name::Record(address), Some(seen)) => !seen.contains(&address),
            _ => false,
        };
        // A time yet to come says nothing: the clock was set back, or a hand set
        // it, and no GC would ever free the record.
        let now = SystemTime::now();
        let newer = |modified| modified > self.started && modified <= now;
        unseen || modified(stat).is_some_and(newer)
    }
}

/// Reads files of a network.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) data: Rc<Dir>,
    pub(crate) network: Dir,
    place: Place,
    session: Session,
}

impl Reader {
    pub(super) fn new(opened: Opened, place: Place, session: Session) -> Self {
        Self {
            data: opened.data,
            network: opened.network,
            place,
            session,
        }
    }

    /// The path of the network's directory, for messages.
    pub(crate) fn path(&self) -> &Path {
        self.place.network()
    }

    /// The network's name.
    pub(crate) fn name(&self) -> &str {
        self.place.name()
    }

    /// What lies under a name.
    pub(crate) fn read(&self, name: Name) -> Result<Item, StoreError> {
        let text = name.to_string();
        let failed = |cause| error::io("read", &self.path().join(&text), cause);
        // A pipe blocks whoever opens it for reading, until somebody writes.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY;
        let file = match openat(&self.network, &text, flags, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(Item::Missing),
            Err(Errno::LOOP) => return Ok(self.read_link(&text)),
            // Sockets, and devices that are not there.
            Err(Errno::NXIO | Errno::NODEV) => return Ok(Item::Other),
            Err(cause) => return Err(failed(cause)),
        };
        let stat = fstat(&file).map_err(failed)?;
        if !FileType::from_raw_mode(stat.st_mode).is_file() {
            return Ok(Item::Other);
        }
        let content = content(file, &stat).map_err(failed)?;
        Ok(Item::File {
            content,
            newer: self.session.is_newer(name, &stat),
        })
    }

    /// Reads through a link, as the Go plugin does, if it leads to a file
    /// within the data directory; what lies elsewhere is nobody's record.
    fn read_link(&self, name: &str) -> Item {
        let content = || {
            let target = readlinkat(&self.network, name, Vec::new()).ok()?;
            let target = self.within(Path::new(OsStr::from_bytes(target.to_bytes())))?;
            let nonblock = OFlags::NONBLOCK.bits().cast_signed();
            let mut options = OpenOptions::new();
            options.read(true).custom_flags(nonblock);
            let file = self.data.open_with(target, &options).ok()?;
            let stat = fstat(file.as_fd()).ok()?;
            FileType::from_raw_mode(stat.st_mode)
                .is_file()
                .then_some(())?;
            content(file.into(), &stat).ok()
        };
        content().map_or(Item::Other, |content| Item::Linked { content })
    }

    /// The target of a link as a path below the data directory. Whether it
    /// stays there is seen to when it is opened.
    fn within(&self, target: &Path) -> Option<PathBuf> {
        if target.is_relative() {
            return Some(Path::new(self.name()).join(target));
        }
        if let Ok(below) = target.strip_prefix(self.place.data()) {
            return Some(below.to_owned());
        }
        let real = self.place.data().canonicalize().ok()?;
        target.strip_prefix(real).ok().map(Path::to_owned)
    }
}

/// The content of a file, but no more than tells that it is no record.
fn content(file: OwnedFd, stat: &Stat) -> Result<Vec<u8>, Errno> {
    let size = usize::try_from(stat.st_size).unwrap_or(usize::MAX);
    let mut content = vec![0; size.min(record::LONGEST + 1)];
    let mut filled = 0;
    while let Some(rest) = content.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match rustix::io::read(&file, rest) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(Errno::INTR) => {}
            Err(cause) => return Err(cause),
        }
    }
    content.truncate(filled);
    Ok(content)
}

fn modified(stat: &Stat) -> Option<SystemTime> {
    let seconds = Duration::from_secs(u64::try_from(stat.st_mtime).ok()?);
    let nanos = Duration::from_nanos(stat.st_mtime_nsec);
    SystemTime::UNIX_EPOCH.checked_add(seconds.checked_add(nanos)?)
}
