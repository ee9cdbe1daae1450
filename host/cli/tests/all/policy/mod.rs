//! `wipam policy`.

mod check;
mod install;
mod new;
mod place;
mod plugin;
mod run;
mod test;
