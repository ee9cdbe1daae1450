//! Moments that can be compared whatever is done to the clock.

use std::fs;

use rustix::time::{ClockId, clock_gettime};

/// How long a machine has run: the wall clock is set, this one is not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Which boot of which machine: the first 16 digits of its boot id.
    pub boot: u64,
    /// Milliseconds since then, with the time that the machine slept.
    pub since_boot_ms: u64,
}

impl Moment {
    /// This moment.
    pub fn now() -> Self {
        Clock::default().now()
    }

    /// Milliseconds since then, as far as that is certain: of another boot, no
    /// more is known than that it was before this one.
    pub(crate) fn since(&self, then: &Self) -> u64 {
        if then.boot == self.boot {
            self.since_boot_ms.saturating_sub(then.since_boot_ms)
        } else {
            self.since_boot_ms
        }
    }
}

/// Tells moments of one boot.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    /// What it always tells, for tests.
    stopped_at: Option<Moment>,
    boot: Option<u64>,
}

impl Clock {
    /// One that always tells this moment, if there is one.
    pub(crate) fn new(stopped_at: Option<Moment>) -> Self {
        Self {
            stopped_at,
            boot: None,
        }
    }

    pub(crate) fn now(&mut self) -> Moment {
        if let Some(moment) = self.stopped_at {
            return moment;
        }
        let time = clock_gettime(ClockId::Boottime);
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        let millis = u64::try_from(time.tv_nsec).unwrap_or(0) / 1_000_000;
        Moment {
            boot: *self.boot.get_or_insert_with(boot),
            since_boot_ms: seconds.saturating_mul(1000).saturating_add(millis),
        }
    }
}

/// 0 where it cannot be told. All boots are one then, and the difference of
/// their times is still never more than what has passed.
fn boot() -> u64 {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .ok()
        .and_then(|id| {
            let digits: String = id
                .chars()
                .filter(char::is_ascii_hexdigit)
                .take(16)
                .collect();
            u64::from_str_radix(&digits, 16).ok()
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_boot_is_known_and_time_goes_on() {
        let first = Moment::now();
        assert_ne!(first.boot, 0);
        assert_ne!(first.since_boot_ms, 0);
        let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let text = format!("{:016x}", first.boot);
        assert_eq!(id.replace('-', "").get(..16), Some(text.as_str()));
        let second = Moment::now();
        assert_eq!(second.boot, first.boot);
        assert!(second.since_boot_ms >= first.since_boot_ms);
    }

    #[test]
    fn nothing_is_certain_beyond_this_boot() {
        let moment = |boot, since_boot_ms| Moment {
            boot,
            since_boot_ms,
        };
        assert_eq!(moment(1, 500).since(&moment(1, 200)), 300);
        assert_eq!(moment(1, 500).since(&moment(1, 700)), 0);
        assert_eq!(moment(2, 500).since(&moment(1, 200)), 500);
        assert_eq!(moment(2, 500).since(&moment(1, 9000)), 500);
    }
}
