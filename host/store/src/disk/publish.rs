//! Making files that are never seen without their content, whenever the
//! writer is killed.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};

use cap_std::fs::Dir;
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, fdatasync, fstat, fsync, linkat, openat, renameat,
    unlinkat,
};
use rustix::io::{Errno, pwrite};

use super::beside;

const MODE: Mode = Mode::RUSR.union(Mode::WUSR);

/// The name of a file that is being written, where files without a name are
/// not to be had.
const NEW: &str = "new";

/// Why a file was not made.
#[derive(Debug)]
pub(super) enum Failure {
    /// This way does not work here; another may.
    Unsupported,
    /// The operating system's word.
    Cause(io::Error),
}

impl From<io::Error> for Failure {
    fn from(cause: io::Error) -> Self {
        Self::Cause(cause)
    }
}

impl From<Errno> for Failure {
    fn from(cause: Errno) -> Self {
        Self::Cause(cause.into())
    }
}

/// What to make.
#[derive(Clone, Copy, Debug)]
pub(super) struct New<'a> {
    pub(super) name: &'a str,
    pub(super) content: &'a [u8],
    /// Whether it takes the place of whatever file has the name.
    pub(super) replace: bool,
    /// Whether it is on the disk when this returns.
    pub(super) sync: bool,
}

/// Makes a file in `network`, a directory in `data`; `false` where the name is
/// taken.
pub(super) fn publish(
    data: &Dir,
    network: &Dir,
    network_name: &str,
    new: New<'_>,
) -> io::Result<bool> {
    let mut made = unnamed(network, new);
    if let Err(Failure::Unsupported) = made {
        made = named(data, network, network_name, new);
    }
    if let Err(Failure::Unsupported) = made {
        made = in_place(network, new);
    }
    let made = match made {
        Ok(made) => made,
        Err(Failure::Cause(cause)) => return Err(cause),
        Err(Failure::Unsupported) => return Err(io::ErrorKind::Unsupported.into()),
    };
    if new.sync {
        sync_directory(network)?;
    }
    Ok(made)
}

/// Writes over a file where it is, if that can be done with one write: its
/// content is then the old or the new one, whenever the writer is killed.
/// `false` where it cannot. It saves a new file for the sake of twelve bytes;
/// making one can take longer than all the rest of an ADD.
pub(super) fn overwrite(
    network: &Dir,
    name: &str,
    content: &[u8],
    sync: bool,
) -> Result<bool, Errno> {
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(network, name, flags, Mode::empty())?;
    let stat = fstat(&file)?;
    let fits = u64::try_from(stat.st_size).is_ok_and(|size| size <= content.len() as u64);
    let plain = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    if !plain || !fits || stat.st_nlink != 1 {
        return Ok(false);
    }
    if pwrite(&file, content, 0)? != content.len() {
        return Ok(false);
    }
    if sync {
        fdatasync(&file)?;
    }
    Ok(true)
}

/// Puts a directory's names on the disk.
pub(super) fn sync_directory(directory: &Dir) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(fsync(openat(directory, ".", flags, Mode::empty())?)?)
}

/// Writes a file that has no name, then gives it one. Linking is exclusive,
/// and a file without a name is gone with its writer.
fn unnamed(network: &Dir, new: New<'_>) -> Result<bool, Failure> {
    let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
    let file = match openat(network, ".", flags, MODE) {
        Ok(file) => file,
        // Older kernels and file systems without it; ENOENT and EISDIR come
        // from kernels that do not know the flag.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => {
            return Err(Failure::Unsupported);
        }
        Err(cause) => return Err(cause.into()),
    };
    let file = write(file, new)?;
    if new.replace {
        remove(network, new.name)?;
    }
    let source = format!("/proc/self/fd/{}", file.as_raw_fd());
    match linkat(
        CWD,
        source.as_str(),
        network,
        new.name,
        AtFlags::SYMLINK_FOLLOW,
    ) {
        Ok(()) => Ok(true),
        Err(Errno::EXIST) => Ok(false),
        // No /proc, or one that is not of this process.
        Err(Errno::NOENT | Errno::XDEV | Errno::OPNOTSUPP) => Err(Failure::Unsupported),
        Err(cause) => Err(cause.into()),
    }
}

/// Writes a file beside the network's directory, on the same file system, and
/// links or renames it into it. A leftover there is nobody's record.
fn named(data: &Dir, network: &Dir, name: &str, new: New<'_>) -> Result<bool, Failure> {
    let Ok(folder) = beside::make_folder(data, name) else {
        return Err(Failure::Unsupported);
    };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    if remove(&folder, NEW).is_err() {
        return Err(Failure::Unsupported);
    }
    let Ok(file) = openat(&folder, NEW, flags, MODE) else {
        return Err(Failure::Unsupported);
    };
    let moved = write(file, new).map_err(Failure::from).and_then(|_| {
        let moved = if new.replace {
            renameat(&folder, NEW, network, new.name)
        } else {
            linkat(&folder, NEW, network, new.name, AtFlags::empty())
        };
        match moved {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) if !new.replace => Ok(false),
            // Another file system, or one without hard links.
            Err(Errno::XDEV | Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK) => {
                Err(Failure::Unsupported)
            }
            Err(cause) => Err(cause.into()),
        }
    });
    // Gone already where it was renamed; a leftover does no harm.
    let _ = remove(&folder, NEW);
    moved
}

/// Writes it where it belongs, as the Go plugin does. A kill in between leaves
/// an empty record, which counts as free.
fn in_place(network: &Dir, new: New<'_>) -> Result<bool, Failure> {
    if new.replace {
        remove(network, new.name)?;
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = match openat(network, new.name, flags, MODE) {
        Ok(file) => file,
        Err(Errno::EXIST) => return Ok(false),
        Err(cause) => return Err(cause.into()),
    };
    match write(file, new) {
        Ok(_) => Ok(true),
        Err(cause) => {
            let _ = remove(network, new.name);
            Err(cause.into())
        }
    }
}

fn write(file: OwnedFd, new: New<'_>) -> io::Result<File> {
    let mut file = File::from(file);
    file.write_all(new.content)?;
    if new.sync {
        file.sync_data()?;
    }
    Ok(file)
}

/// Removes a file or link; `false` where there is none.
pub(super) fn remove(directory: &Dir, name: &str) -> Result<bool, Errno> {
    match unlinkat(directory, name, AtFlags::empty()) {
        Ok(()) => Ok(true),
        Err(Errno::NOENT) => Ok(false),
        Err(cause) => Err(cause),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::{Path, PathBuf};

    use cap_std::ambient_authority;

    use super::*;

    type Way = fn(&Dir, &Dir, New<'_>) -> Result<bool, Failure>;

    /// Each on its own: where the tests run, only the first is ever needed.
    const WAYS: [Way; 3] = [
        |_, network, new| unnamed(network, new),
        |data, network, new| named(data, network, "net", new),
        |_, network, new| in_place(network, new),
    ];

    fn new(name: &str, replace: bool) -> New<'_> {
        New {
            name,
            content: b"c1\r\neth0",
            replace,
            sync: true,
        }
    }

    fn files(directory: &Path) -> Vec<PathBuf> {
        fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect()
    }

    #[test]
    fn every_way_is_exclusive_and_leaves_nothing_else() {
        for way in WAYS {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("net");
            fs::create_dir(&path).unwrap();
            let data = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
            let network = data.open_dir("net").unwrap();
            let record = path.join("10.1.2.2");

            assert!(way(&data, &network, new("10.1.2.2", false)).unwrap());
            assert_eq!(fs::read(&record).unwrap(), b"c1\r\neth0");
            assert_eq!(
                fs::metadata(&record).unwrap().permissions().mode() & 0o777,
                0o600
            );
            fs::write(&record, "c2").unwrap();
            assert!(!way(&data, &network, new("10.1.2.2", false)).unwrap());
            assert_eq!(fs::read(&record).unwrap(), b"c2");
            assert!(way(&data, &network, new("10.1.2.2", true)).unwrap());
            assert_eq!(fs::read(&record).unwrap(), b"c1\r\neth0");

            fs::create_dir(path.join("dir")).unwrap();
            assert!(!way(&data, &network, new("dir", false)).unwrap());
            assert!(way(&data, &network, new("dir", true)).is_err());
            assert_eq!(files(&path).len(), 2);
            let beside = folder.path().join(".wipam/net");
            assert!(!beside.exists() || files(&beside).is_empty());
        }
    }

    #[test]
    fn only_what_fits_and_is_a_plain_file_is_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let network = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        let over = |name: &str, content: &str| overwrite(&network, name, content.as_bytes(), true);
        assert_eq!(over("m", "10.1.2.3"), Err(Errno::NOENT));
        network.write("m", "10.1.2.3").unwrap();
        assert_eq!(over("m", "10.1.2.10"), Ok(true));
        assert_eq!(over("m", "10.1.2.4"), Ok(false), "a tail would be left");
        assert_eq!(network.read("m").unwrap(), b"10.1.2.10");
        network.hard_link("m", &network, "other").unwrap();
        assert_eq!(over("m", "10.1.2.11"), Ok(false), "the other would change");
        network.symlink("m", "link").unwrap();
        assert_eq!(over("link", "10.1.2.11"), Err(Errno::LOOP));
    }

    #[test]
    fn a_leftover_of_a_killed_writer_is_not_in_the_way() {
        let folder = tempfile::tempdir().unwrap();
        let data = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        data.create_dir("net").unwrap();
        data.create_dir_all(".wipam/net").unwrap();
        data.write(".wipam/net/new", "half a rec").unwrap();
        let network = data.open_dir("net").unwrap();
        assert!(named(&data, &network, "net", new("10.1.2.2", false)).unwrap());
        assert_eq!(data.read("net/10.1.2.2").unwrap(), b"c1\r\neth0");
    }
}
