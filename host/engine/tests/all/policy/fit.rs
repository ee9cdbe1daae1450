//! What fits the worlds of policies, and what is said of what does not.

use wipam_core::policy::Answer;
use wipam_engine::policy::{World, inspect};

use super::guest::{self, NEXT_FREE, YOU_DECIDE, policy, policy_with_releases};
use super::trial::Trial;

/// A component that exports something under this name, and imports what is
/// written out.
fn exporting(name: &str, imports: &str) -> Vec<u8> {
    guest::text(&format!(
        r#"(component
            {imports}
            (core module $module (func (export "choose")))
            (core instance $instance (instantiate $module))
            (func $choose (canon lift (core func $instance "choose")))
            (instance $choice (export "choose" (func $choose)))
            (export "{name}" (instance $choice)))"#
    ))
}

const CLOCK: &str = r#"(import "wasi:clocks/monotonic-clock@0.2.0"
    (instance (export "now" (func (result u64)))))"#;

/// What is wrong with it, as it is run and as it is looked at.
fn wrong(component: &[u8]) -> String {
    let text = Trial::new(component).failure();
    let (_, why) = text
        .split_once(") is no policy: ")
        .unwrap_or_else(|| panic!("{text}"));
    let description = inspect(component).unwrap();
    assert_eq!(description.world.unwrap_err(), why);
    why.to_owned()
}

#[test]
fn both_worlds_fit() {
    let plain = policy(NEXT_FREE);
    let trial = Trial::new(&plain);
    let wanted = Answer::Candidates(vec!["10.1.0.50".parse().unwrap()]);
    assert_eq!(trial.choose().unwrap(), wanted);
    // Nobody is told.
    trial.network.break_down();
    trial.released().unwrap();
    let description = inspect(&plain).unwrap();
    assert_eq!(description.world, Ok(World::Policy));
    assert_eq!(description.exports, ["wipam:ipam/choice@0.1.0"]);
    assert!(description.not_granted.is_empty());

    let told = policy_with_releases(
        NEXT_FREE,
        "(call $set (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 2048))",
    );
    let trial = Trial::new(&told);
    assert_eq!(trial.choose().unwrap(), wanted);
    assert!(trial.network.state().is_empty());
    trial.released().unwrap();
    assert_eq!(trial.network.state(), r#"{"":""}"#);
    let description = inspect(&told).unwrap();
    assert_eq!(description.world, Ok(World::PolicyWithReleases));
}

#[test]
fn what_is_not_granted_is_named() {
    let clock = exporting("wipam:ipam/choice@0.1.0", CLOCK);
    assert_eq!(
        wrong(&clock),
        "it imports wasi:clocks/monotonic-clock@0.2.0, and a policy gets nothing but \
         wipam:ipam/{types,decision,pool,state,log}@0.1.0"
    );
    let description = inspect(&clock).unwrap();
    assert_eq!(
        description.not_granted,
        ["wasi:clocks/monotonic-clock@0.2.0"]
    );

    for import in ["wipam:ipam/storage@0.1.0", "wipam:ipam/pool@0.9.0"] {
        let import = format!(r#"(import "{import}" (instance (export "ranges" (func))))"#);
        let text = wrong(&exporting("wipam:ipam/choice@0.1.0", &import));
        assert!(text.starts_with("it imports wipam:ipam/"), "{text}");
    }
}

#[test]
fn what_is_exported_instead_is_named() {
    assert_eq!(
        wrong(&exporting("wipam:ipam/choice@0.9.0", "")),
        "it exports wipam:ipam/choice@0.9.0, wanted wipam:ipam/choice@0.1.0"
    );
    assert_eq!(
        wrong(&guest::text("(component)")),
        "it exports nothing, wanted wipam:ipam/choice@0.1.0"
    );
}

#[test]
fn what_has_another_type_is_refused() {
    let text = Trial::new(&exporting("wipam:ipam/choice@0.1.0", "")).failure();
    assert!(text.contains("failed to convert function"), "{text}");

    let import = r#"(import "wipam:ipam/log@0.1.0"
        (instance (export "write" (func (param "message" u32)))))"#;
    let text = Trial::new(&exporting("wipam:ipam/choice@0.1.0", import)).failure();
    assert!(text.contains("wipam:ipam/log@0.1.0"), "{text}");
    assert!(text.contains("has the wrong type"), "{text}");
}

#[test]
fn what_is_no_component_is_refused() {
    let module = wat::parse_str("(module)").unwrap();
    for (bytes, wanted) in [
        (&b""[..], "is no policy: it is no component in binary form"),
        (
            b"(component)",
            "is no policy: it is no component in binary form",
        ),
        (&module, "is no policy: it is a module, wanted a component"),
        (b"\0asm\x0d\0\x01\0\x63", "could not be compiled: "),
    ] {
        let text = Trial::new(bytes).failure();
        assert!(text.contains(wanted), "{text}");
        let why = inspect(bytes).unwrap_err();
        assert!(text.ends_with(&why), "{text}: {why}");
    }
}

#[test]
fn what_no_policy_may_use_is_not_compiled() {
    let threads = "(memory $shared 1 1 shared)";
    let wide = "(memory $wide i64 1)";
    for fields in [threads, wide] {
        let component = super::guest::policy_with(fields, YOU_DECIDE);
        let text = Trial::new(&component).failure();
        assert!(text.contains(") could not be compiled: "), "{text}");
    }
}

#[test]
fn what_cannot_be_read_is_refused() {
    let mut trial = Trial::new(&policy(YOU_DECIDE));
    trial.setting.component += ".not";
    assert!(trial.failure().contains(".wasm.not could not be read: "));
    trial.setting.component = "/dev/null".into();
    assert_eq!(trial.failure(), "policy /dev/null is no regular file");
}
