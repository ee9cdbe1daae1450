//! What a policy remembers, between being set and being kept.

use wipam_core::store::StoreError;

use crate::beside::{Beside, Content, Kept};
use crate::error;

/// Most bytes that are kept.
const MOST: u64 = 1 << 20;

/// The state of a network's policy.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// What was set and is not kept yet.
    pending: Option<Vec<u8>>,
}

/// That another state was kept.
#[derive(Debug)]
pub(crate) struct Changed {
    pub(crate) before: Vec<u8>,
    pub(crate) after: Vec<u8>,
}

impl State {
    /// As it was last set, or else as it is kept.
    pub(crate) fn get(&self, beside: &mut impl Beside) -> Result<Vec<u8>, StoreError> {
        match &self.pending {
            Some(pending) => Ok(pending.clone()),
            None => match beside.load(Kept::State, MOST)? {
                Content::All(bytes) => Ok(bytes),
                Content::Missing => Ok(Vec::new()),
                Content::TooMuch => Err(error::other(format!(
                    "read {}: wanted at most {MOST} bytes, found more",
                    beside.place(Kept::State)
                ))),
            },
        }
    }

    /// Sets it, for this session.
    pub(crate) fn set(&mut self, bytes: Vec<u8>) {
        self.pending = Some(bytes);
    }

    /// Keeps what was set; `None` where that changes nothing.
    pub(crate) fn keep(&mut self, beside: &mut impl Beside) -> Result<Option<Changed>, StoreError> {
        let Some(after) = &self.pending else {
            return Ok(None);
        };
        if after.len() as u64 > MOST {
            return Err(error::other(format!(
                "write {}: wanted at most {MOST} bytes, got {}",
                beside.place(Kept::State),
                after.len()
            )));
        }
        let before = match beside.load(Kept::State, MOST) {
            Ok(Content::All(bytes)) => Some(bytes),
            Ok(Content::Missing) => Some(Vec::new()),
            // What cannot be read is of no use to anybody, and makes room.
            Ok(Content::TooMuch) | Err(_) => None,
        };
        let same = before.as_ref() == Some(after);
        if !same {
            write(beside, after)?;
        }
        let after = self.pending.take().unwrap_or_default();
        let before = before.unwrap_or_default();
        Ok((!same).then_some(Changed { before, after }))
    }

    /// Puts back what was kept before, unless somebody changed it since.
    pub(crate) fn put_back(beside: &mut impl Beside, changed: &Changed) -> Result<(), StoreError> {
        match beside.load(Kept::State, MOST)? {
            Content::All(now) if now == changed.after => write(beside, &changed.before),
            Content::Missing if changed.after.is_empty() => write(beside, &changed.before),
            _ => Ok(()),
        }
    }
}

fn write(beside: &mut impl Beside, bytes: &[u8]) -> Result<(), StoreError> {
    if bytes.is_empty() {
        beside.remove(Kept::State)
    } else {
        beside.replace(Kept::State, bytes)
    }
}
