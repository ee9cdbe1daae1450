//! What a policy may look at, and what it remembers.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::{self, Vec};
use core::net::IpAddr;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::host;
use crate::span::{Span, next};
use crate::types::{Range, Reservation};

/// The pool of one range set, for the length of one decision. Nothing here
/// changes it.
pub struct Pool {
    source: host::Pool,
    state: State,
}

impl Pool {
    #[doc(hidden)]
    pub fn new(source: host::Pool, state: State) -> Self {
        Self { source, state }
    }

    /// What the policy remembers of the network.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The ranges of the set, in the order of the configuration.
    pub fn ranges(&self) -> Vec<Range> {
        self.source.ranges()
    }

    /// What of the ranges may be given, in the same order: without gateways,
    /// network and broadcast addresses, and what is excluded.
    pub fn spans(&self) -> Vec<Span> {
        self.source.spans()
    }

    /// Whether something stands at `address`, in or out of the pool.
    pub fn is_reserved(&self, address: IpAddr) -> bool {
        self.source.is_reserved(address)
    }

    /// The lowest address at or after `at` that can be given now.
    pub fn next_free(&self, at: IpAddr) -> Option<IpAddr> {
        self.source.next_free(at)
    }

    /// The lowest address of `span` that can be given now.
    pub fn next_free_in(&self, span: &Span) -> Option<IpAddr> {
        self.next_free(span.first())
            .filter(|address| span.contains(*address))
    }

    /// The same in the first of `spans` that has one.
    pub fn first_free(&self, spans: &[Span]) -> Option<IpAddr> {
        spans.iter().find_map(|span| self.next_free_in(span))
    }

    /// The address that round robin would give: the one after the last given,
    /// through the ranges of the set, and around.
    pub fn next_in_turn(&self) -> Option<IpAddr> {
        let spans = self.spans();
        let last = self.last_reserved();
        let at = last.and_then(|last| spans.iter().position(|span| span.contains(last)));
        let (Some(at), Some(last)) = (at, last) else {
            return self.first_free(&spans);
        };
        let (before, behind) = spans.split_at_checked(at)?;
        let rest = next(last).and_then(|first| Span::new(first, behind.first()?.last()));
        rest.and_then(|rest| self.next_free_in(&rest))
            .or_else(|| self.first_free(behind.get(1..)?))
            .or_else(|| self.first_free(before))
            .or_else(|| self.first_free(behind.get(..1)?))
    }

    /// The address last given from this set. A hint.
    pub fn last_reserved(&self) -> Option<IpAddr> {
        self.source.last_reserved()
    }

    /// The reservations of the network, lowest address first: those of other
    /// range sets as well. They are fetched as they are read, a page at a time.
    pub fn reservations(&self) -> Reservations<'_> {
        Reservations {
            pool: self,
            page: Vec::new().into_iter(),
            after: None,
            done: false,
        }
    }
}

/// Made by [`Pool::reservations`].
pub struct Reservations<'a> {
    pool: &'a Pool,
    page: vec::IntoIter<Reservation>,
    after: Option<IpAddr>,
    done: bool,
}

impl Iterator for Reservations<'_> {
    type Item = Reservation;

    fn next(&mut self) -> Option<Reservation> {
        if self.page.len() == 0 && !self.done {
            self.page = self.pool.source.reservations(self.after).into_iter();
            self.done = self.page.len() == 0;
        }
        let reservation = self.page.next()?;
        self.after = Some(reservation.address);
        Some(reservation)
    }
}

/// What a policy remembers of a network. What is written counts when the ADD
/// it is written in succeeds, and is as if it had not been written otherwise.
pub struct State(host::State);

impl State {
    #[doc(hidden)]
    pub fn new(source: host::State) -> Self {
        Self(source)
    }

    /// The value of `key`.
    pub fn get(&self, key: &str) -> Option<Vec<u8>> {
        self.0.get(key)
    }

    /// Writes a value. Fails, and changes nothing, where keys and values would
    /// become more than `ipam.policy.limits.state` bytes.
    pub fn set(&self, key: &str, value: &[u8]) -> Result<(), String> {
        self.0.set(key, value)
    }

    /// Removes a key, if it is there.
    pub fn remove(&self, key: &str) {
        self.0.remove(key);
    }

    /// The keys, in the order of their bytes.
    pub fn keys(&self) -> Vec<String> {
        self.0.keys()
    }

    /// The value of `key`, read as JSON; `None` where there is none.
    pub fn read<T: DeserializeOwned>(&self, key: &str) -> Result<Option<T>, String> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        serde_json::from_slice(&value)
            .map(Some)
            .map_err(|error| format!("state: {key}: {error}"))
    }

    /// Writes a value as JSON.
    pub fn write<T: Serialize>(&self, key: &str, value: &T) -> Result<(), String> {
        let value = serde_json::to_vec(value).map_err(|error| error.to_string())?;
        self.set(key, &value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TestPool;

    fn at(text: &str) -> IpAddr {
        text.parse().unwrap_or(IpAddr::V4(0.into()))
    }

    #[test]
    fn in_turn_means_behind_the_last_one_through_the_ranges_and_around() -> Result<(), String> {
        for (last, reserved, wanted) in [
            (None, &[][..], Some("10.1.0.2")),
            (Some("10.1.0.2"), &["10.1.0.2"], Some("10.1.0.3")),
            (Some("10.1.0.2"), &[], Some("10.1.0.3")),
            // The last address of a range.
            (Some("10.1.0.6"), &["10.1.0.6"], Some("10.2.0.2")),
            // The last one of the set.
            (Some("10.2.0.2"), &["10.2.0.2"], Some("10.1.0.2")),
            // Around, to what is before the last one in its own range.
            (
                Some("10.1.0.4"),
                &["10.1.0.4", "10.1.0.5", "10.1.0.6", "10.2.0.2"],
                Some("10.1.0.2"),
            ),
            // What was configured then is not now.
            (Some("10.3.0.9"), &["10.1.0.2"], Some("10.1.0.3")),
            (
                Some("10.2.0.2"),
                &[
                    "10.1.0.2", "10.1.0.3", "10.1.0.4", "10.1.0.5", "10.1.0.6", "10.2.0.2",
                ],
                None,
            ),
        ] {
            let mut pool = TestPool::new(&["10.1.0.0/29", "10.2.0.0/30"])?;
            for address in reserved {
                pool = pool.reserve(at(address), "c");
            }
            if let Some(last) = last {
                pool = pool.last_reserved(at(last));
            }
            assert_eq!(
                pool.pool().next_in_turn(),
                wanted.map(at),
                "{last:?} {reserved:?}"
            );
        }
        Ok(())
    }

    #[test]
    fn in_turn_at_the_end_of_the_number_space() -> Result<(), String> {
        let pool = TestPool::new(&["255.255.255.254/31"])?
            .last_reserved(at("255.255.255.255"))
            .reserve(at("255.255.255.255"), "c");
        assert_eq!(pool.pool().next_in_turn(), Some(at("255.255.255.254")));
        Ok(())
    }

    #[test]
    fn reservations_are_read_page_by_page() -> Result<(), String> {
        let wanted = [
            "10.1.0.2",
            "10.1.0.3",
            "10.1.0.4",
            "10.9.0.1",
            "2001:db8::1",
        ]
        .map(at);
        let mut pool = TestPool::new(&["10.1.0.0/24"])?;
        for address in wanted {
            pool = pool.reserve(address, "c");
        }
        let pool = pool.pool();
        let found: Vec<_> = pool.reservations().map(|found| found.address).collect();
        assert_eq!(found, wanted);
        assert!(pool.is_reserved(at("10.9.0.1")));
        Ok(())
    }

    #[test]
    fn a_span_of_the_other_family_has_nothing_free() -> Result<(), String> {
        let pool = TestPool::new(&["2001:db8::/64"])?.pool();
        let spans = ["0.0.0.0/0", "2001:db8::/96"].map(|text| text.parse::<Span>());
        let [v4, v6] = spans.map(|span| span.map_err(|error| error.to_string()));
        assert_eq!(pool.next_free_in(&v4.clone()?), None);
        assert_eq!(pool.first_free(&[v4?, v6?]), Some(at("2001:db8::2")));
        Ok(())
    }

    #[test]
    fn what_is_never_given_and_what_is_excluded_is_no_span() -> Result<(), String> {
        let hole = "10.1.0.64/26"
            .parse()
            .map_err(|error: crate::SpanError| error.to_string())?;
        let pool = TestPool::new(&["10.1.0.0/24"])?.exclude(hole).pool();
        let spans: Vec<_> = pool.spans().iter().map(Span::to_string).collect();
        assert_eq!(spans, ["10.1.0.2-10.1.0.63", "10.1.0.128-10.1.0.254"]);
        Ok(())
    }

    #[test]
    fn state_is_kept_and_bounded() -> Result<(), String> {
        let pool = TestPool::default().state("b", b"[1,2]").pool();
        let state = pool.state();
        state.write("a", &7)?;
        assert_eq!(state.keys(), ["a", "b"]);
        assert_eq!(state.read::<u8>("a"), Ok(Some(7)));
        assert_eq!(state.read::<Vec<u8>>("b"), Ok(Some(Vec::from([1, 2]))));
        assert_eq!(state.read::<u8>("c"), Ok(None));
        assert!(
            state
                .read::<u8>("b")
                .is_err_and(|why| why.starts_with("state: b: "))
        );
        assert!(state.set("a", &[0; 1 << 16]).is_err());
        assert_eq!(state.get("a"), Some(b"7".to_vec()));
        state.remove("a");
        assert_eq!(state.keys(), ["b"]);
        Ok(())
    }
}
