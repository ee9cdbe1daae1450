//! Where things are in a list, by their hashes: tens of thousands of them are
//! put in at every call that asks for a large history, and none is taken out.

/// A table of positions. Every step, what is looked for follows from its hash
/// and from whether that is it.
#[derive(Debug)]
pub(super) struct Places {
    /// Positions, more by one; a power of two of them.
    slots: Vec<u32>,
    used: usize,
}

impl Places {
    /// With room for so many.
    pub(super) fn new(count: usize) -> Self {
        let slots = count
            .saturating_add(8)
            .saturating_mul(2)
            .next_power_of_two();
        Self {
            slots: vec![0; slots],
            used: 0,
        }
    }

    /// The place in which the position is for which `is_it`, or the one for
    /// it if it is in none.
    pub(super) fn find(&self, hash: u64, is_it: impl Fn(usize) -> bool) -> usize {
        let mask = self.slots.len() - 1;
        // What is cut off does not matter, as the mask cuts off more.
        let mut place = hash as usize & mask;
        while let Some(at) = self.get(place) {
            if is_it(at) {
                break;
            }
            place = (place + 1) & mask;
        }
        place
    }

    /// The position in a place, if there is one.
    pub(super) fn get(&self, place: usize) -> Option<usize> {
        let slot = self.slots.get(place)?;
        slot.checked_sub(1).map(|at| at as usize)
    }

    /// Puts a position in a place.
    pub(super) fn set(&mut self, place: usize, at: usize) {
        if let Some(slot) = self.slots.get_mut(place) {
            self.used += usize::from(*slot == 0);
            *slot = u32::try_from(at + 1).unwrap_or(u32::MAX);
        }
    }

    /// Whether there should be more of them, before the next is put in.
    pub(super) fn are_few(&self) -> bool {
        self.used > self.slots.len() / 4 * 3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_is_found_among_others_of_its_hash() {
        let list: Vec<u32> = (0..1000).collect();
        for clash in [1, 7, 1000] {
            let hash = |value: u32| u64::from(value % clash).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mut places = Places::new(list.len());
            let find = |places: &Places, value| {
                places.find(hash(value), |at| list.get(at) == Some(&value))
            };
            for (at, value) in list.iter().enumerate() {
                let place = find(&places, *value);
                assert_eq!(places.get(place), None);
                places.set(place, at);
            }
            assert!(!places.are_few());
            for (at, value) in list.iter().enumerate() {
                assert_eq!(places.get(find(&places, *value)), Some(at));
            }
            assert_eq!(places.get(find(&places, 5000)), None);
        }
    }
}
