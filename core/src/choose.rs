//! Choosing an address that nobody asked for by name, and reserving it.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::IpAddr;

use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::allocate::{AllocateError, Cooling};
use crate::config::Config;
use crate::environment::Environment;
use crate::names::{Attachment, NetworkName};
use crate::notes;
use crate::pool::{Held, HoldBack, first_givable};
use crate::range::Range;
use crate::range_set::RangeSet;
use crate::settings::{Strategy, WhenFull};
use crate::span::{Span, behind, from_number, to_number};
use crate::store::{Holder, Store, StoreError};

/// How often chance is asked before the search goes on in order: enough for
/// each free address to be as likely as any other until a pool is nearly full.
const DRAWS: u64 = 16;

/// What came of choosing.
pub(crate) enum Choice<'a> {
    /// An address, which is reserved now, and its range.
    Reserved(IpAddr, &'a Range),
    /// Nothing of the set can be given.
    Nothing {
        /// What could be given if it were not cooling.
        cooling: Option<Cooling>,
    },
}

/// Whom an address is for, and where from.
pub(crate) struct Chooser<'a, E: Environment> {
    pub(crate) config: &'a Config,
    pub(crate) network: &'a NetworkName,
    pub(crate) attachment: &'a Attachment,
    pub(crate) environment: &'a mut E,
    pub(crate) store: &'a mut E::Store,
}

impl<'a, E: Environment> Chooser<'a, E> {
    /// Chooses from the set of this index, and reserves.
    pub(crate) fn choose(
        &mut self,
        index: usize,
        set: &'a RangeSet,
    ) -> Result<Choice<'a>, AllocateError> {
        let choosing = &self.config.choosing;
        let key = choosing.key(&self.config.args, self.attachment, index);
        let hold_back = choosing.hold_back(key);
        if self.environment.noting() {
            for note in notes::barred(self.config, set) {
                self.environment.note(&note);
            }
        }
        if let Some(setting) = &choosing.policy
            && let Some((address, range)) = self.ask(setting, index, set, &hold_back)?
        {
            return Ok(Choice::Reserved(address, range));
        }
        if let Some(address) = self.remembered(set, &hold_back)?
            && let Some(range) = self.take(set, address)?
        {
            self.note(|| format!("{address}: the last one it had"));
            return Ok(Choice::Reserved(address, range));
        }
        Ok(self.built_in(index, set, &hold_back)?)
    }

    /// What is remembered once the whole ADD has succeeded.
    pub(crate) fn remember(&mut self, index: usize, address: IpAddr) -> Result<(), StoreError> {
        let choosing = &self.config.choosing;
        if let Some(key) = choosing.key(&self.config.args, self.attachment, index) {
            self.store.remember(address, &key)?;
        }
        self.store.set_last_reserved(number(index), address)
    }

    pub(crate) fn reserve(&mut self, address: IpAddr) -> Result<bool, StoreError> {
        self.store.reserve(address, self.attachment)
    }

    /// Reserves an address if it may be given: its range, if it was.
    pub(crate) fn take(
        &mut self,
        set: &'a RangeSet,
        address: IpAddr,
    ) -> Result<Option<&'a Range>, StoreError> {
        let range = set.find(address).filter(|range| range.may_give(address));
        match range {
            Some(range) if self.reserve(address)? => Ok(Some(range)),
            _ => Ok(None),
        }
    }

    /// The last address that who asks had, if it can be given.
    pub(crate) fn remembered(
        &mut self,
        set: &RangeSet,
        hold_back: &HoldBack,
    ) -> Result<Option<IpAddr>, StoreError> {
        let Some(key) = &hold_back.key else {
            return Ok(None);
        };
        let Some(address) = self.store.remembered(key)? else {
            return Ok(None);
        };
        let may = set.find(address).is_some_and(|r| r.may_give(address));
        if !may || self.store.holder(address)? != Holder::Nobody {
            return Ok(None);
        }
        // It is not held back unless somebody else had it since.
        let past = match hold_back.is_off() {
            true => None,
            false => self.store.past(address)?,
        };
        Ok((past.and_then(|past| hold_back.holds(&past)).is_none()).then_some(address))
    }

    /// By the rules that are built in. Addresses never used come first if
    /// there is a cooldown; then those that rest longest; then those that are
    /// kept for others; and only if that is allowed, those that are cooling.
    fn built_in(
        &mut self,
        index: usize,
        set: &'a RangeSet,
        hold_back: &HoldBack,
    ) -> Result<Choice<'a>, StoreError> {
        let never_used = hold_back.cooldown_ms > 0;
        if let Some((address, range)) = self.by_strategy(index, set, hold_back, never_used)? {
            return Ok(Choice::Reserved(address, range));
        }
        if hold_back.is_off() {
            return Ok(Choice::Nothing { cooling: None });
        }
        self.by_age(set, hold_back)
    }

    fn by_strategy(
        &mut self,
        index: usize,
        set: &'a RangeSet,
        hold_back: &HoldBack,
        never_used: bool,
    ) -> Result<Option<(IpAddr, &'a Range)>, StoreError> {
        let parts = self.in_order(index, set, hold_back)?;
        if self.config.choosing.strategy == Strategy::Random {
            let found = self.by_chance(index, &parts, hold_back, never_used)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        for (part, range) in parts {
            let mut rest = Some(part);
            while let Some(span) = rest {
                let found = self.first(span, hold_back, never_used)?;
                self.note_skipped(span, found, hold_back)?;
                let Some(address) = found else { break };
                if self.reserve(address)? {
                    return Ok(Some((address, range)));
                }
                // Somebody took it without the lock: on to what lies behind.
                rest = behind(address, span);
            }
        }
        Ok(None)
    }

    fn first(
        &mut self,
        span: Span,
        hold_back: &HoldBack,
        never_used: bool,
    ) -> Result<Option<IpAddr>, StoreError> {
        if never_used {
            self.store.next_unused(span)
        } else {
            first_givable(self.store, span, hold_back)
        }
    }

    /// What of the set can be given, in the order in which the strategy looks
    /// at it. Each address comes once.
    fn in_order(
        &mut self,
        index: usize,
        set: &'a RangeSet,
        hold_back: &HoldBack,
    ) -> Result<Vec<(Span, &'a Range)>, StoreError> {
        let order = match self.config.choosing.strategy {
            Strategy::RoundRobin => set.from_after(self.last_reserved(index, set)?),
            _ => set.from_after(None),
        };
        let parts = order.into_iter().flat_map(|(span, range)| {
            let parts = range.givable(span).into_iter();
            parts.map(move |part| (part, range))
        });
        let parts: Vec<_> = parts.collect();
        Ok(match self.config.choosing.strategy {
            Strategy::RoundRobin | Strategy::Lowest => parts,
            Strategy::Random => {
                let start = self.draw(index, DRAWS, &parts);
                rotated(parts, start)
            }
            Strategy::OwnerHash => {
                // Who is known by more than its container id begins at the
                // same place each time it comes back.
                let owner = match &hold_back.key {
                    Some(key) => key.clone(),
                    None => format!("{} {index}", self.attachment),
                };
                let number = xxh3_128_with_seed(owner.as_bytes(), 0);
                let start = nth(&parts, number);
                rotated(parts, start)
            }
        })
    }

    fn by_chance(
        &mut self,
        index: usize,
        parts: &[(Span, &'a Range)],
        hold_back: &HoldBack,
        never_used: bool,
    ) -> Result<Option<(IpAddr, &'a Range)>, StoreError> {
        for draw in 0..DRAWS {
            let Some(drawn) = self.draw(index, draw, parts) else {
                return Ok(None);
            };
            let Some(only) = Span::new(drawn, drawn) else {
                return Ok(None);
            };
            let found = self.first(only, hold_back, never_used)?;
            self.note_skipped(only, found, hold_back)?;
            let range = parts.iter().find(|(part, _)| part.contains(drawn));
            if let (Some(address), Some((_, range))) = (found, range)
                && self.reserve(address)?
            {
                self.note(|| format!("{address}: drawn by chance"));
                return Ok(Some((address, range)));
            }
        }
        Ok(None)
    }

    /// One of the addresses, each as likely as any other.
    fn draw(&mut self, index: usize, draw: u64, parts: &[(Span, &Range)]) -> Option<IpAddr> {
        let seed = self.environment.inputs().seed;
        let text = format!("{index} {draw}");
        nth(parts, xxh3_128_with_seed(text.as_bytes(), seed))
    }

    /// From the addresses that are free and were used before.
    fn by_age(
        &mut self,
        set: &'a RangeSet,
        hold_back: &HoldBack,
    ) -> Result<Choice<'a>, StoreError> {
        let mut kept = Vec::new();
        let mut cooling = Vec::new();
        let mut next_ms = u64::MAX;
        let mut skip = 0;
        loop {
            let page = self.store.released(skip)?;
            if page.is_empty() {
                break;
            }
            skip += u32::try_from(page.len()).unwrap_or(u32::MAX);
            for past in page {
                let may = set
                    .find(past.address)
                    .is_some_and(|r| r.may_give(past.address));
                if !may {
                    continue;
                }
                let held = hold_back.holds(&past);
                if let Some(held) = &held {
                    self.note(|| format!("{}: {held}", past.address));
                }
                match held {
                    None => {
                        if let Some(range) = self.take(set, past.address)? {
                            self.note(|| format!("{}: has rested longest", past.address));
                            return Ok(Choice::Reserved(past.address, range));
                        }
                    }
                    Some(Held::Kept { .. }) => kept.push(past.address),
                    Some(Held::Cooling { for_ms }) => {
                        cooling.push(past.address);
                        next_ms = next_ms.min(for_ms);
                    }
                }
            }
        }
        let may_use = |cooldown: crate::settings::Cooldown| cooldown.when_full == WhenFull::Use;
        let count = cooling.len() as u64;
        let may_use = self.config.choosing.cooldown.is_some_and(may_use);
        let last_resort = cooling.into_iter().filter(|_| may_use);
        for address in kept.into_iter().chain(last_resort) {
            if let Some(range) = self.take(set, address)? {
                self.note(|| format!("{address}: given up, since nothing else is free"));
                return Ok(Choice::Reserved(address, range));
            }
        }
        Ok(Choice::Nothing {
            cooling: (count > 0).then_some(Cooling { count, next_ms }),
        })
    }

    /// Where the round robin of a set stands. Its own marker counts; but sets
    /// that come and go with `ipRanges` shift the numbers, so one left under
    /// another number will do, too.
    pub(crate) fn last_reserved(
        &mut self,
        index: usize,
        set: &RangeSet,
    ) -> Result<Option<IpAddr>, StoreError> {
        let own = self.store.last_reserved(number(index))?;
        if own.is_none_or(|address| set.find(address).is_some()) {
            return Ok(own);
        }
        let others = self.store.all_last_reserved()?;
        Ok(others
            .into_iter()
            .find(|address| set.find(*address).is_some()))
    }

    pub(crate) fn note(&mut self, text: impl FnOnce() -> String) {
        if self.environment.noting() {
            self.environment.note(&text());
        }
    }

    /// Why nothing of `span` before `found` is given.
    fn note_skipped(
        &mut self,
        span: Span,
        found: Option<IpAddr>,
        hold_back: &HoldBack,
    ) -> Result<(), StoreError> {
        if self.environment.noting() {
            for note in notes::skipped(self.store, span, found, hold_back)? {
                self.environment.note(&note);
            }
        }
        Ok(())
    }
}

/// Numbers of range sets are small.
pub(crate) fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// The address at a place among all of them, which may be any number: it is
/// taken modulo how many there are.
fn nth(parts: &[(Span, &Range)], number: u128) -> Option<IpAddr> {
    let all = parts.iter().map(|(part, _)| part.count());
    let all = all.fold(0_u128, u128::saturating_add);
    let mut rest = number.checked_rem(all)?;
    for (part, _) in parts {
        match rest.checked_sub(part.count()) {
            Some(beyond) => rest = beyond,
            None => return from_number(part.first(), to_number(part.first()).checked_add(rest)?),
        }
    }
    None
}

/// The same addresses, beginning with `start` and ending before it.
fn rotated(parts: Vec<(Span, &Range)>, start: Option<IpAddr>) -> Vec<(Span, &Range)> {
    let at = start.and_then(|start| {
        let at = parts.iter().position(|(part, _)| part.contains(start))?;
        Some((at, start))
    });
    let Some((at, start)) = at else { return parts };
    let mut order = Vec::with_capacity(parts.len() + 1);
    let (before, from) = parts.split_at(at);
    let Some(((part, range), after)) = from.split_first() else {
        return parts;
    };
    let [head, _] = part.without(start);
    order.extend(Span::new(start, part.last()).map(|tail| (tail, *range)));
    order.extend(after.iter().chain(before).copied());
    order.extend(head.map(|head| (head, *range)));
    order
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::range::RangeSpec;
    use crate::spans::parse_span;

    fn range() -> Range {
        let spec = RangeSpec {
            subnet: "10.0.0.0/8".parse().unwrap(),
            start: None,
            end: None,
            gateway: None,
            gateway_on_link: false,
        };
        Range::new(&spec).unwrap()
    }

    fn parts<'r>(texts: &[&str], range: &'r Range) -> Vec<(Span, &'r Range)> {
        let span = |text: &&str| (parse_span(text).unwrap(), range);
        texts.iter().map(span).collect()
    }

    fn text(parts: &[(Span, &Range)]) -> String {
        let texts: Vec<_> = parts.iter().map(|(part, _)| part.to_string()).collect();
        texts.join(" ")
    }

    #[test]
    fn every_address_has_a_place() {
        let range = range();
        let parts = parts(&["10.1.0.8/31", "10.1.0.4", "10.1.0.20-10.1.0.22"], &range);
        let found: Vec<_> = (0..7).filter_map(|n| nth(&parts, n)).collect();
        let found: Vec<_> = found.iter().map(IpAddr::to_string).collect();
        let wanted = "10.1.0.8 10.1.0.9 10.1.0.4 10.1.0.20 10.1.0.21 10.1.0.22 10.1.0.8";
        assert_eq!(found.join(" "), wanted);
        assert_eq!(nth(&[], 5), None);
    }

    #[test]
    fn the_largest_of_all_pools_has_places() {
        let range = range();
        let all = parts(&["::/0"], &range);
        assert_eq!(nth(&all, 0), Some("::".parse().unwrap()));
        let last = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe".parse().unwrap();
        assert_eq!(nth(&all, u128::MAX - 1), Some(last));
        assert!(nth(&all, u128::MAX).is_some());
        let halves = parts(&["::/1", "8000::/1"], &range);
        assert_eq!(nth(&halves, 1 << 127), Some("8000::".parse().unwrap()));
    }

    #[test]
    fn an_order_that_begins_elsewhere_has_the_same_addresses() {
        let range = range();
        let order = ["10.1.0.8/31", "10.1.0.4", "10.1.0.20-10.1.0.22"];
        for (start, wanted) in [
            (
                "10.1.0.8",
                "10.1.0.8-10.1.0.9 10.1.0.4-10.1.0.4 10.1.0.20-10.1.0.22",
            ),
            (
                "10.1.0.9",
                "10.1.0.9-10.1.0.9 10.1.0.4-10.1.0.4 10.1.0.20-10.1.0.22 10.1.0.8-10.1.0.8",
            ),
            (
                "10.1.0.4",
                "10.1.0.4-10.1.0.4 10.1.0.20-10.1.0.22 10.1.0.8-10.1.0.9",
            ),
            (
                "10.1.0.21",
                "10.1.0.21-10.1.0.22 10.1.0.8-10.1.0.9 10.1.0.4-10.1.0.4 10.1.0.20-10.1.0.20",
            ),
            (
                "10.1.0.99",
                "10.1.0.8-10.1.0.9 10.1.0.4-10.1.0.4 10.1.0.20-10.1.0.22",
            ),
        ] {
            let turned = rotated(parts(&order, &range), Some(start.parse().unwrap()));
            assert_eq!(text(&turned), wanted);
        }
        assert_eq!(
            text(&rotated(parts(&order[1..2], &range), None)),
            "10.1.0.4-10.1.0.4"
        );
    }
}
