//! How a pool filled and emptied.

use alloc::vec::Vec;

use serde::Serialize;
use serde::ser::{SerializeTuple, Serializer};

/// Most samples that are kept.
const MOST: usize = 512;

/// Samples, every so many operations.
#[derive(Clone, Debug, Serialize)]
pub struct Series {
    /// Operations from one sample to the next.
    pub every: u32,
    /// The samples. The last one may be nearer to the one before.
    pub samples: Vec<Sample>,
    #[serde(skip)]
    pub(crate) rows: Vec<Vec<u8>>,
}

/// What was after an operation. As JSON: a list, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Number of the operation.
    pub operation: u32,
    /// Its time, in milliseconds since the start.
    pub ms: u64,
    /// Addresses that are reserved.
    pub reserved: u64,
    /// Those of them that are reserved for somebody who is gone.
    pub stale: u64,
    /// Failures so far.
    pub failures: u64,
    /// Addresses given so far.
    pub given: u64,
}

impl Serialize for Sample {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tuple = serializer.serialize_tuple(6)?;
        tuple.serialize_element(&self.operation)?;
        for number in [
            self.ms,
            self.reserved,
            self.stale,
            self.failures,
            self.given,
        ] {
            tuple.serialize_element(&number)?;
        }
        tuple.end()
    }
}

impl Default for Series {
    fn default() -> Self {
        Self {
            every: 1,
            samples: Vec::new(),
            rows: Vec::new(),
        }
    }
}

impl Series {
    /// Whether there is to be a sample after this operation.
    pub(crate) fn wants(&self, operation: u32) -> bool {
        operation.is_multiple_of(self.every)
    }

    /// Takes a sample, and every second one out when they become too many.
    pub(crate) fn take(&mut self, sample: Sample, rows: Vec<u8>) {
        self.samples.push(sample);
        self.rows.push(rows);
        if self.samples.len() > MOST {
            self.every = self.every.saturating_mul(2);
            let every = self.every;
            let mut kept = self.samples.iter();
            self.rows.retain(|_| {
                kept.next()
                    .is_some_and(|s| s.operation.is_multiple_of(every))
            });
            self.samples.retain(|s| s.operation.is_multiple_of(every));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_never_too_many_samples() {
        let mut series = Series::default();
        for operation in 1..=100_000 {
            if series.wants(operation) {
                let sample = Sample {
                    operation,
                    ms: 0,
                    reserved: 0,
                    stale: 0,
                    failures: 0,
                    given: 0,
                };
                series.take(sample, Vec::new());
            }
            assert!(series.samples.len() <= MOST);
            assert_eq!(series.samples.len(), series.rows.len());
        }
        assert_eq!(series.every, 256);
        let numbers = series.samples.iter().map(|sample| sample.operation);
        assert!(numbers.eq((1..=390).map(|n| n * 256)));
    }
}
