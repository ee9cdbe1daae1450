//! Scenarios: what happens to a network, when, and what came of it.
//!
//! A scenario is a JSON text with a network configuration and steps: commands
//! that are written out, and load that is made up from a seed. This crate says
//! which operation comes next and what the plugin is given for it, and counts
//! what came of it. It decides nothing about addresses and carries nothing
//! out: `wipam simulate` and the page in a browser do that, both with the
//! component that the plugins embed. Since all else happens here, they give
//! the same bytes.
//!
//! ```
//! use wipam_scenario::{Outcome, Scenario, Simulation, Task};
//!
//! let scenario = Scenario::parse(
//!     r#"{"wipam": "scenario/1", "network": {"cniVersion": "1.0.0", "name": "n"},
//!         "steps": [{"add": "web"}, {"reboot": {}}]}"#,
//! )?;
//! let mut simulation = Simulation::new(scenario);
//! while let Some(operation) = simulation.next_operation() {
//!     let outcome = match &operation.task {
//!         Task::Reboot => Outcome::default(),
//!         Task::Invoke(invocation) => Outcome {
//!             answer: Err(format!("nobody carries out {}", invocation.command)),
//!             ..Outcome::default()
//!         },
//!     };
//!     simulation.answered(&outcome);
//! }
//! assert_eq!(simulation.summary().operations, 2);
//! # Ok::<(), wipam_scenario::ScenarioError>(())
//! ```

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod account;
mod answers;
mod duration;
mod format;
mod layout;
mod load;
mod network;
mod picture;
mod random;
mod rows;
mod series;
mod simulation;
mod tally;

pub use answers::line;
pub use format::{Component, ComponentSource, File, Meaning, Scenario, ScenarioError};
pub use layout::{DATA_DIR, layout};
pub use series::Series;
pub use simulation::{Operation, Outcome, Simulation, Task};
pub use tally::Summary;
