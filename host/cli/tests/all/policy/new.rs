//! New projects.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::place::{Place, policy, with_input};

/// Files of a folder, by their paths in it.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(inner) = folders.pop() {
        for entry in fs::read_dir(folder.join(&inner)).unwrap() {
            let entry = entry.unwrap();
            let path = inner.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else {
                let content = fs::read_to_string(entry.path()).unwrap();
                files.insert(path.to_str().unwrap().to_owned(), content);
            }
        }
    }
    files
}

#[track_caller]
fn no_placeholder_is_left(files: &BTreeMap<String, String>) {
    for (path, content) in files {
        for placeholder in ["my-policy", "my_policy"] {
            assert!(!content.contains(placeholder), "{path}");
        }
    }
}

/// Every file of a folder of this repository is in the project.
#[track_caller]
fn has_all_of(files: &BTreeMap<String, String>, source: &str, target: &str) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(source);
    for entry in fs::read_dir(source).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            let path = format!("{target}{}", entry.file_name().to_str().unwrap());
            assert!(files.contains_key(&path), "{path}");
        }
    }
}

#[test]
fn a_project_in_rust_has_everything_that_it_needs() {
    let place = Place::new();
    let folder = place.path("racks/rack-aware2");
    policy(&[&"new", &folder])
        .ok()
        .says("a policy in Rust")
        .says("wipam policy check rack-aware2.wasm");
    let files = files(&folder);
    no_placeholder_is_left(&files);
    has_all_of(&files, "policies/template/rust", "");
    has_all_of(&files, "policies/template/rust/src", "src/");
    has_all_of(&files, "policy/src", "wipam-policy/src/");
    for path in ["wit/types.wit", "wit/decision.wit", "wit/policy.wit"] {
        assert!(files.contains_key(path), "{path}");
    }
    assert!(files["Cargo.toml"].contains("name = \"rack-aware2\""));
    assert!(files["README.md"].contains("release/rack_aware2.wasm"));
    // Nothing in it refers to a workspace that is not there.
    for manifest in ["Cargo.toml", "wipam-policy/Cargo.toml"] {
        let ran = with_input(
            Command::new(env!("CARGO"))
                .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
                .arg("--manifest-path")
                .arg(folder.join(manifest)),
            b"",
        );
        let packages = &ran.json()["packages"];
        assert_eq!(packages.as_array().unwrap().len(), 1, "{ran:?}");
    }
}

#[test]
fn a_project_in_javascript_has_everything_that_it_needs() {
    let place = Place::new();
    let folder = place.path("racks");
    policy(&[&"new", &"--javascript", &folder])
        .ok()
        .says("a policy in JavaScript")
        .says("npm ci");
    let files = files(&folder);
    no_placeholder_is_left(&files);
    has_all_of(&files, "policies/template/javascript", "");
    for path in [
        "wipam-policy/build.mjs",
        "wipam-policy/test.mjs",
        "wipam-policy/wipam.mjs",
        "wit/policy.wit",
    ] {
        assert!(files.contains_key(path), "{path}");
    }
    for file in ["package.json", "package-lock.json"] {
        let json: Value = serde_json::from_str(&files[file]).unwrap();
        assert_eq!(json["name"], "racks", "{file}");
    }
}

#[test]
fn the_cases_of_both_are_cases() {
    let place = Place::new();
    for arguments in [&[&"new" as &dyn AsRef<_>][..], &[&"new", &"--javascript"]] {
        let folder = place.path(&format!("p{}", arguments.len()));
        let mut arguments = arguments.to_vec();
        arguments.push(&folder);
        policy(&arguments).ok();
        let cases = fs::read_to_string(folder.join("cases.json")).unwrap();
        assert!(!wipam_policy::cases::read(&cases).unwrap().is_empty());
    }
}

#[test]
fn nobodys_files_are_written_over() {
    let place = Place::new();
    fs::create_dir(place.path("empty")).unwrap();
    place.file("full/src/lib.rs", "precious");
    let file = place.file("file", "precious");
    for path in [place.path("empty"), place.path("full"), file] {
        policy(&[&"new", &path]).fails("is there already");
    }
    std::os::unix::fs::symlink("nowhere", place.path("link")).unwrap();
    policy(&[&"new", &place.path("link")]).fails("");
    assert!(fs::read_dir(place.path("empty")).unwrap().next().is_none());
    assert_eq!(files(&place.path("full")).len(), 1);
}

#[test]
fn names_that_no_package_can_have_are_refused() {
    let place = Place::new();
    for name in [
        "My",
        "1a",
        "-a",
        "a_b",
        "a b",
        "a.b",
        "\u{e4}",
        "..",
        "a\n",
        "wipam-policy",
    ] {
        let ran = policy(&[&"new", &place.path(&format!("x/{name}"))]);
        ran.fails("wanted a folder whose name");
    }
    policy(&[&"new", &"."]).fails(".: wanted a folder whose name");
    assert!(!place.path("x").exists());
    // A slash at the end is no part of the name.
    policy(&[&"new", &place.path("x/a/")]).ok();
    assert!(place.path("x/a/Cargo.toml").exists());
}

#[test]
fn what_is_no_project_is_not_built() {
    let place = Place::new();
    policy(&[&"build", &place.path("")])
        .fails("wanted a Cargo.toml or a package.json, found neither");
}
