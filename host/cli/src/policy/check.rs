//! `wipam policy check`.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use wipam_core::config::Config;
use wipam_core::json::{Field, to_text};
use wipam_core::policy::{Limits, OnFailure, Setting};
use wipam_core::version::Version;
use wipam_engine::policy::{Description, inspect};

use super::component;
use super::trial::{Trial, try_it};

#[derive(Args)]
pub(crate) struct Check {
    /// A component, or a core module to make one of.
    component: PathBuf,
    /// A network configuration whose policy settings and ranges to try it
    /// with.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    component: String,
    bytes: usize,
    world: Option<String>,
    imports: Vec<String>,
    not_granted: Vec<String>,
    exports: Vec<String>,
    limits: Limits,
    trial: Option<Trial>,
    /// What is wrong with it; nothing if it can be used.
    faults: Vec<String>,
}

impl Check {
    pub(crate) fn run(&self) -> Result<(), Box<dyn Error>> {
        let bytes = component::read(&self.component)?;
        let description = inspect(&bytes)?;
        let network = match &self.config {
            None => None,
            Some(path) => {
                let text =
                    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
                Some(to_text(&text))
            }
        };
        let setting = self.setting(network.as_deref())?;
        let mut faults = faults(&description);
        let mut trial = None;
        if faults.is_empty() {
            let (tried, broken) = try_it(&bytes, &setting, network.as_deref())?;
            faults.extend(broken);
            trial = Some(tried);
        }
        let report = Report {
            component: self.component.display().to_string(),
            bytes: bytes.len(),
            world: description.world.ok().map(|world| world.to_string()),
            imports: description.imports,
            not_granted: description.not_granted,
            exports: description.exports,
            limits: setting.limits,
            trial,
            faults,
        };
        if self.json {
            println!("{}", serde_json::to_string_pretty(&report)?);
        } else {
            report.print();
        }
        match report.faults.len() {
            0 => Ok(()),
            _ => Err(format!("{} cannot be used as a policy", report.component).into()),
        }
    }

    /// The settings of the network configuration, or the defaults.
    fn setting(&self, network: Option<&str>) -> Result<Setting, Box<dyn Error>> {
        let setting = match network {
            None => None,
            Some(text) => {
                let document = Field::document(text)?.object()?;
                Config::read(&document, "", Version::V1_1_0)?
                    .choosing
                    .policy
            }
        };
        Ok(setting.unwrap_or_else(|| Setting {
            component: String::new(),
            cache: String::new(),
            limits: Limits::default(),
            config: "null".to_owned(),
            on_failure: OnFailure::Deny,
        }))
    }
}

fn faults(description: &Description) -> Vec<String> {
    let mut faults = Vec::new();
    for import in &description.not_granted {
        faults.push(format!("it imports {import}, which no policy gets"));
    }
    if let Err(reason) = &description.world {
        faults.push(reason.clone());
    }
    faults
}

impl Report {
    fn print(&self) {
        let none = || "none of ours".to_owned();
        println!("{}: {} bytes", self.component, self.bytes);
        println!("  world    {}", self.world.clone().unwrap_or_else(none));
        println!("  imports  {}", list(&self.imports));
        println!("  exports  {}", list(&self.exports));
        let Limits {
            fuel,
            memory,
            table_elements,
            instances,
            stack,
            lifted,
            component,
            state,
        } = &self.limits;
        println!(
            "  limits   fuel {fuel}, memory {memory}, tableElements {table_elements}, instances \
             {instances}, stack {stack}, lifted {lifted}, component {component}, state {state}"
        );
        if let Some(trial) = &self.trial {
            println!(
                "  trial    {} questions, each put twice: {} with candidates, {} none, {} \
                 you-decide, {} failed; at most {} units of fuel",
                trial.questions,
                trial.candidates,
                trial.none,
                trial.you_decide,
                trial.failures,
                trial.most_fuel
            );
            if let Some(example) = &trial.example {
                println!("           {example}");
            }
        }
        for fault in &self.faults {
            println!("  fault    {fault}");
        }
        if self.faults.is_empty() {
            println!("  fits");
        }
    }
}

fn list(names: &[String]) -> String {
    match names.is_empty() {
        true => "nothing".to_owned(),
        false => names.join(", "),
    }
}
