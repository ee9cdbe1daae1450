//! What a policy costs an invocation whose cache is warm.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "measurements fail by panicking, and are for people"
)]

use std::path::Path;

use divan::Bencher;
use wipam_engine::policy::{InProcess, NoCompiler, Policies};

#[allow(dead_code, unused_imports, reason = "the tests use more of it")]
#[path = "../tests/all/policy/guest.rs"]
mod guest;
#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../tests/all/policy/store.rs"]
mod store;
#[allow(dead_code, reason = "the tests use more of it")]
#[path = "../tests/all/policy/trial.rs"]
mod trial;

use trial::{Trial, request, view};

fn main() {
    divan::main();
}

/// A component from a file, or else one that is as large as a small one in
/// Rust: 17 KB, and 60 KB of machine code.
fn component() -> Vec<u8> {
    if let Some(path) = std::env::var_os("POLICY") {
        return std::fs::read(Path::new(&path)).unwrap();
    }
    let work = "(i32.add (i32.mul (local.get 0) (local.get 1)) (i32.load (local.get 0)))";
    let body: String = (0..22)
        .map(|n| format!("(i32.store offset={n} (local.get 1) {work})"))
        .collect();
    let function = format!("(func (param i32 i32) {body})");
    guest::policy_with(&function.repeat(30), guest::NEXT_FREE)
}

/// Everything that a process does for its first decision.
#[divan::bench]
fn first(bencher: Bencher<'_, '_>) {
    let trial = Trial::with_compiler(&component(), InProcess);
    let installed = trial.policies.install(&trial.setting).unwrap();
    println!(
        "{} bytes, compiled {}",
        installed.component, installed.compiled
    );
    bencher.bench_local(|| {
        let policies = Policies::new(NoCompiler);
        policies
            .choose(&trial.network, &trial.setting, &request(), &view(), |_| {})
            .unwrap()
    });
}

/// Another decision of the same process.
#[divan::bench]
fn again(bencher: Bencher<'_, '_>) {
    let trial = Trial::with_compiler(&component(), InProcess);
    bencher.bench_local(|| trial.choose().unwrap());
}

/// What is done once for a component.
#[divan::bench]
fn compile(bencher: Bencher<'_, '_>) {
    let component = component();
    bencher.bench_local(|| wipam_engine::policy::precompile(&component).unwrap());
}
