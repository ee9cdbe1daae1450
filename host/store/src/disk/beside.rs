//! The folder `.wipam/<network>` in the data directory, and the files in it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::rc::Rc;

use cap_std::fs::{Dir, DirBuilder, DirBuilderExt};
use rustix::fs::{FileType, Mode, OFlags, fstat, openat, renameat};
use rustix::io::{Errno, write};
use wipam_core::store::StoreError;

use super::place::Place;
use super::publish;
use crate::beside::{Beside, Content, Kept};
use crate::error;
use crate::moment::{Clock, Moment};

/// Where what the format cannot hold is kept, within the data directory.
/// Names of networks never begin with a dot.
pub(super) fn folder(network: &str) -> PathBuf {
    [".wipam", network].iter().collect()
}

/// That folder, made if it is missing.
pub(super) fn make_folder(data: &Dir, network: &str) -> io::Result<Dir> {
    let path = folder(network);
    data.create_dir_with(&path, DirBuilder::new().recursive(true).mode(0o755))?;
    data.open_dir(path)
}

/// That folder, used for what is kept of a network.
#[derive(Debug)]
pub(super) struct Aside {
    data: Rc<Dir>,
    network: String,
    /// For messages.
    path: PathBuf,
    sync: bool,
    clock: Clock,
    /// Once it was opened.
    folder: Option<Dir>,
    /// The file that was last added to, which goes on to be.
    adding: Option<(Kept, File)>,
}

impl Aside {
    pub(super) fn new(data: Rc<Dir>, place: &Place, sync: bool, moment: Option<Moment>) -> Self {
        Self {
            data,
            network: place.name().to_owned(),
            path: place.data().join(folder(place.name())),
            sync,
            clock: Clock::new(moment),
            folder: None,
            adding: None,
        }
    }

    fn failed(&self, operation: &str, name: &str, cause: impl Into<io::Error>) -> StoreError {
        error::io(operation, &self.path.join(name), cause)
    }

    /// The folder, if there is one.
    fn folder(&mut self) -> io::Result<Option<&Dir>> {
        if self.folder.is_none() {
            self.folder = match self.data.open_dir(folder(&self.network)) {
                Ok(folder) => Some(folder),
                Err(cause) => match cause.kind() {
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => None,
                    _ => return Err(cause),
                },
            };
        }
        Ok(self.folder.as_ref())
    }

    fn made_folder(&mut self) -> io::Result<&Dir> {
        if self.folder()?.is_none() {
            self.folder = Some(make_folder(&self.data, &self.network)?);
        }
        self.folder.as_ref().ok_or(io::ErrorKind::NotFound.into())
    }

    fn read(&mut self, what: Kept, most: u64) -> io::Result<Content> {
        let Some(folder) = self.folder()? else {
            return Ok(Content::Missing);
        };
        let file = match open(folder, what.name(), OFlags::RDONLY) {
            Ok(Some(file)) => file,
            Ok(None) | Err(Errno::NOENT | Errno::LOOP | Errno::NXIO | Errno::NODEV) => {
                return Ok(Content::Missing);
            }
            Err(cause) => return Err(cause.into()),
        };
        let size = file.metadata()?.len();
        if size > most {
            return Ok(Content::TooMuch);
        }
        // One byte more, so that the end is seen at the first reading.
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
        file.take(most + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > most {
            return Ok(Content::TooMuch);
        }
        Ok(Content::All(bytes))
    }

    fn add(&mut self, what: Kept, bytes: &[u8], begin: bool) -> io::Result<()> {
        let (sync, open_already) = (self.sync, self.adding.take());
        let file = match open_already.filter(|(open, _)| *open == what) {
            Some((_, file)) => file,
            None => {
                let begin = if begin {
                    OFlags::CREATE
                } else {
                    OFlags::empty()
                };
                let folder = match begin.is_empty() {
                    true => self.folder()?.ok_or(io::ErrorKind::NotFound)?,
                    false => self.made_folder()?,
                };
                let flags = OFlags::WRONLY | OFlags::APPEND | begin;
                open(folder, what.name(), flags)?.ok_or(io::ErrorKind::InvalidInput)?
            }
        };
        if !bytes.is_empty() {
            let written = loop {
                match write(&file, bytes) {
                    Err(Errno::INTR) => {}
                    written => break written?,
                }
            };
            if written != bytes.len() {
                return Err(io::ErrorKind::WriteZero.into());
            }
        }
        if sync {
            file.sync_data()?;
        }
        self.adding = Some((what, file));
        Ok(())
    }

    fn put(&mut self, what: Kept, bytes: &[u8]) -> io::Result<()> {
        // It would go on writing to the file that is replaced.
        self.adding = None;
        let sync = self.sync;
        let new = format!("{}.new", what.name());
        let folder = self.made_folder()?;
        publish::remove(folder, &new)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let mut file = open(folder, &new, flags)?.ok_or(io::ErrorKind::InvalidInput)?;
        let written = file.write_all(bytes).and_then(|()| match sync {
            true => file.sync_data(),
            false => Ok(()),
        });
        let moved = written.and_then(|()| Ok(renameat(folder, &new, folder, what.name())?));
        if moved.is_err() {
            let _ = publish::remove(folder, &new);
        }
        moved?;
        if sync {
            publish::sync_directory(folder)?;
        }
        Ok(())
    }
}

impl Beside for Aside {
    fn place(&self, what: Kept) -> String {
        self.path.join(what.name()).display().to_string()
    }

    fn now(&mut self) -> Moment {
        self.clock.now()
    }

    fn load(&mut self, what: Kept, most: u64) -> Result<Content, StoreError> {
        self.read(what, most)
            .map_err(|cause| self.failed("read", what.name(), cause))
    }

    fn append(&mut self, what: Kept, bytes: &[u8], begin: bool) -> Result<(), StoreError> {
        self.add(what, bytes, begin)
            .map_err(|cause| self.failed("append to", what.name(), cause))
    }

    fn replace(&mut self, what: Kept, bytes: &[u8]) -> Result<(), StoreError> {
        self.put(what, bytes)
            .map_err(|cause| self.failed("write", what.name(), cause))
    }

    fn remove(&mut self, what: Kept) -> Result<(), StoreError> {
        let removed = self.folder().and_then(|folder| match folder {
            Some(folder) => Ok(publish::remove(folder, what.name())?),
            None => Ok(false),
        });
        removed
            .map(|_| ())
            .map_err(|cause| self.failed("remove", what.name(), cause))
    }
}

/// Opens a file, made with mode 0600 if it is made; `None` where what has the
/// name is none. Links are not followed, and a pipe does not block.
fn open(folder: &Dir, name: &str, flags: OFlags) -> Result<Option<File>, Errno> {
    let careful = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = openat(folder, name, flags | careful, Mode::RUSR | Mode::WUSR)?;
    let stat = fstat(&file)?;
    let plain = FileType::from_raw_mode(stat.st_mode).is_file();
    Ok(plain.then(|| File::from(file)))
}
