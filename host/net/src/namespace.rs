//! Network namespaces.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;

use rustix::fs::{FlockOperation, flock, fstatfs};
use rustix::io::Errno;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::error::NetError;

/// An open network namespace: it lives at least as long as this.
pub struct Namespace {
    path: String,
    file: File,
}

/// What the file system of namespaces calls itself (`NSFS_MAGIC`,
/// linux/magic.h).
const NSFS: i64 = 0x6e73_6673;
/// procfs, which it was before Linux 3.19.
const PROC: i64 = 0x9fa0;

impl Namespace {
    /// The namespace at a path, such as `/var/run/netns/NAME` or
    /// `/proc/PID/ns/net`. A file that is no namespace is refused.
    pub fn open(path: &str) -> Result<Self, NetError> {
        let failed = |cause| NetError::Namespace {
            path: path.to_owned(),
            cause,
        };
        let file = File::open(path).map_err(failed)?;
        let kind = fstatfs(&file).map_err(|errno| failed(errno.into()))?.f_type;
        #[allow(clippy::unnecessary_cast, reason = "its width depends on the platform")]
        if !matches!(kind as i64, NSFS | PROC) {
            let cause =
                io::Error::other("wanted a network namespace, found a file of another kind");
            return Err(failed(cause));
        }
        Ok(Self {
            path: path.to_owned(),
            file,
        })
    }

    /// The namespace of this thread.
    pub fn current() -> Result<Self, NetError> {
        Self::open("/proc/thread-self/ns/net")
    }

    /// Where it was opened.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Device and inode: the same for every path to the same namespace.
    pub fn identity(&self) -> Result<(u64, u64), NetError> {
        let metadata = self.file.metadata().map_err(|cause| self.failed(cause))?;
        Ok((metadata.dev(), metadata.ino()))
    }

    /// Runs `work` with this thread inside. Threads and programs it starts
    /// begin there, sockets it opens stay there.
    pub fn within<T>(&self, work: impl FnOnce() -> T) -> Result<T, NetError> {
        let home = Self::current()?;
        self.enter()?;
        let outcome = work();
        if let Err(error) = home.enter() {
            // Whatever came next would be done to somebody else's interfaces.
            // It takes a sandbox that forbids the same call from one moment to
            // the next to get here.
            #[allow(clippy::print_stderr, reason = "these are the last words")]
            {
                eprintln!("cannot return from {}: {error}", self.path);
            }
            std::process::abort();
        }
        Ok(outcome)
    }

    fn enter(&self) -> Result<(), NetError> {
        move_into_link_name_space(self.file.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(|errno| self.failed(errno.into()))
    }

    /// Takes part in the namespace's lock, which any number can share. It is
    /// given back when this is dropped.
    pub fn share_lock(&self) -> Result<(), NetError> {
        flock(&self.file, FlockOperation::LockShared).map_err(|errno| self.failed(errno.into()))
    }

    /// Whether nobody else takes part in the lock. If so, nobody can as long as
    /// this lives.
    pub fn lock_alone(&self) -> Result<bool, NetError> {
        match flock(&self.file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(Errno::WOULDBLOCK) => Ok(false),
            Err(errno) => Err(self.failed(errno.into())),
        }
    }

    pub(crate) fn raw_fd(&self) -> i32 {
        self.file.as_raw_fd()
    }

    fn failed(&self, cause: io::Error) -> NetError {
        NetError::Namespace {
            path: self.path.clone(),
            cause,
        }
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn the_lock_is_shared_or_held_alone() {
        let [a, b, c] = [(); 3].map(|()| Namespace::current().unwrap());
        assert_eq!(a.identity().unwrap(), b.identity().unwrap());
        a.share_lock().unwrap();
        b.share_lock().unwrap();
        assert!(!c.lock_alone().unwrap());
        drop(a);
        assert!(!c.lock_alone().unwrap());
        drop(b);
        assert!(c.lock_alone().unwrap());
    }

    #[test]
    fn a_file_is_no_namespace() {
        let error = Namespace::open("/dev/null").err().unwrap().to_string();
        assert!(
            error.contains("/dev/null: wanted a network namespace"),
            "{error}"
        );
    }
}
