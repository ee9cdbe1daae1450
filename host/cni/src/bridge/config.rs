//! The network configuration of the `bridge` plugin: the Go plugin's fields,
//! and those it ignores.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use ipnet::IpNet;
use wipam_core::args::{ArgsError, known_pairs};
use wipam_core::dns::Dns;
use wipam_core::json::{Field, JsonError, Object};
use wipam_core::result::Success;
use wipam_net::firewall::Backend;
use wipam_net::{LONGEST_NAME, Mac, MacError};

/// The bridge where none is named.
pub(crate) const DEFAULT_BRIDGE: &str = "cni0";

/// What host ends' names begin with where nothing is said.
pub(crate) const DEFAULT_PREFIX: &str = "veth";

/// Characters after the prefix: enough that two never meet.
pub(crate) const RANDOM_DIGITS: usize = 8;

/// The VLANs a port can belong to.
const VLANS: RangeInclusive<i64> = 1..=4094;

/// Smallest MTU of an interface that carries IPv4, and the largest of a veth.
const MTUS: RangeInclusive<i64> = 68..=65535;

/// Most announcements that can be asked for.
const MOST_ANNOUNCEMENTS: u64 = 60;

/// Longest wait for a port that can be asked for, in seconds.
const LONGEST_PORT_WAIT: u64 = 300;

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    /// A value is of the wrong type.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// A value cannot be what it is.
    #[error("{path}: wanted {wanted}, found {found}")]
    Setting {
        path: String,
        wanted: String,
        found: String,
    },
    /// A text is no Ethernet address.
    #[error("{path}: {cause}, found {found:?}")]
    Mac {
        path: String,
        found: String,
        cause: MacError,
    },
    /// Two settings exclude each other.
    #[error("{0}")]
    Contradiction(&'static str),
    /// `CNI_ARGS` cannot be used.
    #[error(transparent)]
    Args(#[from] ArgsError),
}

/// Who chooses the bridge's Ethernet address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BridgeMac {
    /// The kernel, until the bridge has a gateway's address: as the Go plugin
    /// has it.
    Kernel,
    /// We do, at random, when the bridge is made.
    Fixed,
    /// The configuration does.
    Given(Mac),
}

/// What is switched on so that a gateway's packets get anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forwarding {
    /// Forwarding of the whole host, for each family: as the Go plugin.
    Global,
    /// Forwarding of the bridge alone.
    Interface,
    /// Nothing: somebody else sees to it.
    Keep,
}

/// Masquerading of what leaves the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Masquerading {
    pub(crate) backend: Option<Backend>,
    pub(crate) v4: bool,
    pub(crate) v6: bool,
    pub(crate) drop_invalid: bool,
}

impl Masquerading {
    /// The addresses of a result that are masqueraded.
    pub(crate) fn of(&self, result: &Success) -> Vec<IpNet> {
        let addresses = result.ips.iter().map(|ip| ip.address);
        addresses
            .filter(|address| match address {
                IpNet::V4(_) => self.v4,
                IpNet::V6(_) => self.v6,
            })
            .collect()
    }
}

/// A configuration an ADD can work with.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    pub(crate) bridge: String,
    pub(crate) bridge_mac: BridgeMac,
    pub(crate) mtu: Option<u32>,
    pub(crate) gateway: bool,
    pub(crate) default_gateway: bool,
    pub(crate) force_address: bool,
    pub(crate) forwarding: Forwarding,
    pub(crate) masquerading: Option<Masquerading>,
    pub(crate) hairpin: bool,
    pub(crate) isolation: bool,
    pub(crate) promiscuous: bool,
    pub(crate) vlan: Option<u16>,
    pub(crate) trunk: Option<Vec<u16>>,
    pub(crate) keep_default_vlan: bool,
    pub(crate) spoof_check: bool,
    pub(crate) disable_container_interface: bool,
    pub(crate) duplicate_detection: bool,
    /// The container end's address.
    pub(crate) mac: Option<Mac>,
    /// Name resolution that overrides the IPAM plugin's.
    pub(crate) dns: Option<Dns>,
    /// Type of the IPAM plugin; without one there are no addresses.
    pub(crate) ipam: Option<String>,
    pub(crate) host_prefix: String,
    pub(crate) announcements: u64,
    /// How long to wait for the port; without, as long as the bridge needs.
    pub(crate) port_wait: Option<Duration>,
    pub(crate) port_wait_fails: bool,
    pub(crate) result_log: Option<PathBuf>,
    pub(crate) state_dir: PathBuf,
    /// What looks like a mistake without being an error.
    pub(crate) warnings: Vec<String>,
}

fn setting(field: &Field<'_>, wanted: impl Into<String>, found: impl Into<String>) -> ConfigError {
    ConfigError::Setting {
        path: field.path().to_owned(),
        wanted: wanted.into(),
        found: found.into(),
    }
}

/// One of a few words, or the first of them.
fn choice<T: Copy>(
    document: &Object<'_>,
    name: &str,
    choices: &[(&str, T)],
    otherwise: T,
) -> Result<T, ConfigError> {
    let Some(field) = document.get(name) else {
        return Ok(otherwise);
    };
    let found = field.text()?;
    let chosen = choices.iter().find(|(word, _)| *word == found);
    chosen.map(|(_, value)| *value).ok_or_else(|| {
        let words: Vec<_> = choices.iter().map(|(word, _)| *word).collect();
        setting(&field, words.join(" or "), format!("{found:?}"))
    })
}

fn mac(field: &Field<'_>) -> Result<Option<Mac>, ConfigError> {
    let found = field.text()?;
    if found.is_empty() {
        return Ok(None);
    }
    match found.parse() {
        Ok(mac) => Ok(Some(mac)),
        Err(cause) => Err(ConfigError::Mac {
            path: field.path().to_owned(),
            found,
            cause,
        }),
    }
}

fn boolean(document: &Object<'_>, name: &str, otherwise: bool) -> Result<bool, JsonError> {
    document.get(name).map_or(Ok(otherwise), |f| f.boolean())
}

/// A number in a range.
fn number(field: &Field<'_>, range: RangeInclusive<u64>) -> Result<u64, ConfigError> {
    let found = field.unsigned()?;
    if range.contains(&found) {
        return Ok(found);
    }
    let (least, most) = range.into_inner();
    Err(setting(
        field,
        format!("{least} to {most}"),
        found.to_string(),
    ))
}

/// The type of the IPAM plugin: DEL and GC need no more.
pub(crate) fn ipam_type(document: &Object<'_>) -> Result<Option<String>, JsonError> {
    let kind = document.object("ipam")?.text("type")?;
    Ok(kind.filter(|kind| !kind.is_empty()))
}

/// The name of the bridge.
pub(crate) fn bridge_name(document: &Object<'_>) -> Result<String, ConfigError> {
    let Some(field) = document.get("bridge") else {
        return Ok(DEFAULT_BRIDGE.to_owned());
    };
    let name = field.text()?;
    let usable = !matches!(name.as_str(), "" | "." | "..")
        && name.len() <= LONGEST_NAME
        && !name.contains(|c: char| {
            matches!(c, '/' | ':' | '%') || c.is_whitespace() || c.is_control()
        });
    if usable {
        return Ok(name);
    }
    Err(setting(
        &field,
        format!("an interface name of 1 to {LONGEST_NAME} bytes without blanks, slash or colon"),
        format!("{name:?}"),
    ))
}

/// Where ADDs note what they change for others to rely on.
pub(crate) fn state_dir(document: &Object<'_>) -> Result<PathBuf, ConfigError> {
    Ok(absolute(document, "stateDir")?.unwrap_or_else(|| PathBuf::from("/run/wipam")))
}

fn absolute(document: &Object<'_>, name: &str) -> Result<Option<PathBuf>, ConfigError> {
    let Some(field) = document.get(name) else {
        return Ok(None);
    };
    let path = PathBuf::from(field.text()?);
    if path.as_os_str().is_empty() {
        return Ok(None);
    }
    if !path.is_absolute() {
        return Err(setting(&field, "an absolute path", format!("{path:?}")));
    }
    Ok(Some(path))
}

impl Config {
    /// Reads a configuration, and `CNI_ARGS` with it.
    pub(crate) fn read(document: &Object<'_>, args: &str) -> Result<Self, ConfigError> {
        let ipam = ipam_type(document)?;
        let layer3 = ipam.is_some();
        let default_gateway = document.boolean("isDefaultGateway")?;
        let vlan = Self::read_vlan(document)?;
        let trunk = Self::read_trunk(document)?;
        let mut config = Self {
            bridge: bridge_name(document)?,
            bridge_mac: Self::read_bridge_mac(document)?,
            mtu: Self::read_mtu(document)?,
            gateway: layer3 && (document.boolean("isGateway")? || default_gateway),
            default_gateway,
            force_address: document.boolean("forceAddress")?,
            forwarding: choice(
                document,
                "forwarding",
                &[
                    ("global", Forwarding::Global),
                    ("interface", Forwarding::Interface),
                    ("keep", Forwarding::Keep),
                ],
                Forwarding::Global,
            )?,
            masquerading: Self::read_masquerading(document)?.filter(|_| layer3),
            hairpin: document.boolean("hairpinMode")?,
            isolation: document.boolean("portIsolation")?,
            promiscuous: document.boolean("promiscMode")?,
            vlan,
            trunk,
            keep_default_vlan: boolean(document, "preserveDefaultVlan", vlan.is_none())?,
            spoof_check: document.boolean("macspoofchk")?,
            disable_container_interface: document.boolean("disableContainerInterface")?,
            duplicate_detection: document.boolean("enabledad")?,
            mac: Self::read_mac(document, args)?,
            dns: Dns::configured(&document.object("dns")?)?,
            ipam,
            host_prefix: Self::read_prefix(document)?,
            announcements: document
                .get("announcements")
                .map_or(Ok(0), |field| number(&field, 0..=MOST_ANNOUNCEMENTS))?,
            port_wait: document
                .get("portWaitSeconds")
                .map(|field| number(&field, 0..=LONGEST_PORT_WAIT).map(Duration::from_secs))
                .transpose()?,
            port_wait_fails: choice(
                document,
                "portWaitFailure",
                &[("warn", false), ("fail", true)],
                false,
            )?,
            result_log: absolute(document, "resultLog")?,
            state_dir: state_dir(document)?,
            warnings: Vec::new(),
        };
        config.check()?;
        Ok(config)
    }

    /// What only the fields together show.
    fn check(&mut self) -> Result<(), ConfigError> {
        let holder = self.gateway_link();
        if self.gateway && holder.len() > LONGEST_NAME {
            return Err(ConfigError::Setting {
                path: "bridge".to_owned(),
                wanted: format!(
                    "a name that leaves room for the interface of the VLAN's gateway, at most \
                     {LONGEST_NAME} bytes in all"
                ),
                found: format!("{holder:?}"),
            });
        }
        if self.hairpin && self.promiscuous {
            return Err(ConfigError::Contradiction(
                "cannot set hairpin mode and promiscuous mode at the same time: wanted at most one \
                 of hairpinMode and promiscMode",
            ));
        }
        if self.ipam.is_some() && self.disable_container_interface {
            return Err(ConfigError::Contradiction(
                "cannot use IPAM when DisableContainerInterface flag is set: wanted at most one of \
                 ipam and disableContainerInterface",
            ));
        }
        if self.masquerading.is_some() && !self.gateway {
            self.warnings.push(
                "ipMasq without isGateway: the bridge has no gateway address and forwarding is not \
                 switched on, so nothing may reach the rules that masquerade"
                    .to_owned(),
            );
        }
        Ok(())
    }

    fn read_bridge_mac(document: &Object<'_>) -> Result<BridgeMac, ConfigError> {
        let Some(field) = document.get("bridgeMac") else {
            return Ok(BridgeMac::Kernel);
        };
        match field.text()?.as_str() {
            "kernel" => Ok(BridgeMac::Kernel),
            "fixed" => Ok(BridgeMac::Fixed),
            found => match found.parse::<Mac>() {
                // Groups and the address of nobody are no interface's.
                Ok(mac) if mac.0[0] & 1 == 0 && mac.0 != [0; 6] => Ok(BridgeMac::Given(mac)),
                _ => Err(setting(
                    &field,
                    "\"kernel\", \"fixed\" or the Ethernet address of an interface",
                    format!("{found:?}"),
                )),
            },
        }
    }

    fn read_mtu(document: &Object<'_>) -> Result<Option<u32>, ConfigError> {
        let Some(field) = document.get("mtu") else {
            return Ok(None);
        };
        match field.integer()? {
            0 => Ok(None),
            found if MTUS.contains(&found) => Ok(u32::try_from(found).ok()),
            found => Err(setting(
                &field,
                format!("0 or {} to {} bytes", MTUS.start(), MTUS.end()),
                found.to_string(),
            )),
        }
    }

    fn read_masquerading(document: &Object<'_>) -> Result<Option<Masquerading>, ConfigError> {
        let wanted = document.boolean("ipMasq")?;
        let masquerading = Masquerading {
            backend: choice(
                document,
                "ipMasqBackend",
                &[
                    ("iptables", Some(Backend::Iptables)),
                    ("nftables", Some(Backend::Nftables)),
                ],
                None,
            )?,
            v4: boolean(document, "ipMasqV4", true)?,
            v6: boolean(document, "ipMasqV6", true)?,
            drop_invalid: document.boolean("ipMasqDropInvalid")?,
        };
        Ok(wanted.then_some(masquerading))
    }

    fn read_vlan(document: &Object<'_>) -> Result<Option<u16>, ConfigError> {
        let Some(field) = document.get("vlan") else {
            return Ok(None);
        };
        match field.integer()? {
            0 => Ok(None),
            found => vlan(&field, found).map(Some),
        }
    }

    fn read_trunk(document: &Object<'_>) -> Result<Option<Vec<u16>>, ConfigError> {
        let Some(list) = document.get("vlanTrunk") else {
            return Ok(None);
        };
        let mut vlans = Vec::new();
        for entry in list.list()? {
            if entry.is_null() {
                return Err(entry
                    .mismatch("an object with id, or with minID and maxID")
                    .into());
            }
            let members = entry.object()?;
            let get = |name| -> Result<Option<u16>, ConfigError> {
                let Some(field) = members.get(name) else {
                    return Ok(None);
                };
                vlan(&field, field.integer()?).map(Some)
            };
            match (get("minID")?, get("maxID")?) {
                (Some(least), Some(most)) if least <= most => vlans.extend(least..=most),
                (None, None) => {}
                (least, most) => {
                    let found = |end: Option<u16>| {
                        end.map_or_else(|| "nothing".to_owned(), |vlan| vlan.to_string())
                    };
                    return Err(setting(
                        &entry,
                        "minID and maxID together, and minID at most maxID",
                        format!("minID {} and maxID {}", found(least), found(most)),
                    ));
                }
            }
            vlans.extend(get("id")?);
        }
        vlans.sort_unstable();
        vlans.dedup();
        Ok(Some(vlans))
    }

    /// The last of `CNI_ARGS`, `args.cni.mac` and `runtimeConfig.mac` counts.
    fn read_mac(document: &Object<'_>, args: &str) -> Result<Option<Mac>, ConfigError> {
        let mut found = None;
        for (_, value) in known_pairs(args, &["MAC"])? {
            if !value.is_empty() {
                found = Some(value.parse().map_err(|cause| ConfigError::Mac {
                    path: "CNI_ARGS: MAC".to_owned(),
                    found: value,
                    cause,
                })?);
            }
        }
        for holder in [
            document.object("args")?.object("cni")?,
            document.object("runtimeConfig")?,
        ] {
            if let Some(field) = holder.get("mac") {
                found = mac(&field)?.or(found);
            }
        }
        Ok(found)
    }

    fn read_prefix(document: &Object<'_>) -> Result<String, ConfigError> {
        const LONGEST: usize = LONGEST_NAME - RANDOM_DIGITS;
        let Some(field) = document.get("hostInterfacePrefix") else {
            return Ok(DEFAULT_PREFIX.to_owned());
        };
        let found = field.text()?;
        let usable = (1..=LONGEST).contains(&found.len())
            && found
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
        if usable {
            return Ok(found);
        }
        Err(setting(
            &field,
            format!("1 to {LONGEST} letters, digits, dashes and underscores"),
            format!("{found:?}"),
        ))
    }

    /// Name of the interface that has the gateway's address: the bridge, or, in
    /// a VLAN, an interface of its own that is plugged into the bridge.
    pub(crate) fn gateway_link(&self) -> String {
        match self.vlan {
            Some(vlan) => format!("{}.{vlan}", self.bridge),
            None => self.bridge.clone(),
        }
    }

    /// Whether the bridge has to tell VLANs apart.
    pub(crate) fn vlan_filtering(&self) -> bool {
        self.vlan.is_some() || self.trunk.is_some()
    }
}

fn vlan(field: &Field<'_>, found: i64) -> Result<u16, ConfigError> {
    match u16::try_from(found) {
        Ok(id) if VLANS.contains(&found) => Ok(id),
        _ => Err(setting(
            field,
            format!("a VLAN id of {} to {}", VLANS.start(), VLANS.end()),
            found.to_string(),
        )),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn read(text: &str, args: &str) -> Result<Config, ConfigError> {
        let document = Field::document(text).unwrap().object().unwrap();
        Config::read(&document, args)
    }

    fn refused(text: &str) -> String {
        read(text, "").unwrap_err().to_string()
    }

    #[test]
    fn little_is_enough() {
        let config = read("{}", "").unwrap();
        assert_eq!(config.bridge, "cni0");
        assert_eq!((config.mtu, config.vlan, config.ipam), (None, None, None));
        assert!(!config.gateway && config.masquerading.is_none());
    }

    #[test]
    fn a_default_gateway_is_a_gateway_but_not_without_addresses() {
        let config = read(r#"{"isDefaultGateway":true,"ipam":{"type":"x"}}"#, "").unwrap();
        assert!(config.gateway && config.default_gateway);
        let config = read(r#"{"isDefaultGateway":true,"ipMasq":true}"#, "").unwrap();
        assert!(!config.gateway && config.masquerading.is_none());
    }

    #[test]
    fn faults_say_where_and_what() {
        for (text, said) in [
            (
                r#"{"bridge":"abcdefghij123456"}"#,
                "bridge: wanted an interface name of 1 to 15 bytes",
            ),
            (r#"{"bridge":"a/b"}"#, "bridge: wanted"),
            (
                r#"{"vlan":4095}"#,
                "vlan: wanted a VLAN id of 1 to 4094, found 4095",
            ),
            (r#"{"vlanTrunk":[null]}"#, "vlanTrunk[0]: wanted an object"),
            (
                r#"{"vlanTrunk":[{"minID":9,"maxID":3}]}"#,
                "found minID 9 and maxID 3",
            ),
            (
                r#"{"vlanTrunk":[{"minID":9}]}"#,
                "found minID 9 and maxID nothing",
            ),
            (
                r#"{"mtu":-5}"#,
                "mtu: wanted 0 or 68 to 65535 bytes, found -5",
            ),
            (r#"{"ipMasqBackend":"ebtables"}"#, "found \"ebtables\""),
            (
                r#"{"runtimeConfig":{"mac":"x"}}"#,
                "runtimeConfig.mac: wanted six pairs",
            ),
            (
                r#"{"hostInterfacePrefix":"toolongp"}"#,
                "wanted 1 to 7 letters",
            ),
            (
                r#"{"resultLog":"log"}"#,
                "resultLog: wanted an absolute path",
            ),
            (r#"{"bridgeMac":"01:00:00:00:00:00"}"#, "bridgeMac: wanted"),
            (r#"{"hairpinMode":true,"promiscMode":true}"#, "hairpin"),
            (
                r#"{"forwarding":"off"}"#,
                "wanted global or interface or keep",
            ),
        ] {
            let found = refused(text);
            assert!(found.contains(said), "{text}: {found}");
        }
    }

    #[test]
    fn the_nearest_source_of_an_address_counts() {
        let conf = r#"{"args":{"cni":{"mac":"02:00:00:00:00:02"}},"runtimeConfig":{"mac":"02-00-00-00-00-03"}}"#;
        let mac = |conf, args| read(conf, args).unwrap().mac.map(|mac| mac.0[5]);
        assert_eq!(mac("{}", "MAC=02:00:00:00:00:01"), Some(1));
        assert_eq!(mac(conf, "MAC=02:00:00:00:00:01"), Some(3));
        assert_eq!(mac("{}", "IgnoreUnknown=1;A=b"), None);
        assert!(read("{}", "A=b").is_err());
    }

    #[test]
    fn trunks() {
        let trunk = |text| read(text, "").unwrap().trunk;
        assert_eq!(trunk("{}"), None);
        assert_eq!(trunk(r#"{"vlanTrunk":[]}"#), Some(vec![]));
        let several = r#"{"vlanTrunk":[{"id":101},{"minID":200,"maxID":202},{"id":201}]}"#;
        assert_eq!(trunk(several), Some(vec![101, 200, 201, 202]));
    }
}
