//! `wipam simulate`: carries a scenario out in memory, through the component.

mod report;
mod world;

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use wipam_core::environment::Inputs;
use wipam_engine::policy::{InProcess, Policies, sha256};
use wipam_engine::{Engine, EngineError, Limits, Session};
use wipam_scenario::{
    Component, ComponentSource, Operation, Outcome, Scenario, Simulation, Task, line,
};

use world::World;

#[derive(Args)]
pub(crate) struct Simulate {
    /// A scenario, as the playground saves it; - for standard input.
    scenario: PathBuf,
    /// Where the policies are that a scenario names by their files. By default
    /// the folder of the scenario.
    #[arg(long, value_name = "DIR")]
    components: Option<PathBuf>,
    /// Write every answer to a file, a line of JSON each, as the playground
    /// does.
    #[arg(long, value_name = "FILE")]
    answers: Option<PathBuf>,
    /// Write a picture of the pool over time, as SVG.
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
    /// Print the summary as JSON.
    #[arg(long)]
    json: bool,
}

/// Operations between two looks at the progress.
const STRIDE: u32 = 1024;

impl Simulate {
    pub(crate) fn run(&self) -> Result<(), Box<dyn Error>> {
        let text = self.read()?;
        let scenario = Scenario::parse(&text)
            .map_err(|error| format!("{}: {error}", self.scenario.display()))?;
        let title = scenario.title.clone();
        let world = World::new(Policies::provided(
            InProcess,
            self.components(&scenario.components)?,
        ));
        let mut simulation = Simulation::new(scenario.clone());
        world.put(&scenario, simulation.network())?;
        let mut answers = self.answers.as_deref().map(create).transpose()?;

        let begin = Instant::now();
        let progress = progress(simulation.expected());
        let mut session = session(&world, simulation.expected())?;
        while let Some(operation) = simulation.next_operation() {
            let outcome = carry_out(&mut session, &world, &operation)?;
            if let Some((file, path)) = &mut answers {
                writeln!(file, "{}", line(&operation, &outcome))
                    .map_err(|error| format!("{}: {error}", path.display()))?;
            }
            simulation.answered(&outcome);
            if operation.number.is_multiple_of(STRIDE) {
                progress.set_length(u64::from(operation.number) + simulation.expected());
                progress.set_position(operation.number.into());
            }
        }
        progress.finish_and_clear();
        let took = begin.elapsed();

        if let Some((mut file, path)) = answers {
            file.flush()
                .map_err(|error| format!("{}: {error}", path.display()))?;
        }
        if let Some(path) = &self.picture {
            fs::write(path, simulation.picture())
                .map_err(|error| format!("{}: {error}", path.display()))?;
        }
        let summary = simulation.summary();
        if self.json {
            println!("{}", serde_json::to_string(&summary)?);
        } else {
            report::print(&title, &summary, took);
        }
        Ok(())
    }

    fn read(&self) -> Result<String, Box<dyn Error>> {
        let read = match self.scenario.as_os_str() == "-" {
            true => {
                let mut text = String::new();
                io::stdin().read_to_string(&mut text).map(|_| text)
            }
            false => fs::read_to_string(&self.scenario),
        };
        read.map_err(|error| format!("{}: {error}", self.scenario.display()).into())
    }

    /// The policies of a scenario, by their paths.
    fn components(
        &self,
        components: &[Component],
    ) -> Result<BTreeMap<String, Vec<u8>>, Box<dyn Error>> {
        let beside = || self.scenario.parent().unwrap_or(Path::new("."));
        let folder = self.components.as_deref().unwrap_or_else(beside);
        let mut all = BTreeMap::new();
        for component in components {
            let (bytes, place) = match &component.source {
                ComponentSource::Bytes(bytes) => (bytes.clone(), component.path.clone()),
                ComponentSource::File(name) => {
                    let path = folder.join(name);
                    let bytes = fs::read(&path).map_err(|error| {
                        format!(
                            "{}: {error}; --components names the folder of a scenario's policies",
                            path.display()
                        )
                    })?;
                    (bytes, path.display().to_string())
                }
            };
            if let Some(wanted) = &component.sha256 {
                let found = sha256(&bytes);
                if !found.eq_ignore_ascii_case(wanted) {
                    return Err(format!(
                        "{place}: another policy than the scenario's: wanted sha256 {wanted}, found {found}"
                    )
                    .into());
                }
            }
            all.insert(component.path.clone(), bytes);
        }
        Ok(all)
    }
}

/// Operations from which on it pays to compile the component for this machine,
/// which takes a second.
const MANY: u64 = 100_000;

/// The component, by the code that the plugins have, or by faster code.
fn session(world: &World, operations: u64) -> Result<Session<World>, EngineError> {
    if operations >= MANY {
        // It wants gigabytes of address space, which there may not be.
        let fast = Engine::compile(wipam_artifact::COMPONENT, Limits::default())
            .and_then(|engine| engine.session(world.clone()));
        if fast.is_ok() {
            return fast;
        }
    }
    Engine::new(wipam_artifact::compiled(), Limits::default())?.session(world.clone())
}

fn create(path: &Path) -> Result<(BufWriter<fs::File>, &Path), Box<dyn Error>> {
    let file = fs::File::create(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok((BufWriter::new(file), path))
}

fn carry_out(
    session: &mut Session<World>,
    world: &World,
    operation: &Operation,
) -> Result<Outcome, Box<dyn Error>> {
    world.begin(Inputs {
        time_ms: operation.time_ms,
        seed: operation.seed,
    });
    let Task::Invoke(invocation) = &operation.task else {
        world.reboot();
        return Ok(Outcome::default());
    };
    let answer = session.invoke(invocation).map_err(|error| {
        format!(
            "operation {}, {}: {error}",
            operation.number,
            operation.command()
        )
    })?;
    let (changes, warnings) = world.end();
    Ok(Outcome {
        answer,
        warnings,
        reserved: changes.reserved,
        released: changes.released,
    })
}

/// A bar, if somebody is looking.
fn progress(operations: u64) -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(operations);
    let style =
        ProgressStyle::with_template("{bar:40} {human_pos} of {human_len} operations, {eta} left");
    match style {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
