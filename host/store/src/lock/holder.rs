//! Who holds a lock, as far as the kernel tells.

use std::fs;

use rustix::fs::{Stat, major, minor};

/// "process 123 (name)", if the holder of the file's lock can be found.
pub(super) fn find(file: &Stat) -> Option<String> {
    let locks = fs::read_to_string("/proc/locks").ok()?;
    let process = holder(&locks, file.st_dev, file.st_ino)?;
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
mod tests {
    use super::*;

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
