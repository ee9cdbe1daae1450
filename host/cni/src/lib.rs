//! The native side of the CNI binaries: it reads the environment and standard
//! input, opens stores, runs the component and delivers its answer. It decides
//! nothing about addresses.

mod about;
mod bridge;
mod build;
mod compiler;
mod deliver;
mod environment;
mod failure;
mod input;
mod run;
mod stdout;
mod undo;

pub use bridge::{Preview, PreviewStep, bridge, bridge_watched, preview};
pub use run::host_local;
