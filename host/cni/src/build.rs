//! Which build a program is of: so that `bridge` can tell whether the
//! `host-local` beside it would do what it would do itself.
//!
//! Every program of this crate has an ELF note with a digest of the sources it
//! was built from.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Owner of the note, padded to a multiple of four as the format asks.
const OWNER: [u8; 8] = *b"wipam\0\0\0";

/// A note: System V ABI, "Note Section". The layout is the file's.
#[repr(C)]
struct Note {
    owner_size: u32,
    digest_size: u32,
    kind: u32,
    owner: [u8; 8],
    digest: [u8; 32],
}

#[allow(unsafe_code, reason = "the linker is told where the note goes")]
// SAFETY: the section's name makes it a note section, and what is put there is
// a note.
#[unsafe(link_section = ".note.wipam")]
#[used]
static NOTE: Note = Note {
    owner_size: 6,
    digest_size: 32,
    kind: 1,
    owner: OWNER,
    digest: digest(),
};

/// The digest's text, given by the build script.
const fn digest() -> [u8; 32] {
    let text = env!("WIPAM_BUILD").as_bytes();
    let mut digest = [0; 32];
    let mut n = 0;
    while n < digest.len() {
        digest[n] = text[n];
        n += 1;
    }
    digest
}

/// Keeps the note in a program that has no other use for it.
pub(crate) fn keep() {
    std::hint::black_box(&raw const NOTE);
}

/// Whether a program is of the build that this one is of. One that cannot be
/// read is not.
pub(crate) fn is_ours(program: &Path) -> bool {
    let digest = std::hint::black_box(&NOTE).digest;
    read(program).is_some_and(|found| found == digest)
}

/// The digest in a program's note: of a 64-bit ELF file of this machine's byte
/// order, which ours are.
fn read(program: &Path) -> Option<[u8; 32]> {
    const HEADER: usize = 64;
    const ENTRY: usize = 56;
    const PT_NOTE: u32 = 4;
    /// More notes than any program has.
    const LONGEST: usize = 4096;

    let file = File::open(program).ok()?;
    let mut header = [0; HEADER];
    file.read_exact_at(&mut header, 0).ok()?;
    if !header.starts_with(b"\x7fELF\x02") {
        return None;
    }
    let number = |bytes: &[u8], at: usize| -> Option<u64> {
        Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
    };
    let table = number(&header, 32)?;
    let entries = u16::from_ne_bytes(header.get(56..58)?.try_into().ok()?);
    for entry in 0..u64::from(entries) {
        let mut segment = [0; ENTRY];
        let at = table.checked_add(entry * ENTRY as u64)?;
        file.read_exact_at(&mut segment, at).ok()?;
        if segment.get(..4)? != PT_NOTE.to_ne_bytes() {
            continue;
        }
        let length = usize::try_from(number(&segment, 32)?).ok()?.min(LONGEST);
        let mut notes = vec![0; length];
        file.read_exact_at(&mut notes, number(&segment, 8)?).ok()?;
        // Header, owner, digest: all of ours has these sizes.
        let mut wanted = Vec::new();
        for part in [NOTE.owner_size, NOTE.digest_size, NOTE.kind] {
            wanted.extend(part.to_ne_bytes());
        }
        wanted.extend(OWNER);
        if let Some(at) = notes.windows(wanted.len()).position(|w| w == wanted) {
            let begin = at + wanted.len();
            return notes.get(begin..begin + 32)?.try_into().ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_knows_its_own_build_and_no_other() {
        assert!(is_ours(Path::new("/proc/self/exe")));
        for other in ["/bin/sh", "/dev/null", "/nowhere", "/proc/self/environ"] {
            assert!(!is_ours(Path::new(other)), "{other}");
        }
    }
}
