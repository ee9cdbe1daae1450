//! Comparing what happened with what was recorded.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::case::Case;
use crate::tree::Tree;

/// What one step gave.
pub struct Found {
    /// Exit status 0 and what was printed, or 1 and an error object.
    pub answer: Result<String, String>,
    /// Whether anything went to standard error.
    pub warned: bool,
    /// The files afterwards.
    pub tree: Tree,
}

type State = BTreeMap<String, Value>;

/// How a case differs from the closest outcome it allows: empty if it passes.
pub fn differences(case: &Case, start: &Tree, found: &[Found]) -> Vec<String> {
    let mut nearest: Option<Vec<String>> = None;
    for wanted in outcomes(case) {
        let different = compare(case, &wanted, start, found);
        if different.is_empty() {
            return different;
        }
        // The reference's outcome comes first: that is what people look for.
        nearest.get_or_insert(different);
    }
    nearest.unwrap_or_else(|| vec!["the case allows no outcome".to_owned()])
}

/// Every outcome that is allowed, the reference's first.
fn outcomes(case: &Case) -> Vec<Vec<Value>> {
    let of_steps = || {
        case.steps
            .iter()
            .map(|step| step.value["want"].clone())
            .collect()
    };
    let bases: Vec<Vec<Value>> = match case.value["want_any"].as_array() {
        Some(any) => any
            .iter()
            .filter_map(|steps| steps.as_array().cloned())
            .collect(),
        None => vec![of_steps()],
    };
    let mut outcomes = bases.clone();
    for difference in case.value["known_differences"]
        .as_array()
        .into_iter()
        .flatten()
    {
        for base in &bases {
            let mut steps = base.clone();
            for (number, want) in difference["steps"].as_object().into_iter().flatten() {
                let Some(step) = number.parse::<usize>().ok().and_then(|n| steps.get_mut(n)) else {
                    continue;
                };
                *step = with_frame(step, want);
            }
            outcomes.push(steps);
        }
    }
    outcomes
}

/// Directories and locks that the reference makes in a step are implied.
fn with_frame(reference: &Value, want: &Value) -> Value {
    let mut want = want.clone();
    if want["disk"] == "any" {
        return want;
    }
    let made = reference["disk"].as_object().into_iter().flatten();
    for (path, value) in made.filter(|(path, value)| is_frame(path) && !value.is_null()) {
        let disk = &mut want["disk"];
        if disk.get(path).is_none() {
            disk[path] = value.clone();
        }
    }
    want
}

fn is_frame(path: &str) -> bool {
    path.ends_with('/') || path.rsplit('/').next() == Some("lock")
}

fn compare(case: &Case, wanted: &[Value], start: &Tree, found: &[Found]) -> Vec<String> {
    let mut different = Vec::new();
    let mut expected = start.snapshot();
    let mut optional = BTreeSet::new();
    for (n, ((step, want), found)) in case.steps.iter().zip(wanted).zip(found).enumerate() {
        let mut note = |text: String| different.push(format!("step {n}: {text}"));
        compare_answer(want, found, &mut note);
        let after = found.tree.snapshot();
        if want["disk"] == "any" {
            expected = after;
            continue;
        }
        expected = edited(expected, &step.value);
        for (path, value) in want["disk"].as_object().into_iter().flatten() {
            if value.is_null() {
                expected.remove(path);
            } else {
                expected.insert(path.clone(), value.clone());
            }
        }
        settle_frames(&step.value, want, &mut optional);
        for path in expected.keys().chain(after.keys()).collect::<BTreeSet<_>>() {
            let (wanted, got) = (expected.get(path), after.get(path));
            let missing_frame = got.is_none() && optional.contains(path.as_str());
            if wanted != got && !missing_frame {
                note(format!("disk {path}: want {wanted:?} got {got:?}"));
            }
        }
    }
    different
}

/// Only a successful ADD has to make directories and the lock.
fn settle_frames(step: &Value, want: &Value, optional: &mut BTreeSet<String>) {
    let changes: Vec<_> = want["disk"].as_object().into_iter().flatten().collect();
    if step["cmd"] == "ADD" && want["rc"] == 0 {
        for (path, _) in changes {
            if let Some((parent, _)) = path.rsplit_once('/') {
                optional.remove(&format!("{parent}/"));
                optional.remove(&format!("{parent}/lock"));
            }
        }
    } else {
        let made = changes
            .into_iter()
            .filter(|(path, value)| is_frame(path) && !value.is_null());
        optional.extend(made.map(|(path, _)| path.clone()));
    }
}

/// The state with a step's own edits, as they are made before it runs.
fn edited(mut state: State, step: &Value) -> State {
    let Some(files) = step.get("files") else {
        return state;
    };
    for (name, value) in files.as_object().into_iter().flatten() {
        if value.is_null() {
            let gone = name.trim_end_matches('/');
            let below = format!("{gone}/");
            state.retain(|path, _| path.trim_end_matches('/') != gone && !path.starts_with(&below));
        }
    }
    let mut made = Tree::default();
    let kept = files
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, value)| !value.is_null());
    made.edit(&Value::Object(
        kept.map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
    ));
    state.extend(made.snapshot());
    state
}

fn compare_answer(want: &Value, found: &Found, note: &mut impl FnMut(String)) {
    let (status, text) = match &found.answer {
        Ok(text) => (0, text),
        Err(text) => (1, text),
    };
    let rc = &want["rc"];
    let allowed = rc.as_i64() == Some(status)
        || rc
            .as_array()
            .is_some_and(|any| any.iter().any(|rc| rc.as_i64() == Some(status)))
        || (rc == "nonzero" && status != 0);
    if !allowed {
        note(format!("rc: want {rc} got {status}"));
    }
    if found.warned && want["stderr"] != true {
        note("stderr: want nothing got something".to_owned());
    }
    let printed: Option<Value> = if text.is_empty() {
        None
    } else {
        match serde_json::from_str(text) {
            Ok(value) => Some(value),
            Err(error) => return note(format!("out: no JSON ({error}): {text}")),
        }
    };
    if let Some(code) = want.get("code") {
        let codes = code
            .as_array()
            .cloned()
            .unwrap_or_else(|| vec![code.clone()]);
        let any = codes == [Value::from("any")];
        let got = printed
            .as_ref()
            .filter(|out| is_error(out))
            .map(|out| &out["code"]);
        if !got.is_some_and(|got| any || codes.contains(got)) {
            note(format!(
                "out: want an error with code {code} got {printed:?}"
            ));
        }
    } else if want["out"] != "any" {
        compare_output(want, printed.as_ref(), note);
    }
}

fn is_error(value: &Value) -> bool {
    value.get("code").is_some_and(Value::is_u64)
        && value
            .get("msg")
            .and_then(Value::as_str)
            .is_some_and(|msg| !msg.is_empty())
}

fn compare_output(want: &Value, printed: Option<&Value>, note: &mut impl FnMut(String)) {
    match (want.get("out"), printed) {
        (None, None) => {}
        (Some(wanted), Some(got)) if is_error(wanted) => compare_error(want, wanted, got, note),
        (Some(wanted), Some(got)) if wanted == got => {}
        (wanted, got) => note(format!("out: want {wanted:?} got {got:?}")),
    }
}

fn compare_error(rule: &Value, want: &Value, got: &Value, note: &mut impl FnMut(String)) {
    if !is_error(got) {
        return note(format!("out: want error {want} got {got}"));
    }
    let also = rule["also_code"].as_array().cloned().unwrap_or_default();
    if got["code"] != want["code"] && !also.contains(&got["code"]) {
        note(format!(
            "code: want {} or {also:?} got {}",
            want["code"], got["code"]
        ));
    }
    if rule["loose"] == true {
        return;
    }
    let part = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let said = format!("{}\n{}", part(got, "msg"), part(got, "details"));
    for key in ["msg", "details"] {
        let wanted = part(want, key);
        if !said.contains(&wanted) {
            note(format!("{key}: want {wanted:?} got {said:?}"));
        }
    }
}
