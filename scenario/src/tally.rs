//! What came of a scenario, in numbers.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::account::Account;

/// What came of a scenario so far.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Operations that were carried out.
    pub operations: u32,
    /// Milliseconds from the first to the last one.
    pub ms: u64,
    /// What became of each command that occurred.
    pub commands: Vec<Command>,
    /// What failed, by CNI error code.
    pub errors: Vec<Failure>,
    /// Addresses.
    pub addresses: Addresses,
    /// Addresses that were given again.
    pub reuse: Reuse,
}

/// How often a command, or a reboot, was carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Command {
    /// `CNI_COMMAND`, or `REBOOT`.
    pub command: String,
    /// With success.
    pub done: u32,
    /// With an error.
    pub failed: u32,
}

/// Failures with one CNI error code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// `code`; 0 where the plugin answered something else.
    pub code: u32,
    /// How many.
    pub count: u32,
    /// Number of the first operation that failed so.
    pub first: u32,
    /// What it was told.
    pub message: String,
}

/// Numbers of addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Addresses {
    /// That the configuration has to give, as decimal digits; nothing where it
    /// cannot be used.
    pub pool: Option<String>,
    /// That are reserved now.
    pub reserved: usize,
    /// That are reserved for somebody who is gone.
    pub stale: usize,
    /// Most that were reserved at a time.
    pub most: usize,
    /// That were given, each time counted.
    pub given: u64,
    /// That were given, counted once.
    pub distinct: u64,
}

/// Addresses that were given again, by how many others were given between
/// their release and their return.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Reuse {
    /// How many.
    pub count: u64,
    /// The one that came back soonest.
    pub least: Option<Distance>,
    /// How many came back after at most so many others, in powers of two.
    pub histogram: Vec<Bar>,
}

/// How far a release and a return are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Distance {
    /// Addresses that were given between them.
    pub given: u64,
    /// Milliseconds.
    pub ms: u64,
}

/// A bar of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Bar {
    /// Most that counts here, and not in the bar before.
    #[serde(rename = "upTo")]
    pub up_to: u64,
    /// How many there are.
    pub count: u64,
}

/// Commands in the order of the summary.
const COMMANDS: [&str; 6] = ["ADD", "CHECK", "DEL", "GC", "STATUS", "REBOOT"];

/// Counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    operations: u32,
    ms: u64,
    /// Successes and failures, in the order of `COMMANDS`.
    commands: [(u32, u32); COMMANDS.len()],
    errors: BTreeMap<u32, Failure>,
    most: usize,
    given: u64,
    distinct: u64,
    /// When each address was released last.
    left: BTreeMap<IpAddr, Distance>,
    reuse: u64,
    least: Option<Distance>,
    /// How many came back after up to 2^index others.
    bars: Vec<u64>,
}

impl Tally {
    /// Failures so far.
    pub(crate) fn failures(&self) -> u32 {
        self.commands.iter().map(|(_, failed)| failed).sum()
    }

    /// Addresses given so far.
    pub(crate) fn given(&self) -> u64 {
        self.given
    }

    /// An operation was carried out. `error` is what it was answered if it
    /// failed.
    pub(crate) fn count(&mut self, number: u32, ms: u64, command: &str, error: Option<&str>) {
        self.operations = number;
        self.ms = ms;
        let place = COMMANDS.iter().position(|name| *name == command);
        if let Some(counts) = place.and_then(|place| self.commands.get_mut(place)) {
            match error {
                None => counts.0 += 1,
                Some(_) => counts.1 += 1,
            }
        }
        if let Some(answer) = error {
            self.failed(number, answer);
        }
    }

    fn failed(&mut self, number: u32, answer: &str) {
        let (code, message) = read(answer);
        let failure = self.errors.entry(code).or_insert_with(|| Failure {
            code,
            count: 0,
            first: number,
            message,
        });
        failure.count += 1;
    }

    /// Addresses were released.
    pub(crate) fn released(&mut self, addresses: &[IpAddr], ms: u64) {
        let given = self.given;
        for address in addresses {
            self.left.insert(*address, Distance { given, ms });
        }
    }

    /// Addresses were given.
    pub(crate) fn gave(&mut self, addresses: &[IpAddr], ms: u64) {
        for address in addresses {
            match self.left.remove(address) {
                None => self.distinct += 1,
                Some(left) => self.again(Distance {
                    given: self.given - left.given,
                    ms: ms.saturating_sub(left.ms),
                }),
            }
            self.given += 1;
        }
    }

    fn again(&mut self, distance: Distance) {
        self.reuse += 1;
        self.least = Some(self.least.map_or(distance, |least| least.min(distance)));
        let bar = distance.given.max(1).next_power_of_two().trailing_zeros() as usize;
        if self.bars.len() <= bar {
            self.bars.resize(bar + 1, 0);
        }
        if let Some(count) = self.bars.get_mut(bar) {
            *count += 1;
        }
    }

    /// The most that were reserved at a time, this time included.
    pub(crate) fn at_a_time(&mut self, reserved: usize) {
        self.most = self.most.max(reserved);
    }

    pub(crate) fn summary(&self, pool: Option<u128>, account: &Account) -> Summary {
        let commands = COMMANDS.iter().zip(self.commands);
        Summary {
            operations: self.operations,
            ms: self.ms,
            commands: commands
                .filter(|(_, counts)| *counts != (0, 0))
                .map(|(command, (done, failed))| Command {
                    command: (*command).to_owned(),
                    done,
                    failed,
                })
                .collect(),
            errors: self.errors.values().cloned().collect(),
            addresses: Addresses {
                pool: pool.map(|pool| alloc::format!("{pool}")),
                reserved: account.reserved(),
                stale: account.stale(),
                most: self.most,
                given: self.given,
                distinct: self.distinct,
            },
            reuse: Reuse {
                count: self.reuse,
                least: self.least,
                histogram: self.bars.iter().zip(0_u32..).map(bar).collect(),
            },
        }
    }
}

fn bar((count, power): (&u64, u32)) -> Bar {
    Bar {
        up_to: 1 << power,
        count: *count,
    }
}

/// Code and words of a CNI error object.
fn read(answer: &str) -> (u32, String) {
    #[derive(Deserialize)]
    struct Error {
        code: u32,
        msg: String,
        #[serde(default)]
        details: String,
    }
    match serde_json::from_str(answer) {
        Ok(Error { code, msg, details }) if details.is_empty() => (code, msg),
        Ok(Error { code, msg, details }) => (code, alloc::format!("{msg}; {details}")),
        Err(_) => (0, answer.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    #[test]
    fn a_return_is_as_far_as_what_was_given_since() {
        let mut tally = Tally::default();
        tally.gave(&[address(1), address(2)], 0);
        tally.released(&[address(1)], 1_000);
        tally.gave(&[address(1)], 1_500);
        tally.released(&[address(2)], 2_000);
        tally.gave(&[address(3), address(4), address(5)], 3_000);
        tally.gave(&[address(2)], 9_000);
        let summary = tally.summary(None, &Account::default());
        assert_eq!(summary.addresses.given, 7);
        assert_eq!(summary.addresses.distinct, 5);
        let bars = [(1, 1), (2, 0), (4, 1)];
        let histogram = bars.map(|(up_to, count)| Bar { up_to, count });
        assert_eq!(
            summary.reuse,
            Reuse {
                count: 2,
                least: Some(Distance { given: 0, ms: 500 }),
                histogram: histogram.into(),
            }
        );
    }

    #[test]
    fn failures_are_counted_by_their_code() {
        let mut tally = Tally::default();
        tally.count(1, 0, "ADD", None);
        let full = r#"{"cniVersion":"1.0.0","code":11,"msg":"full","details":"of what"}"#;
        tally.count(2, 5, "ADD", Some(full));
        tally.count(3, 9, "DEL", Some("oops"));
        tally.count(4, 9, "ADD", Some(full));
        let summary = tally.summary(Some(3), &Account::default());
        let failure = |code, count, first, message: &str| Failure {
            code,
            count,
            first,
            message: message.into(),
        };
        assert_eq!(
            summary.errors,
            vec![failure(0, 1, 3, "oops"), failure(11, 2, 2, "full; of what")]
        );
        assert_eq!(tally.failures(), 3);
        assert_eq!(summary.commands[0].done, 1);
        assert_eq!(summary.commands[0].failed, 2);
    }
}
