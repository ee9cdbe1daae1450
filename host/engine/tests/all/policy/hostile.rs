//! Policies that mean harm.

use std::time::{Duration, Instant};

use wipam_core::policy::Answer;
use wipam_engine::policy::InProcess;

use super::guest::{self, YOU_DECIDE, answer, policy, policy_with};
use super::trial::Trial;

/// A policy that means harm, and what becomes of it.
pub(crate) struct Hostile {
    pub(crate) name: &'static str,
    pub(crate) component: Vec<u8>,
    pub(crate) wanted: &'static str,
}

const FUEL: &str = "exceeded its limit of 50000000 units of fuel after ";
const MEMORY: &str = "exceeded its limit of 16777216 bytes of memory after ";
const TABLES: &str = "exceeded its limit of 10000 elements of tables after ";
const STACK: &str = "exceeded its limit of 524288 bytes of stack after ";
const LIFTED: &str = "exceeded its limit of 1048576 bytes handed to the host after ";
const COMPONENT: &str = "exceeded its limit of 16777216 bytes of component: it has ";

const LOOP: &str = "(loop $again (br $again)) (unreachable)";
/// Memory for 10 MB.
const LARGE: &str = "(drop (memory.grow (i32.const 160)))";

fn repeated(what: &str) -> String {
    format!("(loop $again {what} (br $again)) (unreachable)")
}

/// A component whose `choose` is of another type, for what happens before that
/// matters.
fn starting(more: &str) -> Vec<u8> {
    guest::text(&format!(
        r#"(component
            (core module $module (func (export "choose")))
            (core instance $instance (instantiate $module))
            (func $choose (canon lift (core func $instance "choose")))
            (instance $choice (export "choose" (func $choose)))
            (export "wipam:ipam/choice@0.1.0" (instance $choice))
            {more})"#
    ))
}

pub(crate) fn all() -> Vec<Hostile> {
    let hostile = |name, component, wanted| Hostile {
        name,
        component,
        wanted,
    };
    let mut padded = policy(YOU_DECIDE);
    // A section that means nothing: its kind, its size, the length of its name.
    padded.extend([0, 0x80, 0xda, 0xc4, 0x09, 0]);
    padded.resize(padded.len() + 20_000_000 - 1, 0);
    vec![
        hostile("endless loop", policy(LOOP), FUEL),
        hostile(
            "endless loop when starting",
            policy_with(&format!("(func $start {LOOP}) (start $start)"), YOU_DECIDE),
            FUEL,
        ),
        hostile(
            "memory, page by page",
            policy(&repeated("(drop (memory.grow (i32.const 1)))")),
            MEMORY,
        ),
        hostile(
            "memory, at once",
            policy("(drop (memory.grow (i32.const 65000))) (unreachable)"),
            MEMORY,
        ),
        hostile(
            "memory, beyond what the module wants itself",
            policy_with(
                "(memory $small 1 1)",
                &repeated("(drop (memory.grow $small (i32.const 1)))"),
            ),
            FUEL,
        ),
        hostile(
            "memory, over several memories",
            policy_with(
                "(memory $a 1) (memory $b 1) (memory $c 1)",
                &repeated(
                    "(drop (memory.grow $a (i32.const 1))) (drop (memory.grow $b (i32.const 1)))
                     (drop (memory.grow $c (i32.const 1)))",
                ),
            ),
            MEMORY,
        ),
        hostile(
            "memory, from the beginning",
            policy_with("(memory $large 300)", YOU_DECIDE),
            MEMORY,
        ),
        hostile(
            "filling memory",
            policy(&format!(
                "{LARGE} {}",
                repeated("(memory.fill (i32.const 0) (i32.const 0) (i32.const 10000000))")
            )),
            FUEL,
        ),
        hostile(
            "tables, over several tables",
            policy_with(
                "(table $a 1 funcref) (table $b 1 funcref)",
                &repeated(
                    "(drop (table.grow $a (ref.null func) (i32.const 10)))
                     (drop (table.grow $b (ref.null func) (i32.const 10)))",
                ),
            ),
            TABLES,
        ),
        hostile(
            "tables, from the beginning",
            policy_with("(table 10000000 funcref)", YOU_DECIDE),
            TABLES,
        ),
        hostile(
            "recursion",
            policy_with(
                "(func $deep (param i64) (result i64)
                    (i64.add (local.get 0) (call $deep (i64.add (local.get 0) (i64.const 1)))))",
                &format!("(drop (call $deep (i64.const 0))) {YOU_DECIDE}"),
            ),
            STACK,
        ),
        hostile(
            "a list of 2^28 addresses that are not there",
            policy(&answer(0, 0, 1 << 28)),
            "failed after ",
        ),
        hostile(
            "a list of 400,000 addresses",
            policy(&format!("{LARGE} {}", answer(0, 0, 400_000))),
            LIFTED,
        ),
        hostile(
            "a list of 1,025 addresses",
            policy(&answer(0, 8192, 1025)),
            "answered 1025 candidates after ",
        ),
        hostile(
            "a reason of 1 GiB",
            policy(&answer(1, 0, 1 << 30)),
            "failed after ",
        ),
        hostile(
            "a reason of 8 MiB",
            policy(&format!("{LARGE} {}", answer(1, 0, 8 << 20))),
            LIFTED,
        ),
        hostile(
            "a line of 1 GiB",
            policy("(call $log (i32.const 0) (i32.const 0x40000000)) (unreachable)"),
            "failed after ",
        ),
        hostile(
            "a line of 8 MiB",
            policy(&format!(
                "{LARGE} (call $log (i32.const 0) (i32.const 0x800000)) (unreachable)"
            )),
            LIFTED,
        ),
        hostile(
            "many lines",
            policy(&repeated("(call $log (i32.const 8192) (i32.const 100000))")),
            LIFTED,
        ),
        hostile(
            "many lines without a letter",
            policy(&repeated("(call $log (i32.const 0) (i32.const 0))")),
            FUEL,
        ),
        hostile(
            "filling its state",
            policy(&repeated(
                "(call $set (i32.const 0) (i32.const 4) (i32.const 0) (i32.const 60000)
                    (i32.const 2048))",
            )),
            LIFTED,
        ),
        hostile(
            "asking for ever",
            policy(&repeated(
                "(drop (call $is-reserved (i32.const 0) (i32.const 0x0a010002) (i32.const 0) (i32.const 0) (i32.const 0)))",
            )),
            FUEL,
        ),
        hostile(
            "asking for pages for ever",
            policy(&repeated(
                "(global.set $top (i32.const 4096))
                 (call $reservations (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)
                    (i32.const 2048))",
            )),
            FUEL,
        ),
        hostile("a trap", policy("(unreachable)"), "trapped after "),
        hostile(
            "an answer that is none",
            policy("(i32.store8 (i32.const 1024) (i32.const 9)) (i32.const 1024)"),
            "failed after ",
        ),
        hostile(
            "an answer outside of memory",
            policy("(i32.const -4)"),
            "failed after ",
        ),
        hostile(
            "many memories",
            policy_with(&"(memory 0)".repeat(20), YOU_DECIDE),
            "exceeded its limit of 16 memories after ",
        ),
        hostile(
            "many tables",
            policy_with(&"(table 0 funcref)".repeat(20), YOU_DECIDE),
            "exceeded its limit of 16 tables after ",
        ),
        hostile(
            "many instances",
            starting(&"(core instance (instantiate $module))".repeat(20)),
            "exceeded its limit of 16 instances after ",
        ),
        hostile(
            "many resources",
            starting(
                r#"(type $resource (resource (rep i32)))
                (core func $new (canon resource.new $resource))
                (core module $endless
                    (import "" "new" (func $new (param i32) (result i32)))
                    (func $start (loop $again (drop (call $new (i32.const 1))) (br $again)))
                    (start $start))
                (core instance
                    (instantiate $endless (with "" (instance (export "new" (func $new))))))"#,
            ),
            "exceeded its limit of 1000 handles after ",
        ),
        hostile(
            "strings between components",
            starting(
                r#"(component $inner
                    (core module $module (memory (export "memory") 100)
                        (func (export "realloc") (param i32 i32 i32 i32) (result i32)
                            (i32.const 0))
                        (func (export "f") (param i32 i32)))
                    (core instance $instance (instantiate $module))
                    (func (export "f") (param "text" string)
                        (canon lift (core func $instance "f") (memory $instance "memory")
                            (realloc (func $instance "realloc")))))
                (instance $inner (instantiate $inner))
                (component $other
                    (import "f" (func $f (param "text" string)))
                    (core module $memory (memory (export "memory") 100))
                    (core instance $memory (instantiate $memory))
                    (core func $f (canon lower (func $f) (memory $memory "memory")))
                    (core module $endless
                        (import "" "f" (func $f (param i32 i32)))
                        (func $start
                            (loop $again
                                (call $f (i32.const 0) (i32.const 6000000)) (br $again)))
                        (start $start))
                    (core instance
                        (instantiate $endless (with "" (instance (export "f" (func $f)))))))
                (instance (instantiate $other (with "f" (func $inner "f"))))"#,
            ),
            "exceeded its limit of 5 seconds after 5",
        ),
        hostile("20 MB", padded, COMPONENT),
    ]
}

#[test]
fn each_ends_within_its_limits_and_is_told_which() {
    for hostile in all() {
        let trial = Trial::new(&hostile.component);
        let begun = Instant::now();
        let text = trial.failure();
        assert!(text.contains(hostile.wanted), "{}: {text}", hostile.name);
        assert!(
            begun.elapsed() < Duration::from_secs(30),
            "{}",
            hostile.name
        );
        assert!(trial.network.state().is_empty(), "{}", hostile.name);
        if !text.contains("of component") {
            assert!(text.contains(".wasm (sha256 "), "{}: {text}", hostile.name);
        }
    }
}

#[test]
fn a_trap_leaves_nothing_behind() {
    // It traps where it finds no state, after it has written some, and where
    // its memory is as it left it.
    let trial = Trial::new(&policy(
        "(if (i32.load (i32.const 512)) (then (unreachable)))
         (i32.store (i32.const 512) (i32.const 1))
         (call $get (i32.const 0) (i32.const 1) (i32.const 2048))
         (if (i32.load8_u (i32.const 2048)) (then (unreachable)))
         (call $set (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 2048))
         (call $get (i32.const 0) (i32.const 1) (i32.const 2048))
         (if (i32.eqz (i32.load8_u (i32.const 2048))) (then (unreachable)))
         ;; The seed: even ones go well.
         (if (i32.and (i32.load (i32.add (local.get $request) (i32.const 112))) (i32.const 1))
            (then (unreachable)))
         (i32.store8 (i32.const 1024) (i32.const 2)) (i32.const 1024)",
    ));
    let choose = |seed| {
        let mut request = super::trial::request();
        request.seed = seed;
        let view = super::trial::view();
        trial
            .policies
            .choose(&trial.network, &trial.setting, &request, &view, |_| {})
    };
    for _ in 0..3 {
        choose(1).unwrap_err();
        assert!(trial.network.state().is_empty());
    }
    assert_eq!(choose(2).unwrap().answer, Answer::YouDecide);
    assert_eq!(trial.network.state(), r#"{"\u0000":"\u0000"}"#);
    // Now it finds what it has written.
    choose(2).unwrap_err();
}

#[test]
fn many_at_once_do_not_disturb_each_other() {
    let hostile: Vec<_> = all()
        .into_iter()
        .filter(|hostile| !hostile.wanted.starts_with(FUEL) || hostile.name == "endless loop")
        .map(|hostile| {
            let trial = Trial::new(&hostile.component);
            let _ = trial.choose();
            (trial.setting, hostile)
        })
        .collect();
    let policies = wipam_engine::policy::Policies::new(InProcess);
    std::thread::scope(|scope| {
        for at in 0..64 {
            let (setting, hostile) = &hostile[at % hostile.len()];
            let policies = &policies;
            scope.spawn(move || {
                let network = super::store::Network::default();
                let (request, view) = (super::trial::request(), super::trial::view());
                let failure = policies
                    .choose(&network, setting, &request, &view, |_| {})
                    .unwrap_err();
                assert!(
                    failure.to_string().starts_with("policy /"),
                    "{}",
                    hostile.name
                );
            });
        }
    });
}
