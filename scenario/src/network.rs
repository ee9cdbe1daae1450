//! The configuration in force, and what a runtime adds to it.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

use crate::format::object;

/// A network configuration, and where in its text more can be added.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    text: String,
    /// Where its closing brace is, and what has to come before another field;
    /// nothing where it is no object.
    end: Option<(usize, &'static str)>,
}

impl Network {
    pub(crate) fn new(text: String) -> Self {
        let end = object(&text).and_then(|object| {
            let comma = if object.is_empty() { "" } else { "," };
            Some((text.rfind('}')?, comma))
        });
        Self { text, end }
    }

    /// As it is written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// With one more field, if it can have any: what a runtime adds goes into
    /// the text, of which all else stays as it was written.
    pub(crate) fn with(&self, name: &str, json: &str) -> String {
        let split = self.end.and_then(|(end, comma)| {
            let (before, after) = self.text.split_at_checked(end)?;
            Some((before.trim_end(), comma, after))
        });
        match split {
            Some((before, comma, after)) => {
                format!("{before}{comma}\n  \"{name}\": {json}\n{after}")
            }
            None => self.text.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_added_to_the_text() {
        let with = |text: &str| Network::new(text.into()).with("x", "[1]");
        assert_eq!(with("{\n  \"a\": 1\n}"), "{\n  \"a\": 1,\n  \"x\": [1]\n}");
        assert_eq!(
            with("{\"a\": \"}\"} \n"),
            "{\"a\": \"}\",\n  \"x\": [1]\n} \n"
        );
        assert_eq!(with(" { } "), " {\n  \"x\": [1]\n} ");
    }

    #[test]
    fn what_is_no_object_stays_as_it_is() {
        for text in ["", "[]", "{", "{}}", "null"] {
            assert_eq!(Network::new(text.into()).with("x", "1"), text);
        }
    }
}
