//! `wipam policy`.

mod check;
mod install;
mod new;
pub(crate) mod place;
mod plugin;
mod run;
mod test;
