//! Why addresses are not given, in words: for faults of policies and for
//! people who try a configuration.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::IpAddr;

use crate::config::Config;
use crate::pool::HoldBack;
use crate::range::Range;
use crate::range_set::RangeSet;
use crate::span::Span;
use crate::span::behind;
use crate::store::{Holder, Store, StoreError};

/// Addresses that are told one by one before the rest is told as a span.
const SHOWN: usize = 16;

/// Spans of one kind that are told.
const SPANS: usize = 32;

/// The rule by which `address` may not be given unasked, if there is one.
pub(crate) fn why_not(config: &Config, set: &RangeSet, address: IpAddr) -> Option<String> {
    let Some(range) = set.find(address) else {
        return Some(format!("is outside of the range set {set}"));
    };
    if range.may_give(address) {
        return None;
    }
    let ranges = config.sets.iter().flat_map(RangeSet::ranges);
    let mut gateways = ranges.filter_map(Range::gateway);
    Some(if gateways.any(|gateway| gateway == address) {
        "is a gateway".into()
    } else if range.subnet_addresses().contains(&Some(address)) {
        format!("is the network or broadcast address of {}", range.subnet())
    } else if let Some(span) = config.exclude.find(address) {
        format!("is excluded ({span})")
    } else if let Some(span) = config.reserved_for_requests.find(address) {
        format!("is static, for requests only ({span})")
    } else {
        "stands for an IPv4 address".into()
    })
}

/// What of a set is never given unasked.
pub(crate) fn barred(config: &Config, set: &RangeSet) -> Vec<String> {
    let mut notes = Vec::new();
    for range in set.ranges() {
        if let Some(gateway) = range.gateway()
            && range.span().contains(gateway)
        {
            notes.push(format!("{gateway}: the gateway"));
        }
        for (what, spans) in [
            ("excluded", &config.exclude),
            ("static, for requests only", &config.reserved_for_requests),
        ] {
            let all = spans.overlapping(range.span());
            for span in all.iter().take(SPANS) {
                notes.push(format!("{}: {what}", short(*span)));
            }
            if all.len() > SPANS {
                notes.push(format!("{} more spans: {what}", all.len() - SPANS));
            }
        }
    }
    notes
}

/// Why nothing of `span` before `found`, or none of it, is given.
pub(crate) fn skipped<S: Store>(
    store: &mut S,
    span: Span,
    found: Option<IpAddr>,
    hold_back: &HoldBack,
) -> Result<Vec<String>, StoreError> {
    let before = match found {
        Some(found) => Span::new(span.first(), found).and_then(|span| span.without(found)[0]),
        None => Some(span),
    };
    let mut notes = Vec::new();
    let mut rest = before;
    for _ in 0..SHOWN {
        let Some(span) = rest else { break };
        let address = span.first();
        let why = match store.holder(address)? {
            Holder::Owner(owner) => format!("held by {owner}"),
            Holder::Foreign => "a file that is no record has its name".into(),
            Holder::Nobody => match store.past(address)?.map(|past| hold_back.holds(&past)) {
                Some(Some(held)) => format!("{held}"),
                _ => "used before; others come first".into(),
            },
        };
        notes.push(format!("{address}: {why}"));
        rest = behind(address, span);
    }
    if let Some(rest) = rest {
        notes.push(format!("{}: likewise not to be had", short(rest)));
    }
    Ok(notes)
}

/// A span, or its only address.
fn short(span: Span) -> String {
    if span.first() == span.last() {
        format!("{}", span.first())
    } else {
        format!("{span}")
    }
}
