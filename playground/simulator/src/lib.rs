//! `wipam-scenario` as a component, for the page. It converts between WIT and
//! the crate's types and decides nothing.

#![cfg_attr(target_arch = "wasm32", no_std)]

extern crate alloc;

mod bindings;
#[cfg(target_arch = "wasm32")]
mod runtime;

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cell::RefCell;
use core::net::IpAddr;

use bindings::exports::wipam::playground::simulation::{self as wit, Guest, GuestScenario, Source};
use wipam_core::json::to_text;
use wipam_scenario::{
    Component, ComponentSource, File, Operation, Outcome, Scenario, Simulation, Task, line,
};

struct Simulator;

impl Guest for Simulator {
    type Scenario = Course;

    fn layout(config: String) -> Result<String, String> {
        wipam_scenario::layout(&config)
    }
}

/// A scenario, as far as it has come.
struct Course {
    components: Vec<Component>,
    files: Vec<(String, String)>,
    start_ms: u64,
    simulation: RefCell<Simulation>,
}

impl GuestScenario for Course {
    fn open(text: String) -> Result<wit::Scenario, String> {
        let scenario = Scenario::parse(&text).map_err(|error| error.to_string())?;
        Ok(wit::Scenario::new(Self {
            components: scenario.components.clone(),
            files: scenario.files.iter().map(file).collect(),
            start_ms: scenario.start_ms,
            simulation: RefCell::new(Simulation::new(scenario)),
        }))
    }

    fn components(&self) -> Vec<wit::Component> {
        self.components.iter().cloned().map(component).collect()
    }

    fn files(&self) -> Vec<(String, String)> {
        self.files.clone()
    }

    fn start_ms(&self) -> u64 {
        self.start_ms
    }

    fn append(&self, step: String) -> Result<(), String> {
        let appended = self.simulation.borrow_mut().append(&step);
        appended.map_err(|error| error.to_string())
    }

    fn next(&self) -> Option<wit::Operation> {
        let mut simulation = self.simulation.borrow_mut();
        let operation = simulation.next_operation()?;
        Some(to_operation(operation, simulation.network().to_string()))
    }

    fn answered(&self, outcome: wit::Outcome) -> String {
        let mut simulation = self.simulation.borrow_mut();
        let outcome = Outcome {
            answer: outcome.answer,
            warnings: outcome.warnings,
            reserved: addresses(&outcome.reserved),
            released: addresses(&outcome.released),
        };
        let operation = simulation.next_operation();
        let line = operation.map(|operation| line(&operation, &outcome));
        simulation.answered(&outcome);
        line.unwrap_or_default()
    }

    fn summary(&self) -> String {
        // Texts and numbers: nothing of it can fail.
        serde_json::to_string(&self.simulation.borrow().summary()).unwrap_or_default()
    }

    fn series(&self) -> String {
        serde_json::to_string(&self.simulation.borrow().series()).unwrap_or_default()
    }

    fn picture(&self) -> String {
        self.simulation.borrow().picture()
    }
}

fn file(file: &File) -> (String, String) {
    (file.name.clone(), file.content.clone())
}

fn component(component: Component) -> wit::Component {
    wit::Component {
        path: component.path,
        source: match component.source {
            ComponentSource::File(name) => Source::File(name),
            ComponentSource::Bytes(bytes) => Source::Bytes(bytes),
        },
        sha256: component.sha256,
    }
}

fn to_operation(operation: Operation, network: String) -> wit::Operation {
    wit::Operation {
        number: operation.number,
        ms: operation.ms,
        time_ms: operation.time_ms,
        seed: operation.seed,
        task: match operation.task {
            Task::Reboot => wit::Task::Reboot,
            Task::Invoke(invocation) => wit::Task::Invoke(wit::Invocation {
                command: invocation.command,
                container_id: invocation.container_id,
                interface_name: invocation.interface_name,
                netns: invocation.netns,
                args: invocation.args,
                path: invocation.path,
                config: to_text(&invocation.config),
            }),
        },
        network,
    }
}

/// What is no address does not count.
fn addresses(texts: &[String]) -> Vec<IpAddr> {
    texts.iter().filter_map(|text| text.parse().ok()).collect()
}
