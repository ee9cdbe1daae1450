//! `wipam`: the command line for operators.

#![allow(clippy::print_stdout, reason = "this talks to people")]

mod bridge;

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
}

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Bridge(command) => bridge::run(&command),
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
