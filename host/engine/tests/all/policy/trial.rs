//! A policy in a folder of its own, with a network to decide about.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use wipam_core::names::{Attachment, ContainerId, InterfaceName, NetworkName};
use wipam_core::policy::{
    Answer, Limits, Notice, OnFailure, Pod, PolicyFailure, Request, Setting, View,
};
use wipam_core::pool::HoldBack;
use wipam_core::range::{Range, RangeSpec};
use wipam_core::span::Span;
use wipam_core::store::Owner;
use wipam_engine::policy::{Compiler, InProcess, Policies, Spent};

use super::store::Network;

pub(crate) struct Trial {
    pub(crate) policies: Policies,
    pub(crate) network: Network,
    pub(crate) setting: Setting,
    _folder: TempDir,
}

impl Trial {
    pub(crate) fn new(component: &[u8]) -> Self {
        Self::with_compiler(component, InProcess)
    }

    pub(crate) fn with_compiler(component: &[u8], compiler: impl Compiler + 'static) -> Self {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("policy.wasm");
        fs::write(&path, component).unwrap();
        Self {
            policies: Policies::new(compiler),
            network: Network::default(),
            setting: setting(&path, &folder.path().join("cache")),
            _folder: folder,
        }
    }

    pub(crate) fn cache(&self) -> PathBuf {
        self.setting.cache.clone().into()
    }

    pub(crate) fn limited(mut self, limit: impl FnOnce(&mut Limits)) -> Self {
        limit(&mut self.setting.limits);
        self
    }

    /// What it answers, what it says, and what that took.
    pub(crate) fn run(&self) -> (Result<Answer, PolicyFailure>, Vec<String>, Spent) {
        let mut lines = Vec::new();
        let (decided, spent) = self.policies.choose_metered(
            &self.network,
            &self.setting,
            &request(),
            &view(),
            |line| lines.push(line.to_owned()),
        );
        (decided.map(|decision| decision.answer), lines, spent)
    }

    pub(crate) fn choose(&self) -> Result<Answer, PolicyFailure> {
        self.run().0
    }

    pub(crate) fn released(&self) -> Result<(), PolicyFailure> {
        self.policies
            .released(&self.network, &self.setting, &notice(), |_| {})
    }

    /// The text of the failure that it is.
    pub(crate) fn failure(&self) -> String {
        match self.choose() {
            Err(PolicyFailure::Policy(text)) => {
                assert!(text.starts_with(&format!("policy {}", self.setting.component)));
                assert!(!text.contains('\n'), "{text}");
                text
            }
            other => panic!("{other:?}"),
        }
    }
}

pub(crate) fn setting(component: &Path, cache: &Path) -> Setting {
    Setting {
        component: component.to_str().unwrap().to_owned(),
        cache: cache.to_str().unwrap().to_owned(),
        // Tests have to wait until it is spent, and are slower than what is
        // shipped.
        limits: Limits {
            fuel: 50_000_000,
            ..Limits::default()
        },
        config: "null".into(),
        on_failure: OnFailure::default(),
    }
}

fn attachment() -> Attachment {
    Attachment {
        container: ContainerId::new("c1").unwrap(),
        interface: InterfaceName::new("eth0").unwrap(),
    }
}

pub(crate) fn request() -> Request {
    Request {
        network: NetworkName::new("net").unwrap(),
        attachment: attachment(),
        pod: Some(Pod {
            namespace: "default".into(),
            name: "web-0".into(),
            uid: Some("a-b".into()),
        }),
        args: vec![("K8S_POD_NAME".into(), "web-0".into())],
        set: 7,
        config: r#"{"zone":"a"}"#.into(),
        remembered: Some("10.1.0.9".parse().unwrap()),
        time_ms: 1_700_000_000_000,
        seed: 42,
    }
}

pub(crate) fn view() -> View {
    let span =
        |first: &str, last: &str| Span::new(first.parse().unwrap(), last.parse().unwrap()).unwrap();
    View {
        ranges: vec![
            Range::new(&RangeSpec {
                subnet: "10.1.0.0/24".parse().unwrap(),
                start: None,
                end: None,
                gateway: None,
                gateway_on_link: false,
            })
            .unwrap(),
        ],
        spans: vec![span("10.1.0.2", "10.1.0.254")],
        hold_back: HoldBack::default(),
        last_reserved: None,
    }
}

pub(super) fn notice() -> Notice {
    Notice {
        network: NetworkName::new("net").unwrap(),
        address: "10.1.0.9".parse().unwrap(),
        owner: Owner::from(&attachment()),
        config: "null".into(),
        time_ms: 1_700_000_000_000,
    }
}
