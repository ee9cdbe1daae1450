//! One execution of the plugin, from `CNI_*` variables and standard input to
//! what goes to standard output.

use alloc::string::String;
use alloc::vec::Vec;

use crate::commands;
use crate::config;
use crate::environment::Environment;
use crate::error::{CniError, Fault};
use crate::json::{Field, Object, to_text};
use crate::names::{Attachment, ContainerId, InterfaceName, NameError, NetworkName};
use crate::result::version_info;
use crate::store::Location;
use crate::version::Version;

/// The protocol's parameters: spec 1.1, "Execution protocol". Variables that
/// are not set are empty, which the specification treats alike.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invocation {
    /// `CNI_COMMAND`
    pub command: String,
    /// `CNI_CONTAINERID`
    pub container_id: String,
    /// `CNI_IFNAME`
    pub interface_name: String,
    /// `CNI_NETNS`
    pub netns: String,
    /// Whether `CNI_NETNS` is the plugin's own name space, and
    /// `CNI_NETNS_OVERRIDE` does not say that this is meant.
    pub own_netns: bool,
    /// `CNI_ARGS`
    pub args: String,
    /// `CNI_PATH`
    pub path: String,
    /// Standard input.
    pub config: Vec<u8>,
}

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
        let command = invocation.command.as_str();
        if command == "VERSION" {
            return Ok(version_info());
        }
        self.require_variables()?;
        let attachment = self.attachment()?;

        let text = to_text(&invocation.config);
        let document = Field::document(&text)
            .and_then(|field| field.object())
            .map_err(Fault::Document)?;
        let network = network_name(&document)?;
        let asked = document.text("cniVersion").map_err(Fault::VersionType);
        if let Ok(text) = &asked {
            let known = Version::of_config(text.as_deref().unwrap_or_default());
            *version = known.unwrap_or(*version);
        }

        match (command, attachment) {
            ("ADD", Some(attachment)) => {
                let asked = asked?.unwrap_or_default();
                let version = Version::of_config(&asked).map_err(Fault::Version)?;
                if invocation.own_netns {
                    return Err(Fault::OwnNamespace(invocation.netns.clone()));
                }
                let location = config::location(&document, network, |_| {})?;
                commands::add(self.frame(&document), version, &location, &attachment)
            }
            ("CHECK", Some(attachment)) => {
                let version = self.check_version(asked, "CHECK", Version::V0_4_0)?;
                let location = config::location(&document, network, |_| {})?;
                commands::check(self.frame(&document), version, &location, &attachment)
            }
            ("DEL", Some(attachment)) => {
                let location = self.location_only(&document, network, asked)?;
                commands::del(self.frame(&document), &location, &attachment)
            }
            ("GC", _) => {
                self.check_version(asked.clone(), "GC", Version::V1_1_0)?;
                let location = self.location_only(&document, network, asked)?;
                commands::gc(self.frame(&document), &location)
            }
            ("STATUS", _) => {
                let version = self.check_version(asked, "STATUS", Version::V1_1_0)?;
                let location = config::location(&document, network, |_| {});
                commands::status(self.frame(&document), version, location)
            }
            _ => Err(Fault::UnknownCommand(invocation.command.clone())),
        }
    }

    fn frame<'f, 'd>(&'f mut self, document: &'f Object<'d>) -> commands::Frame<'f, 'd, E> {
        commands::Frame {
            args: &self.invocation.args,
            document,
            environment: &mut *self.environment,
        }
    }

    /// The attachment, for the commands that are about one. A command that is
    /// not known may come without.
    fn attachment(&self) -> Result<Option<Attachment>, Fault> {
        if matches!(self.invocation.command.as_str(), "GC" | "STATUS") {
            return Ok(None);
        }
        let container = unless_empty(ContainerId::new(&self.invocation.container_id))?;
        let interface = unless_empty(InterfaceName::new(&self.invocation.interface_name))?;
        Ok(container
            .zip(interface)
            .map(|(container, interface)| Attachment {
                container,
                interface,
            }))
    }

    /// Which variables a command cannot do without. `CNI_PATH` is for plugins
    /// that call others; the specification asks it of GC all the same.
    fn require_variables(&self) -> Result<(), Fault> {
        let Invocation {
            container_id,
            interface_name,
            netns,
            path,
            ..
        } = self.invocation;
        let command = self.invocation.command.as_str();
        let wanted = [
            (
                "CNI_CONTAINERID",
                container_id,
                matches!(command, "ADD" | "CHECK" | "DEL"),
            ),
            ("CNI_NETNS", netns, matches!(command, "ADD" | "CHECK")),
            (
                "CNI_IFNAME",
                interface_name,
                matches!(command, "ADD" | "CHECK" | "DEL"),
            ),
            ("CNI_PATH", path, command == "GC"),
        ];
        let missing: Vec<_> = wanted
            .iter()
            .filter(|(_, value, required)| *required && value.is_empty())
            .map(|(name, ..)| *name)
            .collect();
        // Where something is missing anyway, all that libcni would miss is
        // named, so that it is put right in one go.
        if missing.is_empty() {
            return Ok(());
        }
        let mut names = missing;
        if path.is_empty() && !names.contains(&"CNI_PATH") {
            names.push("CNI_PATH");
        }
        Err(Fault::MissingVariables(names.join(",")))
    }

    fn check_version(
        &self,
        asked: Result<Option<String>, Fault>,
        command: &'static str,
        since: Version,
    ) -> Result<Version, Fault> {
        let asked = asked?.unwrap_or_default();
        Version::allows(&asked, command, since).map_err(Fault::Version)?;
        Version::of_config(&asked).map_err(Fault::Version)
    }

    /// For the commands that release: whatever else is wrong with the
    /// configuration must not keep a reservation alive, so it is only told.
    fn location_only(
        &mut self,
        document: &Object<'_>,
        network: NetworkName,
        asked: Result<Option<String>, Fault>,
    ) -> Result<Location, Fault> {
        let mut ignored = Vec::new();
        let version = match asked.map(Option::unwrap_or_default) {
            Ok(text) => Version::of_config(&text).map_err(Fault::Version),
            Err(fault) => Err(fault),
        };
        let location = config::location(document, network, |error| {
            ignored.push(Fault::Config(error))
        })?;
        let args = &self.invocation.args;
        let reading = version.clone().unwrap_or(Version::V1_1_0);
        ignored.extend(version.err());
        if let Err(error) = config::Config::read(document, args, reading) {
            ignored.push(Fault::Config(error));
        }
        ignored.dedup();
        for fault in ignored {
            self.environment
                .warn(&alloc::format!("ignored while releasing: {fault}"));
        }
        Ok(location)
    }
}

fn unless_empty<T>(name: Result<T, NameError>) -> Result<Option<T>, Fault> {
    match name {
        Ok(name) => Ok(Some(name)),
        Err(NameError::Empty) => Ok(None),
        Err(error) => Err(Fault::Variable(error)),
    }
}

pub(crate) fn network_name(document: &Object<'_>) -> Result<NetworkName, Fault> {
    let name = document
        .text("name")
        .map_err(Fault::Document)?
        .unwrap_or_default();
    NetworkName::new(&name).map_err(|error| match error {
        NameError::Empty => Fault::NoNetworkName,
        error => Fault::NetworkName(error),
    })
}
