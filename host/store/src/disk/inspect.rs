//! Whether an ADD could work, found out without changing anything.

use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD, FileType, accessat, stat};
use rustix::io::Errno;
use wipam_core::store::StoreError;

use super::place::{Place, is_link};
use crate::error;

/// Fails where an ADD would fail, as far as can be told.
pub(super) fn check(place: &Place) -> Result<(), StoreError> {
    for directory in place.network().ancestors() {
        match stat(directory) {
            Ok(found) if FileType::from_raw_mode(found.st_mode).is_dir() => {
                return writable(directory).and_then(|()| lock(place));
            }
            Ok(_) | Err(Errno::NOTDIR) => {
                return Err(error::location(directory.display(), "is not a directory"));
            }
            // Missing, and so to be made in the next one up; unless a link
            // that leads nowhere is in the way.
            Err(Errno::NOENT) if is_link(directory) => {
                let what = "is a link that leads nowhere";
                return Err(error::location(directory.display(), what));
            }
            Err(Errno::NOENT) => {}
            Err(cause) => return Err(error::io("inspect", directory, cause)),
        }
    }
    Err(error::location(
        place.network().display(),
        "has no directory above it",
    ))
}

fn writable(directory: &Path) -> Result<(), StoreError> {
    // Asked with the ids that count for opening, and aware of read-only mounts.
    let wanted = Access::WRITE_OK | Access::EXEC_OK;
    accessat(CWD, directory, wanted, AtFlags::EACCESS)
        .map_err(|cause| error::io("write to", directory, cause))
}

fn lock(place: &Place) -> Result<(), StoreError> {
    match rustix::fs::lstat(place.lock()) {
        Ok(found) if FileType::from_raw_mode(found.st_mode).is_file() => Ok(()),
        Ok(_) => Err(error::other(format!(
            "open {}: is no regular file",
            place.lock().display()
        ))),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(()),
        Err(cause) => Err(error::io("inspect", &place.lock(), cause)),
    }
}
