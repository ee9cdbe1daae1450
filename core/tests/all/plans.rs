//! Whole plans against the model: whatever happens on a network, in whatever
//! order, answers and store are as the naive model has them.

use proptest::collection::vec;
use proptest::option::{of, weighted};
use proptest::prelude::*;

use crate::model::{PLACES, Pick, Plan, Spec, Step, Via};

fn pick() -> impl Strategy<Value = Pick> + Clone {
    (any::<u8>(), any::<u8>()).prop_map(|(range, nth)| Pick { range, nth })
}

const WHO: std::ops::Range<u8> = 0..6;

pub(crate) fn adding() -> impl Strategy<Value = Step> {
    let via = prop_oneof![Just(Via::CniArgs), Just(Via::Args), Just(Via::Runtime)];
    let requests = prop_oneof![3 => Just(Vec::new()), 1 => vec((via, pick()), 1..4)];
    (WHO, requests, prop::bool::weighted(0.2)).prop_map(|(who, requests, again)| Step::Add {
        who,
        requests,
        again,
    })
}

pub(crate) fn releasing() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => (WHO, vec(pick(), 0..3)).prop_map(|(who, previous)| Step::Del { who, previous }),
        1 => (vec(WHO, 0..5), any::<bool>())
            .prop_map(|(valid, early_key)| Step::Gc { valid, early_key }),
    ]
}

pub(crate) fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        11 => adding(),
        7 => releasing(),
        1 => WHO.prop_map(|who| Step::Check { who }),
        1 => Just(Step::Status),
        2 => (0_u8..4, pick()).prop_map(|(index, at)| Step::Mark { index, at }),
        2 => (WHO, pick()).prop_map(|(who, at)| Step::Old { who, at }),
        1 => pick().prop_map(|at| Step::Foreign { at }),
        1 => pick().prop_map(|at| Step::Newer { at }),
    ]
}

/// Bounds and gateway of a range, all optional.
pub(crate) fn spec(v6: bool, place: u8) -> impl Strategy<Value = Spec> {
    let bounds = (weighted(0.3, any::<u8>()), weighted(0.3, any::<u8>()));
    let gateway = (weighted(0.3, any::<u8>()), prop::bool::weighted(0.1));
    let host_bits = prop_oneof![9 => 0_u8..=4, 1 => Just(8)];
    (host_bits, bounds, gateway).prop_map(move |(host_bits, (start, end), (gateway, on_link))| {
        let mut spec = Spec::at(v6, place, host_bits);
        spec.start = start.map(|n| spec.nth(n));
        spec.end = end.map(|n| spec.nth(n));
        // Most of what is drawn should make a range.
        if spec.start > spec.end && spec.end.is_some() {
            std::mem::swap(&mut spec.start, &mut spec.end);
        }
        spec.gateway = gateway.map(|n| spec.nth(n));
        spec.on_link = on_link;
        spec
    })
}

/// One to three sets of one to three ranges, as a rule apart from each other.
pub(crate) fn sets() -> impl Strategy<Value = Vec<Vec<Spec>>> {
    let places = Just((0..PLACES).collect::<Vec<_>>()).prop_shuffle();
    let shapes = vec((any::<bool>(), 1_usize..=3), 1..=3);
    (places, shapes, of(0_u8..PLACES)).prop_flat_map(|(places, shapes, clash)| {
        let mut places = places.into_iter().map(move |place| match clash {
            // Two ranges at one place may overlap.
            Some(other) if place == 3 => other,
            _ => place,
        });
        let sets: Vec<Vec<_>> = shapes
            .into_iter()
            .map(|(v6, ranges)| {
                let places = places.by_ref().take(ranges);
                places.map(|place| spec(v6, place)).collect()
            })
            .collect();
        sets.into_iter()
            .filter(|set: &Vec<_>| !set.is_empty())
            .collect::<Vec<_>>()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_step_is_as_the_model_has_it(sets in sets(), steps in vec(step(), 1..40)) {
        Plan { sets, steps }.run();
    }
}
