//! `wipam bridge`.

use std::error::Error;
use std::fs;
use std::io::{self, Read};
use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Show what an ADD would do on this host, without doing it.
    ///
    /// Needs no privilege. The network configuration is read from standard
    /// input, or from a file.
    Plan(Plan),
}

#[derive(Args)]
pub(crate) struct Plan {
    /// A network configuration; standard input without.
    file: Option<PathBuf>,
    /// `CNI_ARGS` of the ADD, such as `MAC=02:00:5e:10:00:01`.
    #[arg(long, default_value = "")]
    args: String,
    /// Print JSON: steps, result, what was assumed, warnings.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(command: &Command) -> Result<(), Box<dyn Error>> {
    match command {
        Command::Plan(plan) => plan.run(),
    }
}

impl Plan {
    fn run(&self) -> Result<(), Box<dyn Error>> {
        let config = match &self.file {
            Some(file) => fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?,
            None => {
                let mut config = Vec::new();
                io::stdin().lock().read_to_end(&mut config)?;
                config
            }
        };
        let preview = wipam_cni::preview(&config, &self.args)?;
        if self.json {
            println!("{}", serde_json::to_string_pretty(&preview)?);
        } else {
            print!("{preview}");
            println!(
                "\nresult:\n{}",
                serde_json::to_string_pretty(&preview.result)?
            );
        }
        Ok(())
    }
}
