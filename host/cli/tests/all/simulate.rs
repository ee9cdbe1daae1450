//! `wipam simulate`.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use wipam_core::parameters::Invocation;
use wipam_scenario::{Outcome, Scenario, Simulation, Task, line};

use crate::guest::{self, NEXT_FREE};
use crate::policy::place::{Place, Ran, host_local, with_input};

fn simulate(scenario: &Path, arguments: &[&str]) -> Ran {
    with_input(
        Command::new(env!("CARGO_BIN_EXE_wipam"))
            .arg("simulate")
            .arg(scenario)
            .args(arguments),
        b"",
    )
}

impl Place {
    fn scenario(&self, scenario: &Value) -> std::path::PathBuf {
        self.file("scenario.json", scenario.to_string())
    }

    /// The answers to a scenario, a line each.
    #[track_caller]
    fn answers(&self, scenario: &Value) -> Vec<String> {
        let path = self.path("answers");
        let ran = simulate(
            &self.scenario(scenario),
            &["--json", "--answers", path.to_str().unwrap()],
        );
        ran.ok();
        let text = fs::read_to_string(path).unwrap();
        assert!(text.is_empty() || text.ends_with('\n'));
        text.lines().map(str::to_owned).collect()
    }
}

/// The first address, or the code of an error.
fn address(line: &str) -> Result<String, u64> {
    let line: Value = serde_json::from_str(line).unwrap();
    let answer: Value = serde_json::from_str(line["answer"].as_str().unwrap()).unwrap();
    match answer["code"].as_u64() {
        Some(code) => Err(code),
        None => Ok(answer["ips"][0]["address"].as_str().unwrap().to_owned()),
    }
}

fn everything() -> Value {
    json!({"load": {
        "operations": 2000, "arrivals": "2s", "lifetimes": "3m", "names": 90,
        "crashes": {"share": 20, "lifetime": "5s", "restarts": 3},
        "lostDels": 2, "reboots": "20m", "gc": "10m", "checks": 10,
    }})
}

fn scenario(ipam: Value, steps: Value) -> Value {
    json!({
        "wipam": "scenario/1", "seed": 5,
        "network": {"cniVersion": "1.1.0", "name": "n", "ipam": ipam},
        "steps": steps,
    })
}

#[test]
fn the_same_scenario_gives_the_same_bytes() {
    let place = Place::new();
    let scenario = place.scenario(&scenario(
        json!({"type": "host-local", "subnet": "10.1.0.0/26", "sticky": true,
            "cooldown": 20, "strategy": "random"}),
        json!([everything()]),
    ));
    let run = |n: u32| {
        let paths = ["answers", "picture"].map(|name| place.path(&format!("{name}-{n}")));
        let [answers, picture] = paths.each_ref().map(|path| path.to_str().unwrap());
        let ran = simulate(
            &scenario,
            &["--json", "--answers", answers, "--picture", picture],
        );
        let summary = ran.ok().json();
        (summary, paths.map(|path| fs::read_to_string(path).unwrap()))
    };
    let (summary, [answers, picture]) = run(1);
    assert_eq!(
        run(2),
        (summary.clone(), [answers.clone(), picture.clone()])
    );
    assert_eq!(answers.lines().count(), 2000);
    assert_eq!(summary["operations"], 2000);
    assert_eq!(summary["addresses"]["pool"], "61");
    // Something of everything, or nothing is shown by this.
    for command in summary["commands"].as_array().unwrap() {
        assert!(command["done"].as_u64().unwrap() > 0, "{command}");
    }
    assert_eq!(summary["commands"].as_array().unwrap().len(), 5);
    assert!(summary["errors"][0]["count"].as_u64().unwrap() > 0);
    assert!(summary["reuse"]["count"].as_u64().unwrap() > 0);
    assert!(picture.starts_with("<svg") && picture.ends_with("</svg>\n"));
}

fn really(invocation: &Invocation) -> Ran {
    let mut plugin = Command::new(host_local());
    plugin
        .env_clear()
        .env("CNI_COMMAND", &invocation.command)
        .env("CNI_PATH", &invocation.path);
    for (name, value) in [
        ("CNI_CONTAINERID", &invocation.container_id),
        ("CNI_IFNAME", &invocation.interface_name),
        ("CNI_NETNS", &invocation.netns),
        ("CNI_ARGS", &invocation.args),
    ] {
        if !value.is_empty() {
            plugin.env(name, value);
        }
    }
    with_input(&mut plugin, &invocation.config)
}

/// What depends neither on time nor on chance is what the plugin does with
/// files.
#[test]
fn answers_are_those_of_the_plugin() {
    let place = Place::new();
    let mut load = everything();
    load["load"]["operations"] = json!(400);
    let whole = scenario(
        json!({"type": "host-local", "dataDir": place.path("d"), "ranges": [
            [{"subnet": "10.1.0.0/28", "exclude": ["10.1.0.5"]}, {"subnet": "10.2.0.0/27"}],
            [{"subnet": "fd00::/64"}]]}),
        json!([
            {"status": {}}, {"add": "web"}, {"add": "web"}, {"check": "web"},
            {"add": {"container": "db", "args": "IP=10.1.0.9"}},
            {"add": {"container": "dc", "args": "IP=10.1.0.9"}},
            {"add": {"container": "de", "interface": "net1"}},
            {"gc": {"keep": ["web"]}}, load, {"gc": {}}, {"status": {}},
            {"network": "{\"cniVersion\": \"1.0.0\", \"name\": \"n\""}, {"add": "x"}, {"del": "web"},
        ]),
    );
    let simulated = place.answers(&whole);
    let mut simulation = Simulation::new(Scenario::parse(&whole.to_string()).unwrap());
    let mut failed = 0;
    for wanted in &simulated {
        let operation = simulation.next_operation().unwrap();
        let outcome = match &operation.task {
            Task::Reboot => Outcome::default(),
            Task::Invoke(invocation) => {
                let ran = really(invocation);
                let warnings = ran.stderr.lines();
                Outcome {
                    warnings: warnings
                        .map(|line| line.strip_prefix("host-local: ").unwrap().to_owned())
                        .collect(),
                    answer: match ran.status {
                        Some(0) => Ok(ran.text()),
                        _ => Err(ran.text()),
                    },
                    ..Outcome::default()
                }
            }
        };
        failed += u32::from(outcome.answer.is_err());
        // On the terminal, the plugin ends its answer with a line.
        let trimmed = |answer: &String| answer.trim_end().to_owned();
        let outcome = Outcome {
            answer: outcome.answer.as_ref().map(trimmed).map_err(trimmed),
            ..outcome
        };
        assert_eq!(line(&operation, &outcome), *wanted);
        simulation.answered(&outcome);
    }
    assert!(simulation.next_operation().is_none());
    assert!(failed > 10, "{failed}");
}

#[test]
fn after_a_boot_addresses_rest_anew() {
    let place = Place::new();
    let answers = place.answers(&scenario(
        json!({"type": "host-local", "subnet": "10.1.0.0/30", "cooldown": 60}),
        json!([
            {"add": "a"}, {"del": "a"}, {"wait": "50s"}, {"add": "b"}, {"reboot": {}},
            {"wait": "50s"}, {"add": "c"}, {"wait": "10s"}, {"add": "d"},
        ]),
    ));
    let of = |n: usize| address(&answers[n]);
    assert_eq!(of(0), Ok("10.1.0.2/30".to_owned()));
    assert_eq!([of(2), of(4)], [Err(11), Err(11)]);
    assert_eq!(of(5), Ok("10.1.0.2/30".to_owned()));
    assert_eq!(
        answers[3],
        r#"{"operation":4,"ms":53000,"command":"REBOOT"}"#
    );
}

#[test]
fn what_a_network_had_is_not_given() {
    let place = Place::new();
    let mut whole = scenario(
        json!({"type": "host-local", "subnet": "10.1.0.0/29"}),
        json!([{"add": "a"}, {"del": "old"}, {"add": "b"}]),
    );
    whole["files"] = json!({
        "10.1.0.5": "old\r\neth0", "10.1.0.6": "other\r\neth0", "last_reserved_ip.0": "10.1.0.4",
    });
    let answers = place.answers(&whole);
    assert_eq!(address(&answers[0]), Ok("10.1.0.2/29".to_owned()));
    assert_eq!(address(&answers[2]), Ok("10.1.0.3/29".to_owned()));
}

#[test]
fn policies_come_with_the_scenario() {
    let place = Place::new();
    let ipam = json!({"type": "host-local", "subnet": "10.1.0.0/26",
        "policy": {"component": "/policies/p.wasm"}});
    let mut whole = scenario(ipam, json!([{"add": "a"}, {"add": "b"}]));
    // Without it, and with it beside the scenario.
    let answers = place.answers(&whole);
    assert_eq!(address(&answers[0]), Err(103));
    assert!(answers[0].contains("there is no component of this name"));
    place.file("p.wasm", guest::policy(NEXT_FREE));
    whole["components"] = json!({"/policies/p.wasm": {"file": "p.wasm"}});
    let answers = place.answers(&whole);
    assert_eq!(address(&answers[1]), Ok("10.1.0.51/26".to_owned()));
    // One that never ends, in the scenario itself: the same words each time.
    place.file("p.wasm", guest::policy("(loop (br 0)) (unreachable)"));
    let endless = place.answers(&whole);
    assert_eq!(address(&endless[0]), Err(103));
    assert!(endless[0].contains("exceeded its limit of 500000000 units of fuel"));
    assert_eq!(place.answers(&whole), endless);
    // Another one than was meant.
    whole["components"]["/policies/p.wasm"]["sha256"] = json!("00");
    simulate(&place.scenario(&whole), &[]).fails("another policy than the scenario's");
    whole["components"]["/policies/p.wasm"]["file"] = json!("q.wasm");
    simulate(&place.scenario(&whole), &[]).fails("--components names the folder");
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let place = Place::new();
    simulate(&place.path("none.json"), &[]).fails("none.json: No such file");
    let scenario = place.file("s.json", "{\"wipam\": \"scenario/1\",\n \"network\": 1}");
    simulate(&scenario, &[]).fails("s.json: wanted a network configuration");
    simulate(&scenario, &[]).fails("at line 2 column");
    let mut whole = super::simulate::scenario(json!({"type": "host-local"}), json!([{"add": "a"}]));
    whole["files"] = json!({"10.1.0.5": "old\r\neth0"});
    whole["network"] = json!("{");
    simulate(&place.scenario(&whole), &[]).fails("says nowhere to put them");
    whole["files"] = json!({});
    let there = place.scenario(&whole);
    simulate(&there, &["--answers", "/nowhere/a"]).fails("/nowhere/a: No such file");
    simulate(&there, &["--picture", "/nowhere/p"]).fails("/nowhere/p: No such file");
    // A configuration that is wrong is answered by the plugin.
    simulate(&there, &[])
        .ok()
        .says("error 6, 1 times, first in operation 1");
}
