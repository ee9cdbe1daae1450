//! What a history says: the last line of each address.

use std::collections::BTreeMap;
use std::net::IpAddr;

use wipam_core::span::{Span, to_number};
use wipam_core::store::Past;
use xxhash_rust::xxh3::xxh3_64;

use super::line::{self, Event, Note};
use super::places::Places;
use crate::gap::after;
use crate::moment::Moment;

/// Lines up to which it does not matter how many of them say nothing any more.
const FEW: usize = 1024;

/// Most addresses that are remembered.
const MOST: usize = 131_072;

/// How many are kept once they are more: not so many that the next line would
/// have the file rewritten again.
const ROOM: usize = MOST / 8 * 7;

/// The last line of each address. What an earlier one says does not count: an
/// address that somebody else had since is theirs.
#[derive(Debug)]
pub(super) struct Table {
    /// The file as it was read, and keys that came later: keys are parts of it.
    text: Vec<u8>,
    boots: Boots,
    /// In the order of their lines, with those that do not count any more.
    entries: Vec<Entry>,
    /// Where the one of an address is.
    places: Places,
    /// How many of them count.
    addresses: usize,
    /// How many lines the file has.
    lines: usize,
    /// Whether its last line has no end.
    torn: bool,
    /// Where the latest one of a key is, once it had to be known.
    latest: Option<Places>,
}

/// What a line says.
#[derive(Clone, Copy, Debug)]
struct Entry {
    address: IpAddr,
    event: Event,
    /// Whether it is the last of its address, and says something.
    counts: bool,
    boot: u32,
    since_boot_ms: u64,
    /// When it was given to its key: the boot, and the milliseconds since. The
    /// time of the line itself, where that is not known.
    given: (u32, u64),
    key: (u32, u32),
}

impl Table {
    /// Reads a file; what is no line is passed over.
    pub(super) fn parse(text: Vec<u8>, now: Moment) -> Self {
        // Lines are longer as a rule.
        let expected = text.len() / 48;
        let mut table = Self {
            text: Vec::new(),
            boots: Boots::new(now.boot),
            entries: Vec::with_capacity(expected),
            places: Places::new(expected),
            addresses: 0,
            lines: 0,
            torn: false,
            latest: None,
        };
        let mut reader = line::Reader::default();
        let mut start = 0;
        while let Some((line, length)) = text.get(start..).and_then(|rest| reader.read(rest)) {
            if let Some(line) = line {
                let key = line.key.unwrap_or_default();
                let boot = table.boots.number(line.moment.boot);
                table.take(Entry {
                    address: line.address,
                    event: line.event,
                    counts: line.event != Event::Never,
                    boot,
                    since_boot_ms: line.moment.since_boot_ms,
                    given: (boot, line.moment.since_boot_ms),
                    key: (number(start + key.start), number(start + key.end)),
                });
            }
            table.lines += 1;
            start += length + 1;
        }
        table.torn = start < text.len();
        table.text = text;
        table
    }

    /// Puts an entry in the place of the one that its address had.
    fn take(&mut self, mut entry: Entry) {
        let place = self.place(entry.address);
        if let Some(former) = self.places.get(place)
            && let Some(former) = self.entries.get_mut(former)
        {
            // One without a key repeats what was before a `had` that is taken
            // back.
            let has_key = entry.key.0 < entry.key.1;
            if has_key && (former.event, entry.event) == (Event::Had, Event::Left) {
                entry.given = former.given;
            }
            self.addresses -= usize::from(former.counts);
            former.counts = false;
        }
        self.addresses += usize::from(entry.counts);
        self.places.set(place, self.entries.len());
        self.entries.push(entry);
        if self.places.are_few() {
            let mut places = Places::new(self.entries.len());
            for (at, entry) in self.entries.iter().enumerate() {
                // Of one address, the last is put in the place of the others.
                let place = places.find(hash(entry.address), |other| {
                    self.is_of(other, entry.address)
                });
                places.set(place, at);
            }
            self.places = places;
        }
    }

    fn place(&self, address: IpAddr) -> usize {
        let is_its = |at| self.is_of(at, address);
        self.places.find(hash(address), is_its)
    }

    fn is_of(&self, at: usize, address: IpAddr) -> bool {
        let entry = self.entries.get(at);
        entry.is_some_and(|entry| entry.address == address)
    }

    /// What is known of an address.
    fn last(&self, address: IpAddr) -> Option<&Entry> {
        let entry = self.entries.get(self.places.get(self.place(address))?);
        entry.filter(|entry| entry.counts)
    }

    /// One that says nothing, of a file that is to be rewritten.
    pub(super) fn void(now: Moment) -> Self {
        let mut void = Self::parse(Vec::new(), now);
        void.lines = usize::MAX;
        void
    }

    /// What has to be written to add this line.
    pub(super) fn render(&self, address: IpAddr, note: &Note) -> String {
        let mut text = String::new();
        if self.torn {
            // The blank makes sure that what is there of a key is not taken
            // for all of it.
            text.push_str(" \n");
        }
        let key = note.key.as_deref();
        if let Some(given) = self.untold(address, note) {
            line::render(&mut text, address, Event::Had, given, key);
        }
        line::render(&mut text, address, note.event, note.moment, key);
        text
    }

    /// When an address was given, if a line that says who left it has to be
    /// preceded by one that says so.
    fn untold(&self, address: IpAddr, note: &Note) -> Option<Moment> {
        let given = note.given.filter(|_| note.event == Event::Left)?;
        let last = self.last(address);
        let is_told =
            last.is_some_and(|last| last.event == Event::Had && self.moment(last) == given);
        // No boot is named after a later one: their order is that of the file.
        let told = match given.boot == note.moment.boot {
            true => given,
            false => note.moment,
        };
        (!is_told).then_some(told)
    }

    /// Told that writing a line failed: some of it may be there.
    pub(super) fn failed(&mut self) {
        self.torn = true;
    }

    /// Told that a line was written.
    pub(super) fn added(&mut self, address: IpAddr, note: &Note) {
        self.lines = self.lines.saturating_add(usize::from(self.torn));
        self.torn = false;
        self.latest = None;
        let start = number(self.text.len());
        self.text
            .extend(note.key.iter().flat_map(|key| key.bytes()));
        let key = (start, number(self.text.len()));
        if let Some(given) = self.untold(address, note) {
            self.line(address, Event::Had, given, key);
        }
        self.line(address, note.event, note.moment, key);
    }

    fn line(&mut self, address: IpAddr, event: Event, moment: Moment, key: (u32, u32)) {
        self.lines = self.lines.saturating_add(1);
        let boot = self.boots.number(moment.boot);
        self.take(Entry {
            address,
            event,
            counts: event != Event::Never,
            boot,
            since_boot_ms: moment.since_boot_ms,
            given: (boot, moment.since_boot_ms),
            key,
        });
    }

    /// What the last line of an address says.
    pub(super) fn note(&self, address: IpAddr) -> Option<Note> {
        let entry = self.last(address)?;
        let key = self.key(entry);
        let given = key.as_ref().map(|_| self.at(entry.given));
        Some(Note {
            event: entry.event,
            moment: self.moment(entry),
            given,
            key,
        })
    }

    /// What is remembered of an address, if it is free.
    pub(super) fn past(&mut self, address: IpAddr, now: Moment) -> Option<Past> {
        let entry = *self.last(address)?;
        let key = self.key(&entry);
        let latest = key.as_deref().and_then(|key| self.remembered(key));
        Some(Past {
            address,
            latest: latest == Some(address),
            key,
            released_ms_ago: now.since(&self.moment(&entry)),
        })
    }

    /// Of the addresses that a key had last, the one that it got last: in which
    /// order they were released does not matter.
    pub(super) fn remembered(&mut self, key: &str) -> Option<IpAddr> {
        let latest = self.latest.take().unwrap_or_else(|| self.all_latest());
        let key = key.as_bytes();
        let place = latest.find(xxh3_64(key), |at| self.has_key(at, key));
        let found = latest.get(place).and_then(|at| self.entries.get(at));
        let found = found.map(|entry| entry.address);
        self.latest = Some(latest);
        found
    }

    fn all_latest(&self) -> Places {
        let mut latest = Places::new(self.addresses);
        for (at, entry) in self.entries.iter().enumerate() {
            let key = self.bytes(entry);
            if !entry.counts || key.is_empty() {
                continue;
            }
            let place = latest.find(xxh3_64(key), |at| self.has_key(at, key));
            let known = latest.get(place).and_then(|at| self.entries.get(at));
            if known.is_none_or(|known| known.given <= entry.given) {
                latest.set(place, at);
            }
        }
        latest
    }

    fn has_key(&self, at: usize, key: &[u8]) -> bool {
        let entry = self.entries.get(at);
        entry.is_some_and(|entry| self.bytes(entry) == key)
    }

    /// Every address, that of the longest ago first.
    pub(super) fn by_age(&self) -> Vec<IpAddr> {
        self.aged().iter().map(|entry| entry.address).collect()
    }

    fn aged(&self) -> Vec<&Entry> {
        let mut aged: Vec<&Entry> = Vec::with_capacity(self.addresses);
        aged.extend(self.entries.iter().filter(|entry| entry.counts));
        // Those of one time stay in the order of their lines.
        aged.sort_by_key(|entry| entry.time());
        aged
    }

    /// Whether anything is remembered of an address.
    pub(super) fn knows(&self, address: IpAddr) -> bool {
        self.last(address).is_some()
    }

    /// The lowest address of which nothing is remembered: walks those that are
    /// known, never others.
    pub(super) fn first_unknown(&self, span: Span) -> Option<IpAddr> {
        let mut next = Some(span.first());
        while let Some(address) = next.filter(|address| span.contains(*address)) {
            if !self.knows(address) {
                return Some(address);
            }
            next = after(address);
        }
        None
    }

    /// Whether the file should be rewritten.
    pub(super) fn is_crowded(&self) -> bool {
        self.lines > FEW.max(3 * self.addresses) || self.addresses > MOST
    }

    /// The file that says what counts, without what is too much. To be read
    /// anew once it is written.
    pub(super) fn rewrite(&self) -> String {
        let mut text = String::new();
        let too_many = match self.addresses {
            0..=MOST => 0,
            addresses => addresses - ROOM,
        };
        let mut lines: Vec<(Event, (u32, u64), &Entry)> = Vec::new();
        for entry in self.aged().into_iter().skip(too_many) {
            if entry.event == Event::Left && entry.given != entry.time() {
                lines.push((Event::Had, entry.given, entry));
            }
            lines.push((entry.event, entry.time(), entry));
        }
        // In the order of time, by which boots are told apart.
        lines.sort_by_key(|(_, time, _)| *time);
        for (event, time, entry) in lines {
            let key = self.key(entry);
            line::render(
                &mut text,
                entry.address,
                event,
                self.at(time),
                key.as_deref(),
            );
        }
        text
    }

    fn moment(&self, entry: &Entry) -> Moment {
        self.at(entry.time())
    }

    fn at(&self, (boot, since_boot_ms): (u32, u64)) -> Moment {
        Moment {
            boot: self.boots.of(boot),
            since_boot_ms,
        }
    }

    fn bytes(&self, entry: &Entry) -> &[u8] {
        let (start, end) = (entry.key.0 as usize, entry.key.1 as usize);
        self.text.get(start..end).unwrap_or_default()
    }

    fn key(&self, entry: &Entry) -> Option<String> {
        let key = std::str::from_utf8(self.bytes(entry)).ok()?;
        (!key.is_empty()).then(|| key.to_owned())
    }
}

impl Entry {
    /// Orders what lines tell of, the longest ago first: a boot that the file
    /// names first was before one that it names later.
    fn time(&self) -> (u32, u64) {
        (self.boot, self.since_boot_ms)
    }
}

/// Nothing of a file is that much.
fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// Addresses come in rows: a multiplication scatters them.
fn hash(address: IpAddr) -> u64 {
    let number = to_number(address);
    let folded = (number >> 64) as u64 ^ number as u64;
    let product = u128::from(folded) * 0x9e37_79b9_7f4a_7c15;
    (product >> 64) as u64 ^ product as u64
}

/// Boots in the order in which a file names them; this one comes last.
#[derive(Debug)]
struct Boots {
    this: u64,
    earlier: Vec<u64>,
    numbers: BTreeMap<u64, u32>,
    /// The one asked for last: lines of one boot follow each other.
    recent: (u64, u32),
}

/// The number of this boot.
const THIS: u32 = u32::MAX;

impl Boots {
    fn new(this: u64) -> Self {
        Self {
            this,
            earlier: Vec::new(),
            numbers: [(this, THIS)].into(),
            recent: (this, THIS),
        }
    }

    fn number(&mut self, boot: u64) -> u32 {
        if self.recent.0 != boot {
            let next = number(self.earlier.len());
            let number = *self.numbers.entry(boot).or_insert(next);
            if number == next {
                self.earlier.push(boot);
            }
            self.recent = (boot, number);
        }
        self.recent.1
    }

    fn of(&self, number: u32) -> u64 {
        let earlier = self.earlier.get(number as usize);
        earlier.copied().unwrap_or(self.this)
    }
}
