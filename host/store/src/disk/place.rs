//! The directories and the lock file of a network.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use rustix::fs::{FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;
use wipam_core::store::{Location, StoreError};

use super::DEFAULT_DATA_DIR;
use crate::error;

const LOCK: &str = "lock";

/// The paths of a network.
#[derive(Debug)]
pub(super) struct Place {
    data: PathBuf,
    network: PathBuf,
    name: String,
}

/// The directories of a network, which exist.
#[derive(Debug)]
pub(super) struct Opened {
    /// Others keep it as well.
    pub(super) data: Rc<Dir>,
    pub(super) network: Dir,
}

/// How much the lock file matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LockFile {
    /// Opened if it is there and may be opened.
    IfReadable,
    /// Made if it is missing and the file system lets it be made.
    IfPossible,
    /// Made if it is missing.
    Required,
}

impl Place {
    pub(super) fn new(location: &Location) -> Result<Self, StoreError> {
        let given = match location.data_dir.as_str() {
            "" => DEFAULT_DATA_DIR,
            given => given,
        };
        let data = clean(given).ok_or_else(|| error::location(given, "is not an absolute path"))?;
        let name = location.network.as_str().to_owned();
        Ok(Self {
            network: data.join(&name),
            data,
            name,
        })
    }

    /// The data directory.
    pub(super) fn data(&self) -> &Path {
        &self.data
    }

    /// The network's directory in it.
    pub(super) fn network(&self) -> &Path {
        &self.network
    }

    /// The name of that directory.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn lock(&self) -> PathBuf {
        self.network.join(LOCK)
    }

    /// Opens the directories; `None` where one is missing.
    pub(super) fn open(&self) -> Result<Option<Opened>, StoreError> {
        let data = Dir::open_ambient_dir(&self.data, ambient_authority());
        let Some(data) = present(data, &self.data)? else {
            return Ok(None);
        };
        let network = data.open_dir(&self.name);
        let Some(network) = present(network, &self.network)? else {
            return Ok(None);
        };
        Ok(Some(Opened {
            data: Rc::new(data),
            network,
        }))
    }

    /// Opens the directories, making those that are missing.
    pub(super) fn open_or_create(&self) -> Result<Opened, StoreError> {
        if let Some(opened) = self.open()? {
            return Ok(opened);
        }
        let made = DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(&self.network);
        made.map_err(|cause| match cause.kind() {
            io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
                error::location(self.data.display(), "cannot be made: a file is in the way")
            }
            _ => error::io("create directory", &self.network, cause),
        })?;
        self.open()?.ok_or_else(|| {
            error::other(format!(
                "{} was removed while being used",
                self.network.display()
            ))
        })
    }
}

impl Opened {
    /// The open lock file; `None` where it cannot be had and that is
    /// acceptable.
    pub(super) fn lock_file(
        &self,
        place: &Place,
        need: LockFile,
    ) -> Result<Option<File>, StoreError> {
        let create = if need == LockFile::IfReadable {
            OFlags::empty()
        } else {
            OFlags::CREATE
        };
        // What has the name may be a pipe, on which a plain open would hang.
        let careful = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NOCTTY;
        let mode = Mode::from_raw_mode(0o640);
        let failed = |cause| error::io("open", &place.lock(), cause);
        let file = match openat(&self.network, LOCK, OFlags::RDONLY | create | careful, mode) {
            Ok(file) => file,
            Err(cause) => {
                let acceptable = match (need, cause) {
                    (LockFile::IfReadable, Errno::NOENT | Errno::ACCESS | Errno::PERM) => true,
                    // A full or read-only disk must not keep anything reserved.
                    (LockFile::IfPossible, Errno::ROFS | Errno::NOSPC | Errno::DQUOT) => true,
                    _ => false,
                };
                return if acceptable {
                    Ok(None)
                } else {
                    Err(failed(cause))
                };
            }
        };
        let stat = fstat(&file).map_err(failed)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(Some(File::from(file))),
            FileType::Directory => Err(failed(Errno::ISDIR)),
            _ => Err(error::other(format!(
                "open {}: is no regular file",
                place.lock().display()
            ))),
        }
    }
}

/// Tells a directory that is missing from one that cannot be used.
fn present(opened: io::Result<Dir>, path: &Path) -> Result<Option<Dir>, StoreError> {
    let cause = match opened {
        Ok(directory) => return Ok(Some(directory)),
        Err(cause) => cause,
    };
    match cause.kind() {
        io::ErrorKind::NotFound if is_link(path) => Err(error::location(
            path.display(),
            "is a link that leads nowhere",
        )),
        io::ErrorKind::NotFound => Ok(None),
        io::ErrorKind::NotADirectory => Err(error::location(path.display(), "is not a directory")),
        _ => Err(error::io("open directory", path, cause)),
    }
}

/// Whether a path is a link itself. What was missing a moment ago may be a
/// directory by now, which is no reason to complain.
pub(super) fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink())
}

/// An absolute path without `.`, `..` and double slashes, worked out from its
/// text alone, as Go's `filepath.Join` does.
fn clean(path: &str) -> Option<PathBuf> {
    let mut cleaned = PathBuf::from("/");
    for part in path.strip_prefix('/')?.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(cleaned.pop()),
            part => cleaned.push(part),
        }
    }
    Some(cleaned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_cleaned_as_in_go() {
        for (path, cleaned) in [
            ("/x//y/../z", "/x/z"),
            ("/x/./", "/x"),
            ("/", "/"),
            ("/../..", "/"),
            ("/a b/é", "/a b/é"),
        ] {
            assert_eq!(clean(path).as_deref(), Some(Path::new(cleaned)), "{path}");
        }
        assert_eq!(clean("x"), None);
        assert_eq!(clean("./x"), None);
    }
}
