//! Times as people write them.

use alloc::format;
use alloc::string::String;

use serde::de::{Deserialize, Deserializer, Error};

/// Milliseconds, written as a whole number and a unit: `30s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Duration(pub(crate) u64);

/// Units, and how many milliseconds each has.
const UNITS: [(&str, u64); 5] = [
    ("ms", 1),
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];

/// Nothing in a scenario takes longer: a hundred years, so that sums of them
/// are far from any limit.
const LONGEST: u64 = 100 * 366 * 86_400_000;

pub(crate) fn parse(text: &str) -> Option<Duration> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(end);
    let (_, size) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let ms = number.parse::<u64>().ok()?.checked_mul(*size)?;
    (ms <= LONGEST).then_some(Duration(ms))
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse(&text).ok_or_else(|| {
            D::Error::custom(format!(
                "wanted a time of at most a hundred years, such as 500ms, 30s, 5m, 6h or 1d, found {text:?}"
            ))
        })
    }
}

/// Milliseconds as people read them, with the largest unit that leaves at
/// least one.
pub(crate) fn show(ms: u64) -> String {
    let unit = UNITS.iter().rev().find(|(_, size)| ms >= *size);
    let (name, size) = unit.copied().unwrap_or(UNITS[0]);
    let tenths = ms.saturating_mul(10) / size;
    match tenths % 10 {
        0 => format!("{} {name}", tenths / 10),
        rest => format!("{}.{rest} {name}", tenths / 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_number_and_a_unit() {
        for (text, ms) in [
            ("0s", 0),
            ("250ms", 250),
            ("30s", 30_000),
            ("5m", 300_000),
            ("6h", 21_600_000),
            ("1d", 86_400_000),
        ] {
            assert_eq!(parse(text), Some(Duration(ms)), "{text}");
        }
        for text in [
            "",
            "5",
            "s",
            "-1s",
            "1.5s",
            "1 s",
            "1w",
            "99999999999d",
            "36601d",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn times_are_shown_in_the_largest_unit() {
        for (ms, text) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1_500, "1.5 s"),
            (60_000, "1 m"),
            (90_061_000, "1 d"),
        ] {
            assert_eq!(show(ms), text);
        }
    }
}
