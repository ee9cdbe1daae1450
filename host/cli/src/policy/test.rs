//! `wipam policy test`: recorded cases, put to a component.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use wipam_core::address::parse_prefix;
use wipam_core::names::{Attachment, ContainerId, InterfaceName, NetworkName};
use wipam_core::policy::{
    Answer, Limits, Notice, OnFailure, Pod, PolicyFailure, Request, Setting, View,
};
use wipam_core::pool::HoldBack;
use wipam_core::range::{Range, RangeSpec};
use wipam_core::span::Span;
use wipam_core::store::{Access, Owner, Store};
use wipam_engine::policy::{InProcess, Policies};
use wipam_policy::cases::{Case, ReleasedSpec, RequestSpec, Want, read};
use wipam_store::{MemoryNetwork, MemoryStore};

use super::component;

#[derive(Args)]
pub(crate) struct Test {
    /// A component, or a core module to make one of.
    component: PathBuf,
    /// Files of recorded cases.
    #[arg(required = true)]
    cases: Vec<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Outcome {
    file: String,
    case: String,
    /// What is wrong; nothing if it passed.
    difference: Option<String>,
}

impl Test {
    pub(crate) fn run(&self) -> Result<(), Box<dyn Error>> {
        let bytes = component::read(&self.component)?;
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("component.wasm");
        fs::write(&path, bytes)?;
        let tester = Tester {
            policies: Policies::new(InProcess),
            setting: Setting {
                component: path.to_string_lossy().into_owned(),
                cache: folder.path().join("cache").to_string_lossy().into_owned(),
                limits: Limits::default(),
                config: "null".to_owned(),
                on_failure: OnFailure::Deny,
            },
        };
        let mut outcomes = Vec::new();
        for file in &self.cases {
            let named = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
            let text = fs::read_to_string(file).map_err(|error| named(&error))?;
            for case in read(&text).map_err(|error| named(&error))? {
                outcomes.push(Outcome {
                    file: file.display().to_string(),
                    difference: tester.check(&case).err().map(|error| error.to_string()),
                    case: case.name,
                });
            }
        }
        self.report(&outcomes)
    }

    fn report(&self, outcomes: &[Outcome]) -> Result<(), Box<dyn Error>> {
        let failed = outcomes.iter().filter(|o| o.difference.is_some()).count();
        if self.json {
            println!("{}", serde_json::to_string_pretty(outcomes)?);
        } else {
            for outcome in outcomes {
                if let Some(difference) = &outcome.difference {
                    println!("FAIL {}: {}: {difference}", outcome.file, outcome.case);
                }
            }
            let passed = outcomes.len() - failed;
            println!(
                "{}: {passed} passed, {failed} failed",
                self.component.display()
            );
        }
        match (failed, outcomes.len()) {
            (0, 1..) => Ok(()),
            (0, _) => Err("there is no case".into()),
            (failed, _) => Err(format!("{failed} cases failed").into()),
        }
    }
}

struct Tester {
    policies: Policies,
    setting: Setting,
}

impl Tester {
    fn check(&self, case: &Case) -> Result<(), Box<dyn Error>> {
        let network = MemoryNetwork::default();
        network.set_policy_state(serde_json::to_vec(&case.state)?);
        let mut store = MemoryStore::open(&network, Access::Reserve, false);
        for (address, container) in &case.reservations {
            store.reserve(*address, &attachment(container, "eth0")?)?;
        }
        match (&case.request, &case.released, &case.want) {
            (Some(request), None, Some(want)) => self.ask(case, &store, request, want)?,
            (None, Some(notice), None) => self.tell(&store, notice)?,
            _ => return Err("wanted either `request` and `want`, or `released`".into()),
        }
        store.keep_state()?;
        let wanted = case.state_after.as_ref().unwrap_or(&case.state);
        // What is empty is not kept.
        let found: BTreeMap<String, String> = match &network.policy_state()[..] {
            [] => BTreeMap::new(),
            state => serde_json::from_slice(state)?,
        };
        if *wanted != found {
            return Err(format!("wanted the state {wanted:?}, found {found:?}").into());
        }
        Ok(())
    }

    fn ask(
        &self,
        case: &Case,
        store: &MemoryStore,
        request: &RequestSpec,
        want: &Want,
    ) -> Result<(), Box<dyn Error>> {
        let request = to_request(request)?;
        let view = view(case)?;
        let decided = self
            .policies
            .choose(store, &self.setting, &request, &view, |_| {});
        let found = decided.map_err(plain)?.answer;
        let agree = match (want, &found) {
            (Want::Candidates(wanted), Answer::Candidates(found)) => wanted == found,
            (Want::None(wanted), Answer::Nothing(found)) => found.contains(wanted),
            (Want::YouDecide, Answer::YouDecide) => true,
            _ => false,
        };
        match agree {
            true => Ok(()),
            false => Err(format!("wanted {want:?}, found {found:?}").into()),
        }
    }

    fn tell(&self, store: &MemoryStore, spec: &ReleasedSpec) -> Result<(), Box<dyn Error>> {
        let notice = spec.notice();
        let interface = notice.owner.interface.as_deref().map(InterfaceName::new);
        let notice = Notice {
            network: NetworkName::new(&notice.network)?,
            address: notice.address,
            owner: Owner {
                container: ContainerId::new(&notice.owner.container)?,
                interface: interface.transpose()?,
            },
            config: notice.config,
            time_ms: notice.time_ms,
        };
        self.policies
            .released(store, &self.setting, &notice, |_| {})
            .map_err(plain)?;
        Ok(())
    }
}

fn plain(failure: PolicyFailure) -> String {
    failure.to_string()
}

fn attachment(container: &str, interface: &str) -> Result<Attachment, Box<dyn Error>> {
    Ok(Attachment {
        container: ContainerId::new(container)?,
        interface: InterfaceName::new(interface)?,
    })
}

fn to_request(spec: &RequestSpec) -> Result<Request, Box<dyn Error>> {
    let request = spec.request();
    Ok(Request {
        network: NetworkName::new(&request.network)?,
        attachment: attachment(&request.attachment.container, &request.attachment.interface)?,
        pod: request.pod.map(|pod| Pod {
            namespace: pod.namespace,
            name: pod.name,
            uid: pod.uid,
        }),
        args: request.args,
        set: request.set,
        config: request.config,
        remembered: request.remembered,
        time_ms: request.time_ms,
        seed: request.seed,
    })
}

fn view(case: &Case) -> Result<View, Box<dyn Error>> {
    let mut ranges = Vec::new();
    for spec in &case.ranges {
        let subnet = parse_prefix(&spec.subnet).map_err(|error| error.to_string())?;
        let mut range = Range::new(&RangeSpec {
            subnet,
            start: spec.range_start,
            end: spec.range_end,
            gateway: spec.gateway,
            gateway_on_link: false,
        })?;
        let exclude = case.exclude.iter();
        range.bar(exclude.filter_map(|span| Span::new(span.first(), span.last())));
        ranges.push(range);
    }
    Ok(View {
        spans: ranges.iter().flat_map(|r| r.givable(r.span())).collect(),
        ranges,
        hold_back: HoldBack::default(),
        last_reserved: case.last_reserved,
    })
}
