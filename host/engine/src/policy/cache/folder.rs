//! A folder that nobody but root and this user can write to.

use std::fs::{DirBuilder, File};
use std::io::{Error, ErrorKind, Result, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{self as unix, AtFlags, FileType, Mode, OFlags, Stat};

pub(super) struct Folder(OwnedFd);

/// Names of files that are being written begin with this.
const UNFINISHED: &str = ".new-";

/// How old the time of use has to be before it is renewed: reading need not
/// mean writing each time.
const FRESH: Duration = Duration::from_secs(24 * 3600);

/// After this time, who began to write a file has died.
const ABANDONED: Duration = Duration::from_secs(3600);

impl Folder {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = unix::open(path, flags, Mode::empty())?;
        believable(&unix::fstat(&folder)?)?;
        Ok(Self(folder))
    }

    /// Opens it, and makes it if there is none.
    pub(super) fn create(path: &Path) -> Result<Self> {
        match Self::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            opened => return opened,
        }
        DirBuilder::new().recursive(true).mode(0o700).create(path)?;
        Self::open(path)
    }

    /// A file of at most this size, and its size and time of change. Having
    /// been opened, it counts as used.
    pub(super) fn open_file(&self, name: &str, most: u64) -> Result<(File, u64, SystemTime)> {
        // Not blocking: whatever is there under this name, it is not waited for.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = unix::openat(&self.0, name, flags, Mode::empty())?;
        let stat = unix::fstat(&file)?;
        believable(&stat)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(Error::other("no regular file"));
        }
        let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
        if size > most {
            return Err(Error::other("too large"));
        }
        let file = File::from(file);
        if age(&stat) > FRESH {
            // That fails where nothing can be written: then nothing is removed
            // either.
            let _ = file.set_modified(SystemTime::now());
        }
        Ok((file, size, modified(&stat)))
    }

    /// Writes a file, whole or not at all.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let unfinished = format!("{UNFINISHED}{}-{name}", std::process::id());
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        let file = match unix::openat(&self.0, &unfinished, flags, mode) {
            // Another thread is at it, and will do.
            Err(rustix::io::Errno::EXIST) => return Ok(()),
            opened => opened?,
        };
        let written = File::from(file)
            .write_all(bytes)
            .and_then(|()| Ok(unix::renameat(&self.0, &unfinished, &self.0, name)?));
        if written.is_err() {
            let _ = unix::unlinkat(&self.0, &unfinished, AtFlags::empty());
        }
        written
    }

    /// Removes those files with this end of their names that were not used for
    /// longest, until no more than this is left.
    pub(super) fn prune(&self, suffix: &str, most_files: usize, most_bytes: u64) -> Result<()> {
        let mut files = Vec::new();
        for entry in unix::Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = entry.file_name();
            let Ok(stat) = unix::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                continue;
            }
            if name.to_bytes().starts_with(UNFINISHED.as_bytes()) {
                if age(&stat) > ABANDONED {
                    unix::unlinkat(&self.0, name, AtFlags::empty())?;
                }
                continue;
            }
            if !name.to_bytes().ends_with(suffix.as_bytes()) {
                continue;
            }
            let size = u64::try_from(stat.st_size).unwrap_or(0);
            files.push((modified(&stat), size, name.to_owned()));
        }
        files.sort_unstable_by(|a, b| b.cmp(a));
        let mut total = 0;
        for (count, (_, size, name)) in files.iter().enumerate() {
            total += size;
            if count >= most_files || total > most_bytes {
                unix::unlinkat(&self.0, name, AtFlags::empty())?;
            }
        }
        Ok(())
    }
}

/// Whether only root and this user can have written it.
fn believable(stat: &Stat) -> Result<()> {
    let others = (Mode::WGRP | Mode::WOTH).as_raw_mode();
    let ours = stat.st_uid == 0 || stat.st_uid == rustix::process::geteuid().as_raw();
    if ours && stat.st_mode & others == 0 {
        Ok(())
    } else {
        Err(Error::new(
            ErrorKind::PermissionDenied,
            "others than root and this user can write to it",
        ))
    }
}

fn modified(stat: &Stat) -> SystemTime {
    let seconds = u64::try_from(stat.st_mtime).unwrap_or(0);
    UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_nanos(stat.st_mtime_nsec)
}

fn age(stat: &Stat) -> Duration {
    SystemTime::now()
        .duration_since(modified(stat))
        .unwrap_or_default()
}
