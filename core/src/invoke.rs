//! One execution of the plugin, from `CNI_*` variables and standard input to
//! what goes to standard output.

use alloc::string::String;
use alloc::vec::Vec;

use crate::commands;
use crate::config;
use crate::environment::Environment;
use crate::error::{CniError, Fault};
use crate::json::{Field, Object, to_text};
use crate::names::NetworkName;
use crate::parameters::{Command, Invocation, Needs, Network};
use crate::policy;
use crate::store::Location;
use crate::version::{Version, version_info};

/// Runs an invocation. `Ok` holds what goes to standard output, perhaps
/// nothing, and means exit status 0. `Err` holds a CNI error object and means
/// exit status 1.
pub fn invoke<E: Environment>(
    invocation: &Invocation,
    environment: &mut E,
) -> Result<String, String> {
    let mut version = Version::V1_1_0;
    Execution {
        invocation,
        environment,
    }
    .run(&mut version)
    .map_err(|fault| {
        // OK because an error object is made of texts and a number.
        serde_json::to_string_pretty(&CniError::new(version, &fault)).unwrap_or_default()
    })
}

struct Execution<'a, E: Environment> {
    invocation: &'a Invocation,
    environment: &'a mut E,
}

impl<E: Environment> Execution<'_, E> {
    /// `version` becomes the configuration's as soon as it is known, so that
    /// errors can carry it.
    fn run(&mut self, version: &mut Version) -> Result<String, Fault> {
        let invocation = self.invocation;
        if invocation.command == "VERSION" {
            return Ok(version_info());
        }
        let command = Command::read(invocation, Needs::NoPath)?;

        let text = to_text(&invocation.config);
        let document = Field::document(&text)
            .and_then(|field| field.object())
            .map_err(Fault::Document)?;
        let network = Network::read(&document)?;
        *version = network.version_of_errors();

        let asked = network.version(&command);
        let name = network.name;
        match command {
            Command::Add(attachment) => {
                let version = asked?;
                if invocation.own_netns {
                    return Err(Fault::OwnNamespace(invocation.netns.clone()));
                }
                let location = config::location(&document, name, |_| {})?;
                commands::add(self.frame(&document), version, &location, &attachment)
            }
            Command::Check(attachment) => {
                let version = asked?;
                let location = config::location(&document, name, |_| {})?;
                commands::check(self.frame(&document), version, &location, &attachment)
            }
            Command::Del(attachment) => {
                let (location, policy) = self.location_only(&document, name, asked)?;
                commands::del(self.frame(&document), &location, policy, &attachment)
            }
            Command::Gc => {
                let (location, policy) = self.location_only(&document, name, Ok(asked?))?;
                commands::gc(self.frame(&document), &location, policy)
            }
            Command::Status => {
                let version = asked?;
                let location = config::location(&document, name, |_| {});
                commands::status(self.frame(&document), version, location)
            }
            Command::Unknown(command) => Err(Fault::UnknownCommand(command)),
        }
    }

    fn frame<'f, 'd>(&'f mut self, document: &'f Object<'d>) -> commands::Frame<'f, 'd, E> {
        commands::Frame {
            args: &self.invocation.args,
            document,
            environment: &mut *self.environment,
        }
    }

    /// For the commands that release: where, and which policy may want to know.
    /// Whatever else is wrong with the
    /// configuration must not keep a reservation alive, so it is only told.
    fn location_only(
        &mut self,
        document: &Object<'_>,
        network: NetworkName,
        version: Result<Version, Fault>,
    ) -> Result<(Location, Option<policy::Setting>), Fault> {
        let mut ignored = Vec::new();
        let location = config::location(document, network, |error| {
            ignored.push(Fault::Config(error))
        })?;
        let args = &self.invocation.args;
        let reading = version.clone().unwrap_or(Version::V1_1_0);
        ignored.extend(version.err());
        let policy = match config::Config::read(document, args, reading) {
            Ok(config) => config.choosing.policy,
            Err(error) => {
                ignored.push(Fault::Config(error));
                None
            }
        };
        ignored.dedup();
        for fault in ignored {
            self.environment
                .warn(&alloc::format!("ignored while releasing: {fault}"));
        }
        Ok((location, policy))
    }
}
