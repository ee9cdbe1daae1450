//! A lock for file systems that have none: the name of an abstract socket,
//! which one process at a time can have and which is gone with it.
//!
//! It holds within one network namespace. Plugins are all started in the
//! host's.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::Stat;

/// Between two tries: there is no queue for a name.
const PAUSE: Duration = Duration::from_millis(2);

/// The name, held until this is dropped.
#[derive(Debug)]
pub(crate) struct LocalLock {
    _name: UnixListener,
}

/// `None`: not free until the deadline.
pub(super) fn acquire(file: &Stat, deadline: Instant) -> io::Result<Option<LocalLock>> {
    let name = format!("wipam-lock-{:x}-{}", file.st_dev, file.st_ino);
    let name = SocketAddr::from_abstract_name(name)?;
    loop {
        match UnixListener::bind_addr(&name) {
            Ok(listener) => return Ok(Some(LocalLock { _name: listener })),
            Err(cause) if cause.kind() == io::ErrorKind::AddrInUse => {}
            Err(cause) => return Err(cause),
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        thread::sleep(PAUSE.min(left));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time() {
        let file = tempfile::tempfile().unwrap();
        let stat = rustix::fs::fstat(&file).unwrap();
        let held = acquire(&stat, Instant::now()).unwrap();
        assert!(held.is_some());
        let soon = Instant::now() + Duration::from_millis(20);
        assert!(acquire(&stat, soon).unwrap().is_none());
        assert!(Instant::now() >= soon);
        drop(held);
        assert!(acquire(&stat, Instant::now()).unwrap().is_some());
    }
}
