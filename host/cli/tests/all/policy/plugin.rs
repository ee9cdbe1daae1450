//! Policies in the plugin, with the compiler beside it.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::place::{Place, Ran, answer, host_local, plugin, policy, with_input};
use crate::guest::{self, NEXT_FREE, YOU_DECIDE};

/// The message of an error with this code.
#[track_caller]
fn error(ran: &Ran, code: u64) -> String {
    assert_eq!(ran.status, Some(1), "{ran:?}");
    let json = ran.json();
    assert_eq!(json["code"], code, "{ran:?}");
    json["msg"].as_str().unwrap().to_owned()
}

/// An ADD that fails because of its policy, and leaves nothing behind.
#[track_caller]
fn denied(place: &Place, config: &Value) -> String {
    let ran = place.plugin("ADD", "c1", "", config);
    let text = error(&ran, 103);
    let names = fs::read_dir(place.path("d/n")).unwrap();
    let names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["lock"], "{text}");
    text
}

fn subnet() -> Value {
    json!({ "subnet": "10.1.0.0/24" })
}

/// The text of an answer with one candidate, of IPv4.
fn candidate(address: u32) -> String {
    format!(
        "(i32.store8 (i32.const 2048) (i32.const 0))
         (i32.store (i32.const 2052) (i32.const {address}))
         {}",
        guest::answer(0, 2048, 1)
    )
}

#[test]
fn the_first_add_compiles_and_the_next_ones_need_not() {
    let place = Place::new();
    let next = place.file("next.wasm", guest::policy(NEXT_FREE));
    let config = place.with_policy(subnet(), &next);
    assert_eq!(place.add("a", "", &config), Ok("10.1.0.50/24".to_owned()));
    assert!(place.path("cache").is_dir());
    assert_eq!(place.add("b", "", &config), Ok("10.1.0.51/24".to_owned()));
    // Without a compiler, too.
    let alone = place.path("host-local");
    let copied = Command::new("cp").arg(host_local()).arg(&alone).status();
    assert!(copied.unwrap().success());
    let mut process = Command::new(&alone);
    let with = plugin("ADD", "c", "");
    process.env_clear();
    for (name, value) in with.get_envs() {
        process.env(name, value.unwrap());
    }
    let ran = with_input(&mut process, config.to_string().as_bytes());
    assert_eq!(answer(&ran.ok().json()), Ok("10.1.0.52/24".to_owned()));
}

#[test]
fn what_is_installed_is_used_and_damage_is_mended() {
    let place = Place::new();
    let next = place.file("next.wasm", guest::policy(NEXT_FREE));
    let (to, cache) = (place.path("policies"), place.path("cache"));
    policy(&[&"install", &next, &"--to", &to, &"--cache", &cache]).ok();
    let config = place.with_policy(subnet(), to.join("next.wasm"));
    assert_eq!(place.add("a", "", &config), Ok("10.1.0.50/24".to_owned()));
    for entry in fs::read_dir(&cache).unwrap() {
        let path = entry.unwrap().path();
        let mut bytes = fs::read(&path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x40;
        fs::write(&path, bytes).unwrap();
    }
    assert_eq!(place.add("b", "", &config), Ok("10.1.0.51/24".to_owned()));
    let list = policy(&[&"list", &"--from", &to, &"--cache", &cache, &"--json"]);
    assert_eq!(list.ok().json()[0]["compiled"], true);
}

#[test]
fn a_policy_that_was_replaced_is_another_one() {
    let place = Place::new();
    let path = place.file("p.wasm", guest::policy(NEXT_FREE));
    let config = place.with_policy(subnet(), &path);
    assert_eq!(place.add("a", "", &config), Ok("10.1.0.50/24".to_owned()));
    place.file("p.wasm", guest::policy(YOU_DECIDE));
    assert_eq!(place.add("b", "", &config), Ok("10.1.0.51/24".to_owned()));
    place.file("p.wasm", guest::policy(&candidate(0x0a01_0007)));
    assert_eq!(place.add("c", "", &config), Ok("10.1.0.7/24".to_owned()));
}

#[test]
fn an_answer_that_may_not_be_given_names_the_rule() {
    let place = Place::new();
    let mut ipam = subnet();
    ipam["exclude"] = json!(["10.1.0.8/29"]);
    ipam["static"] = json!(["10.1.0.20"]);
    for (address, rule) in [
        (0x0a01_0001, "answered 10.1.0.1, which is a gateway"),
        (
            0x0a01_0000,
            "answered 10.1.0.0, which is outside of the range set 10.1.0.1-10.1.0.254",
        ),
        (
            0x0a01_00ff,
            "answered 10.1.0.255, which is outside of the range set 10.1.0.1-10.1.0.254",
        ),
        (
            0x0a01_0009,
            "answered 10.1.0.9, which is excluded (10.1.0.8-10.1.0.15)",
        ),
        (
            0x0a01_0014,
            "answered 10.1.0.20, which is static, for requests only",
        ),
        (
            0x0a02_0005,
            "answered 10.2.0.5, which is outside of the range set 10.1.0.1-10.1.0.254",
        ),
        (0, "answered 0.0.0.0, which is outside of the range set"),
    ] {
        let path = place.file("p.wasm", guest::policy(&candidate(address)));
        let mut config = place.with_policy(ipam.clone(), &path);
        let text = denied(&place, &config);
        let name = format!("policy {} (sha256 ", path.display());
        assert!(text.contains(&name) && text.contains(rule), "{text}");
        config["ipam"]["policy"]["onFailure"] = json!("built-in");
        let ran = place.plugin("ADD", "c1", "", &config);
        assert_eq!(ran.status, Some(0), "{ran:?}");
        assert!(ran.stderr.contains(rule), "{}", ran.stderr);
        place.plugin("DEL", "c1", "", &place.config(subnet())).ok();
        fs::remove_file(place.path("d/n/last_reserved_ip.0")).unwrap();
    }
    let path = place.file("p.wasm", guest::policy(&guest::answer(0, 0, 0)));
    let text = denied(&place, &place.with_policy(subnet(), &path));
    assert!(
        text.contains("answered a list without any address"),
        "{text}"
    );
}

#[test]
fn an_address_that_is_taken_is_not_given_twice() {
    let place = Place::new();
    let path = place.file("p.wasm", guest::policy(&candidate(0x0a01_0007)));
    let config = place.with_policy(subnet(), &path);
    assert_eq!(place.add("a", "", &config), Ok("10.1.0.7/24".to_owned()));
    let text = error(&place.plugin("ADD", "b", "", &config), 103);
    assert!(
        text.contains(
            "answered no address that can be given: 10.1.0.7 is held by container a, interface eth0"
        ),
        "{text}"
    );
    place.plugin("DEL", "a", "", &config).ok();
    assert_eq!(place.add("b", "", &config), Ok("10.1.0.7/24".to_owned()));
}

#[test]
fn a_refusal_is_passed_on_in_its_own_words() {
    let place = Place::new();
    let reason = r#"(data (i32.const 512) "shop has\n2 of 2")"#;
    let none = guest::policy_with(reason, &guest::answer(1, 512, 15));
    let path = place.file("none.wasm", none);
    let mut config = place.with_policy(subnet(), &path);
    // Refusing is no failure.
    for on_failure in ["deny", "built-in"] {
        config["ipam"]["policy"]["onFailure"] = json!(on_failure);
        let ran = place.plugin("ADD", "c1", "", &config);
        let text = error(&ran, 11);
        assert!(
            text.ends_with("none.wasm gives no address: shop has 2 of 2"),
            "{text}"
        );
        assert!(ran.stderr.is_empty(), "{ran:?}");
    }
    assert!(!place.has("10.1.0.2") && !place.has("last_reserved_ip.0"));
}

#[test]
fn crashes_and_limits_are_told_with_what_it_took() {
    let place = Place::new();
    for (body, limits, wanted) in [
        ("(unreachable)", json!({}), " trapped after "),
        (
            "(loop $l (br $l)) (unreachable)",
            json!({ "fuel": 100_000 }),
            " exceeded its limit of 100000 units of fuel after ",
        ),
        (
            "(call $choose (local.get $request))",
            json!({ "stack": 65536 }),
            " exceeded its limit of 65536 bytes of stack after ",
        ),
        (
            YOU_DECIDE,
            json!({ "memory": 65536 }),
            " exceeded its limit of ",
        ),
    ] {
        let path = place.file("p.wasm", guest::policy(body));
        let mut config = place.with_policy(subnet(), &path);
        config["ipam"]["policy"]["limits"] = limits;
        let text = denied(&place, &config);
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
}

#[test]
fn what_it_says_goes_to_standard_error() {
    let place = Place::new();
    let says = "(call $log (i32.const 512) (i32.const 12))";
    let data = r#"(data (i32.const 512) "hello\n\1bworld")"#;
    let path = place.file(
        "p.wasm",
        guest::policy_with(data, &format!("{says} {YOU_DECIDE}")),
    );
    let config = place.with_policy(subnet(), &path);
    let ran = place.plugin("ADD", "c1", "", &config);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let wanted = format!("host-local: policy {} says: hello", path.display());
    assert!(ran.stderr.starts_with(&wanted), "{}", ran.stderr);
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    assert!(!ran.stderr.contains('\u{1b}'));
}

#[test]
fn what_it_remembers_is_kept_for_the_network_if_all_goes_well() {
    let place = Place::new();
    let write = "(call $set (i32.const 512) (i32.const 1) (i32.const 513) (i32.const 1)
        (i32.const 2048))";
    let data = r#"(data (i32.const 512) "kv")"#;
    let state = place.path("d/.wipam/n/state");
    let path = place.file(
        "p.wasm",
        guest::policy_with(data, &format!("{write} {}", candidate(0x0a01_0001))),
    );
    denied(&place, &place.with_policy(subnet(), &path));
    assert!(!state.exists());
    // The policy is fine, but the next set has no room.
    let path = place.file(
        "p.wasm",
        guest::policy_with(data, &format!("{write} {YOU_DECIDE}")),
    );
    let two = json!({ "ranges": [[{ "subnet": "10.1.0.0/24" }],
        [{ "subnet": "10.2.0.0/30", "exclude": ["10.2.0.2"] }]] });
    error(
        &place.plugin("ADD", "c1", "", &place.with_policy(two, &path)),
        11,
    );
    assert!(!state.exists());
    place
        .add("c1", "", &place.with_policy(subnet(), &path))
        .unwrap();
    assert_eq!(fs::read_to_string(&state).unwrap(), r#"{"k":"v"}"#);
}

#[test]
fn del_and_gc_tell_of_releases() {
    let place = Place::new();
    let write = "(call $set (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)
        (i32.const 2048))";
    let told = guest::policy_with_releases(YOU_DECIDE, write);
    let path = place.file("told.wasm", told);
    let mut config = place.with_policy(subnet(), &path);
    config["cni.dev/valid-attachments"] = json!([]);
    let state = place.path("d/.wipam/n/state");
    for command in ["DEL", "GC"] {
        place.add("c1", "", &config).unwrap();
        assert!(!state.exists());
        let ran = place.plugin(command, "c1", "", &config);
        assert_eq!(ran.status, Some(0), "{ran:?}");
        assert!(!ran.stderr.contains("telling of"), "{ran:?}");
        assert_eq!(fs::read_to_string(&state).unwrap(), r#"{"":""}"#);
        fs::remove_file(&state).unwrap();
    }
    // One that crashes keeps nothing alive.
    let path = place.file(
        "told.wasm",
        guest::policy_with_releases(YOU_DECIDE, "(unreachable)"),
    );
    let config = place.with_policy(subnet(), &path);
    place.add("c1", "", &config).unwrap();
    let ran = place.plugin("DEL", "c1", "", &config);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(
        ran.stderr.contains("telling of the release of 10.1.0."),
        "{ran:?}"
    );
    assert!(ran.stderr.contains(" trapped after "), "{ran:?}");
    assert!((2..10).all(|n| !place.has(&format!("10.1.0.{n}"))));
}

#[test]
fn a_policy_passes_over_what_is_cooling_and_kept() {
    let place = Place::new();
    let next = place.file("next.wasm", guest::policy(NEXT_FREE));
    let mut ipam = subnet();
    ipam["cooldown"] = json!(600);
    let config = place.with_policy(ipam, &next);
    assert_eq!(place.add("a", "", &config), Ok("10.1.0.50/24".to_owned()));
    place.plugin("DEL", "a", "", &config).ok();
    assert_eq!(place.add("b", "", &config), Ok("10.1.0.51/24".to_owned()));
    let path = place.file("p.wasm", guest::policy(&candidate(0x0a01_0032)));
    let mut config = config.clone();
    config["ipam"]["policy"]["component"] = json!(path);
    let text = error(&place.plugin("ADD", "c", "", &config), 103);
    assert!(text.contains("10.1.0.50 is cooling for another "), "{text}");
}

#[test]
fn code_that_cannot_be_kept_costs_no_more_than_time() {
    let place = Place::new();
    let next = place.file("next.wasm", guest::policy(NEXT_FREE));
    let mut config = place.with_policy(subnet(), &next);
    for (n, cache) in ["/dev/null/cache", "/proc/cache"].iter().enumerate() {
        config["ipam"]["policy"]["cache"] = json!(cache);
        let wanted = Ok(format!("10.1.0.{}/24", 50 + n));
        assert_eq!(place.add(&format!("c{n}"), "", &config), wanted);
    }
}

/// An ADD by a shell that has changed something before.
fn behind(script: &[&str], config: &Value) -> Ran {
    let mut process = Command::new(script[0]);
    process.args(&script[1..]).arg(host_local());
    let with = plugin("ADD", "c1", "");
    process.env_clear().env("PATH", "/usr/bin:/bin");
    for (name, value) in with.get_envs() {
        process.env(name, value.unwrap());
    }
    with_input(&mut process, config.to_string().as_bytes())
}

fn compiled(place: &Place) -> Value {
    let next = place.file("next.wasm", guest::policy(NEXT_FREE));
    let config = place.with_policy(subnet(), &next);
    place.add("first", "", &config).unwrap();
    config
}

#[test]
fn an_ordinary_amount_of_address_space_will_do() {
    let place = Place::new();
    let config = compiled(&place);
    let ran = behind(&["sh", "-c", "ulimit -v 524288; exec \"$0\""], &config);
    assert_eq!(answer(&ran.ok().json()), Ok("10.1.0.51/24".to_owned()));
}

#[test]
fn where_memory_may_not_become_executable_the_policy_has_failed() {
    let place = Place::new();
    let mut config = compiled(&place);
    // PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN.
    let script = "import ctypes, os, sys\n\
                  if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0): sys.exit(77)\n\
                  os.execv(sys.argv[1], sys.argv[1:])";
    let run = |config: &Value| behind(&["python3", "-c", script], config);
    let ran = run(&config);
    if ran.status == Some(77) {
        println!("SKIP where_memory_may_not_become_executable: kernels before 6.3 allow it");
        return;
    }
    let text = error(&ran, 103);
    let name = format!("policy {} ", Path::new(&place.path("next.wasm")).display());
    assert!(text.contains(&name), "{text}");
    config["ipam"]["policy"]["onFailure"] = json!("built-in");
    let ran = run(&config);
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(
        ran.stderr.contains("the built-in strategy chooses"),
        "{ran:?}"
    );
}
