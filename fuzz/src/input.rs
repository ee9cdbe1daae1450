//! Bytes as ranges and plans.

use arbitrary::{Result, Unstructured};

use crate::model::{Pick, Plan, Sets, Spec, Step, Via};

/// Enough for two rounds through what a plan's ranges usually hold.
const LONGEST_PLAN: usize = 64;

fn maybe<'a, T>(
    u: &mut Unstructured<'a>,
    value: impl FnOnce(&mut Unstructured<'a>) -> Result<T>,
) -> Result<Option<T>> {
    u.ratio(1, 3)?.then(|| value(u)).transpose()
}

fn spec(u: &mut Unstructured<'_>, v6: bool) -> Result<Spec> {
    let v6 = v6 != u.ratio(1, 32)?;
    let host_bits = if u.ratio(1, 16)? {
        8
    } else {
        u.int_in_range(0..=4)?
    };
    let mut spec = Spec::at(v6, u.arbitrary()?, host_bits);
    spec.start = maybe(u, |u| Ok(spec.nth(u.arbitrary()?)))?;
    spec.end = maybe(u, |u| Ok(spec.nth(u.arbitrary()?)))?;
    spec.gateway = maybe(u, |u| Ok(spec.nth(u.arbitrary()?)))?;
    spec.on_link = u.ratio(1, 8)?;
    Ok(spec)
}

pub(crate) fn set(u: &mut Unstructured<'_>) -> Result<Vec<Spec>> {
    let v6 = u.arbitrary()?;
    let ranges = u.int_in_range(1..=3)?;
    (0..ranges).map(|_| spec(u, v6)).collect()
}

fn pick(u: &mut Unstructured<'_>) -> Result<Pick> {
    Ok(Pick {
        range: u.arbitrary()?,
        nth: u.arbitrary()?,
    })
}

fn several<'a, T>(
    u: &mut Unstructured<'a>,
    most: usize,
    item: impl Fn(&mut Unstructured<'a>) -> Result<T>,
) -> Result<Vec<T>> {
    let count = u.int_in_range(0..=most)?;
    (0..count).map(|_| item(u)).collect()
}

fn request(u: &mut Unstructured<'_>) -> Result<(Via, Pick)> {
    let via = *u.choose(&[Via::CniArgs, Via::Args, Via::Runtime])?;
    Ok((via, pick(u)?))
}

fn step(u: &mut Unstructured<'_>) -> Result<Step> {
    let who = u.int_in_range(0..=5)?;
    Ok(match u.int_in_range(0..=15)? {
        0..=4 => Step::Add {
            who,
            requests: Vec::new(),
            again: u.ratio(1, 4)?,
        },
        5 | 6 => Step::Add {
            who,
            requests: several(u, 3, request)?,
            again: u.ratio(1, 4)?,
        },
        7..=9 => Step::Del {
            who,
            previous: several(u, 2, pick)?,
        },
        10 => Step::Gc {
            valid: several(u, 4, |u| u.int_in_range(0..=5))?,
            early_key: u.arbitrary()?,
        },
        11 => Step::Check { who },
        12 => Step::Status,
        13 => Step::Mark {
            index: who,
            at: pick(u)?,
        },
        14 => Step::Old { who, at: pick(u)? },
        _ if u.arbitrary()? => Step::Foreign { at: pick(u)? },
        _ => Step::Newer { at: pick(u)? },
    })
}

pub(crate) fn sets(u: &mut Unstructured<'_>) -> Result<Vec<Vec<Spec>>> {
    let count = u.int_in_range(1..=3)?;
    (0..count).map(|_| set(u)).collect()
}

pub(crate) fn plan(u: &mut Unstructured<'_>) -> Result<Plan> {
    let sets = sets(u)?;
    let mut steps = Vec::new();
    while !u.is_empty() && steps.len() < LONGEST_PLAN {
        steps.push(step(u)?);
    }
    Ok(Plan { sets, steps })
}

/// What the model cannot judge is not worth a run: a set of many ranges with
/// 256 addresses each takes long and finds nothing more.
pub(crate) fn is_small(sets: &Sets) -> bool {
    let size = |spec: &Spec| 1_usize << spec.host_bits;
    sets.iter().flatten().map(size).sum::<usize>() <= 600
}
