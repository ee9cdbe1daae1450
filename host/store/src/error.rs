//! How failures of the operating system become store errors: operation, path
//! and cause, and for want of permission also who asked.

use std::fmt::Display;
use std::io;
use std::path::Path;

use rustix::io::Errno;
use wipam_core::store::{StoreError, StoreErrorKind};

/// Reading or writing failed.
pub(crate) fn io(operation: &str, path: &Path, cause: impl Into<io::Error>) -> StoreError {
    let cause = cause.into();
    let user = match Errno::from_io_error(&cause) {
        // "permission denied" alone sends people to the wrong place when a
        // plugin runs as somebody else than they think.
        Some(Errno::ACCESS | Errno::PERM) => {
            format!(" as user id {}", rustix::process::geteuid().as_raw())
        }
        _ => String::new(),
    };
    other(format!("{operation} {}: {cause}{user}", path.display()))
}

/// Reading or writing is bound to fail, for a reason of our own.
pub(crate) fn other(message: String) -> StoreError {
    StoreError {
        kind: StoreErrorKind::Io,
        message,
    }
}

/// The place is not one a store can be at.
pub(crate) fn location(path: impl Display, cause: impl Display) -> StoreError {
    StoreError {
        kind: StoreErrorKind::Location,
        message: format!("data directory {path}: {cause}"),
    }
}
