//! What is remembered of addresses that were released, and of who had them.
//!
//! A text file to whose end lines are added, see `line`. It is there for the
//! sake of choosing well and never of choosing rightly: whatever goes wrong
//! with it, nothing is remembered, and addresses are given and freed all the
//! same.

mod line;
mod places;
mod table;

use std::net::IpAddr;

use wipam_core::span::Span;
use wipam_core::store::Past;

use crate::beside::{Beside, Content, Kept};
use table::Table;

pub(crate) use line::{Event, Note, is_key};

/// More than the longest file that is not rewritten before.
const MOST_BYTES: u64 = 256 << 20;

/// A network's history, read when it is first asked for.
#[derive(Debug)]
pub(crate) struct History {
    file: File,
    /// Whether one is begun where there is none.
    begins: bool,
    /// Whether rewriting it is still to be tried.
    tidies: bool,
}

#[derive(Debug)]
enum File {
    /// Not looked for yet.
    Unknown,
    /// There is none.
    Missing,
    /// It cannot be used.
    Useless,
    /// What it says.
    Read(Box<Table>),
}

/// That a line was added.
#[derive(Clone, Debug)]
pub(crate) struct Added {
    pub(crate) address: IpAddr,
    /// What the last line said before.
    before: Option<Note>,
    /// What it says now.
    after: Note,
}

impl History {
    pub(crate) fn new(begins: bool) -> Self {
        Self {
            file: File::Unknown,
            begins,
            tidies: true,
        }
    }

    /// What the file says, if there is one.
    fn read(&mut self, beside: &mut impl Beside) -> Option<&mut Box<Table>> {
        if let File::Unknown = self.file {
            self.file = match beside.load(Kept::History, MOST_BYTES) {
                Ok(Content::All(text)) => File::Read(Box::new(Table::parse(text, beside.now()))),
                Ok(Content::TooMuch) => File::Read(Box::new(Table::void(beside.now()))),
                Ok(Content::Missing) => File::Missing,
                Err(_) => File::Useless,
            };
        }
        match &mut self.file {
            File::Read(table) => Some(table),
            _ => None,
        }
    }

    /// Makes the file if there is none and one is to be begun.
    pub(crate) fn begin(&mut self, beside: &mut impl Beside) {
        if !self.begins || self.read(beside).is_some() {
            return;
        }
        if let File::Missing = self.file {
            self.file = match beside.append(Kept::History, &[], true) {
                Ok(()) => File::Read(Box::new(Table::parse(Vec::new(), beside.now()))),
                Err(_) => File::Useless,
            };
        }
    }

    /// Remembers that a key has an address; `None` where that is not done.
    pub(crate) fn had(
        &mut self,
        beside: &mut impl Beside,
        address: IpAddr,
        key: &str,
    ) -> Option<Added> {
        self.begin(beside);
        self.read(beside)?;
        let after = Note {
            event: Event::Had,
            moment: beside.now(),
            given: Some(beside.now()),
            key: Some(key.to_owned()),
        };
        self.add(beside, address, after)
    }

    /// Remembers that an address was released, likewise.
    pub(crate) fn left(&mut self, beside: &mut impl Beside, address: IpAddr) -> Option<Added> {
        let before = self.read(beside)?.note(address);
        // Where the last line does not say that somebody got it, it is not
        // known who it was that had it.
        let had = before.filter(|note| note.event == Event::Had);
        let after = Note {
            event: Event::Left,
            moment: beside.now(),
            given: had.as_ref().and_then(|note| note.given),
            key: had.and_then(|note| note.key),
        };
        self.add(beside, address, after)
    }

    /// Takes back what a line said, if it is still the last of its address:
    /// the former one is repeated.
    pub(crate) fn put_back(&mut self, beside: &mut impl Beside, added: &Added) {
        let Some(table) = self.read(beside) else {
            return;
        };
        if table.note(added.address).as_ref() == Some(&added.after) {
            let before = added.before.clone().unwrap_or(Note {
                event: Event::Never,
                moment: added.after.moment,
                given: None,
                key: None,
            });
            self.add(beside, added.address, before);
        }
    }

    fn add(&mut self, beside: &mut impl Beside, address: IpAddr, after: Note) -> Option<Added> {
        let begins = self.begins;
        let table = self.read(beside)?;
        let before = table.note(address);
        let text = table.render(address, &after);
        if beside
            .append(Kept::History, text.as_bytes(), begins)
            .is_err()
        {
            table.failed();
            return None;
        }
        table.added(address, &after);
        self.tidy(beside);
        Some(Added {
            address,
            before,
            after,
        })
    }

    /// Rewrites the file where most of it says nothing any more.
    fn tidy(&mut self, beside: &mut impl Beside) {
        if !self.tidies {
            return;
        }
        if let Some(table) = self.read(beside).filter(|table| table.is_crowded()) {
            let text = table.rewrite();
            match beside.replace(Kept::History, text.as_bytes()) {
                Ok(()) => **table = Table::parse(text.into_bytes(), beside.now()),
                // It would fail again with the next line.
                Err(_) => self.tidies = false,
            }
        }
    }

    /// What is remembered of an address, if it is free.
    pub(crate) fn past(&mut self, beside: &mut impl Beside, address: IpAddr) -> Option<Past> {
        if !self.knows(beside, address) {
            return None;
        }
        let now = beside.now();
        self.read(beside)?.past(address, now)
    }

    /// Whether anything is remembered of an address.
    pub(crate) fn knows(&mut self, beside: &mut impl Beside, address: IpAddr) -> bool {
        self.read(beside).is_some_and(|table| table.knows(address))
    }

    /// The lowest address of which nothing is remembered.
    pub(crate) fn first_unknown(&mut self, beside: &mut impl Beside, span: Span) -> Option<IpAddr> {
        match self.read(beside) {
            Some(table) => table.first_unknown(span),
            None => Some(span.first()),
        }
    }

    /// The address that a key had last.
    pub(crate) fn remembered(&mut self, beside: &mut impl Beside, key: &str) -> Option<IpAddr> {
        self.read(beside)?.remembered(key)
    }

    /// Every address of which something is remembered, that of the longest
    /// ago first.
    pub(crate) fn by_age(&mut self, beside: &mut impl Beside) -> Vec<IpAddr> {
        self.read(beside)
            .map(|table| table.by_age())
            .unwrap_or_default()
    }
}
