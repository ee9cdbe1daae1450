//! `wipam`: the command line for operators and authors of policies.

#![allow(clippy::print_stdout, reason = "this talks to people")]

mod bridge;
mod policy;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

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
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Bridge(command) => bridge::run(&command),
        Command::Policy(command) => policy::run(&command),
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
