//! What every plugin checks of the protocol's parameters before it does
//! anything of its own: spec 1.1, "Execution protocol".

use alloc::string::String;
use alloc::vec::Vec;

use crate::error::Fault;
use crate::json::Object;
use crate::names::{Attachment, ContainerId, InterfaceName, NameError, NetworkName};
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

/// Which variables a plugin cannot do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// All that libcni asks for: `CNI_PATH` with every command. For plugins
    /// that call others.
    Path,
    /// `CNI_PATH` with GC only, of which the specification asks it. For
    /// plugins that call nobody.
    NoPath,
}

/// What `CNI_COMMAND` asks for, and of which attachment. VERSION is not among
/// them: it needs no parameters, so it is answered before they are looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Spec 1.1, "ADD".
    Add(Attachment),
    /// Spec 1.1, "CHECK".
    Check(Attachment),
    /// Spec 1.1, "DEL".
    Del(Attachment),
    /// Spec 1.1, "GC".
    Gc,
    /// Spec 1.1, "STATUS".
    Status,
    /// None of them. An error, but one that comes after those of the network
    /// configuration: [`Network::version`] has it.
    Unknown(String),
}

impl Command {
    /// Reads the variables: that those the command needs are there, then that
    /// the names are names.
    pub fn read(invocation: &Invocation, needs: Needs) -> Result<Self, Fault> {
        require_variables(invocation, needs)?;
        let command = invocation.command.as_str();
        match command {
            "GC" => return Ok(Self::Gc),
            "STATUS" => return Ok(Self::Status),
            _ => {}
        }
        let container = unless_empty(ContainerId::new(&invocation.container_id))?;
        let interface = unless_empty(InterfaceName::new(&invocation.interface_name))?;
        let attachment = container
            .zip(interface)
            .map(|(container, interface)| Attachment {
                container,
                interface,
            });
        Ok(match (command, attachment) {
            ("ADD", Some(attachment)) => Self::Add(attachment),
            ("CHECK", Some(attachment)) => Self::Check(attachment),
            ("DEL", Some(attachment)) => Self::Del(attachment),
            _ => Self::Unknown(command.into()),
        })
    }
}

/// What every plugin reads of a network configuration: spec 1.1, "Network
/// configuration format".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// `name`
    pub name: NetworkName,
    asked: Result<String, Fault>,
}

impl Network {
    /// Reads `name`, which has to be there, and `cniVersion`, whose faults
    /// wait for [`Self::version`]: an unknown command is the greater one.
    pub fn read(document: &Object<'_>) -> Result<Self, Fault> {
        let name = document
            .text("name")
            .map_err(Fault::Document)?
            .unwrap_or_default();
        let name = NetworkName::new(&name).map_err(|error| match error {
            NameError::Empty => Fault::NoNetworkName,
            error => Fault::NetworkName(error),
        })?;
        let asked = document
            .text("cniVersion")
            .map(Option::unwrap_or_default)
            .map_err(Fault::VersionType);
        Ok(Self { name, asked })
    }

    /// The version of the configuration; none given means 0.1.0.
    pub fn configured(&self) -> Result<Version, Fault> {
        Version::of_config(self.asked()?).map_err(Fault::Version)
    }

    /// The version to answer `command` in. CHECK, GC and STATUS came with
    /// later versions and are refused in earlier ones.
    ///
    /// For DEL a plugin may ignore the error and use
    /// [`Self::version_of_errors`]: what was reserved has to go in any case.
    pub fn version(&self, command: &Command) -> Result<Version, Fault> {
        let (command, since) = match command {
            Command::Add(_) | Command::Del(_) => return self.configured(),
            Command::Check(_) => ("CHECK", Version::V0_4_0),
            Command::Gc => ("GC", Version::V1_1_0),
            Command::Status => ("STATUS", Version::V1_1_0),
            Command::Unknown(command) => return Err(Fault::UnknownCommand(command.clone())),
        };
        Version::allows(self.asked()?, command, since).map_err(Fault::Version)?;
        self.configured()
    }

    /// The version error objects carry: the configuration's where it is one
    /// of ours, otherwise the newest.
    pub fn version_of_errors(&self) -> Version {
        self.configured().unwrap_or(Version::V1_1_0)
    }

    fn asked(&self) -> Result<&str, Fault> {
        self.asked.as_deref().map_err(Clone::clone)
    }
}

fn require_variables(invocation: &Invocation, needs: Needs) -> Result<(), Fault> {
    let Invocation {
        container_id,
        interface_name,
        netns,
        path,
        ..
    } = invocation;
    let command = invocation.command.as_str();
    let attaches = matches!(command, "ADD" | "CHECK");
    let is_about_one = attaches || command == "DEL";
    let needs_path =
        command == "GC" || needs == Needs::Path && (is_about_one || command == "STATUS");
    let wanted = [
        ("CNI_CONTAINERID", container_id, is_about_one),
        ("CNI_NETNS", netns, attaches),
        ("CNI_IFNAME", interface_name, is_about_one),
        ("CNI_PATH", path, needs_path),
    ];
    let mut missing: Vec<_> = wanted
        .iter()
        .filter(|(_, value, required)| *required && value.is_empty())
        .map(|(name, ..)| *name)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    // Where something is missing anyway, all that libcni would miss is named,
    // so that it is put right in one go.
    if path.is_empty() && !missing.contains(&"CNI_PATH") {
        missing.push("CNI_PATH");
    }
    Err(Fault::MissingVariables(missing.join(",")))
}

/// A command that is not known may come without an attachment.
fn unless_empty<T>(name: Result<T, NameError>) -> Result<Option<T>, Fault> {
    match name {
        Ok(name) => Ok(Some(name)),
        Err(NameError::Empty) => Ok(None),
        Err(error) => Err(Fault::Variable(error)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::json::Field;

    fn invocation(command: &str) -> Invocation {
        Invocation {
            command: command.into(),
            container_id: "ctr".into(),
            interface_name: "eth0".into(),
            netns: "/run/netns/a".into(),
            path: "/opt/cni/bin".into(),
            ..Invocation::default()
        }
    }

    fn missing(command: &str, needs: Needs) -> String {
        let nothing = Invocation {
            command: command.into(),
            ..Invocation::default()
        };
        match Command::read(&nothing, needs) {
            Err(Fault::MissingVariables(names)) => names,
            other => alloc::format!("{other:?}"),
        }
    }

    #[test]
    fn variables_are_needed_by_command() {
        let every = "CNI_CONTAINERID,CNI_NETNS,CNI_IFNAME,CNI_PATH";
        for needs in [Needs::Path, Needs::NoPath] {
            assert_eq!(missing("ADD", needs), every);
            assert_eq!(missing("CHECK", needs), every);
            assert_eq!(missing("DEL", needs), "CNI_CONTAINERID,CNI_IFNAME,CNI_PATH");
            assert_eq!(missing("GC", needs), "CNI_PATH");
        }
        assert_eq!(missing("STATUS", Needs::Path), "CNI_PATH");
        assert_eq!(missing("STATUS", Needs::NoPath), "Ok(Status)");
        assert_eq!(missing("BOGUS", Needs::Path), "Ok(Unknown(\"BOGUS\"))");
        for command in ["ADD", "CHECK", "DEL"] {
            let mut pathless = invocation(command);
            pathless.path.clear();
            assert!(Command::read(&pathless, Needs::NoPath).is_ok());
            assert_eq!(
                Command::read(&pathless, Needs::Path),
                Err(Fault::MissingVariables("CNI_PATH".into()))
            );
        }
    }

    #[test]
    fn names_are_names() {
        let read = |change: fn(&mut Invocation)| {
            let mut invocation = invocation("ADD");
            change(&mut invocation);
            Command::read(&invocation, Needs::Path).map_err(|fault| fault.to_string())
        };
        assert!(matches!(read(|_| {}), Ok(Command::Add(a)) if a.interface.as_str() == "eth0"));
        let refused = read(|i| i.container_id = "bad/id".into()).unwrap_err();
        assert_eq!(refused, "invalid characters in containerID");
        let refused = read(|i| i.interface_name = "..".into()).unwrap_err();
        assert_eq!(refused, "interface name is . or ..");
        // GC is about no attachment, whatever the variables hold.
        let stray = read(|i| {
            i.command = "GC".into();
            i.container_id = "bad/id".into();
        });
        assert_eq!(stray, Ok(Command::Gc));
    }

    fn network(text: &str) -> Result<Network, Fault> {
        Network::read(&Field::document(text).unwrap().object().unwrap())
    }

    #[test]
    fn a_network_has_a_name() {
        assert_eq!(network("{}"), Err(Fault::NoNetworkName));
        assert_eq!(network(r#"{"name":null}"#), Err(Fault::NoNetworkName));
        let refused = network(r#"{"name":"bad name!"}"#);
        assert!(matches!(refused, Err(Fault::NetworkName(_))));
        assert!(matches!(network(r#"{"name":1}"#), Err(Fault::Document(_))));
    }

    #[test]
    fn versions_fit_their_commands() {
        let version = |asked: &str, command: &Command| {
            let text = alloc::format!(r#"{{"name":"n","cniVersion":{asked}}}"#);
            let network = network(&text).unwrap();
            let version = network.version(command).map_err(|fault| fault.to_string());
            (version, network.version_of_errors())
        };
        let attachment = Attachment {
            container: ContainerId::new("c").unwrap(),
            interface: InterfaceName::new("e").unwrap(),
        };
        let add = Command::Add(attachment.clone());
        let check = Command::Check(attachment);
        let newest = Version::V1_1_0;
        let oldest = Version::V0_1_0;
        assert_eq!(version("null", &add), (Ok(oldest), oldest));
        assert_eq!(
            version(r#""2.0.0""#, &add),
            (Err("incompatible CNI versions".into()), newest)
        );
        assert_eq!(
            version(r#""2.0.0""#, &check).0,
            Err("plugin version does not allow CHECK".into())
        );
        assert_eq!(
            version(r#""0.3.1""#, &check),
            (
                Err("config version does not allow CHECK".into()),
                Version::V0_3_1
            )
        );
        assert_eq!(
            version(r#""1.0.0""#, &Command::Gc).0,
            Err("config version does not allow GC".into())
        );
        assert_eq!(
            version(r#""1.1.0""#, &Command::Status),
            (Ok(newest), newest)
        );
        assert_eq!(
            version("7", &add).0,
            Err(
                "decoding version from network config: cniVersion: wanted a string, found the \
                 number 7"
                    .into()
            )
        );
        assert_eq!(
            version("7", &Command::Unknown("BOGUS".into())).0,
            Err("unknown CNI_COMMAND: BOGUS".into())
        );
    }
}
