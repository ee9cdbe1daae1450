//! The pages of an index: a hash table on disk of which as few pages are read
//! and written as a question needs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::FileExt;

use super::entry::Entry;
use super::page::{self, CAPACITY, Page, SIZE};

/// Entries a page has on average in a new index: room to grow, and rarely a
/// full one.
const AVERAGE: usize = 48;

/// Entries a page may have on average before all move to more pages.
const CROWDED: u64 = 96;

/// Pages that are read in one go where all are: as much as stays in the
/// processor's cache.
const AT_ONCE: u32 = 64;

/// The pages.
#[derive(Debug)]
pub(super) struct Pages {
    file: File,
    count: u32,
    salt: u64,
    cache: BTreeMap<u32, Page>,
    dirty: BTreeSet<u32>,
}

fn damaged() -> io::Error {
    io::ErrorKind::InvalidData.into()
}

/// Where a page is; before the first there is the header.
fn offset(number: u32) -> u64 {
    (u64::from(number) + 1) * SIZE as u64
}

impl Pages {
    /// The pages in a file.
    pub(super) fn open(file: File, count: u32, salt: u64) -> Self {
        Self {
            file,
            count,
            salt,
            cache: BTreeMap::new(),
            dirty: BTreeSet::new(),
        }
    }

    /// Pages for these entries, not yet written, in an empty file.
    pub(super) fn build(file: File, salt: u64, entries: &[Entry]) -> io::Result<Self> {
        let count = entries.len().div_ceil(AVERAGE).max(8);
        let count = u32::try_from(count).map_err(|_| damaged())?;
        let mut pages = Self::open(file, count, salt);
        pages.cache = (0..count).map(|number| (number, Page::default())).collect();
        pages.dirty = (0..count).collect();
        for entry in entries {
            pages.insert(*entry)?;
        }
        Ok(pages)
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }

    pub(super) fn salt(&self) -> u64 {
        self.salt
    }

    /// Whether so many entries are too many.
    pub(super) fn is_crowded(&self, entries: u64) -> bool {
        entries > u64::from(self.count) * CROWDED
    }

    /// The page where entries of this hash are unless it overflowed.
    fn home(&self, hash: u64) -> u32 {
        // Less than `count`, so it fits.
        u32::try_from(hash % u64::from(self.count)).unwrap_or_default()
    }

    fn next(&self, number: u32) -> u32 {
        (number + 1) % self.count
    }

    fn seed(&self, number: u32) -> u64 {
        self.salt ^ u64::from(number)
    }

    fn page(&mut self, number: u32) -> io::Result<&mut Page> {
        if !self.cache.contains_key(&number) {
            let mut bytes = [0; SIZE];
            self.file.read_exact_at(&mut bytes, offset(number))?;
            let page = Page::decode(&bytes, self.seed(number)).ok_or_else(damaged)?;
            self.cache.insert(number, page);
        }
        self.cache.get_mut(&number).ok_or_else(damaged)
    }

    /// Goes through the pages in which entries of this hash can be, until
    /// `visit` is content, and tells at which; `None` if it never was.
    fn walk(
        &mut self,
        hash: u64,
        mut visit: impl FnMut(&mut Page) -> bool,
    ) -> io::Result<Option<u32>> {
        let mut number = self.home(hash);
        for _ in 0..self.count {
            let page = self.page(number)?;
            if visit(page) {
                return Ok(Some(number));
            }
            if !page.overflowed {
                break;
            }
            number = self.next(number);
        }
        Ok(None)
    }

    /// The entries of this hash.
    pub(super) fn find(&mut self, hash: u64) -> io::Result<Vec<Entry>> {
        let mut found = Vec::new();
        self.walk(hash, |page| {
            found.extend(page.entries.iter().filter(|entry| entry.key.hash == hash));
            false
        })?;
        Ok(found)
    }

    /// Adds an entry.
    pub(super) fn insert(&mut self, entry: Entry) -> io::Result<()> {
        let mut number = self.home(entry.key.hash);
        for _ in 0..self.count {
            let page = self.page(number)?;
            let has_room = page.entries.len() < CAPACITY;
            if has_room {
                page.entries.push(entry);
            }
            if has_room || !page.overflowed {
                page.overflowed |= !has_room;
                self.dirty.insert(number);
            }
            if has_room {
                return Ok(());
            }
            number = self.next(number);
        }
        Err(io::ErrorKind::StorageFull.into())
    }

    /// Removes the entry of an address; `false` if there is none with this
    /// hash.
    pub(super) fn remove(&mut self, address: IpAddr, hash: u64) -> io::Result<bool> {
        let number = self.walk(hash, |page| {
            let found = page
                .entries
                .iter()
                .position(|entry| entry.address == address && entry.key.hash == hash);
            found.map(|at| page.entries.swap_remove(at)).is_some()
        })?;
        self.dirty.extend(number);
        Ok(number.is_some())
    }

    /// Every entry, each where it can be found. What is read for it is not
    /// kept: as pages, it would cost more than all the rest of a comparison.
    pub(super) fn all(&self) -> io::Result<Vec<Entry>> {
        // The header may lie about the number of pages.
        if self.file.metadata()?.len() < offset(self.count) {
            return Err(damaged());
        }
        let mut all = Vec::with_capacity(self.count as usize * AVERAGE);
        let mut overflowed = Vec::with_capacity(self.count as usize);
        let mut strays = Vec::new();
        let mut bytes = Vec::new();
        for start in (0..self.count).step_by(AT_ONCE as usize) {
            let end = start.saturating_add(AT_ONCE).min(self.count);
            bytes.resize((end - start) as usize * SIZE, 0);
            self.file.read_exact_at(&mut bytes, offset(start))?;
            for (number, bytes) in (start..end).zip(bytes.chunks_exact(SIZE)) {
                let first = all.len();
                overflowed.push(match self.cache.get(&number) {
                    Some(page) => {
                        all.extend(&page.entries);
                        page.overflowed
                    }
                    None => page::decode(bytes, self.seed(number), &mut all).ok_or_else(damaged)?,
                });
                let homes = all
                    .iter()
                    .skip(first)
                    .map(|entry| self.home(entry.key.hash));
                strays.extend(
                    homes
                        .map(|home| (home, number))
                        .filter(|(home, at)| home != at),
                );
            }
        }
        for (home, number) in strays {
            let mut at = home;
            while at != number {
                // A kill between two pages may have parted an entry from the
                // mark that leads to it.
                if overflowed.get(at as usize) != Some(&true) {
                    return Err(damaged());
                }
                at = self.next(at);
            }
        }
        Ok(all)
    }

    /// Writes what has changed, neighbours in one go.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let mut run: Vec<u8> = Vec::new();
        let mut start = 0;
        let mut expected = None;
        for number in std::mem::take(&mut self.dirty) {
            if expected != Some(number) {
                self.file.write_all_at(&run, start)?;
                run.clear();
                start = offset(number);
            }
            let page = self.cache.get(&number).ok_or_else(damaged)?;
            run.extend(page.encode(self.seed(number)));
            expected = number.checked_add(1);
        }
        self.file.write_all_at(&run, start)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::net::Ipv4Addr;

    use super::super::entry::{Key, Kind};
    use super::*;

    fn entry(number: u32, hash: u64) -> Entry {
        let address = IpAddr::V4(Ipv4Addr::from_bits(number));
        Entry {
            address,
            inode: 1,
            key: Key {
                kind: Kind::Owned,
                hash,
            },
            is_file: true,
        }
    }

    /// The same pages, read back.
    fn again(pages: &Pages) -> Pages {
        Pages::open(pages.file.try_clone().unwrap(), pages.count, pages.salt)
    }

    #[test]
    fn a_crowd_of_one_hash_flows_over_and_is_found() {
        let crowd: Vec<Entry> = (0..300).map(|number| entry(number, 7)).collect();
        let mut pages = Pages::build(tempfile::tempfile().unwrap(), 9, &crowd).unwrap();
        pages.insert(entry(1000, 8)).unwrap();
        pages.flush().unwrap();
        let mut pages = again(&pages);
        assert_eq!(pages.find(7).unwrap().len(), 300);
        assert_eq!(pages.find(8).unwrap(), [entry(1000, 8)]);
        assert!(pages.remove(entry(3, 7).address, 7).unwrap());
        assert!(!pages.remove(entry(3, 7).address, 7).unwrap());
        assert!(pages.remove(entry(299, 7).address, 7).unwrap());
        pages.flush().unwrap();
        let mut pages = again(&pages);
        assert_eq!(pages.find(7).unwrap().len(), 298);
        assert_eq!(pages.all().unwrap().len(), 299);
    }

    #[test]
    fn full_is_an_error_and_damage_as_well() {
        let most = u32::try_from(8 * CAPACITY).unwrap();
        let mut pages = Pages::build(tempfile::tempfile().unwrap(), 9, &[]).unwrap();
        for number in 0..most {
            pages.insert(entry(number, 3)).unwrap();
        }
        assert!(pages.is_crowded(u64::from(most)));
        assert!(pages.insert(entry(most, 3)).is_err());
        pages.flush().unwrap();
        assert_eq!(again(&pages).all().unwrap().len(), 8 * CAPACITY);
        pages.file.write_all_at(b"x", offset(2) + 100).unwrap();
        assert!(again(&pages).all().is_err());
        assert!(again(&pages).find(2).is_err());
        pages.file.set_len(100).unwrap();
        assert!(again(&pages).find(3).is_err());
        assert!(again(&pages).all().is_err());
    }
}
