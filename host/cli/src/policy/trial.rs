//! Trying a policy: whether it answers, and whether it answers the same when
//! asked again.

use std::error::Error;
use std::fs;

use serde::Serialize;
use wipam_core::policy::{Answer, Decision, PolicyFailure, Setting};
use wipam_engine::policy::{InProcess, Policies};

use super::sample::questions;

/// An answer, and the fuel that it took.
type Answered = (Result<Answer, PolicyFailure>, u64);

/// What came of some questions, each put twice.
#[derive(Default, Serialize)]
pub(crate) struct Trial {
    pub(crate) questions: usize,
    pub(crate) candidates: usize,
    pub(crate) none: usize,
    pub(crate) you_decide: usize,
    pub(crate) failures: usize,
    pub(crate) most_fuel: u64,
    /// A reason or failure, as an example.
    pub(crate) example: Option<String>,
}

/// Puts the questions, twice, and says what is wrong with the answers.
pub(crate) fn try_it(
    bytes: &[u8],
    setting: &Setting,
    network: Option<&str>,
) -> Result<(Trial, Vec<String>), Box<dyn Error>> {
    // Neither the file nor the cache of the setting: the file may be a
    // module, and a check leaves nothing behind.
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("component.wasm");
    fs::write(&path, bytes)?;
    let setting = Setting {
        component: path.to_string_lossy().into_owned(),
        cache: folder.path().join("cache").to_string_lossy().into_owned(),
        ..setting.clone()
    };
    let policies = Policies::new(InProcess);
    let ask = || -> Result<Vec<Answered>, Box<dyn Error>> {
        let all = questions(network, &setting.config)?;
        let answers = all.iter().map(|question| {
            let (decided, spent) = policies.choose_metered(
                &question.store,
                &setting,
                &question.request,
                &question.view,
                |_| {},
            );
            (decided.map(|Decision { answer, .. }| answer), spent.fuel)
        });
        Ok(answers.collect())
    };
    let (first, second) = (ask()?, ask()?);
    let mut trial = Trial {
        questions: first.len(),
        ..Trial::default()
    };
    let mut faults = Vec::new();
    for (number, (once, twice)) in first.iter().zip(&second).enumerate() {
        trial.most_fuel = trial.most_fuel.max(once.1);
        match &once.0 {
            Ok(Answer::Candidates(_)) => trial.candidates += 1,
            Ok(Answer::YouDecide) => trial.you_decide += 1,
            Ok(Answer::Nothing(reason)) => {
                trial.none += 1;
                trial
                    .example
                    .get_or_insert_with(|| format!("none: {reason}"));
            }
            Err(failure) => {
                trial.failures += 1;
                let name = format!("policy {}", setting.component);
                let text = failure.to_string().replace(&name, "it");
                trial.example.get_or_insert(text);
            }
        }
        // How long something took is in the text of a failure.
        let same = match (&once.0, &twice.0) {
            (Ok(one), Ok(other)) => one == other,
            (one, other) => one.is_err() == other.is_err(),
        };
        if (!same || once.1 != twice.1) && faults.is_empty() {
            faults.push(format!(
                "question {number}, put twice, was answered differently or took another \
                 amount of fuel: {:?} with {} units, {:?} with {}",
                once.0, once.1, twice.0, twice.1
            ));
        }
    }
    if trial.failures == trial.questions {
        faults.push(format!(
            "it failed at every question: {}",
            trial.example.as_deref().unwrap_or("")
        ));
    }
    Ok((trial, faults))
}
