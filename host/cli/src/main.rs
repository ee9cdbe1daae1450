//! `wipam`: the command line for operators and authors of policies.

#![allow(clippy::print_stdout, reason = "this talks to people")]

mod bridge;
mod policy;
mod simulate;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// That of musl takes an eighth of a simulation.
#[global_allocator]
static HEAP: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

/// Looks after the networks of containers on this host.
#[derive(Parser)]
#[command(name = "wipam", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// About the bridge plugin.
    #[command(subcommand)]
    Bridge(bridge::Command),
    /// About allocation policies.
    #[command(subcommand)]
    Policy(policy::Command),
    /// Carry out a scenario in memory: thousands of ADDs and DELs in a second,
    /// through the component that the plugins embed.
    Simulate(simulate::Simulate),
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Bridge(command) => bridge::run(&command),
        Command::Policy(command) => policy::run(&command),
        Command::Simulate(simulate) => simulate.run(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            #[allow(clippy::print_stderr, reason = "this talks to people")]
            {
                eprintln!("wipam: {error}");
            }
            ExitCode::FAILURE
        }
    }
}
