//! Policies where configurations name them, and their machine code.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::place::{LEAVES_THE_CHOICE, Place, core_module, policy, with_input};
use crate::guest::{self, NEXT_FREE, YOU_DECIDE};

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// The files with machine code.
fn compiled(cache: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(cache).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|e| e == "cwasm"))
        .collect()
}

/// Names and whether the machine code is there, by `list`.
fn listed(place: &Place) -> Vec<(String, bool)> {
    let ran = policy(&[
        &"list",
        &"--from",
        &place.path("policies"),
        &"--cache",
        &place.path("cache"),
        &"--json",
    ]);
    let list = ran.ok().json();
    let policies = list.as_array().unwrap();
    let of = |policy: &Value| {
        let name = Path::new(policy["component"].as_str().unwrap()).file_name();
        (
            name.unwrap().to_str().unwrap().to_owned(),
            policy["compiled"].as_bool().unwrap(),
        )
    };
    policies.iter().map(of).collect()
}

fn install(place: &Place, component: &Path) -> super::place::Ran {
    policy(&[
        &"install",
        &component,
        &"--to",
        &place.path("policies"),
        &"--cache",
        &place.path("cache"),
    ])
}

#[test]
fn it_is_copied_and_compiled() {
    let place = Place::new();
    let bytes = guest::policy(NEXT_FREE);
    let path = place.file("next.wasm", &bytes);
    let ran = install(&place, &path);
    let target = place.path("policies/next.wasm");
    ran.ok()
        .says(&format!("{}: {} bytes\n", target.display(), bytes.len()))
        .says("  sha256   ")
        .says(&format!("bytes, in {}\n", place.path("cache").display()))
        .says(&format!("\"policy\": {{ \"component\": {target:?} }}"));
    assert_eq!(fs::read(&target).unwrap(), bytes);
    assert_eq!(mode(&target), 0o644);
    assert_eq!(mode(&place.path("cache")), 0o700);
    let files = compiled(&place.path("cache"));
    assert_eq!(files.len(), 1);
    assert_eq!(mode(&files[0]), 0o600);
    // Nothing is left of the writing.
    assert_eq!(place.path("policies").read_dir().unwrap().count(), 1);
    assert_eq!(listed(&place), [("next.wasm".to_owned(), true)]);
}

#[test]
fn what_was_done_is_json_on_request() {
    let place = Place::new();
    let path = place.file("next.wasm", guest::policy(NEXT_FREE));
    let report = policy(&[
        &"install",
        &path,
        &"--to",
        &place.path("policies"),
        &"--cache",
        &place.path("cache"),
        &"--json",
    ]);
    let report = report.ok().json();
    assert_eq!(report["component"], json!(place.path("policies/next.wasm")));
    assert_eq!(report["cache"], json!(place.path("cache")));
    assert_eq!(report["warning"], json!(null));
    assert_eq!(report["sha256"].as_str().unwrap().len(), 64);
    assert!(report["compiled_bytes"].as_u64().unwrap() > 0);
    let list = policy(&[
        &"list",
        &"--from",
        &place.path("policies"),
        &"--cache",
        &place.path("cache"),
        &"--json",
    ]);
    let list = list.ok().json();
    assert_eq!(list[0]["component"], report["component"]);
    assert_eq!(list[0]["sha256"], report["sha256"]);
    assert_eq!(list[0]["world"], "policy");
    assert_eq!(list[0]["compiled"], true);
    assert_eq!(list[0]["fault"], json!(null));
}

#[test]
fn code_that_is_damaged_or_that_others_can_write_is_not_there() {
    let place = Place::new();
    install(&place, &place.file("next.wasm", guest::policy(NEXT_FREE))).ok();
    let cache = place.path("cache");
    let file = compiled(&cache).remove(0);
    let whole = fs::read(&file).unwrap();
    let is = |wanted: bool, why: &str| {
        assert_eq!(listed(&place), [("next.wasm".to_owned(), wanted)], "{why}");
    };
    for at in [0, whole.len() / 2, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        fs::write(&file, damaged).unwrap();
        is(false, "another bit");
    }
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    is(false, "half of it");
    fs::write(&file, &whole).unwrap();
    is(true, "whole again");
    for (path, mode) in [(&file, 0o666), (&cache, 0o777)] {
        let before = fs::metadata(path).unwrap().permissions();
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        is(false, "others can write");
        fs::set_permissions(path, before).unwrap();
    }
    is(true, "as before");
    // Another component under the same name is another one.
    fs::write(place.path("policies/next.wasm"), guest::policy(YOU_DECIDE)).unwrap();
    is(false, "another component");
    let text = policy(&[
        &"list",
        &"--from",
        &place.path("policies"),
        &"--cache",
        &cache,
    ]);
    text.ok().says("not compiled: the first ADD will");
}

#[test]
fn what_cannot_be_kept_is_installed_all_the_same() {
    let place = Place::new();
    let path = place.file("next.wasm", guest::policy(NEXT_FREE));
    fs::create_dir(place.path("cache")).unwrap();
    fs::set_permissions(place.path("cache"), Permissions::from_mode(0o777)).unwrap();
    let ran = install(&place, &path);
    ran.ok()
        .says("  warning  its machine code cannot be kept, so each ADD compiles it: ")
        .says("others than root and this user can write to it");
    assert_eq!(listed(&place), [("next.wasm".to_owned(), false)]);
}

#[test]
fn an_installed_policy_is_replaced_and_may_be_installed_in_place() {
    let place = Place::new();
    let first = place.file("p.wasm", guest::policy(NEXT_FREE));
    install(&place, &first).ok();
    let second = place.file("p.wasm", guest::policy(YOU_DECIDE));
    install(&place, &second).ok();
    let target = place.path("policies/p.wasm");
    assert_eq!(fs::read(&target).unwrap(), fs::read(&second).unwrap());
    install(&place, &target).ok();
    assert_eq!(fs::read(&target).unwrap(), fs::read(&second).unwrap());
    assert_eq!(listed(&place), [("p.wasm".to_owned(), true)]);
}

#[test]
fn a_core_module_is_installed_as_a_component() {
    let place = Place::new();
    let module = core_module(&format!("(module (func $before) {LEAVES_THE_CHOICE})"));
    install(&place, &place.file("built/rack.module", module)).ok();
    let made = fs::read(place.path("policies/rack.wasm")).unwrap();
    assert!(made.starts_with(b"\0asm\x0d\0\x01\0"));
    assert_eq!(listed(&place), [("rack.wasm".to_owned(), true)]);
}

#[test]
fn what_is_no_policy_is_not_installed() {
    let place = Place::new();
    let empty = place.file("empty.wasm", guest::text("(component)"));
    install(&place, &empty).fails("empty.wasm: it exports nothing");
    let text = place.file("text.wasm", "text");
    install(&place, &text).fails("wanted a WebAssembly component");
    assert!(!place.path("policies").exists());
    assert!(!place.path("cache").exists());
}

#[test]
fn whatever_lies_among_the_policies_is_listed_with_its_fault() {
    let place = Place::new();
    fs::create_dir(place.path("policies")).unwrap();
    let list = |place: &Place| {
        policy(&[
            &"list",
            &"--from",
            &place.path("policies"),
            &"--cache",
            &place.path("cache"),
        ])
    };
    list(&place).ok().says("no policies in ");
    place.file("policies/README", "not listed");
    place.file("policies/broken.wasm", "not WebAssembly");
    place.file("policies/old.wasm", guest::text("(component)"));
    place.file("policies/good.wasm", guest::policy(YOU_DECIDE));
    fs::create_dir(place.path("policies/folder.wasm")).unwrap();
    let ran = list(&place);
    let text = ran.ok().text();
    let of = |name: &str| {
        let (_, rest) = text.split_once(&format!("/{name}\n")).unwrap();
        rest.lines().take(2).collect::<Vec<_>>().join("\n")
    };
    assert!(of("broken.wasm").contains("fault: it is no component in binary form"));
    assert!(of("old.wasm").contains("fault: it exports nothing"));
    assert!(of("folder.wasm").contains("fault: "));
    assert!(of("good.wasm").contains(", policy, not compiled"));
    assert!(!text.contains("README"));
    policy(&[&"list", &"--from", &place.path("none")]).fails("none: No such file");
}

#[test]
fn compile_goes_from_standard_input_to_standard_output() {
    let place = Place::new();
    let bytes = guest::policy(NEXT_FREE);
    let compile = |input: &[u8]| {
        with_input(
            Command::new(env!("CARGO_BIN_EXE_wipam"))
                .args(["policy", "compile"])
                .env_clear(),
            input,
        )
    };
    let ran = compile(&bytes);
    assert!(ran.ok().out.starts_with(b"\x7fELF"));
    // It is the code that `install` keeps.
    install(&place, &place.file("next.wasm", &bytes)).ok();
    let kept = fs::read(compiled(&place.path("cache")).remove(0)).unwrap();
    assert!(kept.windows(ran.out.len()).any(|part| part == ran.out));
    for input in [&b""[..], b"text", &bytes[..bytes.len() / 2]] {
        let ran = compile(input);
        assert_eq!(ran.status, Some(1));
        assert!(ran.out.is_empty() && !ran.stderr.is_empty());
    }
}
