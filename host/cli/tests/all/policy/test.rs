//! Recorded cases, put to components.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::place::{LEAVES_THE_CHOICE, Place, core_module, policy};
use crate::guest::{self, NEXT_FREE, YOU_DECIDE};

fn case(name: &str, reserved: Value, want: Value) -> Value {
    json!({
        "name": name, "ranges": [{ "subnet": "10.1.0.0/24" }], "exclude": ["10.1.0.52"],
        "reservations": reserved, "request": {}, "want": want,
    })
}

fn cases(place: &Place, name: &str, cases: &[Value]) -> PathBuf {
    place.file(name, json!(cases).to_string())
}

#[test]
fn cases_that_hold_pass() {
    let place = Place::new();
    let next = place.file("next.wasm", guest::policy(NEXT_FREE));
    let good = cases(
        &place,
        "good.json",
        &[
            case("free", json!({}), json!({ "candidates": ["10.1.0.50"] })),
            case(
                "reserved or excluded",
                json!({ "10.1.0.50": "a", "10.1.0.51": "b" }),
                json!({ "candidates": ["10.1.0.53"] }),
            ),
        ],
    );
    policy(&[&"test", &next, &good])
        .ok()
        .says(&format!("{}: 2 passed, 0 failed\n", next.display()));
    let json = policy(&[&"test", &next, &good, &"--json"]).ok().json();
    assert_eq!(json[1]["case"], "reserved or excluded");
    assert_eq!(json[1]["difference"], json!(null));
}

#[test]
fn a_wrong_case_is_told_and_counts() {
    let place = Place::new();
    let next = place.file("next.wasm", guest::policy(NEXT_FREE));
    let good = cases(
        &place,
        "good.json",
        &[case(
            "free",
            json!({}),
            json!({ "candidates": ["10.1.0.50"] }),
        )],
    );
    let bad = cases(
        &place,
        "bad.json",
        &[
            case("another", json!({}), json!({ "candidates": ["10.1.0.51"] })),
            case("no answer", json!({}), json!("youDecide")),
            case("refused", json!({}), json!({ "none": "" })),
        ],
    );
    let ran = policy(&[&"test", &next, &good, &bad]);
    ran.fails("3 cases failed")
        .says(&format!(
            "FAIL {}: another: wanted Candidates([10.1.0.51]), found Candidates([10.1.0.50])\n",
            bad.display()
        ))
        .says("1 passed, 3 failed\n");
    let ran = policy(&[&"test", &next, &bad, &"--json"]);
    let json = ran.fails("3 cases failed").json();
    assert_eq!(json.as_array().unwrap().len(), 3);
    assert!(json[2]["difference"].as_str().unwrap().contains("wanted "));
}

#[test]
fn what_is_remembered_is_compared() {
    let place = Place::new();
    let write = "(call $set (i32.const 512) (i32.const 1) (i32.const 513) (i32.const 1)
        (i32.const 2048))";
    let data = r#"(data (i32.const 512) "kv")"#;
    let writes = place.file(
        "writes.wasm",
        guest::policy_with(data, &format!("{write} {YOU_DECIDE}")),
    );
    let with_state = |before: Value, after: Value| {
        let mut case = case("state", json!({}), json!("youDecide"));
        case["state"] = before;
        case["stateAfter"] = after;
        cases(&place, "cases.json", &[case])
    };
    let right = with_state(json!({ "a": "b" }), json!({ "a": "b", "k": "v" }));
    policy(&[&"test", &writes, &right]).ok();
    let wrong = with_state(json!({}), json!({}));
    policy(&[&"test", &writes, &wrong])
        .fails("1 cases failed")
        .says("found {\"k\": \"v\"}");
    // A policy that forgets everything.
    let forgets = core_module(&format!(
        r#"(module (import "wipam:ipam/state@0.1.0" "remove" (func $remove (param i32 i32)))
            (data (i32.const 512) "k")
            (func $before (call $remove (i32.const 512) (i32.const 1)))
            {LEAVES_THE_CHOICE})"#
    ));
    let forgets = place.file("forgets.wasm", forgets);
    let emptied = with_state(json!({ "k": "v" }), json!({}));
    policy(&[&"test", &forgets, &emptied]).ok();
    let nothing = with_state(json!({}), json!({}));
    policy(&[&"test", &forgets, &nothing]).ok();
}

#[test]
fn releases_are_told() {
    let place = Place::new();
    let write = "(call $set (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)
        (i32.const 2048))";
    let told = place.file("told.wasm", guest::policy_with_releases(YOU_DECIDE, write));
    let released = |after: Value| {
        let case = json!({
            "name": "gone", "released": { "address": "10.1.0.2" }, "stateAfter": after,
        });
        cases(&place, "cases.json", &[case])
    };
    policy(&[&"test", &told, &released(json!({ "": "" }))]).ok();
    policy(&[&"test", &told, &released(json!({}))]).fails("1 cases failed");
    let deaf = place.file(
        "deaf.wasm",
        guest::policy_with_releases("(unreachable)", "(unreachable)"),
    );
    policy(&[&"test", &deaf, &released(json!({}))])
        .fails("1 cases failed")
        .says("trapped");
}

#[test]
fn what_is_no_case_is_told() {
    let place = Place::new();
    let next = place.file("next.wasm", guest::policy(NEXT_FREE));
    policy(&[&"test", &next, &cases(&place, "none.json", &[])]).fails("there is no case");
    let both = json!({ "name": "x", "request": {} });
    policy(&[&"test", &next, &cases(&place, "half.json", &[both])])
        .fails("1 cases failed")
        .says("wanted either `request` and `want`, or `released`");
    for text in ["{}", "[", "[{\"nam\": 1}]"] {
        policy(&[&"test", &next, &place.file("bad.json", text)])
            .fails("bad.json: no list of cases: ");
    }
    policy(&[&"test", &next, &place.path("missing.json")]).fails("missing.json: No such file");
    let text = place.file("text.wasm", "text");
    policy(&[&"test", &text, &cases(&place, "none.json", &[])]).fails("text.wasm: wanted");
    // At least one file.
    assert_eq!(policy(&[&"test", &next]).status, Some(2));
}
