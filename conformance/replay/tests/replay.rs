//! Every recorded case that needs no real file system: with core called as a
//! crate, and with core as the component that is shipped; each without a
//! policy, and with one that leaves every choice to the strategy, which must
//! make no difference. Not libtest's harness: what is left out, and why, is to
//! be seen when all is well, too.

#![allow(clippy::print_stdout, reason = "a test's report")]

use std::cell::RefCell;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;

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
    for policy in [false, true] {
        let with = if policy { ", with a policy" } else { "" };
        for (name, run) in [
            ("native", &native as &dyn Fn(&Invocation, World) -> Answer),
            ("component", &component),
        ] {
            let target = format!("{name}{with}");
            failed += replay(&target, &cases, skipped.len(), policy, run)?;
        }
    }
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
    policy: bool,
    run: &dyn Fn(&Invocation, World) -> Answer,
) -> Result<usize, EngineError> {
    let (mut passed, mut failed) = (0, 0);
    let asked = Rc::default();
    for case in cases.iter().filter(|case| case.needs_more().is_none()) {
        let different = replay_case(case, policy, &asked, run)?;
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
    let asked = *asked.borrow();
    let asks = if policy {
        format!("; the policy was asked {asked} times")
    } else {
        String::new()
    };
    println!("{target}: {passed} passed, {failed} failed, {skipped} skipped{asks}");
    // A corpus that is not found, or a policy that nobody asks, must not look
    // like one that passes.
    let hollow = passed == 0 || policy && asked == 0;
    Ok(if hollow { failed + 1 } else { failed })
}

fn replay_case(
    case: &Case,
    policy: bool,
    asked: &Rc<RefCell<usize>>,
    run: &dyn Fn(&Invocation, World) -> Answer,
) -> Result<Vec<String>, EngineError> {
    let world = World {
        asked: Rc::clone(asked),
        ..World::default()
    };
    world.tree.borrow_mut().edit(&case.value["files"]);
    let start: Tree = world.tree.borrow().detached();
    let mut found = Vec::new();
    for step in &case.steps {
        world.tree.borrow_mut().edit(&step.value["files"]);
        world.warnings.borrow_mut().clear();
        let mut invocation = step.invocation.clone();
        if policy {
            invocation.config = with_policy(&invocation.config);
        }
        let answer = run(&invocation, world.clone())?;
        let warned = !world.warnings.borrow().is_empty();
        found.push(Found {
            answer,
            warned,
            tree: world.tree.borrow().detached(),
        });
    }
    Ok(differences(case, &start, &found))
}

/// The configuration, with a policy. By its text, since cases depend on how
/// theirs is written; one without an ordinary `ipam` stays as it is.
fn with_policy(config: &[u8]) -> Vec<u8> {
    const IPAM: &str = r#""ipam":{"#;
    let Ok(text) = std::str::from_utf8(config) else {
        return config.to_vec();
    };
    match text.split_once(IPAM) {
        Some((before, rest)) if !rest.trim_start().starts_with('}') => {
            let policy = r#""policy":{"component":"/policy.wasm"},"#;
            format!("{before}{IPAM}{policy}{rest}").into_bytes()
        }
        _ => config.to_vec(),
    }
}
