//! Name resolution settings, from JSON or from a file in the format of
//! resolv.conf(5).

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::IpAddr;

use serde::Serialize;

use crate::json::{Field, JsonError, Object};

/// Spec 1.1, "Success", `dns`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Dns {
    /// Servers, most preferred first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nameservers: Vec<String>,
    /// Domain for short names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Domains tried for short names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub search: Vec<String>,
    /// Resolver options.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

impl Dns {
    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Reads a `dns` object of a configuration or a result. Empty texts and
    /// lists are as good as absent.
    pub fn read(dns: &Object<'_>) -> Result<Self, JsonError> {
        let list = |name| {
            let items = dns.list(name)?;
            items.iter().map(Field::text).collect::<Result<_, _>>()
        };
        Ok(Self {
            nameservers: list("nameservers")?,
            domain: dns.text("domain")?.filter(|domain| !domain.is_empty()),
            search: list("search")?,
            options: list("options")?,
        })
    }

    /// Reads the `dns` object of a network configuration as what takes the
    /// place of a delegate's settings: nothing where it says nothing, so that
    /// these stay. An empty list says something: there are to be no servers,
    /// domains or options, and whatever the delegate gave goes.
    pub fn configured(dns: &Object<'_>) -> Result<Option<Self>, JsonError> {
        let read = Self::read(dns)?;
        let says_something = ["nameservers", "search", "options"]
            .iter()
            .any(|name| dns.get(name).is_some());
        Ok((says_something || !read.is_empty()).then_some(read))
    }

    /// Reads the text of a resolv.conf as resolv.conf(5) has it: of `domain`
    /// and `search` the last line counts, options add up, comments may end a
    /// line. Servers that are no addresses are left out; those and servers
    /// that mean something else in another name space are told to `warn`.
    pub fn from_resolv_conf(text: &str, mut warn: impl FnMut(String)) -> Self {
        let mut dns = Self::default();
        for line in text.lines() {
            let mut words = line
                .split_whitespace()
                .take_while(|word| !word.starts_with(['#', ';']));
            let Some(keyword) = words.next() else {
                continue;
            };
            match keyword {
                "nameserver" => {
                    if let Some(server) = words.next() {
                        dns.add_server(server, &mut warn);
                    }
                }
                "domain" => {
                    if let Some(domain) = words.next() {
                        dns.domain = Some(domain.to_owned());
                        dns.search.clear();
                    }
                }
                "search" => {
                    let search: Vec<_> = words.map(str::to_owned).collect();
                    if !search.is_empty() {
                        dns.search = search;
                        dns.domain = None;
                    }
                }
                "options" => dns.options.extend(words.map(str::to_owned)),
                _ => {}
            }
        }
        dns
    }

    fn add_server(&mut self, server: &str, warn: &mut impl FnMut(String)) {
        let (address, zone) = match server.split_once('%') {
            Some((address, zone)) => (address, Some(zone)),
            None => (server, None),
        };
        match address.parse::<IpAddr>() {
            Err(_) => {
                warn(format!(
                    "nameserver {server:?} is no address and is left out"
                ));
                return;
            }
            Ok(address) if address.is_loopback() => warn(format!(
                "nameserver {server} is a loopback address: containers will not reach the host's \
                 resolver there"
            )),
            Ok(_) if zone.is_some() => warn(format!(
                "nameserver {server} names an interface of the host, which containers do not have"
            )),
            Ok(_) => {}
        }
        self.nameservers.push(server.to_owned());
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn read(text: &str) -> (Dns, Vec<String>) {
        let mut warnings = Vec::new();
        let dns = Dns::from_resolv_conf(text, |warning| warnings.push(warning));
        (dns, warnings)
    }

    #[test]
    fn the_last_of_search_and_domain_counts() {
        let (dns, _) = read("search a b\nsearch c\noptions x\noptions y z\n");
        assert_eq!(
            (dns.search, dns.options),
            (
                ["c"].map(String::from).into(),
                ["x", "y", "z"].map(String::from).into()
            )
        );
        let (dns, _) = read("search a b\ndomain d # ours\n");
        assert_eq!((dns.search.len(), dns.domain.as_deref()), (0, Some("d")));
        let (dns, _) = read("domain d\nsearch a ; b\nsearch\n");
        assert_eq!(
            (dns.search, dns.domain),
            (["a"].map(String::from).into(), None)
        );
    }

    fn object(text: &str) -> Object<'_> {
        Field::document(text).unwrap().object().unwrap()
    }

    #[test]
    fn objects_are_read() {
        let dns = object(
            r#"{"nameservers":["192.0.2.53"],"domain":"a.test","search":["b.test"],
                "options":["ndots:5"]}"#,
        );
        let dns = Dns::read(&dns).unwrap();
        assert_eq!(dns.nameservers, ["192.0.2.53"]);
        assert_eq!(dns.domain.as_deref(), Some("a.test"));
        assert_eq!((dns.search.len(), dns.options.len()), (1, 1));
        for (text, place) in [
            (
                r#"{"nameservers":"192.0.2.53"}"#,
                "nameservers: wanted a list",
            ),
            (r#"{"search":["a",null]}"#, "search[1]: wanted a string"),
            (r#"{"domain":1}"#, "domain: wanted a string"),
        ] {
            let error = Dns::read(&object(text)).unwrap_err();
            assert!(format!("{error}").starts_with(place), "{error}");
        }
    }

    #[test]
    fn an_empty_list_says_something() {
        for text in [
            "null",
            "{}",
            r#"{"domain":"","search":null}"#,
            r#"{"other":[]}"#,
        ] {
            assert_eq!(Dns::configured(&object(text)), Ok(None), "{text}");
        }
        let empty = Dns::configured(&object(r#"{"nameservers":[]}"#));
        assert_eq!(empty, Ok(Some(Dns::default())));
        let domain = Dns::configured(&object(r#"{"domain":"a.test"}"#));
        assert!(domain.is_ok_and(|dns| dns.is_some_and(|dns| !dns.is_empty())));
    }

    #[test]
    fn servers_are_checked() {
        let (dns, warnings) = read(
            "\t nameserver\t192.0.2.3\r\nnameserver bogus\nnameserver fe80::1%eth0\n\
             nameserver 127.0.0.53\nnameserver 192.0.2.4#x\n;nameserver 192.0.2.5\nnameserver\n",
        );
        assert_eq!(dns.nameservers, ["192.0.2.3", "fe80::1%eth0", "127.0.0.53"]);
        assert_eq!(warnings.len(), 4, "{warnings:?}");
    }
}
