//! What the kernel refused, and what for.

use std::io;

/// Why an operation on the kernel failed.
#[derive(Debug, thiserror::Error)]
pub enum NetError {
    /// A netlink request was refused.
    #[error("{operation}: {cause}{}", hint(.explanation))]
    Refused {
        /// What was asked for.
        operation: String,
        /// The kernel's error number.
        cause: io::Error,
        /// The kernel's own words (extended acknowledgement), where it gives any.
        explanation: String,
    },
    /// The conversation with the kernel broke.
    #[error("{operation}: netlink: {cause}")]
    Netlink {
        /// What was asked for.
        operation: String,
        /// How it broke.
        cause: String,
    },
    /// A network namespace cannot be used.
    #[error("network namespace {path}: {cause}")]
    Namespace {
        /// Where it should be.
        path: String,
        /// Why it is none.
        cause: io::Error,
    },
    /// A kernel setting cannot be read or written.
    #[error("sysctl {path}: {action}: {cause}")]
    Sysctl {
        /// Below /proc/sys.
        path: String,
        /// Reading, or which value was to be written.
        action: String,
        /// Why not.
        cause: io::Error,
    },
    /// A packet cannot be sent.
    #[error("announcing {what}: {cause}")]
    Announce {
        /// The address.
        what: String,
        /// Why not.
        cause: io::Error,
    },
    /// Something did not come about in time.
    #[error("{what}: still {found} after {waited_ms} ms")]
    TimedOut {
        /// What was waited for.
        what: String,
        /// The state it stayed in.
        found: String,
        /// How long.
        waited_ms: u128,
    },
}

fn hint(explanation: &str) -> String {
    if explanation.is_empty() {
        String::new()
    } else {
        format!(" ({explanation})")
    }
}

impl NetError {
    /// The kernel's error number, where it was the kernel that refused.
    pub fn os_error(&self) -> Option<i32> {
        match self {
            Self::Refused { cause, .. }
            | Self::Namespace { cause, .. }
            | Self::Sysctl { cause, .. }
            | Self::Announce { cause, .. } => cause.raw_os_error(),
            Self::Netlink { .. } | Self::TimedOut { .. } => None,
        }
    }

    /// Whether the kernel's answer was this one.
    pub fn is(&self, errno: rustix::io::Errno) -> bool {
        self.os_error() == Some(errno.raw_os_error())
    }
}
