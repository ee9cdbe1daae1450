//! Names with their inode numbers, straight from the kernel: in a directory of
//! 60,000, one allocation a name would be most of the cost.

use std::net::IpAddr;
use std::path::Path;

use cap_std::fs::Dir;
use rustix::fs::{FileType, Mode, OFlags, RawDir, openat};
use wipam_core::store::StoreError;

use crate::error;
use wipam_core::record::Name;

/// As much as the kernel hands over in one call.
const BUFFER: usize = 256 * 1024;

/// A name that means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) name: Name,
    pub(crate) inode: u64,
    pub(crate) kind: FileType,
}

impl Listed {
    /// The address, if it is the name of a record.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        match self.name {
            Name::Record(address) => Some(address),
            _ => None,
        }
    }
}

/// Lists a directory; names that mean nothing are left out.
pub(crate) fn list(directory: &Dir, path: &Path) -> Result<Vec<Listed>, StoreError> {
    let failed = |cause| error::io("list", path, cause);
    #[cfg(test)]
    COUNT.with(|count| count.set(count.get() + 1));
    // Opened anew: reading on from where an earlier listing ended, or through
    // a descriptor that is a mere path, would not do.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = openat(directory, ".", flags, Mode::empty()).map_err(failed)?;
    let mut buffer = Vec::with_capacity(BUFFER);
    let mut entries = RawDir::new(directory, buffer.spare_capacity_mut());
    let mut listed = Vec::new();
    while let Some(entry) = entries.next() {
        let entry = entry.map_err(failed)?;
        if let Some(name) = entry.file_name().to_str().ok().and_then(Name::parse) {
            listed.push(Listed {
                name,
                inode: entry.ino(),
                kind: entry.file_type(),
            });
        }
    }
    Ok(listed)
}

#[cfg(test)]
thread_local! {
    /// How often this thread has listed a directory.
    pub(crate) static COUNT: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}
