//! One at a time per network: `flock` on the lock file, which is what the Go
//! plugin takes as well.

mod holder;
mod local;

use std::fs::File;
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock, fstat};
use rustix::io::Errno;
use wipam_core::store::{StoreError, StoreErrorKind};

use crate::error;

/// A lock that is held until this is dropped.
#[derive(Debug)]
pub(crate) enum Lock {
    /// Of the file: excludes everybody who takes it.
    Shared(#[expect(dead_code, reason = "held for its drop")] File),
    /// Of a socket's name, where the file system cannot lock: excludes our
    /// own processes on this host.
    Local(#[expect(dead_code, reason = "held for its drop")] local::LocalLock),
}

impl Lock {
    /// Whether everybody else who writes is kept out.
    pub(crate) fn excludes_others(&self) -> bool {
        matches!(self, Self::Shared(_))
    }
}

/// How a try to get the lock ended, if not in an error.
pub(crate) enum Outcome {
    /// It is held.
    Locked(Lock),
    /// The file was removed while waiting, so others lock another one now.
    Stale,
}

/// Takes the lock of an open lock file, waiting until `deadline`.
/// `before_waiting` runs if it is not free at once.
pub(crate) fn acquire(
    file: File,
    path: &Path,
    deadline: Instant,
    before_waiting: impl FnOnce(),
) -> Result<Outcome, StoreError> {
    let started = Instant::now();
    let file = match try_lock(&file) {
        Ok(true) => file,
        Ok(false) => {
            before_waiting();
            let stat = fstat(&file).map_err(|cause| error::io("inspect", path, cause))?;
            match wait_for(file, deadline).map_err(|cause| error::io("lock", path, cause))? {
                Some(file) => file,
                None => return Err(busy(path, started, holder::find(&stat))),
            }
        }
        // NFS without a lock manager, some FUSE and network file systems; and
        // NFS wants a file opened for writing for an exclusive lock, EBADF.
        Err(Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS | Errno::BADF) => {
            let stat = fstat(&file).map_err(|cause| error::io("inspect", path, cause))?;
            return match local::acquire(&stat, deadline) {
                Ok(Some(lock)) => Ok(Outcome::Locked(Lock::Local(lock))),
                Ok(None) => Err(busy(path, started, None)),
                Err(cause) => Err(error::io("lock (on this host only)", path, cause)),
            };
        }
        Err(cause) => return Err(error::io("lock", path, cause)),
    };
    match fstat(&file) {
        // Not for ever: there may be file systems that count no links.
        Ok(stat) if stat.st_nlink == 0 && Instant::now() >= deadline => Err(unlinked(path)),
        Ok(stat) if stat.st_nlink == 0 => Ok(Outcome::Stale),
        _ => Ok(Outcome::Locked(Lock::Shared(file))),
    }
}

fn try_lock(file: &File) -> Result<bool, Errno> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(cause) => Err(cause),
    }
}

/// Waits in the kernel's queue, which is first come, first served, also with
/// the Go plugin, which blocks in it. Polling would lose against every blocked
/// waiter. The call cannot be given a time limit, so a thread makes it.
fn wait_for(file: File, deadline: Instant) -> std::io::Result<Option<File>> {
    let (sender, receiver) = mpsc::sync_channel(1);
    thread::Builder::new().name("lock".into()).spawn(move || {
        let result = loop {
            match flock(&file, FlockOperation::LockExclusive) {
                Err(Errno::INTR) => {}
                result => break result,
            }
        };
        // The file travels with the answer: where nobody waits any more, the
        // answer is dropped, the file closed with it, and the lock is free.
        drop(sender.send(result.map(|()| file)));
    })?;
    let wait = deadline.saturating_duration_since(Instant::now());
    match receiver.recv_timeout(wait) {
        Ok(Ok(file)) => Ok(Some(file)),
        Ok(Err(cause)) => Err(cause.into()),
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ok(None),
    }
}

fn busy(path: &Path, started: Instant, holder: Option<String>) -> StoreError {
    let waited = started.elapsed().max(Duration::from_millis(1));
    let by = holder
        .map(|holder| format!(", held by {holder}"))
        .unwrap_or_default();
    StoreError {
        kind: StoreErrorKind::Busy,
        message: format!(
            "lock {} was not free within {waited:.1?}{by}",
            path.display()
        ),
    }
}

fn unlinked(path: &Path) -> StoreError {
    StoreError {
        kind: StoreErrorKind::Busy,
        message: format!(
            "lock {} has no link once it is held: something removes it while plugins run, or its \
             file system counts no links",
            path.display()
        ),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod tests {
    use super::*;

    fn open(path: &Path) -> File {
        File::options()
            .read(true)
            .append(true)
            .create(true)
            .open(path)
            .unwrap()
    }

    fn take(path: &Path, wait: Duration) -> Result<Outcome, StoreError> {
        acquire(open(path), path, Instant::now() + wait, || {})
    }

    #[test]
    fn waiting_is_bounded_and_names_the_holder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let held = take(&path, Duration::ZERO).unwrap();
        let started = Instant::now();
        let Err(error) = take(&path, Duration::from_millis(50)) else {
            panic!("locked twice")
        };
        assert!(started.elapsed() < Duration::from_secs(5));
        assert_eq!(error.kind, StoreErrorKind::Busy);
        for part in [
            path.to_str().unwrap(),
            &format!("process {}", std::process::id()),
        ] {
            assert!(error.message.contains(part), "{error}");
        }
        drop(held);
        // The thread that was left behind must not keep it.
        assert!(matches!(
            take(&path, Duration::from_secs(5)),
            Ok(Outcome::Locked(_))
        ));
    }

    #[test]
    fn a_waiter_gets_it_when_it_becomes_free() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let held = take(&path, Duration::ZERO).unwrap();
        let releaser = thread::spawn(move || {
            thread::sleep(Duration::from_millis(30));
            drop(held);
        });
        let mut waited = false;
        let deadline = Instant::now() + Duration::from_secs(10);
        let outcome = acquire(open(&path), &path, deadline, || waited = true).unwrap();
        assert!(matches!(outcome, Outcome::Locked(lock) if lock.excludes_others()));
        assert!(waited);
        releaser.join().unwrap();
    }

    #[test]
    fn a_removed_lock_file_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let file = open(&path);
        std::fs::remove_file(&path).unwrap();
        let again = file.try_clone().unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        let outcome = acquire(file, &path, deadline, || {}).unwrap();
        assert!(matches!(outcome, Outcome::Stale));
        let refused = acquire(again, &path, Instant::now(), || {}).err().unwrap();
        assert_eq!(refused.kind, StoreErrorKind::Busy);
        assert!(refused.message.contains("removes it"), "{refused}");
    }
}
