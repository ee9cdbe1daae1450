//! The `bridge` plugin: attaches containers to a Linux bridge.
//!
//! An ADD is a plan ([`plan`]) of typed steps ([`step`]), which are carried out
//! one after the other ([`apply`]), each with what undoes it ([`undo`]). The
//! addresses come from an IPAM plugin ([`delegate`]).

mod add;
mod apply;
mod background;
mod call;
mod check;
mod config;
mod del;
mod delegate;
mod error;
mod gateways;
mod gc;
mod log;
mod pending;
mod plan;
mod preview;
mod status;
mod step;
mod undo;
mod wait;

use std::env;
use std::fmt::Display;
use std::io::{Write, stderr};
use std::process::ExitCode;

use wipam_core::error::Fault;
use wipam_core::json::{Field, to_text};
use wipam_core::parameters::Invocation;
use wipam_core::parameters::{Command, Needs, Network};
use wipam_core::version::{Version, version_info};

use crate::about;
use crate::build;
use crate::deliver::{deliver, print};
use crate::input;

use apply::Observer;
use call::Call;
use config::ConfigError;
use error::BridgeError;

pub use preview::{Preview, PreviewStep, preview};

const NAME: &str = "bridge";

/// Runs the `bridge` plugin: what `main` does.
pub fn bridge() -> ExitCode {
    bridge_watched(&mut |_, _| true)
}

/// Runs the plugin with somebody who is told of each step of an ADD before it
/// is taken, by its number from 1 on, and can forbid it: the ADD then fails as
/// if the kernel had refused. For tests of what a failed ADD leaves behind.
pub fn bridge_watched(observer: &mut dyn FnMut(usize, &dyn Display) -> bool) -> ExitCode {
    build::keep();
    let command = input::variable("CNI_COMMAND");
    let mut arguments = env::args().skip(1);
    if command.is_empty() {
        return match arguments.next().as_deref() {
            Some(background::ARGUMENT) => background::run(arguments),
            _ => about::tell(NAME, "wipam bridge plan"),
        };
    }
    if command == "VERSION" {
        return deliver(NAME, Ok(version_info()), || {});
    }
    let mut version = Version::V1_1_0;
    let outcome = input::read(command)
        .map_err(BridgeError::from)
        .and_then(|invocation| run(&invocation, &mut version, observer));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let text = serde_json::to_string_pretty(&error.to_cni(version)).unwrap_or_default();
            deliver(NAME, Err(text), || {})
        }
    }
}

/// `version` becomes the configuration's as soon as it is known, so that
/// errors can carry it.
fn run(
    invocation: &Invocation,
    version: &mut Version,
    observer: Observer<'_>,
) -> Result<(), BridgeError> {
    let command = Command::read(invocation, Needs::Path)?;
    let text = to_text(&invocation.config);
    let document = Field::document(&text)
        .and_then(|field| field.object())
        .map_err(Fault::Document)?;
    let network = Network::read(&document)?;
    *version = network.version_of_errors();
    let asked = network.version(&command)?;
    let call = Call::new(invocation, &document, network.name, asked);
    let warn = &mut |text: &str| {
        // A warning that cannot be written must not keep a container from its
        // network.
        let _ = writeln!(stderr(), "{NAME}: {text}");
    };
    match &command {
        Command::Add(attachment) => {
            if invocation.own_netns {
                return Err(Fault::OwnNamespace(invocation.netns.clone()).into());
            }
            add::add(&call, attachment, observer, warn, &mut |text| print(text))
        }
        Command::Check(attachment) => check::check(&call, attachment),
        Command::Del(attachment) => {
            wipam_core::args::known_pairs(&invocation.args, &["MAC"]).map_err(ConfigError::from)?;
            del::del(&call, attachment, warn)
        }
        Command::Gc => gc::gc(&call, warn),
        Command::Status => status::status(&call, warn),
        Command::Unknown(command) => Err(Fault::UnknownCommand(command.clone()).into()),
    }
}
