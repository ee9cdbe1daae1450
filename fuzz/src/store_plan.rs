//! Anything that can happen on a network, in any order, against the model.

use arbitrary::Unstructured;

use crate::input;

/// Reads the bytes as range sets and a plan of steps on them, and carries it
/// out on a memory store and on the model.
pub fn store_plan(data: &[u8]) {
    if let Ok(plan) = input::plan(&mut Unstructured::new(data))
        && input::is_small(&plan.sets)
    {
        plan.run();
    }
}
