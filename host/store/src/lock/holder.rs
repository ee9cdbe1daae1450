//! Who holds a lock, as far as the kernel tells.

use std::fs::{self, File};
use std::io::{self, Read};

use rustix::fs::{Stat, major, minor};

/// How often the list is read. Where it is longer than a page it comes in
/// pieces, and while others take and release locks rows are lost in between.
const TRIES: usize = 5;

/// "process 123 (name)", if the holder of the file's lock can be found.
pub(super) fn find(file: &Stat) -> Option<String> {
    let process = (0..TRIES).find_map(|_| {
        let locks = read().ok()?;
        holder(&String::from_utf8_lossy(&locks), file.st_dev, file.st_ino)
    })?;
    let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
    // A process chooses its name itself; it is not to forge log lines.
    let name: String = name
        .trim_end()
        .chars()
        .filter(|c| !c.is_control())
        .collect();
    Some(if name.is_empty() {
        format!("process {process}")
    } else {
        format!("process {process} ({name})")
    })
}

/// All rows. The kernel goes through its locks anew at each call, counting up
/// to where the last one ended, and hands over no more than is asked for: short
/// reads, as those of the standard library are at first, would miss the row
/// behind one that has just gone.
fn read() -> io::Result<Vec<u8>> {
    let mut file = File::open("/proc/locks")?;
    let mut piece = vec![0; 64 * 1024];
    let mut rows = Vec::new();
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(rows),
            count => rows.extend(piece.iter().take(count)),
        }
    }
}

/// The process in the row of the lock. Rows are like
/// `1: FLOCK  ADVISORY  WRITE 123 08:02:4711 0 EOF`, device numbers in
/// hexadecimal; those of waiters have `->` after the number.
fn holder(locks: &str, device: u64, inode: u64) -> Option<u32> {
    let wanted = format!("{:02x}:{:02x}:{inode}", major(device), minor(device));
    locks.lines().find_map(|row| {
        let mut fields = row.split_ascii_whitespace().skip(1);
        (fields.next()? == "FLOCK").then_some(())?;
        let process = fields.nth(2)?;
        (fields.next()? == wanted).then_some(())?;
        // 0 or -1: a process of another pid namespace.
        process.parse().ok().filter(|process| *process > 0)
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::fs::{FlockOperation, flock, fstat};

    use super::*;

    #[test]
    fn it_is_found_while_others_come_and_go() {
        let held = tempfile::tempfile().unwrap();
        flock(&held, FlockOperation::LockExclusive).unwrap();
        let stat = fstat(&held).unwrap();
        let this = format!("process {} ", std::process::id());
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let other = tempfile::tempfile().unwrap();
                    while !stop.load(Ordering::Relaxed) {
                        flock(&other, FlockOperation::LockExclusive).unwrap();
                        flock(&other, FlockOperation::Unlock).unwrap();
                    }
                });
            }
            let missed = (0..300).filter(|_| !find(&stat).is_some_and(|by| by.starts_with(&this)));
            let missed = missed.count();
            stop.store(true, Ordering::Relaxed);
            assert_eq!(missed, 0);
        });
    }

    #[test]
    fn only_the_holder_of_this_file_counts() {
        let locks = "1: POSIX  ADVISORY  WRITE 5 fe:00:42 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 6 fe:00:43 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 7 fe:00:42 0 EOF\n\
                     3: -> FLOCK  ADVISORY  WRITE 8 fe:00:42 0 EOF\n\
                     4: FLOCK  ADVISORY  WRITE 0 fe:00:44 0 EOF\n";
        let device = rustix::fs::makedev(0xfe, 0);
        assert_eq!(holder(locks, device, 42), Some(7));
        assert_eq!(holder(locks, device, 44), None);
        assert_eq!(holder(locks, device, 45), None);
        assert_eq!(holder("junk\n1:\n\n", device, 42), None);
    }
}
