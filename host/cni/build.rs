//! Says which build this is: a digest of the sources of everything that takes
//! part in an answer.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3Default;

/// What a program of this crate is made from, from this folder.
const SOURCES: &[&str] = &[
    "../../Cargo.lock",
    "../../Cargo.toml",
    "../../core/src",
    "../../plugin-wasm/src",
    "../../wit",
    "../artifact",
    "../engine/src",
    "../net/src",
    "../store/src",
    "src",
];

fn main() -> io::Result<()> {
    let mut files = Vec::new();
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
        collect(Path::new(source), &mut files)?;
    }
    files.sort();
    let mut digest = Xxh3Default::new();
    for file in files {
        let bytes = fs::read(&file)?;
        digest.update(file.to_string_lossy().as_bytes());
        digest.update(&bytes.len().to_le_bytes());
        digest.update(&bytes);
    }
    println!("cargo::rustc-env=WIPAM_BUILD={:032x}", digest.digest128());
    Ok(())
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            collect(&entry?.path(), files)?;
        }
    } else if path.exists() {
        files.push(path.to_owned());
    }
    Ok(())
}
