//! What a policy remembers of a network: keys and values, as JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wipam_core::store::PolicyState;

use super::failure::Stop;

/// Keys and values, read when they are first needed. Changes stay here until
/// the decision has ended well.
#[derive(Debug)]
pub(super) struct Memory {
    entries: Option<BTreeMap<String, Value>>,
    /// Bytes of keys and values.
    size: usize,
    changed: bool,
    most: usize,
}

/// A value: text where it is text, for those who look into the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Value {
    Text(String),
    Bytes(Hex),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Hex {
    hex: String,
}

impl Value {
    fn new(bytes: Vec<u8>) -> Self {
        String::from_utf8(bytes).map_or_else(
            |error| {
                let bytes = error.into_bytes();
                Self::Bytes(Hex {
                    hex: super::digest::hex(&bytes),
                })
            },
            Self::Text,
        )
    }

    fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Bytes(Hex { hex }) => hex.len() / 2,
        }
    }

    fn bytes(&self) -> Option<Vec<u8>> {
        match self {
            Self::Text(text) => Some(text.clone().into_bytes()),
            Self::Bytes(Hex { hex }) => super::digest::unhex(hex),
        }
    }
}

impl Memory {
    pub(super) fn new(most: u32) -> Self {
        Self {
            entries: None,
            size: 0,
            changed: false,
            most: usize::try_from(most).unwrap_or(usize::MAX),
        }
    }

    fn entries(
        &mut self,
        store: &mut impl PolicyState,
    ) -> Result<&mut BTreeMap<String, Value>, Stop> {
        let entries = match self.entries.take() {
            Some(entries) => entries,
            None => {
                let entries = read(&store.policy_state().map_err(Stop::Store)?)?;
                let sizes = entries.iter().map(|(key, value)| key.len() + value.len());
                self.size = sizes.sum();
                entries
            }
        };
        Ok(self.entries.insert(entries))
    }

    pub(super) fn get(
        &mut self,
        store: &mut impl PolicyState,
        key: &str,
    ) -> Result<Option<Vec<u8>>, Stop> {
        Ok(self.entries(store)?.get(key).and_then(Value::bytes))
    }

    /// The inner failure is the policy's to deal with.
    pub(super) fn set(
        &mut self,
        store: &mut impl PolicyState,
        key: String,
        value: Vec<u8>,
    ) -> Result<Result<(), String>, Stop> {
        let old = self.entries(store)?.get(&key).cloned();
        let replaced = old.as_ref().map_or(0, |old| key.len() + old.len());
        let size = self.size - replaced + key.len() + value.len();
        if size > self.most {
            return Ok(Err(format!(
                "{size} bytes of keys and values would be more than the limit of {}",
                self.most
            )));
        }
        let value = Value::new(value);
        self.changed |= old.as_ref() != Some(&value);
        self.size = size;
        self.entries(store)?.insert(key, value);
        Ok(Ok(()))
    }

    pub(super) fn remove(&mut self, store: &mut impl PolicyState, key: &str) -> Result<(), Stop> {
        if let Some(value) = self.entries(store)?.remove(key) {
            self.size -= key.len() + value.len();
            self.changed = true;
        }
        Ok(())
    }

    pub(super) fn keys(&mut self, store: &mut impl PolicyState) -> Result<Vec<String>, Stop> {
        Ok(self.entries(store)?.keys().cloned().collect())
    }

    /// Hands what was changed to the store.
    pub(super) fn commit(&self, store: &mut impl PolicyState) {
        if let Some(entries) = self.entries.as_ref().filter(|_| self.changed) {
            // Text and hexadecimal digits: nothing of it can fail. Where
            // nothing is left, nothing is kept.
            let bytes = match entries.is_empty() {
                true => Vec::new(),
                false => serde_json::to_vec(entries).unwrap_or_default(),
            };
            store.set_policy_state(bytes);
        }
    }
}

fn read(bytes: &[u8]) -> Result<BTreeMap<String, Value>, Stop> {
    if bytes.is_empty() {
        return Ok(BTreeMap::new());
    }
    let unreadable = |cause: String| Stop::Unreadable(cause);
    let entries: BTreeMap<String, Value> =
        serde_json::from_slice(bytes).map_err(|error| unreadable(error.to_string()))?;
    match entries.iter().find(|(_, value)| value.bytes().is_none()) {
        Some((key, _)) => Err(unreadable(format!(
            "the value of {key:?} is not hexadecimal"
        ))),
        None => Ok(entries),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use wipam_core::store::StoreError;

    use super::*;

    #[derive(Default)]
    struct Kept(Vec<u8>);

    impl PolicyState for Kept {
        fn policy_state(&mut self) -> Result<Vec<u8>, StoreError> {
            Ok(self.0.clone())
        }

        fn set_policy_state(&mut self, bytes: Vec<u8>) {
            self.0 = bytes;
        }
    }

    #[test]
    fn what_is_written_can_be_read_in_the_order_of_its_keys() {
        let mut kept = Kept::default();
        let mut memory = Memory::new(100);
        for (key, value) in [("b", &b"\xff\0"[..]), ("a", b"one"), ("", b"")] {
            memory
                .set(&mut kept, key.into(), value.into())
                .unwrap()
                .unwrap();
        }
        assert!(kept.0.is_empty(), "nothing counts before it is committed");
        memory.commit(&mut kept);
        assert_eq!(kept.0, br#"{"":"","a":"one","b":{"hex":"ff00"}}"#);

        let mut memory = Memory::new(100);
        assert_eq!(memory.keys(&mut kept).unwrap(), ["", "a", "b"]);
        assert_eq!(memory.get(&mut kept, "b").unwrap().unwrap(), b"\xff\0");
        assert_eq!(memory.get(&mut kept, "c").unwrap(), None);
    }

    #[test]
    fn keys_and_values_count_and_what_is_replaced_does_not() {
        let (mut kept, mut memory) = (Kept::default(), Memory::new(4));
        let mut set =
            |key: &str, value: &[u8]| memory.set(&mut kept, key.into(), value.into()).unwrap();
        assert_eq!(set("a", b"123"), Ok(()));
        assert_eq!(set("a", b"456"), Ok(()));
        assert!(set("b", b"").is_err());
        assert!(set("a", b"4567").is_err());
        assert_eq!(memory.get(&mut kept, "a").unwrap().unwrap(), b"456");
        memory.remove(&mut kept, "a").unwrap();
        assert!(memory.keys(&mut kept).unwrap().is_empty());
    }

    #[test]
    fn what_was_not_changed_is_not_written() {
        let mut kept = Kept(br#"{"a": "1"}"#.to_vec());
        let mut memory = Memory::new(4);
        memory
            .set(&mut kept, "a".into(), b"1".into())
            .unwrap()
            .unwrap();
        memory.remove(&mut kept, "b").unwrap();
        memory.commit(&mut kept);
        assert_eq!(kept.0, br#"{"a": "1"}"#);
    }

    #[test]
    fn what_cannot_be_read_is_left_alone() {
        for bytes in [
            &b"{"[..],
            b"[]",
            br#"{"a":1}"#,
            br#"{"a":{"hex":"0"}}"#,
            br#"{"a":{"hex":"0g"}}"#,
            br#"{"a":{"hex":"00","b":1}}"#,
        ] {
            let mut kept = Kept(bytes.to_vec());
            let mut memory = Memory::new(4);
            let stop = memory.set(&mut kept, "b".into(), Vec::new()).unwrap_err();
            assert!(matches!(stop, Stop::Unreadable(_)), "{stop}");
            memory.commit(&mut kept);
            assert_eq!(kept.0, bytes);
        }
    }
}
