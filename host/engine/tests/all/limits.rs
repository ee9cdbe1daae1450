//! Limits hold, and what is left behind is known.

use wipam_core::memory::MemoryStore;
use wipam_core::parameters::Invocation;
use wipam_engine::{Code, Engine, EngineError, Limits};

fn add(padding: usize) -> Invocation {
    let config = format!(
        r#"{{"cniVersion":"1.0.0","name":"n","x":"{}","ipam":{{"subnet":"10.1.0.0/24"}}}}"#,
        "x".repeat(padding)
    );
    Invocation {
        command: "ADD".into(),
        container_id: "c1".into(),
        interface_name: "eth0".into(),
        netns: "/run/netns/c1".into(),
        config: config.into_bytes(),
        ..Invocation::default()
    }
}

fn engine(limits: Limits) -> Engine {
    Engine::new(wipam_artifact::compiled(), limits).unwrap()
}

#[test]
fn the_largest_input_is_within_the_limits() {
    let engine = engine(Limits::default());
    let store = MemoryStore::default();
    let answer = engine.invoke(&add(8 << 20), store.clone()).unwrap();
    assert!(answer.unwrap().contains("10.1.0.2/24"));
    assert_eq!(store.len(), 1);
}

#[test]
fn fuel_runs_out() {
    for fuel in [1, 1_000, 20_000] {
        let engine = engine(Limits {
            fuel,
            ..Limits::default()
        });
        let store = MemoryStore::default();
        let error = engine.invoke(&add(1 << 20), store.clone()).unwrap_err();
        assert!(matches!(error, EngineError::Overran(_)), "{fuel}: {error}");
        assert!(error.to_string().contains(&fuel.to_string()));
        assert!(store.is_empty());
    }
}

#[test]
fn memory_runs_out() {
    let engine = engine(Limits {
        memory: 2 << 20,
        ..Limits::default()
    });
    let store = MemoryStore::default();
    let error = engine.invoke(&add(4 << 20), store.clone()).unwrap_err();
    assert!(matches!(error, EngineError::Overran(_)), "{error}");
    assert!(error.to_string().contains("memory"), "{error}");
    assert!(store.is_empty());
    // The engine is as good as new: the next invocation has a store of its own.
    engine.invoke(&add(0), store.clone()).unwrap().unwrap();
    assert_eq!(store.len(), 1);
}

#[test]
fn code_that_is_not_ours_is_refused() {
    for code in [&b""[..], b"\0asm\x0d\0\x01\0", wipam_artifact::COMPONENT] {
        let code: &'static [u8] = code;
        // SAFETY: it is refused before anything of it is executed, which is
        // what is tested here.
        #[allow(unsafe_code, reason = "the wrong code, on purpose")]
        let code = unsafe { Code::in_text(code) };
        let refused = Engine::new(code, Limits::default());
        assert!(matches!(refused, Err(EngineError::Load(_))));
    }
}

#[test]
fn a_node_full_of_attachments_is_within_the_limits() {
    let engine = engine(Limits::default());
    let store = MemoryStore::default();
    engine.invoke(&add(0), store.clone()).unwrap().unwrap();
    let valid: Vec<_> = (0..60_000)
        .map(|n| format!(r#"{{"containerID":"{n:064x}","ifname":"eth0"}}"#))
        .collect();
    let config = format!(
        r#"{{"cniVersion":"1.1.0","name":"n","ipam":{{"subnet":"10.1.0.0/16"}},
            "cni.dev/valid-attachments":[{}]}}"#,
        valid.join(",")
    );
    let gc = Invocation {
        command: "GC".into(),
        path: "/opt/cni/bin".into(),
        config: config.into_bytes(),
        ..Invocation::default()
    };
    engine.invoke(&gc, store.clone()).unwrap().unwrap();
    assert!(store.is_empty());
}
