//! A store that fails at any single call: ADD leaves what was there before,
//! DEL and GC say so and go on with the rest.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;

use crate::model::{Plan, Spec, Step, address, invocation};
use crate::plans;
use crate::world::{Contents, World};

const IO: u64 = 5;

/// Runs `last` after `plan`, once as it is and once for each store call that
/// can fail; `judge` sees what the run with a failure left.
fn each_failure(plan: &Plan, last: &Step, judge: impl Fn(Failure<'_>)) {
    let invocation = plan.invocation(last).unwrap();
    let mut whole = plan.run();
    let before = whole.store.contents();
    let answer = whole.run(&invocation).map_err(|refused| refused.code);
    let after = whole.store.contents();
    for (index, call) in whole.calls().into_iter().enumerate() {
        let mut world = plan.run();
        let answer_failing = world.run_failing(&invocation, index).map_err(|e| e.code);
        judge(Failure {
            call,
            before: &before,
            // What it would have been.
            whole: &after,
            whole_failed: answer.is_err(),
            // What it is.
            found: &world.store.contents(),
            code: answer_failing.err(),
            world: &world,
        });
    }
}

struct Failure<'a> {
    call: &'static str,
    before: &'a Contents,
    whole: &'a Contents,
    whole_failed: bool,
    found: &'a Contents,
    code: Option<u64>,
    world: &'a World,
}

fn judge_add(failure: Failure<'_>) {
    let Failure { call, code, .. } = failure;
    let (before, found) = (&failure.before.reserved, &failure.found.reserved);
    if call == "release" {
        // Only an ADD that fails anyway gives back. The one record that
        // cannot be given back stays, and people are told.
        assert!(failure.whole_failed && code.is_some_and(|code| code != IO));
        let left = found.keys().filter(|a| !before.contains_key(a)).count();
        assert_eq!((left, found.len()), (1, before.len() + 1));
        let warnings = &failure.world.warnings;
        assert!(
            warnings.iter().any(|w| w.contains("failed on purpose")),
            "{warnings:?}"
        );
    } else {
        assert_eq!(code, Some(IO), "{call}");
        assert_eq!(found, before, "{call}");
    }
    // The markers are hints; but one that moved without an address given
    // would have an address skipped.
    if call != "set_last_reserved" {
        assert_eq!(failure.found.marks, failure.before.marks, "{call}");
    }
}

fn judge_release(failure: Failure<'_>) {
    let Failure { call, .. } = failure;
    assert_eq!(failure.code, Some(IO), "{call}");
    let keys = |contents: &Contents| contents.reserved.keys().copied().collect::<BTreeSet<_>>();
    let (before, whole, found) = (
        keys(failure.before),
        keys(failure.whole),
        keys(failure.found),
    );
    match call {
        // Nobody knows what to release.
        "open" | "held_by" => assert_eq!(found, before),
        // One stays, the rest is gone.
        "release" => {
            assert_eq!(found.len(), whole.len() + 1);
            assert!(whole.is_subset(&found) && found.is_subset(&before));
        }
        // What is on the pages read so far is gone.
        "reservations" => assert!(whole.is_subset(&found) && found.is_subset(&before)),
        "reclaim" => assert_eq!(found, whole),
        other => panic!("no business of releasing: {other}"),
    }
    // A GC that met an error went on to its last step.
    let calls = failure.world.calls();
    assert_eq!(calls.contains(&"reservations"), calls.contains(&"reclaim"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn a_failed_add_leaves_what_was_there(
        sets in plans::sets(),
        steps in vec(plans::step(), 0..15),
        last in plans::adding(),
    ) {
        each_failure(&Plan { sets, steps }, &last, judge_add);
    }

    #[test]
    fn releasing_goes_on_after_a_failure(
        sets in plans::sets(),
        steps in vec(plans::step(), 5..25),
        last in plans::releasing(),
    ) {
        each_failure(&Plan { sets, steps }, &last, judge_release);
    }
}

fn plain_add(who: u8) -> Step {
    Step::Add {
        who,
        requests: Vec::new(),
        again: false,
    }
}

/// Three sets, of which the last is full: what the first two gave goes back.
#[test]
fn a_failing_last_set_costs_the_others_nothing() {
    let sets = vec![
        vec![Spec::at(false, 1, 3)],
        vec![Spec::at(true, 1, 3)],
        vec![Spec::at(false, 2, 2)],
    ];
    let full = Plan {
        sets,
        steps: vec![plain_add(0)],
    };
    let mut world = full.run();
    let before = world.store.contents();
    assert_eq!(before.reserved.len(), 3);
    let add = full.invocation(&plain_add(1)).unwrap();
    assert_eq!(world.run(&add).unwrap_err().code, 11);
    assert_eq!(world.store.contents(), before);
    each_failure(&full, &plain_add(1), judge_add);
}

/// H34: what the container held before the call is no part of the roll-back.
#[test]
fn what_was_held_before_stays() {
    let plan = Plan {
        sets: vec![
            vec![Spec::at(false, 1, 3)],
            vec![Spec::at(false, 2, 3)],
            vec![Spec::at(true, 1, 0)],
        ],
        steps: Vec::new(),
    };
    let mut world = plan.run();
    world.store.put([10, 1, 1, 3].into(), "a", Some("eth0"));
    // Nothing in the last set.
    world
        .store
        .put(address(true, Spec::at(true, 1, 0).base), "x", None);
    let before = world.store.contents();
    for again in [false, true] {
        let add = Step::Add {
            who: 0,
            requests: Vec::new(),
            again,
        };
        let refused = world.run(&plan.invocation(&add).unwrap()).unwrap_err();
        assert_eq!(refused.code, if again { 11 } else { 999 });
        assert_eq!(world.store.contents(), before);
    }
    // The second set's address was taken and given back.
    assert!(world.calls().contains(&"release"));
}

/// Each of many records fails to go once; all others are gone every time.
#[test]
fn gc_tries_every_record_on_every_page() {
    let config = br#"{"cniVersion":"1.1.0","name":"net","ipam":{"subnet":"10.1.0.0/16"},
        "cni.dev/valid-attachments":[{"containerID":"keep","ifname":"eth0"}]}"#;
    let gc = invocation("GC", "", "", config.to_vec());
    let stocked = || {
        let world = World::default();
        for n in 0..600_u16 {
            let [high, low] = n.to_be_bytes();
            let container = if n % 100 == 7 { "keep" } else { "gone" };
            let interface = (n % 3 != 0).then_some("eth0");
            world
                .store
                .put([10, 1, high, low].into(), container, interface);
        }
        world
    };
    let mut world = stocked();
    world.run(&gc).unwrap();
    assert_eq!(world.store.contents().reserved.len(), 6);
    let calls = world.calls();
    let releases: Vec<_> = (0..calls.len())
        .filter(|n| calls[*n] == "release")
        .collect();
    assert_eq!(releases.len(), 594);
    for index in releases.into_iter().step_by(97) {
        let mut world = stocked();
        assert_eq!(world.run_failing(&gc, index).unwrap_err().code, IO);
        assert_eq!(world.store.contents().reserved.len(), 7);
    }
}
