//! Policies that mean well: what they see, say and remember.

use wipam_core::policy::{Answer, PolicyFailure};

use super::guest::{NEXT_FREE, YOU_DECIDE, answer, policy, policy_with, policy_with_releases};
use super::store::broken;
use super::trial::Trial;

#[test]
fn the_pool_is_seen_as_it_is() {
    let trial = Trial::new(&policy(NEXT_FREE));
    trial.network.hold("10.1.0.50");
    trial.network.hold("10.1.0.51");
    let wanted = Answer::Candidates(vec!["10.1.0.52".parse().unwrap()]);
    assert_eq!(trial.choose().unwrap(), wanted);

    let trial = Trial::new(&policy(&format!(
        "(if (call $is-reserved (i32.const 0) (i32.const 0x0a010032) (i32.const 0) (i32.const 0) (i32.const 0))
            (then (unreachable)))
         {YOU_DECIDE}"
    )));
    assert_eq!(trial.choose().unwrap(), Answer::YouDecide);
    trial.network.hold("10.1.0.50");
    trial.failure();
}

#[test]
fn the_request_is_handed_over() {
    // Its set, the case and bits of the address that is remembered, its seed.
    let trial = Trial::new(&policy(&format!(
        "(if (i32.ne (i32.load offset=64 (local.get $request)) (i32.const 7))
            (then (unreachable)))
         (if (i32.ne (i32.load8_u offset=76 (local.get $request)) (i32.const 1))
            (then (unreachable)))
         (if (i32.ne (i32.load offset=84 (local.get $request)) (i32.const 0x0a010009))
            (then (unreachable)))
         (if (i64.ne (i64.load offset=104 (local.get $request)) (i64.const 1700000000000))
            (then (unreachable)))
         (if (i64.ne (i64.load offset=112 (local.get $request)) (i64.const 42))
            (then (unreachable)))
         {YOU_DECIDE}"
    )));
    assert_eq!(trial.choose().unwrap(), Answer::YouDecide);
}

#[test]
fn a_refusal_has_a_reason_of_one_short_line() {
    let reason = r#"(data (i32.const 512) "no room\nin zone a")"#;
    let trial = Trial::new(&policy_with(reason, &answer(1, 512, 17)));
    assert_eq!(
        trial.choose().unwrap(),
        Answer::Nothing("no room in zone a".into())
    );
    let trial = Trial::new(&policy(&answer(1, 8192, 100_000)));
    let Answer::Nothing(reason) = trial.choose().unwrap() else {
        panic!("an answer of another kind")
    };
    assert!(reason.len() < 1100);
}

#[test]
fn what_it_says_is_told_whatever_becomes_of_it() {
    let words = r#"(data (i32.const 512) "hello")"#;
    let said = "(call $log (i32.const 512) (i32.const 5))";
    let trial = Trial::new(&policy_with(words, &format!("{said} {said} {YOU_DECIDE}")));
    assert_eq!(trial.run().1, ["hello", "hello"]);
    let trial = Trial::new(&policy_with(words, &format!("{said} (unreachable)")));
    let (answer, lines, _) = trial.run();
    answer.unwrap_err();
    assert_eq!(lines, ["hello"]);
}

/// Writes `k: v` before it answers.
fn writing(answer: &str) -> Vec<u8> {
    policy_with(
        r#"(data (i32.const 512) "kv")"#,
        &format!(
            "(call $set (i32.const 512) (i32.const 1) (i32.const 513) (i32.const 1)
                (i32.const 2048))
             {answer}"
        ),
    )
}

#[test]
fn what_it_writes_counts_if_it_has_an_answer() {
    for (after, wanted) in [
        (YOU_DECIDE.to_owned(), r#"{"k":"v"}"#),
        (answer(0, 0, 0), r#"{"k":"v"}"#),
        (answer(1, 512, 1), ""),
        (answer(0, 8192, 1025), ""),
        ("(unreachable)".to_owned(), ""),
    ] {
        let trial = Trial::new(&writing(&after));
        let _ = trial.choose();
        assert_eq!(trial.network.state(), wanted, "{after}");
    }
}

#[test]
fn a_release_counts_if_nothing_goes_wrong() {
    let write = "(call $set (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 0)
        (i32.const 2048))";
    let trial = Trial::new(&policy_with_releases(YOU_DECIDE, write));
    trial.released().unwrap();
    assert_eq!(trial.network.state(), r#"{"\u0000":""}"#);

    // It sees what is reserved, and no ranges.
    let trial = Trial::new(&policy_with_releases(
        YOU_DECIDE,
        &format!(
            "{write}
             (call $spans (i32.const 2048))
             (if (i32.load (i32.const 2052)) (then (unreachable)))
             (if (call $is-reserved (i32.const 0) (i32.const 0x0a010032) (i32.const 0) (i32.const 0) (i32.const 0))
                (then (unreachable)))"
        ),
    ));
    trial.released().unwrap();
    trial.network.set_state(b"");
    trial.network.hold("10.1.0.50");
    let failure = trial.released().unwrap_err().to_string();
    assert!(failure.contains(" trapped after "), "{failure}");
    assert!(trial.network.state().is_empty());
}

#[test]
fn state_beyond_its_limit_is_refused_and_the_policy_lives() {
    // The case of a result is 1 where it is an error.
    let refused = format!(
        "(call $set (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 200) (i32.const 2048))
         (if (i32.eqz (i32.load8_u (i32.const 2048))) (then (unreachable)))
         {YOU_DECIDE}"
    );
    let trial = Trial::new(&policy(&refused)).limited(|limits| limits.state = 200);
    assert_eq!(trial.choose().unwrap(), Answer::YouDecide);
    assert!(trial.network.state().is_empty());
}

#[test]
fn state_that_cannot_be_read_is_left_alone() {
    let trial = Trial::new(&writing(YOU_DECIDE));
    trial.network.set_state(b"{\"k\": 1}");
    let text = trial.failure();
    assert!(
        text.contains("what it remembers of the network cannot be read"),
        "{text}"
    );
    assert_eq!(trial.network.state(), "{\"k\": 1}");
}

#[test]
fn a_store_that_fails_is_no_fault_of_the_policy() {
    for component in [policy(NEXT_FREE), writing(YOU_DECIDE)] {
        let trial = Trial::new(&component);
        trial.network.break_down();
        assert_eq!(trial.choose(), Err(PolicyFailure::Store(broken())));
    }
    // One that asks for nothing does not notice.
    let trial = Trial::new(&policy(YOU_DECIDE));
    trial.network.break_down();
    assert_eq!(trial.choose(), Ok(Answer::YouDecide));
}

#[test]
fn equal_inputs_give_equal_answers_for_equal_fuel() {
    // A NaN, and what its bits are, count as well.
    let trial = Trial::new(&policy(&format!(
        "(f64.store (i32.const 512) (f64.div (f64.const 0) (f64.const 0)))
         (if (i64.ne (i64.load (i32.const 512)) (i64.const 0x7ff8000000000000))
            (then (unreachable)))
         (call $log (i32.const 512) (i32.const 0))
         (call $spans (i32.const 2048))
         {NEXT_FREE}"
    )));
    let (first, _, spent) = trial.run();
    first.as_ref().unwrap();
    assert!(spent.fuel > 0);
    for _ in 0..5 {
        let (answer, _, again) = trial.run();
        assert_eq!((answer, again.fuel), (first.clone(), spent.fuel));
    }
    // So they do in another process, which loads it from the cache.
    let other = wipam_engine::policy::Policies::new(wipam_engine::policy::NoCompiler);
    let (answer, again) = other.choose_metered(
        &trial.network,
        &trial.setting,
        &super::trial::request(),
        &super::trial::view(),
        |_| {},
    );
    assert_eq!(answer.map(|decision| decision.answer), first);
    assert_eq!(again.fuel, spent.fuel);
}
