//! Proof that nobody else changed a directory.
//!
//! Every change of names moves a directory's time stamps, but older kernels
//! take them from a clock that stands still for some milliseconds, so two
//! changes may leave the same stamp. After each change of our own the
//! modification time is therefore set to one that the kernel will not give:
//! it lies further back than the clock is coarse. Whoever changes the
//! directory after that overwrites it.

use std::fs;
use std::io;
use std::time::{Duration, SystemTime};

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, Stat, Timespec, Timestamps, UTIME_OMIT, fstat, utimensat};
use xxhash_rust::xxh3::xxh3_64;

use super::bytes::Input;

/// Further back than any kernel's clock is coarse (10 ms at 100 Hz).
const COARSE: Duration = Duration::from_millis(20);

/// A number that nobody had before.
pub(super) fn nonce() -> u64 {
    let now = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let seed = [now.as_nanos(), u128::from(std::process::id())].map(u128::to_le_bytes);
    xxh3_64(seed.as_flattened())
}

/// Which directory an index is of, and since when it can be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
    /// After a power loss, newer pages may be lost while the header is not;
    /// no index outlives the boot it was written in.
    boot: u64,
}

impl Identity {
    /// `None`: it cannot be told, so no index is to be believed.
    pub(super) fn of(directory: &Dir) -> io::Result<Self> {
        let stat = fstat(directory)?;
        let boot = xxh3_64(&fs::read("/proc/sys/kernel/random/boot_id")?);
        Ok(Self {
            device: stat.st_dev,
            inode: stat.st_ino,
            boot,
        })
    }

    pub(super) fn encode(&self, output: &mut Vec<u8>) {
        for number in [self.device, self.inode, self.boot] {
            output.extend(number.to_le_bytes());
        }
    }

    pub(super) fn decode(input: &mut Input<'_>) -> Option<Self> {
        Some(Self {
            device: input.u64()?,
            inode: input.u64()?,
            boot: input.u64()?,
        })
    }
}

/// A directory's time stamps, and which directory it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    inode: u64,
    modified: (i64, u64),
    changed: (i64, u64),
}

impl Stamp {
    pub(super) fn of(directory: &Dir) -> io::Result<Self> {
        Ok(Self::from(&fstat(directory)?))
    }

    fn from(stat: &Stat) -> Self {
        Self {
            inode: stat.st_ino,
            modified: (stat.st_mtime, stat.st_mtime_nsec),
            changed: (stat.st_ctime, stat.st_ctime_nsec),
        }
    }

    /// Gives a directory a stamp that nobody else will give it; `None` where
    /// the file system does not keep it.
    pub(super) fn set(directory: &Dir) -> io::Result<Option<Self>> {
        let modified = Self::change(directory)?;
        let stamp = Self::of(directory)?;
        Ok((stamp.modified == modified).then_some(stamp))
    }

    /// Gives a directory another stamp, so that no earlier one is its any more:
    /// the modification time that is asked for.
    pub(super) fn change(directory: &Dir) -> io::Result<(i64, u64)> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.map_err(io::Error::other)?;
        // So that two such stamps in a row differ, whatever the clock does.
        let random = Duration::from_nanos(nonce() % 900_000_000);
        let time = now.saturating_sub(COARSE).saturating_sub(random);
        let modified = Timespec {
            tv_sec: i64::try_from(time.as_secs()).map_err(io::Error::other)?,
            tv_nsec: i64::from(time.subsec_nanos()),
        };
        let accessed = Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_OMIT,
        };
        let times = Timestamps {
            last_access: accessed,
            last_modification: modified,
        };
        utimensat(directory, ".", &times, AtFlags::empty())?;
        Ok((modified.tv_sec, u64::from(time.subsec_nanos())))
    }

    pub(super) fn encode(&self, output: &mut Vec<u8>) {
        output.extend(self.inode.to_le_bytes());
        for (seconds, nanos) in [self.modified, self.changed] {
            output.extend(seconds.to_le_bytes());
            output.extend(nanos.to_le_bytes());
        }
    }

    pub(super) fn decode(input: &mut Input<'_>) -> Option<Self> {
        Some(Self {
            inode: input.u64()?,
            modified: (input.i64()?, input.u64()?),
            changed: (input.i64()?, input.u64()?),
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use cap_std::ambient_authority;

    use super::*;

    #[test]
    fn every_change_shows_however_quick() {
        let folder = tempfile::tempdir().unwrap();
        let directory = Dir::open_ambient_dir(folder.path(), ambient_authority()).unwrap();
        for number in 0..500 {
            let stamp = Stamp::set(&directory).unwrap().unwrap();
            assert_eq!(Stamp::of(&directory).unwrap(), stamp);
            directory.write(format!("{number}"), "").unwrap();
            assert_ne!(Stamp::of(&directory).unwrap(), stamp);
            let stamp = Stamp::set(&directory).unwrap().unwrap();
            directory.remove_file(format!("{number}")).unwrap();
            assert_ne!(Stamp::of(&directory).unwrap(), stamp);
        }
    }
}
