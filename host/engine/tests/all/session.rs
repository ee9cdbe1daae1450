//! One instance for many invocations.

use wipam_core::memory::MemoryStore;
use wipam_core::parameters::Invocation;
use wipam_engine::{Engine, EngineError, Limits, Session};

fn invocation(command: &str, container: u32) -> Invocation {
    Invocation {
        command: command.into(),
        container_id: format!("c{container}"),
        interface_name: "eth0".into(),
        netns: "/run/netns/c".into(),
        path: "/opt/cni/bin".into(),
        config: br#"{"cniVersion":"1.0.0","name":"n","ipam":{"subnet":"10.1.0.0/28"}}"#.into(),
        ..Invocation::default()
    }
}

/// Some that succeed and some that do not, more than one invocation may open
/// networks.
fn answers(session: &mut Session<MemoryStore>) -> Vec<Result<String, String>> {
    let adds = (0..20).map(|n| invocation("ADD", n));
    let dels = (5..9).map(|n| invocation("DEL", n));
    let again = (30..36).map(|n| invocation("ADD", n));
    let all = adds.chain(dels).chain(again);
    all.map(|invocation| session.invoke(&invocation).unwrap())
        .collect()
}

#[test]
fn a_session_answers_as_fresh_instances_do_and_fast_code_as_any() {
    let engine = Engine::new(wipam_artifact::compiled(), Limits::default()).unwrap();
    let store = MemoryStore::default();
    let mut session = engine.session(store.clone()).unwrap();
    let of_session = answers(&mut session);
    assert!(of_session.iter().any(Result::is_err));
    assert_eq!(session.environment().len(), store.len());

    let fresh = MemoryStore::default();
    let adds = (0..20).map(|n| engine.invoke(&invocation("ADD", n), fresh.clone()).unwrap());
    assert!(adds.eq(of_session[..20].iter().cloned()));

    let fast = Engine::compile(wipam_artifact::COMPONENT, Limits::default()).unwrap();
    let mut session = fast.session(MemoryStore::default()).unwrap();
    assert_eq!(answers(&mut session), of_session);
}

#[test]
fn each_invocation_has_the_whole_limit_of_fuel() {
    let once = |fuel: u64| {
        let limits = Limits {
            fuel,
            ..Limits::default()
        };
        let engine = Engine::new(wipam_artifact::compiled(), limits).unwrap();
        let mut session = engine.session(MemoryStore::default())?;
        (0..10)
            .map(|n| {
                session
                    .invoke(&invocation("ADD", n))
                    .map(|answer| answer.unwrap())
            })
            .collect::<Result<Vec<_>, EngineError>>()
    };
    // As much as the costliest of them takes, to a tenth: all of them go on.
    let mut enough = 1_000;
    while once(enough).is_err() {
        enough += enough / 10;
    }
    assert!(enough < 10_000_000, "{enough}");
    assert!(once(enough / 2).is_err());
}
