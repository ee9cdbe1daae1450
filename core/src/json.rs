//! Reading JSON the way CNI configurations are written in practice.
//!
//! The reference reads configurations with Go's `encoding/json`, and files in
//! use depend on its habits: keys match whatever their case, the last of
//! several equal keys counts, `null` is as good as absent, fields nobody knows
//! are skipped however deep or odd they are. A [`Field`] is one value together
//! with the path that led to it, so every complaint can say where.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// Why a value could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JsonError {
    /// The text is no JSON document.
    Syntax(String),
    /// A value is of another type than the field has.
    Type {
        /// Path of the field, such as `ipam.ranges[0][1].subnet`.
        path: String,
        /// What the field takes.
        wanted: &'static str,
        /// What stood there, shortened.
        found: String,
    },
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(cause) => write!(f, "no valid JSON: {cause}"),
            Self::Type {
                path,
                wanted,
                found,
            } if path.is_empty() => {
                write!(f, "wanted {wanted}, found {found}")
            }
            Self::Type {
                path,
                wanted,
                found,
            } => {
                write!(f, "{path}: wanted {wanted}, found {found}")
            }
        }
    }
}

impl core::error::Error for JsonError {}

/// One JSON value and where it stands.
#[derive(Clone)]
pub struct Field<'a> {
    path: String,
    raw: &'a str,
}

/// The members of a JSON object, in the order of the text.
pub struct Object<'a> {
    path: String,
    members: Vec<(String, &'a str)>,
}

/// Bytes as text, with U+FFFD in place of what is no UTF-8, as Go's decoder
/// has it.
pub fn to_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl<'a> Field<'a> {
    /// A whole document. The complete text is checked here, so nothing that
    /// is reached from this value can turn out to be malformed later.
    pub fn document(text: &'a str) -> Result<Self, JsonError> {
        serde_json::from_str::<&RawValue>(text)
            .map(|raw| Self {
                path: String::new(),
                raw: raw.get(),
            })
            .map_err(|error| JsonError::Syntax(error.to_string()))
    }

    /// Where the value stands.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Its JSON text.
    pub fn json(&self) -> &'a str {
        self.raw
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        self.raw == "null"
    }

    /// The value as an object. `null` is an object without members.
    pub fn object(&self) -> Result<Object<'a>, JsonError> {
        let members = match self.raw.as_bytes().first() {
            Some(b'{') => self.parse::<Members<'a>>("an object")?.0,
            _ if self.is_null() => Vec::new(),
            _ => return Err(self.mismatch("an object")),
        };
        Ok(Object {
            path: self.path.clone(),
            members,
        })
    }

    /// The value as a list. `null` is an empty list.
    pub fn list(&self) -> Result<Vec<Field<'a>>, JsonError> {
        let items = match self.raw.as_bytes().first() {
            Some(b'[') => self.parse::<Vec<&'a RawValue>>("a list")?,
            _ if self.is_null() => Vec::new(),
            _ => return Err(self.mismatch("a list")),
        };
        Ok(items
            .into_iter()
            .enumerate()
            .map(|(n, raw)| Field {
                path: format!("{}[{n}]", self.path),
                raw: raw.get(),
            })
            .collect())
    }

    /// The value as a text. Lone surrogates and the like become U+FFFD.
    pub fn text(&self) -> Result<String, JsonError> {
        match self.raw.as_bytes().first() {
            Some(b'"') => Ok(self.parse::<Lossy>("a string")?.0),
            _ => Err(self.mismatch("a string")),
        }
    }

    /// The value as a whole number.
    pub fn integer(&self) -> Result<i64, JsonError> {
        self.parse("a whole number of 64 bits")
    }

    /// The value as a number that cannot be negative.
    pub fn unsigned(&self) -> Result<u64, JsonError> {
        self.parse("a whole number that is not negative")
    }

    /// The value as a truth value.
    pub fn boolean(&self) -> Result<bool, JsonError> {
        self.parse("true or false")
    }

    /// The error that says this value is not what the field takes.
    pub fn mismatch(&self, wanted: &'static str) -> JsonError {
        let found = match self.raw.as_bytes().first() {
            Some(b'{') => "an object".to_owned(),
            Some(b'[') => "a list".to_owned(),
            Some(b'"') => format!("the string {}", shorten(self.raw)),
            Some(b't' | b'f' | b'n') => self.raw.to_owned(),
            _ => format!("the number {}", shorten(self.raw)),
        };
        JsonError::Type {
            path: self.path.clone(),
            wanted,
            found,
        }
    }

    fn parse<T: Deserialize<'a>>(&self, wanted: &'static str) -> Result<T, JsonError> {
        serde_json::from_str(self.raw).map_err(|_| self.mismatch(wanted))
    }
}

impl<'a> Object<'a> {
    /// The field of this name: the last one in the text that is not `null`.
    pub fn get(&self, name: &str) -> Option<Field<'a>> {
        self.all(name).filter(|field| !field.is_null()).last()
    }

    /// The last field of this name, `null` or not.
    pub fn last(&self, name: &str) -> Option<Field<'a>> {
        self.all(name).last()
    }

    fn all(&self, name: &str) -> impl Iterator<Item = Field<'a>> {
        self.members
            .iter()
            .filter(move |(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(key, raw)| Field {
                path: self.path_of(key),
                raw,
            })
    }

    /// The names of the members, in the order of the text.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|(key, _)| key.as_str())
    }

    /// Where the field of this name stands, or would.
    pub fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.path)
        }
    }

    /// The text at `name`; nothing where it is absent or `null`.
    pub fn text(&self, name: &str) -> Result<Option<String>, JsonError> {
        self.get(name).map(|field| field.text()).transpose()
    }

    /// The number at `name`; nothing where it is absent or `null`.
    pub fn integer(&self, name: &str) -> Result<Option<i64>, JsonError> {
        self.get(name).map(|field| field.integer()).transpose()
    }

    /// The number at `name`; nothing where it is absent or `null`.
    pub fn unsigned(&self, name: &str) -> Result<Option<u64>, JsonError> {
        self.get(name).map(|field| field.unsigned()).transpose()
    }

    /// The truth value at `name`; `false` where it is absent or `null`.
    pub fn boolean(&self, name: &str) -> Result<bool, JsonError> {
        self.get(name).map_or(Ok(false), |field| field.boolean())
    }

    /// The object at `name`; one without members where it is absent or `null`.
    /// Several objects of this name are one with the members of all, since the
    /// last `null` among them.
    pub fn object(&self, name: &str) -> Result<Object<'a>, JsonError> {
        let mut merged = Object {
            path: self.path_of(name),
            members: Vec::new(),
        };
        for field in self.all(name) {
            if field.is_null() {
                merged.members.clear();
            } else {
                merged.members.extend(field.object()?.members);
            }
        }
        Ok(merged)
    }

    /// The list at `name`; an empty one where it is absent or `null`.
    pub fn list(&self, name: &str) -> Result<Vec<Field<'a>>, JsonError> {
        self.get(name).map_or(Ok(Vec::new()), |field| field.list())
    }
}

/// At most some twenty characters of a value, for messages.
fn shorten(raw: &str) -> String {
    const LONGEST: usize = 40;
    match raw.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &raw[..end]),
        None => raw.to_owned(),
    }
}

struct Members<'a>(Vec<(String, &'a str)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;

        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(key) = map.next_key::<Lossy>()? {
                    members.push((key.0, map.next_value::<&RawValue>()?.get()));
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(Collect)
    }
}

/// A string in which lone surrogates are no error. Only the byte form of
/// `serde_json`'s strings lets them pass, and as WTF-8.
struct Lossy(String);

impl<'de> Deserialize<'de> for Lossy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;

        impl Visitor<'_> for Bytes {
            type Value = Lossy;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Lossy, E> {
                Ok(Lossy(to_text(bytes)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Lossy, E> {
                Ok(Lossy(text.to_owned()))
            }
        }

        deserializer.deserialize_bytes(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(text: &str) -> Object<'_> {
        Field::document(text)
            .and_then(|field| field.object())
            .map_err(|e| e.to_string())
            .unwrap_or(Object {
                path: String::new(),
                members: Vec::new(),
            })
    }

    #[test]
    fn keys_match_in_any_case_and_the_last_counts() {
        let found = object(r#"{"Name":"a","NAME":"b","name":null,"n\u0061me":"c"}"#);
        assert_eq!(found.text("name"), Ok(Some("c".to_owned())));
        assert!(
            object(r#"{"ipam":{},"ipam":null}"#)
                .last("ipam")
                .is_some_and(|f| f.is_null())
        );
    }

    #[test]
    fn objects_of_one_name_are_one() {
        let found = object(r#"{"ipam":{"a":1,"b":{"x":1}},"IPAM":{"a":2,"b":{"y":2}}}"#);
        let ipam = found.object("ipam").map_err(|e| e.to_string());
        let inner = ipam.and_then(|ipam| {
            let inner = ipam.object("b").map_err(|e| e.to_string())?;
            Ok((ipam.integer("a"), inner.integer("x"), inner.integer("y")))
        });
        assert_eq!(inner, Ok((Ok(Some(2)), Ok(Some(1)), Ok(Some(2)))));
        let reset = object(r#"{"ipam":{"a":1},"ipam":null,"ipam":{"b":2}}"#).object("ipam");
        assert!(reset.is_ok_and(|ipam| ipam.get("a").is_none() && ipam.get("b").is_some()));
    }

    #[test]
    fn oddities_in_unknown_fields_are_skipped() {
        let nest = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        for odd in [
            "1e999999",
            "\"\\ud800\"",
            "-0.0",
            "123456789012345678901234567890",
            &nest,
        ] {
            let text = format!(r#"{{"name":"net","x":{odd}}}"#);
            assert_eq!(
                object(&text).text("name"),
                Ok(Some("net".to_owned())),
                "{odd:.40}"
            );
        }
    }

    #[test]
    fn malformed_text_is_found_wherever_it_stands() {
        for bad in [
            "",
            " ",
            "{",
            "{}x",
            "{'a':1}",
            r#"{"a":1,}"#,
            "// c\n{}",
            "nul",
            "\u{feff}{}",
            r#"{"a":NaN}"#,
            r#"{"a":01}"#,
            r#"{"a":+1}"#,
            r#"{"a":.5}"#,
            r#"{"a":1.}"#,
            r#"{"a":"\x65"}"#,
            r#"{"a":"\u00t"}"#,
            "{\"a\":\"\t\"}",
        ] {
            assert!(
                matches!(Field::document(bad), Err(JsonError::Syntax(_))),
                "{bad:?}"
            );
        }
    }

    #[test]
    fn complaints_name_the_path() {
        let found = object(r#"{"ipam":{"ranges":[[{"subnet":5}]]}}"#);
        let ranges = found.object("ipam").and_then(|ipam| ipam.list("ranges"));
        let inner = ranges
            .and_then(|sets| sets[0].list())
            .and_then(|set| set[0].object());
        let error = inner
            .and_then(|range| range.text("subnet"))
            .map_err(|e| e.to_string());
        assert_eq!(
            error,
            Err("ipam.ranges[0][0].subnet: wanted a string, found the number 5".to_owned())
        );
    }
}
