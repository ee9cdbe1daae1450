//! What a person types. `cargo xtask help` lists it.

#![allow(clippy::print_stdout, reason = "this talks to people")]

mod bench;
mod build;
mod demo;
mod lint;
mod playground;
mod setup;
mod shell;
mod test;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Build, try, test and measure wipam.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run host-local through its commands on a temporary data directory, and
    /// show what it answers and writes.
    Demo,
    /// Run every test. Says what it installs for that.
    Test,
    /// Check format, lints and documentation.
    Lint,
    /// Build static release binaries and the component into dist/.
    Dist,
    /// Build the example policies into dist/policies/, with dist/bin/wipam.
    Policies,
    /// Build the playground into dist/playground/, and serve it on this machine.
    Playground {
        /// Where to serve it; 0 takes any port that is free.
        #[arg(long, default_value_t = 8080)]
        port: u16,
        /// Only build it: what is built can be given out by any web server.
        #[arg(long)]
        build_only: bool,
    },
    /// Compare with the Go plugins, and the component with native code.
    Bench {
        /// A directory with the Go plugins: scripts/get-go-plugins fills one.
        go_plugins: PathBuf,
        /// Numbers of records to measure with.
        #[arg(long, default_value = "0,1000,60000")]
        counts: String,
    },
    /// Install what building and testing needs.
    Setup,
}

/// What a task says in the end: nothing, or why it failed.
type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let outcome = match Cli::parse().task {
        Task::Demo => demo::run(),
        Task::Test => test::run(),
        Task::Lint => lint::run(),
        Task::Dist => build::dist().map(|_| ()),
        Task::Policies => build::policies().map(|_| ()),
        Task::Playground { port, build_only } => playground::serve(port, build_only),
        Task::Bench { go_plugins, counts } => bench::run(&go_plugins, &counts),
        Task::Setup => setup::everything(),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("failed: {error}");
            ExitCode::FAILURE
        }
    }
}
