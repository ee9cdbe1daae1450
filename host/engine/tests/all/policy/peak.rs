//! How much memory the host needs while a policy means harm.

use std::fs;
use std::process::Command;

use wipam_engine::policy::{NoCompiler, Policies};

use super::guest::{NEXT_FREE, policy};
use super::hostile;
use super::store::Network;
use super::trial::{Trial, request, setting, view};

/// Most KiB that the process may grow by.
const MOST: u64 = 16 << 10;

/// Kilobytes that a `ulimit -v` of small machines leaves to a process.
const ADDRESS_SPACE: u32 = 524_288;

/// Where the other process finds the component, the compiled code, and another
/// component that is well-behaved.
const COMPONENT: &str = "WIPAM_TEST_COMPONENT";
const CACHE: &str = "WIPAM_TEST_CACHE";
const GOOD: &str = "WIPAM_TEST_GOOD_COMPONENT";

/// What the other process wrote, which has compiled code only.
fn elsewhere(trial: &Trial) -> String {
    let good = format!("{}.good", trial.setting.component);
    fs::write(&good, policy(NEXT_FREE)).unwrap();
    let mut other = trial.setting.clone();
    other.component.clone_from(&good);
    trial.policies.install(&other).unwrap().cached.unwrap();
    let _ = trial.choose();

    let ulimit = format!("ulimit -v {ADDRESS_SPACE} && exec \"$0\" \"$@\"");
    let output = Command::new("/bin/sh")
        .args(["-c", &ulimit])
        .arg(std::env::current_exe().unwrap())
        .args(["policy::peak::in_a_process_of_its_own"])
        .args(["--exact", "--ignored", "--nocapture"])
        .env(GOOD, &good)
        .env(COMPONENT, &trial.setting.component)
        .env(CACHE, &trial.setting.cache)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{output:?}");
    text
}

#[test]
fn no_hostile_policy_makes_the_host_grow() {
    for hostile in hostile::all() {
        let trial = Trial::new(&hostile.component);
        let text = elsewhere(&trial);
        let (_, rest) = text.split_once("grew by ").unwrap();
        let (grown, rest) = rest.split_once(" KiB: ").unwrap();
        let grown: u64 = grown.parse().unwrap();
        assert!(rest.contains(hostile.wanted), "{}: {rest}", hostile.name);
        assert!(grown < MOST, "{}: {grown} KiB", hostile.name);
    }
}

#[test]
fn a_policy_runs_in_half_a_gigabyte_of_address_space() {
    let trial = Trial::new(&policy(NEXT_FREE));
    let text = elsewhere(&trial);
    assert!(text.contains("10.1.0.50"), "{text}");
}

#[test]
#[ignore = "run by the others in a process of its own"]
#[allow(clippy::print_stdout, reason = "that is how the others learn of it")]
fn in_a_process_of_its_own() {
    let path = |name| std::env::var(name).unwrap();
    let policies = Policies::new(NoCompiler);
    let choose = |component: String| {
        let setting = setting(component.as_ref(), path(CACHE).as_ref());
        let network = Network::default();
        policies.choose(&network, &setting, &request(), &view(), |_| {})
    };
    // What the program needs anyway, its own text for the most part.
    choose(path(GOOD)).unwrap();
    let before = peak();
    let answer = choose(path(COMPONENT));
    let grown = peak() - before;
    println!("grew by {grown} KiB: {answer:?}");
}

/// Most KiB that this process ever had in memory.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let (_, rest) = status.split_once("VmHWM:").unwrap();
    rest.split_whitespace().next().unwrap().parse().unwrap()
}
