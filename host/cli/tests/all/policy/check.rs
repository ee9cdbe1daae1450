//! What is said of components that are policies, and of those that are not.

use serde_json::json;

use super::place::{LEAVES_THE_CHOICE, Place, core_module, policy};
use crate::guest::{self, NEXT_FREE, YOU_DECIDE, answer};

#[test]
fn a_component_that_fits_is_described_and_tried() {
    let place = Place::new();
    let path = place.file("next.wasm", guest::policy(NEXT_FREE));
    let ran = policy(&[&"check", &path]);
    for line in [
        "  world    policy\n",
        "wipam:ipam/pool@0.1.0",
        "  exports  wipam:ipam/choice@0.1.0\n",
        "fuel 500000000, memory 16777216, tableElements 10000",
        "32 questions, each put twice: 32 with candidates, 0 none, 0 you-decide, 0 failed",
        "\n  fits\n",
    ] {
        ran.ok().says(line);
    }
    let told = place.file(
        "told.wasm",
        guest::policy_with_releases(YOU_DECIDE, "(unreachable)"),
    );
    policy(&[&"check", &told])
        .ok()
        .says("  world    policy-with-releases\n")
        .says("32 you-decide");
}

#[test]
fn a_description_is_json_on_request() {
    let place = Place::new();
    let bytes = guest::policy(NEXT_FREE);
    let path = place.file("next.wasm", &bytes);
    let json = policy(&[&"check", &path, &"--json"]).ok().json();
    assert_eq!(json["component"], json!(path));
    assert_eq!(json["bytes"], json!(bytes.len()));
    assert_eq!(json["world"], "policy");
    assert_eq!(json["exports"], json!(["wipam:ipam/choice@0.1.0"]));
    assert_eq!(json["not_granted"], json!([]));
    assert_eq!(json["limits"]["tableElements"], 10_000);
    assert_eq!(json["trial"]["candidates"], 32);
    assert_eq!(json["faults"], json!([]));
}

#[test]
fn what_no_policy_gets_is_named() {
    let place = Place::new();
    let clock = guest::text(
        r#"(component
            (import "wasi:clocks/monotonic-clock@0.2.0"
                (instance (export "now" (func (result u64)))))
            (core module $module (func (export "choose")))
            (core instance $instance (instantiate $module))
            (func $choose (canon lift (core func $instance "choose")))
            (instance $choice (export "choose" (func $choose)))
            (export "wipam:ipam/choice@0.1.0" (instance $choice)))"#,
    );
    let path = place.file("clock.wasm", clock);
    let ran = policy(&[&"check", &path]);
    ran.fails("clock.wasm cannot be used as a policy")
        .says("  world    none of ours\n")
        .says("  fault    it imports wasi:clocks/monotonic-clock@0.2.0, which no policy gets\n");
    assert!(!ran.text().contains("fits\n"));
    let ran = policy(&[&"check", &path, &"--json"]);
    let json = ran.fails("cannot be used").json();
    assert_eq!(
        json["not_granted"],
        json!(["wasi:clocks/monotonic-clock@0.2.0"])
    );
    assert_eq!(
        (&json["world"], &json["trial"]),
        (&json!(null), &json!(null))
    );
    assert!(!json["faults"].as_array().unwrap().is_empty());
}

#[test]
fn what_exports_something_else_is_refused() {
    let place = Place::new();
    for (name, text) in [
        ("empty.wasm", "(component)"),
        // The right name with another type: nothing fits it when it is tried.
        (
            "other.wasm",
            r#"(component
                (core module $module (func (export "choose")))
                (core instance $instance (instantiate $module))
                (func $choose (canon lift (core func $instance "choose")))
                (instance $choice (export "choose" (func $choose)))
                (export "wipam:ipam/choice@0.1.0" (instance $choice)))"#,
        ),
    ] {
        let path = place.file(name, guest::text(text));
        policy(&[&"check", &path])
            .fails("cannot be used as a policy")
            .says("  fault    ");
    }
}

#[test]
fn what_is_no_component_is_refused_in_a_line() {
    let place = Place::new();
    for (content, wanted) in [
        (
            &b"zones:\n  shop: 10.1.4.0/22\n"[..],
            "wanted a WebAssembly component, found something else",
        ),
        (b"", "wanted a WebAssembly component, found something else"),
        (
            b"\0asm\x01\0\0\0\xff",
            "making a component of this module: ",
        ),
    ] {
        let path = place.file("notes.txt", content);
        let ran = policy(&[&"check", &path]);
        ran.fails(wanted).fails(path.to_str().unwrap());
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
        assert!(ran.out.is_empty());
    }
    policy(&[&"check", &place.path("none.wasm")]).fails("none.wasm: No such file");
    policy(&[&"check", &place.path("")]).fails("Is a directory");
    // Damaged behind its head.
    let mut bytes = guest::policy(YOU_DECIDE);
    bytes.truncate(bytes.len() / 2);
    policy(&[&"check", &place.file("half.wasm", bytes)]).fails("");
}

#[test]
fn a_core_module_becomes_a_component() {
    let place = Place::new();
    let module = core_module(&format!("(module (func $before) {LEAVES_THE_CHOICE})"));
    let path = place.file("module.wasm", module);
    policy(&[&"check", &path])
        .ok()
        .says("  world    policy\n")
        .says("  imports  wipam:ipam/types@0.1.0, wipam:ipam/decision@0.1.0\n")
        .says("32 you-decide");
    let made = place.path("component.wasm");
    policy(&[&"component", &path, &made]).ok().says(" bytes\n");
    policy(&[&"check", &made]).ok().says("\n  fits\n");
    // One that says nothing of a world is none of ours.
    let plain = place.file("plain.wasm", wat::parse_str("(module)").unwrap());
    policy(&[&"check", &plain])
        .fails("cannot be used as a policy")
        .says("it exports nothing, wanted wipam:ipam/choice@0.1.0");
}

#[test]
fn a_policy_that_always_fails_cannot_be_used() {
    let place = Place::new();
    let path = place.file("broken.wasm", guest::policy("(unreachable)"));
    let json = policy(&[&"check", &path, &"--json"])
        .fails("cannot be used")
        .json();
    assert_eq!(json["world"], "policy");
    assert_eq!(json["trial"]["failures"], 32);
    let fault = json["faults"][0].as_str().unwrap();
    assert!(
        fault.starts_with("it failed at every question: it (sha256 ") && fault.contains("trapped"),
        "{fault}"
    );
}

#[test]
fn a_policy_that_refuses_gives_an_example_of_its_reasons() {
    let place = Place::new();
    let reason = r#"(data (i32.const 512) "no room here")"#;
    let path = place.file("none.wasm", guest::policy_with(reason, &answer(1, 512, 12)));
    policy(&[&"check", &path])
        .ok()
        .says("32 none")
        .says("           none: no room here\n");
}

#[test]
fn it_is_tried_with_the_settings_and_ranges_of_a_configuration() {
    let place = Place::new();
    let path = place.file("next.wasm", guest::policy(NEXT_FREE));
    let mut config = place.with_policy(json!({ "subnet": "10.1.0.0/24" }), "/none");
    let conf = place.file("n.conf", config.to_string());
    policy(&[&"check", &path, &"--config", &conf])
        .ok()
        .says("16 questions");
    config["ipam"]["policy"]["limits"] = json!({ "fuel": 10 });
    let conf = place.file("n.conf", config.to_string());
    policy(&[&"check", &path, &"--config", &conf])
        .fails("cannot be used")
        .says("fuel 10,")
        .says("exceeded its limit of 10 units of fuel");
    config["ipam"]["policy"]["limits"] = json!({ "fule": 10 });
    let conf = place.file("n.conf", config.to_string());
    policy(&[&"check", &path, &"--config", &conf]).fails("ipam.policy.limits.fule");
    assert!(
        !place.path("cache").exists(),
        "a check leaves nothing behind"
    );
    assert!(!place.path("d").exists());
}
