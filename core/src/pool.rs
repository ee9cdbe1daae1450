//! What of a range set can be given right now.

use alloc::string::String;
use core::fmt;
use core::net::IpAddr;

use crate::span::{Span, behind};
use crate::store::{Past, Store, StoreError};

/// Which free addresses are held back, and from whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HoldBack {
    /// How long an address is cooling after its release.
    pub cooldown_ms: u64,
    /// How long a free address is kept for who had it.
    pub keep_ms: u64,
    /// Who is asking.
    pub key: Option<String>,
}

/// Why a free address is held back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// It was released too short a time ago.
    Cooling {
        /// Milliseconds until it can be given.
        for_ms: u64,
    },
    /// It is the last one that somebody else had.
    Kept {
        /// Who.
        key: String,
        /// Milliseconds until it can be given to others.
        for_ms: u64,
    },
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cooling { for_ms } => write!(f, "cooling for another {}", Seconds(*for_ms)),
            Self::Kept { key, for_ms } => {
                write!(f, "kept for {key} for another {}", Seconds(*for_ms))
            }
        }
    }
}

/// Milliseconds as seconds, rounded up: nobody should come back too early.
pub(crate) struct Seconds(pub(crate) u64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.0.div_ceil(1000))
    }
}

impl HoldBack {
    /// Whether anything can be held back at all.
    pub fn is_off(&self) -> bool {
        self.cooldown_ms == 0 && self.keep_ms == 0
    }

    /// Whether an address with this past is held back. To whoever had it last
    /// it never is: what peers remember of it is true.
    pub fn holds(&self, past: &Past) -> Option<Held> {
        let age = past.released_ms_ago;
        if past.key.is_some() && past.key == self.key {
            return None;
        }
        if let Some(for_ms) = self.cooldown_ms.checked_sub(age).filter(|ms| *ms > 0) {
            return Some(Held::Cooling { for_ms });
        }
        let for_ms = self.keep_ms.checked_sub(age).filter(|ms| *ms > 0)?;
        let key = past.key.clone().filter(|_| past.latest)?;
        Some(Held::Kept { key, for_ms })
    }
}

/// The lowest address of `span` that can be given: free, and not held back.
pub fn first_givable<S: Store>(
    store: &mut S,
    span: Span,
    hold_back: &HoldBack,
) -> Result<Option<IpAddr>, StoreError> {
    let mut rest = Some(span);
    while let Some(span) = rest {
        let Some(address) = store.next_free(span)? else {
            return Ok(None);
        };
        if hold_back.is_off() {
            return Ok(Some(address));
        }
        match store.past(address)? {
            Some(past) if hold_back.holds(&past).is_some() => rest = behind(address, span),
            _ => return Ok(Some(address)),
        }
    }
    Ok(None)
}

/// The lowest address at or after `at` in any of `spans` that can be given.
/// Addresses of the other family come before or after, as their order has it.
pub fn next_givable<S: Store>(
    store: &mut S,
    spans: &[Span],
    hold_back: &HoldBack,
    at: IpAddr,
) -> Result<Option<IpAddr>, StoreError> {
    let mut found: Option<IpAddr> = None;
    for span in spans {
        // Spans are in the order of the configuration, not of addresses.
        if span.last() < at || found.is_some_and(|found| found < span.first()) {
            continue;
        }
        if let Some(span) = Span::new(at.max(span.first()), span.last())
            && let Some(address) = first_givable(store, span, hold_back)?
        {
            found = Some(found.map_or(address, |found| found.min(address)));
        }
    }
    Ok(found)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use alloc::string::ToString;
    use alloc::vec::Vec;

    use super::*;
    use crate::memory::MemoryStore;
    use crate::names::{Attachment, ContainerId, InterfaceName};
    use crate::spans::parse_span;

    fn past(key: Option<&str>, latest: bool, released_ms_ago: u64) -> Past {
        Past {
            address: IpAddr::from([10, 1, 0, 2]),
            key: key.map(Into::into),
            latest,
            released_ms_ago,
        }
    }

    #[test]
    fn an_address_cools_first_and_is_kept_then() {
        let hold_back = HoldBack {
            cooldown_ms: 10_000,
            keep_ms: 30_000,
            key: Some("me".into()),
        };
        let held = |past| hold_back.holds(&past).map(|held| held.to_string());
        let cooling = |s: u64| Some(alloc::format!("cooling for another {s} s"));
        assert_eq!(held(past(None, false, 0)), cooling(10));
        assert_eq!(held(past(None, false, 1)), cooling(10));
        assert_eq!(held(past(Some("you"), true, 9_999)), cooling(1));
        assert_eq!(held(past(None, false, 10_000)), None);
        let kept = Some("kept for you for another 20 s".into());
        assert_eq!(held(past(Some("you"), true, 10_000)), kept);
        assert_eq!(held(past(Some("you"), false, 10_000)), None);
        assert_eq!(held(past(Some("you"), true, 30_000)), None);
        for latest in [false, true] {
            assert_eq!(held(past(Some("me"), latest, 0)), None);
        }
        // Nobody is not the same as nobody.
        let nobody = HoldBack {
            key: None,
            ..hold_back.clone()
        };
        assert!(nobody.holds(&past(None, false, 0)).is_some());
        assert!(HoldBack::default().is_off() && !hold_back.is_off());
        assert_eq!(HoldBack::default().holds(&past(Some("you"), true, 0)), None);
    }

    #[test]
    fn the_next_is_the_lowest_of_all_spans_in_whatever_order() {
        let mut store = MemoryStore::default();
        let attachment = Attachment {
            container: ContainerId::new("c").unwrap(),
            interface: InterfaceName::new("eth0").unwrap(),
        };
        for text in ["10.1.0.2", "255.255.255.255", "fd00::"] {
            store.reserve(text.parse().unwrap(), &attachment).unwrap();
        }
        let spans: Vec<_> = [
            "fd00::/127",
            "10.9.0.0/31",
            "10.1.0.2-10.1.0.4",
            "255.255.255.254/31",
        ]
        .iter()
        .map(|text| parse_span(text).unwrap())
        .collect();
        let mut next = |at: &str| {
            let at = at.parse().unwrap();
            let next = next_givable(&mut store, &spans, &HoldBack::default(), at);
            next.unwrap().map(|address| address.to_string())
        };
        for (at, wanted) in [
            ("0.0.0.0", Some("10.1.0.3")),
            ("10.1.0.4", Some("10.1.0.4")),
            ("10.1.0.5", Some("10.9.0.0")),
            ("10.9.0.2", Some("255.255.255.254")),
            ("255.255.255.255", Some("fd00::1")),
            ("::", Some("fd00::1")),
            ("fd00::2", None),
        ] {
            assert_eq!(next(at).as_deref(), wanted, "{at}");
        }
    }
}
