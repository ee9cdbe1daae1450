//! Every recorded case that needs no real file system, twice: core called as
//! a crate, and core as the component that is shipped. Not libtest's harness:
//! what is left out, and why, is to be seen when all is well, too.

#![allow(clippy::print_stdout, reason = "a test's report")]

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use wipam_core::invoke::invoke;
use wipam_core::parameters::Invocation;
use wipam_engine::{Engine, EngineError, Limits};
use wipam_replay::{Case, Found, Tree, World, differences, load};

type Answer = Result<Result<String, String>, EngineError>;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let cases = load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../host-local/cases"))?;
    let engine = Engine::new(wipam_artifact::compiled(), Limits::default())?;
    let native = |invocation: &Invocation, mut world: World| Ok(invoke(invocation, &mut world));
    let component = |invocation: &Invocation, world: World| engine.invoke(invocation, world);

    let skipped: Vec<_> = cases
        .iter()
        .filter_map(|case| Some((case, case.needs_more()?)))
        .collect();
    for (case, reason) in &skipped {
        println!(
            "SKIP {}: {reason}; conformance/host-local/run.py runs it",
            case.name
        );
    }
    let mut failed = 0;
    failed += replay("native", &cases, skipped.len(), &native)?;
    failed += replay("component", &cases, skipped.len(), &component)?;
    Ok(if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn replay(
    target: &str,
    cases: &[Case],
    skipped: usize,
    run: &dyn Fn(&Invocation, World) -> Answer,
) -> Result<usize, EngineError> {
    let (mut passed, mut failed) = (0, 0);
    for case in cases.iter().filter(|case| case.needs_more().is_none()) {
        let different = replay_case(case, run)?;
        if different.is_empty() {
            passed += 1;
            continue;
        }
        failed += 1;
        println!("FAIL {target} {}", case.name);
        different
            .iter()
            .take(12)
            .for_each(|line| println!("  {line}"));
    }
    println!("{target}: {passed} passed, {failed} failed, {skipped} skipped");
    // A corpus that is not found must not look like one that passes.
    Ok(if passed == 0 { failed + 1 } else { failed })
}

fn replay_case(
    case: &Case,
    run: &dyn Fn(&Invocation, World) -> Answer,
) -> Result<Vec<String>, EngineError> {
    let world = World::default();
    world.tree.borrow_mut().edit(&case.value["files"]);
    let start: Tree = world.tree.borrow().detached();
    let mut found = Vec::new();
    for step in &case.steps {
        world.tree.borrow_mut().edit(&step.value["files"]);
        world.warnings.borrow_mut().clear();
        let answer = run(&step.invocation, world.clone())?;
        let warned = !world.warnings.borrow().is_empty();
        found.push(Found {
            answer,
            warned,
            tree: world.tree.borrow().detached(),
        });
    }
    Ok(differences(case, &start, &found))
}
