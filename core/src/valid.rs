//! The attachments that are to stay: what GC is told, spec 1.1, "GC".

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::error::Fault;
use crate::json::{JsonError, Object};
use crate::names::{Attachment, ContainerId, InterfaceName};

/// The key of the specification, and the one that earlier libraries sent.
const KEYS: [&str; 2] = ["cni.dev/valid-attachments", "cni.dev/attachments"];

/// `cni.dev/valid-attachments` of a network configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValidAttachments {
    /// Interfaces by container: looked up once for each record of a network.
    interfaces: BTreeMap<String, Vec<String>>,
}

impl ValidAttachments {
    /// Reads the list, which has to be there: without one everything would
    /// go. An empty list says so; no list is a caller's mistake.
    pub fn read(document: &Object<'_>) -> Result<Self, Fault> {
        Self::find(document)?.ok_or_else(|| {
            Fault::ValidAttachments(format!(
                "{}: wanted a list of attachments, found nothing; nothing was released",
                KEYS[0]
            ))
        })
    }

    /// Reads the list; nothing where it is absent or `null`.
    pub fn find(document: &Object<'_>) -> Result<Option<Self>, Fault> {
        let unreadable =
            |error: JsonError| Fault::ValidAttachments(format!("{error}; nothing was released"));
        let mut valid: Option<Self> = None;
        for key in KEYS {
            let Some(field) = document.get(key) else {
                continue;
            };
            let valid = valid.get_or_insert_default();
            for entry in field.list().map_err(unreadable)? {
                if entry.is_null() {
                    return Err(unreadable(entry.mismatch("an object")));
                }
                let entry = entry.object().map_err(unreadable)?;
                let text = |name| {
                    entry
                        .text(name)
                        .map(Option::unwrap_or_default)
                        .map_err(unreadable)
                };
                let interfaces = valid.interfaces.entry(text("containerID")?).or_default();
                interfaces.push(text("ifname")?);
            }
        }
        Ok(valid)
    }

    /// Whether an attachment is to stay. What was recorded without an
    /// interface stays as long as its container does.
    pub fn holds(&self, container: &str, interface: Option<&str>) -> bool {
        self.interfaces
            .get(container)
            .is_some_and(|held| interface.is_none_or(|wanted| held.iter().any(|i| i == wanted)))
    }

    /// Those whose ids are ids. No plugin has made anything for others.
    pub fn attachments(&self) -> Vec<Attachment> {
        let of = |(container, interfaces): (&String, &Vec<String>)| {
            let container = ContainerId::new(container).ok()?;
            let interfaces = interfaces.iter().filter_map(|i| InterfaceName::new(i).ok());
            let attachments = interfaces.map(|interface| Attachment {
                container: container.clone(),
                interface,
            });
            Some(attachments.collect::<Vec<_>>())
        };
        self.interfaces.iter().filter_map(of).flatten().collect()
    }

    /// Whether any attachment of a container is to stay.
    pub fn holds_container(&self, container: &str) -> bool {
        self.holds(container, None)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use alloc::string::ToString;

    use super::*;
    use crate::json::Field;

    fn find(text: &str) -> Result<Option<ValidAttachments>, String> {
        ValidAttachments::find(&Field::document(text).unwrap().object().unwrap())
            .map_err(|fault| fault.to_string())
    }

    #[test]
    fn attachments_of_either_key_are_held() {
        let valid = find(
            r#"{"cni.dev/valid-attachments":[{"containerID":"a","ifname":"eth0"},
                {"containerID":"a","ifname":"eth1"}],
                "cni.dev/attachments":[{"containerID":"b","ifname":"eth0"}]}"#,
        );
        let valid = valid.unwrap().unwrap();
        assert!(valid.holds("a", Some("eth0")) && valid.holds("a", Some("eth1")));
        assert!(valid.holds("b", Some("eth0")) && valid.holds("b", None));
        assert!(valid.holds_container("a"));
        assert!(!valid.holds("b", Some("eth1")) && !valid.holds_container("c"));
    }

    #[test]
    fn no_list_is_not_an_empty_one() {
        let empty = find(r#"{"cni.dev/valid-attachments":[]}"#);
        assert_eq!(empty, Ok(Some(ValidAttachments::default())));
        for text in ["{}", r#"{"cni.dev/valid-attachments":null}"#] {
            assert_eq!(find(text), Ok(None));
            let document = Field::document(text).unwrap().object().unwrap();
            let refused = ValidAttachments::read(&document);
            assert!(matches!(refused, Err(Fault::ValidAttachments(_))));
        }
    }

    #[test]
    fn an_unreadable_list_is_an_error() {
        let key = "cni.dev/valid-attachments";
        for (list, place) in [
            ("{}", key.to_string()),
            ("[null]", format!("{key}[0]")),
            ("[[]]", format!("{key}[0]")),
            (r#"[{"containerID":1}]"#, format!("{key}[0].containerID")),
        ] {
            let error = find(&format!(r#"{{"{key}":{list}}}"#)).unwrap_err();
            assert!(error.starts_with(&format!("{place}: wanted ")), "{error}");
        }
    }
}
