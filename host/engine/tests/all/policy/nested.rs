//! A policy under the built-in component, which is running while it does.

use std::rc::Rc;

use wipam_core::environment::{Environment, Inputs};
use wipam_core::parameters::Invocation;
use wipam_core::policy::{Decision, Notice, PolicyFailure, Request, Setting, View};
use wipam_core::store::{Access, Location, StoreError};
use wipam_engine::policy::{NoCompiler, Policies};
use wipam_engine::{Engine, Limits};

use super::guest::{NEXT_FREE, policy, policy_with};
use super::store::{Network, broken};
use super::trial::Trial;

/// What a host does: it has a network, and runs policies.
struct Host {
    network: Network,
    policies: Rc<Policies>,
}

impl Environment for Host {
    type Store = Network;

    fn open(&mut self, _: &Location, _: Access) -> Result<Option<Network>, StoreError> {
        Ok(Some(self.network.clone()))
    }

    fn resolv_conf(&mut self, _: &str) -> Result<String, StoreError> {
        Err(broken())
    }

    fn warn(&mut self, _: &str) {}

    fn inputs(&mut self) -> Inputs {
        Inputs::default()
    }

    fn noting(&mut self) -> bool {
        false
    }

    fn note(&mut self, _: &str) {}

    fn choose(
        &mut self,
        store: &mut Network,
        setting: &Setting,
        request: &Request,
        view: &View,
    ) -> Result<Decision, PolicyFailure> {
        self.policies.choose(store, setting, request, view, |_| {})
    }

    fn ready(&mut self, setting: &Setting) -> Result<(), PolicyFailure> {
        self.policies.ready(setting)
    }

    fn released(
        &mut self,
        store: &mut Network,
        setting: &Setting,
        notice: &Notice,
    ) -> Result<(), PolicyFailure> {
        self.policies.released(store, setting, notice, |_| {})
    }
}

/// What an ADD answers whose addresses this policy chooses.
fn add(component: &[u8]) -> Result<String, String> {
    let trial = Trial::new(component);
    trial.policies.install(&trial.setting).unwrap();
    trial.network.let_change();
    let config = format!(
        r#"{{"cniVersion":"1.0.0","name":"net","ipam":{{"type":"host-local",
            "subnet":"10.1.0.0/24","policy":{{"component":{:?},"cache":{:?}}}}}}}"#,
        trial.setting.component, trial.setting.cache
    );
    let invocation = Invocation {
        command: "ADD".into(),
        container_id: "c1".into(),
        interface_name: "eth0".into(),
        netns: "/run/netns/c1".into(),
        config: config.into_bytes(),
        ..Invocation::default()
    };
    let host = Host {
        network: trial.network.clone(),
        policies: Rc::new(Policies::new(NoCompiler)),
    };
    Engine::new(wipam_artifact::compiled(), Limits::default())
        .unwrap()
        .invoke(&invocation, host)
        .unwrap()
}

#[test]
fn its_answer_is_taken() {
    let answer = add(&policy(NEXT_FREE)).unwrap();
    assert!(answer.contains("10.1.0.50/24"), "{answer}");
}

#[test]
fn its_failure_is_answered() {
    let deep = "(func $deep (param i64) (result i64)
        (i64.add (local.get 0) (call $deep (i64.add (local.get 0) (i64.const 1)))))";
    for (component, wanted) in [
        (policy("(unreachable)"), "trapped after"),
        (
            policy("(i32.load (i32.const -8))"),
            "out of bounds memory access",
        ),
        (
            policy_with(deep, "(drop (call $deep (i64.const 0))) (unreachable)"),
            "bytes of stack",
        ),
    ] {
        let answer = add(&component).unwrap_err();
        assert!(answer.contains(wanted), "{answer}");
        assert!(answer.contains("policy.wasm (sha256 "), "{answer}");
    }
}
