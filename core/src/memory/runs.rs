//! A set of addresses that lie in rows, as the rows.

use alloc::collections::BTreeMap;
use core::net::IpAddr;

use crate::span::{Span, from_number, to_number};

/// Addresses in as few rows as possible: the first of each, and its last. Gaps
/// are found without walking what lies before them.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs(BTreeMap<IpAddr, IpAddr>);

impl Runs {
    /// The row at or before an address.
    fn before(&self, address: IpAddr) -> Option<(IpAddr, IpAddr)> {
        let (first, last) = self.0.range(..=address).next_back()?;
        Some((*first, *last))
    }

    fn row_of(&self, address: IpAddr) -> Option<(IpAddr, IpAddr)> {
        self.before(address).filter(|(_, last)| *last >= address)
    }

    pub(super) fn insert(&mut self, address: IpAddr) {
        if self.row_of(address).is_some() {
            return;
        }
        let mut first = address;
        let mut last = address;
        if let Some((start, end)) = step(address, -1).and_then(|a| self.row_of(a)) {
            first = start;
            self.0.remove(&start);
            debug_assert!(end < address);
        }
        if let Some((start, end)) = step(address, 1).and_then(|a| self.row_of(a)) {
            last = end;
            self.0.remove(&start);
        }
        self.0.insert(first, last);
    }

    pub(super) fn remove(&mut self, address: IpAddr) {
        let Some((first, last)) = self.row_of(address) else {
            return;
        };
        self.0.remove(&first);
        if let Some(end) = step(address, -1).filter(|end| *end >= first) {
            self.0.insert(first, end);
        }
        if let Some(start) = step(address, 1).filter(|start| *start <= last) {
            self.0.insert(start, last);
        }
    }

    /// The lowest address of a span that is not in the set.
    pub(super) fn first_gap(&self, span: Span) -> Option<IpAddr> {
        match self.row_of(span.first()) {
            None => Some(span.first()),
            Some((_, last)) => step(last, 1).filter(|next| *next <= span.last()),
        }
    }
}

/// The next address of the family, or the one before, if there is one.
fn step(address: IpAddr, by: i128) -> Option<IpAddr> {
    from_number(address, to_number(address).checked_add_signed(by)?)
        .filter(|next| next.is_ipv4() == address.is_ipv4())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    fn address(low: u8, v6: bool) -> IpAddr {
        match v6 {
            // The ends of both families are within reach.
            false => from_number(IpAddr::from([0; 4]), u128::from(u32::MAX) - u128::from(low)),
            true => from_number(IpAddr::from([0; 16]), u128::from(low)),
        }
        .unwrap()
    }

    proptest! {
        #[test]
        fn gaps_are_those_of_a_set(
            changes in proptest::collection::vec((any::<bool>(), 0..24_u8, any::<bool>()), 0..80),
            from in 0..24_u8,
            to in 0..24_u8,
        ) {
            let mut runs = Runs::default();
            let mut set = BTreeSet::new();
            for (add, low, v6) in changes {
                let address = address(low, v6);
                if add {
                    runs.insert(address);
                    set.insert(address);
                } else {
                    runs.remove(address);
                    set.remove(&address);
                }
            }
            for v6 in [false, true] {
                let ends = [address(from, v6), address(to, v6)];
                let (first, last) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
                let span = Span::new(first, last).unwrap();
                let mut all = (0..24).map(|low| address(low, v6)).filter(|a| span.contains(*a));
                let wanted = all.clone().filter(|a| !set.contains(a)).min();
                prop_assert_eq!(runs.first_gap(span), wanted);
                prop_assert!(all.all(|a| runs.row_of(a).is_some() == set.contains(&a)));
            }
            // As few rows as possible: no two of them touch.
            let rows: Vec<_> = runs.0.iter().collect();
            for pair in rows.windows(2) {
                prop_assert_ne!(step(*pair[0].1, 1), Some(*pair[1].0));
            }
        }
    }
}
