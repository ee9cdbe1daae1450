//! The price of the sandbox: the same core, called as a crate and as a
//! component, each with a store in memory.

use divan::Bencher;
use wipam_core::invoke::invoke;
use wipam_core::memory::MemoryStore;
use wipam_core::parameters::Invocation;
use wipam_engine::{Engine, Limits};

fn main() {
    divan::main();
}

fn invocation(command: &str, id: &str) -> Invocation {
    Invocation {
        command: command.into(),
        container_id: id.into(),
        interface_name: "eth0".into(),
        netns: "/run/netns/c1".into(),
        config: br#"{"cniVersion":"1.0.0","name":"net","ipam":{"type":"host-local",
            "ranges":[[{"subnet":"10.1.0.0/16"}],[{"subnet":"fd00::/64"}]],
            "routes":[{"dst":"0.0.0.0/0"}]}}"#
            .to_vec(),
        ..Invocation::default()
    }
}

/// A dual-stack ADD and the DEL that follows, with this many reservations.
const HELD: [usize; 2] = [0, 1000];

fn filled(held: usize) -> MemoryStore {
    let mut network = MemoryStore::default();
    for n in 0..held {
        let _ = invoke(&invocation("ADD", &format!("held{n}")), &mut network);
    }
    network
}

#[divan::bench(args = HELD)]
fn native(bencher: Bencher<'_, '_>, held: usize) {
    let mut network = filled(held);
    bencher.bench_local(|| {
        let added = invoke(&invocation("ADD", "c1"), &mut network);
        let deleted = invoke(&invocation("DEL", "c1"), &mut network);
        (added, deleted)
    });
}

#[divan::bench(args = HELD)]
fn component(bencher: Bencher<'_, '_>, held: usize) {
    let Ok(engine) = Engine::new(wipam_artifact::compiled(), Limits::default()) else {
        return;
    };
    let network = filled(held);
    bencher.bench_local(|| {
        let added = engine.invoke(&invocation("ADD", "c1"), network.clone());
        let deleted = engine.invoke(&invocation("DEL", "c1"), network.clone());
        (added.is_ok(), deleted.is_ok())
    });
}

/// What a process pays once before its first invocation.
#[divan::bench]
fn load() -> bool {
    Engine::new(wipam_artifact::compiled(), Limits::default()).is_ok()
}
