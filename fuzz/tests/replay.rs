//! Every file of every corpus, through its target.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

use std::panic::catch_unwind;
use std::path::Path;

#[test]
fn every_corpus_holds() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (name, target) in wipam_fuzz::TARGETS {
        let mut files: Vec<_> = std::fs::read_dir(corpora.join(name))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        files.sort();
        assert!(!files.is_empty(), "corpus/{name} is empty");
        for file in files {
            let data = std::fs::read(&file).unwrap();
            let outcome = catch_unwind(|| target(&data));
            assert!(outcome.is_ok(), "{} breaks {name}", file.display());
        }
    }
}

/// A corpus whose target is gone, or was renamed, would be replayed by nobody.
#[test]
fn every_corpus_has_a_target() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for entry in std::fs::read_dir(corpora).unwrap() {
        let name = entry.unwrap().file_name();
        let known = wipam_fuzz::TARGETS
            .iter()
            .any(|(target, _)| *target == name);
        assert!(known, "no target for corpus/{}", name.display());
    }
}
