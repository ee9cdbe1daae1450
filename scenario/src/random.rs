//! Chance from a seed, the same on every machine.

/// The generator SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom
/// number generators", 2014).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

/// The golden ratio, as SplitMix64 has it.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// The stream of this number among those of a seed.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        Self(mix(seed ^ mix(stream)))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        mix(self.0)
    }

    /// Above 0, and at most 1.
    fn share(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// True in so many of a hundred cases.
    pub(crate) fn percent(&mut self, percent: f64) -> bool {
        // Drawn even where it is certain, so that a scenario with one number
        // changed stays the same in all else.
        self.share() * 100.0 <= percent
    }

    /// A time with this mean, exponentially distributed.
    pub(crate) fn exponential(&mut self, mean_ms: u64) -> u64 {
        let share = self.share();
        // A sum of these stays far from the limits of a number.
        (-libm::log(share) * mean_ms as f64) as u64
    }
}

/// One number for each operation of a scenario.
pub(crate) fn seed_of(seed: u64, operation: u32) -> u64 {
    mix(seed.wrapping_add(u64::from(operation).wrapping_mul(STEP)))
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_their_mean() {
        let mut random = Random::new(1, 0);
        let sum: u64 = (0..100_000).map(|_| random.exponential(1000)).sum();
        assert!((99_000_000..101_000_000).contains(&sum), "{sum}");
    }

    #[test]
    fn percentages_hold() {
        let mut random = Random::new(1, 0);
        let hits = (0..100_000).filter(|_| random.percent(20.0)).count();
        assert!((19_500..20_500).contains(&hits), "{hits}");
        assert!((0..1000).all(|_| random.percent(100.0)));
        assert!(!(0..1000).any(|_| random.percent(0.0)));
    }

    #[test]
    fn streams_and_operations_differ() {
        assert_ne!(Random::new(1, 0).next(), Random::new(1, 1).next());
        assert_ne!(Random::new(1, 0).next(), Random::new(2, 0).next());
        assert_ne!(seed_of(1, 1), seed_of(1, 2));
    }
}
