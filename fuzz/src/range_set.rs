//! Ranges and the order in which a round robin visits their addresses.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use arbitrary::{Result, Unstructured};
use ipnet::IpNet;
use wipam_core::allocate::{AllocateError, allocate};
use wipam_core::config::{Config, RepeatedAdd};
use wipam_core::memory::MemoryStore;
use wipam_core::names::NetworkName;
use wipam_core::range::{Range, RangeSpec};
use wipam_core::span::{Span, from_number, to_number};
use wipam_core::range_set::RangeSet;
use wipam_core::settings::Choosing;
use wipam_core::spans::Spans;
use wipam_core::store::Store;

use crate::input;
use crate::model::{Spec, address, is_valid, turned, usable, written_out};
use crate::world::attachment;

/// Reads the bytes as a range set and a marker. Small sets are written out
/// address by address; of large ones the ends are checked.
pub fn range_set(data: &[u8]) {
    let mut u = Unstructured::new(data);
    // OK because bytes that end too soon are merely no input.
    let _ = match u.arbitrary() {
        Ok(true) => small(&mut u),
        _ => large(&mut u),
    };
}

fn small(u: &mut Unstructured<'_>) -> Result<()> {
    let set = input::set(u)?;
    let sets = [set.clone()];
    if !input::is_small(&sets) {
        return Ok(());
    }
    let specs: Vec<_> = set.iter().map(plain).collect();
    let made = made(&specs);
    assert_eq!(made.is_some(), is_valid(&sets), "{set:?}");
    let Some(made) = made else { return Ok(()) };

    let all = written_out(&set);
    let mark = match u.int_in_range(0..=all.len())? {
        0 => None,
        n => Some(all[n - 1]),
    };
    let visited: Vec<_> = made
        .from_after(mark)
        .into_iter()
        .flat_map(|(span, range)| {
            let addresses = each(span);
            assert!(addresses.iter().all(|a| range.span().contains(*a)));
            addresses
        })
        .collect();
    assert_eq!(visited, turned(all.clone(), mark), "{set:?} {mark:?}");

    // What is given until nothing is left is what is usable, in that order.
    let free: BTreeSet<_> = usable(&sets, &set).into_iter().collect();
    let mut wanted = turned(all, mark);
    wanted.retain(|address| free.contains(address));
    let mut store = MemoryStore::default();
    if let Some(mark) = mark {
        store.set_last_reserved(0, mark).unwrap();
    }
    let config = config(made);
    for (n, address) in wanted.iter().enumerate() {
        assert_eq!(
            give(&config, &mut store, n),
            Ok(*address),
            "{set:?} {mark:?}"
        );
    }
    let after = give(&config, &mut store, wanted.len());
    assert!(
        matches!(after, Err(AllocateError::Exhausted { hollow, .. }) if hollow == wanted.is_empty()),
        "{set:?}: {after:?}"
    );
    Ok(())
}

/// As a configuration is read: gateways are barred wherever they lie.
fn made(specs: &[RangeSpec]) -> Option<RangeSet> {
    let mut ranges: Vec<_> = specs
        .iter()
        .map(|spec| Range::new(spec).ok())
        .collect::<Option<_>>()?;
    let gateways: Vec<_> = ranges.iter().filter_map(Range::gateway).collect();
    for range in &mut ranges {
        range.bar(gateways.iter().filter_map(|g| Span::new(*g, *g)));
    }
    RangeSet::new(ranges).ok()
}

fn plain(spec: &Spec) -> RangeSpec {
    let at = |number| address(spec.v6, number);
    RangeSpec {
        subnet: IpNet::new(at(spec.base), spec.prefix_len()).unwrap(),
        start: spec.start.map(at),
        end: spec.end.map(at),
        gateway: spec.gateway.map(at),
        gateway_on_link: spec.on_link,
    }
}

fn each(span: Span) -> Vec<IpAddr> {
    (to_number(span.first())..=to_number(span.last()))
        .map(|number| from_number(span.first(), number).unwrap())
        .collect()
}

fn config(set: RangeSet) -> Config {
    Config {
        sets: vec![set],
        requests: Vec::new(),
        routes: Vec::new(),
        resolv_conf: None,
        repeated_add: RepeatedAdd::Error,
        exclude: Spans::default(),
        reserved_for_requests: Spans::default(),
        choosing: Choosing::default(),
        args: Vec::new(),
        warnings: Vec::new(),
    }
}

fn give(
    config: &Config,
    store: &mut MemoryStore,
    n: usize,
) -> std::result::Result<IpAddr, AllocateError> {
    let attachment = attachment(&format!("c{n}"), "eth0");
    let network = NetworkName::new("net").unwrap();
    // OK because clones of it are one store.
    let given = allocate(config, &network, &attachment, &mut store.clone(), store)?;
    Ok(given[0].address)
}

fn number(u: &mut Unstructured<'_>, v6: bool) -> Result<IpAddr> {
    Ok(if v6 {
        Ipv6Addr::from(u.arbitrary::<u128>()?).into()
    } else {
        Ipv4Addr::from(u.arbitrary::<u32>()?).into()
    })
}

/// A range of any size anywhere, most of them valid.
fn wide(u: &mut Unstructured<'_>, v6: bool) -> Result<RangeSpec> {
    let v6 = v6 != u.ratio(1, 32)?;
    let prefix_len = u.int_in_range(0..=if v6 { 128 } else { 32 })?;
    let mut subnet = IpNet::new(number(u, v6)?, prefix_len).unwrap();
    if u.ratio(31, 32)? {
        subnet = subnet.trunc();
    }
    // Within the subnet, as a rule.
    let inside = |u: &mut Unstructured<'_>| -> Result<Option<IpAddr>> {
        if u.ratio(1, 2)? {
            return Ok(None);
        }
        let free = number(u, v6)?;
        if u.ratio(1, 16)? {
            return Ok(Some(free));
        }
        let mask = to_number(subnet.hostmask());
        let number = to_number(subnet.network()) | (to_number(free) & mask);
        Ok(from_number(free, number))
    };
    Ok(RangeSpec {
        subnet,
        start: inside(u)?,
        end: inside(u)?,
        gateway: inside(u)?,
        gateway_on_link: u.arbitrary()?,
    })
}

fn large(u: &mut Unstructured<'_>) -> Result<()> {
    let v6 = u.arbitrary()?;
    let specs: Result<Vec<_>> = (0..u.int_in_range(1..=3)?).map(|_| wide(u, v6)).collect();
    let specs = specs?;
    let Some(made) = made(&specs) else {
        return Ok(());
    };
    for (range, spec) in made.ranges().iter().zip(&specs) {
        assert!(spec.subnet.contains(&range.span().first()));
        assert!(spec.subnet.contains(&range.span().last()));
        assert!(spec.start.is_none_or(|start| start == range.span().first()));
        assert!(spec.end.is_none_or(|end| end == range.span().last()));
    }

    // Two addresses inside, for the marker and for a reservation.
    let mut within = || -> Result<IpAddr> {
        let span = u.choose(made.ranges())?.span();
        let (first, last) = (to_number(span.first()), to_number(span.last()));
        let number = u.int_in_range(first..=last)?;
        Ok(from_number(span.first(), number).unwrap())
    };
    let (mark, taken) = (within()?, within()?);

    let order = made.from_after(Some(mark));
    let size = |span: Span| to_number(span.last()) - to_number(span.first());
    // Numbers of addresses, less one for each span, so that ::/0 fits.
    let wanted: u128 = made
        .ranges()
        .iter()
        .fold(0, |sum, range| sum + size(range.span()));
    let pieces = order.len() - made.ranges().len();
    let found: u128 = order.iter().fold(0, |sum, (span, _)| sum + size(*span));
    assert_eq!(
        found + u128::try_from(pieces).unwrap(),
        wanted,
        "{specs:?} {mark}"
    );
    assert_eq!(order.last().map(|(span, _)| span.last()), Some(mark));
    for (n, (a, range)) in order.iter().enumerate() {
        assert!(range.span().contains(a.first()) && range.span().contains(a.last()));
        assert!(order[..n].iter().all(|(b, _)| !a.overlaps(b)));
    }

    let mut store = MemoryStore::default();
    store.set_last_reserved(0, mark).unwrap();
    assert!(store.reserve(taken, &attachment("other", "eth0")).unwrap());
    let set = made.clone();
    match give(&config(made), &mut store, 0) {
        Ok(given) => {
            let range = set.find(given).unwrap();
            assert_ne!(given, taken);
            assert_eq!(given, given.to_canonical());
            assert!(
                set.ranges()
                    .iter()
                    .all(|range| range.gateway() != Some(given))
            );
            assert!(!range.subnet_addresses().contains(&Some(given)));
        }
        Err(AllocateError::Exhausted { .. }) => {
            // Gateways, ends, mapped and taken ones: no more can be in the way.
            let few = |range: &Range| size(range.span()) < 16;
            let mapped = |range: &Range| range.span().first().is_ipv6();
            assert!(
                set.ranges().iter().all(|r| few(r) || mapped(r)),
                "{specs:?}"
            );
        }
        Err(error) => panic!("{specs:?}: {error}"),
    }
    Ok(())
}
