//! The commands of the specification, a file each.

mod add;
mod check;
mod del;
mod gc;
mod notice;
mod status;

pub(crate) use add::add;
pub(crate) use check::check;
pub(crate) use del::del;
pub(crate) use gc::gc;
pub(crate) use status::status;

use crate::json::Object;

/// What every command works with.
pub(crate) struct Frame<'f, 'd, E> {
    /// `CNI_ARGS`
    pub(crate) args: &'f str,
    /// The network configuration.
    pub(crate) document: &'f Object<'d>,
    /// The world outside.
    pub(crate) environment: &'f mut E,
}
