//! The pool in a few rows, for pictures.

use alloc::vec::Vec;
use core::net::IpAddr;

use wipam_core::config::Config;
use wipam_core::span::{Span, to_number};

/// Most rows of a picture.
const MOST_ROWS: u128 = 64;

/// Addresses of a range that are shown row by row; what lies beyond is one
/// row. A /64 would look empty otherwise, however much of it is in use.
const SHOWN: u128 = 1 << 16;

/// Rows of addresses, and how many of each are reserved.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    rows: Vec<Row>,
}

#[derive(Clone, Debug)]
struct Row {
    span: Span,
    reserved: u64,
}

impl Rows {
    pub(crate) fn new(config: &Config) -> Self {
        let ranges = config.sets.iter().flat_map(|set| set.ranges());
        let spans: Vec<Span> = ranges.map(|range| range.span()).collect();
        let each = MOST_ROWS / (spans.len() as u128).clamp(1, MOST_ROWS);
        let rows = spans.into_iter().flat_map(|span| cut(span, each));
        Self {
            rows: rows.map(|span| Row { span, reserved: 0 }).collect(),
        }
    }

    /// An address became reserved, or free again.
    pub(crate) fn count(&mut self, address: IpAddr, reserved: bool) {
        let row = self.rows.iter_mut().find(|row| row.span.contains(address));
        if let Some(row) = row {
            row.reserved = match reserved {
                true => row.reserved.saturating_add(1),
                false => row.reserved.saturating_sub(1),
            };
        }
    }

    /// The share of each row that is reserved, in percent, rounded up: one
    /// address of many is more than none.
    pub(crate) fn shares(&self) -> Vec<u8> {
        let share = |row: &Row| {
            let percent = u128::from(row.reserved).saturating_mul(100);
            percent.div_ceil(row.span.count().max(1)).min(100) as u8
        };
        self.rows.iter().map(share).collect()
    }

    /// The first address of each row.
    pub(crate) fn firsts(&self) -> impl Iterator<Item = IpAddr> {
        self.rows.iter().map(|row| row.span.first())
    }
}

/// Cuts a span into at most so many rows of equal size, and perhaps a rest.
fn cut(span: Span, most: u128) -> Vec<Span> {
    let shown = span.count().min(SHOWN);
    let size = shown.div_ceil(most).max(1);
    let mut rows = Vec::new();
    let mut first = span.first();
    for start in (0..shown).step_by(usize::try_from(size).unwrap_or(usize::MAX)) {
        let last = (start + size).min(shown) - 1;
        let (Some(from), Some(to)) = (at(span, start), at(span, last)) else {
            break;
        };
        rows.extend(Span::new(from, to));
        first = to;
    }
    let rest = at(span, shown).filter(|rest| *rest > first);
    rows.extend(rest.and_then(|rest| Span::new(rest, span.last())));
    rows
}

fn at(span: Span, offset: u128) -> Option<IpAddr> {
    let number = to_number(span.first()).checked_add(offset)?;
    wipam_core::span::from_number(span.first(), number).filter(|address| span.contains(*address))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use wipam_core::spans::parse_span;

    use super::*;

    #[test]
    fn rows_cover_a_span_once() {
        for (text, most, rows) in [
            ("10.0.0.1-10.0.0.6", 64, 6),
            ("10.0.0.0-10.0.0.255", 64, 64),
            ("10.0.0.1-10.0.255.254", 64, 64),
            ("10.0.0.0-10.0.0.255", 10, 10),
            ("0.0.0.0-255.255.255.255", 64, 65),
            ("fd00::1-fd00::ffff:ffff:ffff:ffff", 64, 65),
            ("255.255.255.255", 64, 1),
        ] {
            let span = parse_span(text).unwrap();
            let cut = cut(span, most);
            assert_eq!(cut.len(), rows, "{text}");
            assert_eq!(cut[0].first(), span.first());
            assert_eq!(cut[cut.len() - 1].last(), span.last());
            for pair in cut.windows(2) {
                assert_eq!(to_number(pair[0].last()) + 1, to_number(pair[1].first()));
            }
        }
    }
}
