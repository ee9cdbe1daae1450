//! A scenario under way: one operation after the other.

use alloc::borrow::ToOwned;
use alloc::collections::VecDeque;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::net::IpAddr;

use wipam_core::parameters::Invocation;
use wipam_core::range_set::RangeSet;

use crate::account::{Account, Key};
use crate::format::{self, Attachment, Gc, Meaning, Scenario, ScenarioError, Step};
use crate::layout::{self, size};
use crate::load::{self, Course, Pod};
use crate::network::Network;
use crate::picture;
use crate::random::{Random, seed_of};
use crate::rows::Rows;
use crate::series::{Sample, Series};
use crate::tally::{Summary, Tally};

/// `CNI_PATH` of all executions.
const PLUGINS: &str = "/opt/cni/bin";

/// One operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Operation {
    /// From 1.
    pub number: u32,
    /// Milliseconds since the start of the scenario.
    pub ms: u64,
    /// Milliseconds since 1970-01-01T00:00:00Z.
    pub time_ms: u64,
    /// The seed of this execution.
    pub seed: u64,
    /// What is to be done.
    pub task: Task,
}

/// What an operation consists of.
#[derive(Clone, Debug, PartialEq)]
pub enum Task {
    /// The plugin is executed.
    Invoke(Invocation),
    /// The node boots: nothing is executed, and times of before count from now
    /// on.
    Reboot,
}

impl Operation {
    /// `CNI_COMMAND`, or `REBOOT`.
    pub fn command(&self) -> &str {
        match &self.task {
            Task::Invoke(invocation) => &invocation.command,
            Task::Reboot => "REBOOT",
        }
    }
}

/// What came of an operation; nothing at all of a reboot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Standard output, with exit status 0 or 1.
    pub answer: Result<String, String>,
    /// Lines on standard error.
    pub warnings: Vec<String>,
    /// Addresses that became reserved.
    pub reserved: Vec<IpAddr>,
    /// Addresses that became free.
    pub released: Vec<IpAddr>,
}

impl Default for Outcome {
    fn default() -> Self {
        Self {
            answer: Ok(String::new()),
            warnings: Vec::new(),
            reserved: Vec::new(),
            released: Vec::new(),
        }
    }
}

/// A scenario, as far as it has come.
#[derive(Clone, Debug)]
pub struct Simulation {
    title: String,
    start_ms: u64,
    seed: u64,
    pace_ms: u64,
    steps: VecDeque<Step>,
    network: Network,
    /// Addresses to give by the configuration in force, if it can be used.
    pool: Option<u128>,
    /// The load under way, and how many there were.
    course: Option<Course>,
    courses: u64,
    containers: u64,
    number: u32,
    /// When the last operation was, and when the next one that is written out.
    now: u64,
    next: u64,
    waiting: Option<Waiting>,
    account: Account,
    tally: Tally,
    rows: Rows,
    series: Series,
    last: Option<Sample>,
}

/// An operation that is not answered yet.
#[derive(Clone, Debug)]
struct Waiting {
    operation: Operation,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    Add(Key),
    Del(Key),
    Other,
    Reboot,
}

impl Simulation {
    /// At its start.
    pub fn new(scenario: Scenario) -> Self {
        let mut simulation = Self {
            title: scenario.title,
            start_ms: scenario.start_ms,
            seed: scenario.seed,
            pace_ms: scenario.pace_ms,
            steps: scenario.steps.into(),
            network: Network::new(String::new()),
            pool: None,
            course: None,
            courses: 0,
            containers: 0,
            number: 0,
            now: 0,
            next: 0,
            waiting: None,
            account: Account::default(),
            tally: Tally::default(),
            rows: Rows::default(),
            series: Series::default(),
            last: None,
        };
        simulation.configure(scenario.network.0);
        let files = scenario.files.iter();
        let addresses: Vec<IpAddr> = files
            .filter_map(|file| match file.meaning {
                Meaning::Record(address, _) => Some(address),
                Meaning::Marker(..) => None,
            })
            .collect();
        simulation.account.reserve(&addresses);
        for address in addresses {
            simulation.rows.count(address, true);
        }
        simulation
    }

    /// The network configuration in force, without what an execution adds.
    pub fn network(&self) -> &str {
        self.network.text()
    }

    /// How many operations are known to come; more than that, if a load is
    /// among them.
    pub fn expected(&self) -> u64 {
        let steps = self.steps.iter().map(|step| match step {
            Step::Wait(_) | Step::Network(_) => 0,
            Step::Load(load) => u64::from(load.operations),
            _ => 1,
        });
        let course = self.course.as_ref().map_or(0, Course::left);
        steps.sum::<u64>() + u64::from(course)
    }

    /// Adds a step at the end, as JSON.
    pub fn append(&mut self, step: &str) -> Result<(), ScenarioError> {
        self.steps.push_back(format::step(step)?);
        Ok(())
    }

    /// The next operation, if there is one. One that is not answered is given
    /// again.
    pub fn next_operation(&mut self) -> Option<Operation> {
        if self.waiting.is_none() {
            self.waiting = self.advance();
        }
        self.waiting
            .as_ref()
            .map(|waiting| waiting.operation.clone())
    }

    fn advance(&mut self) -> Option<Waiting> {
        loop {
            if let Some(course) = &mut self.course {
                let next = course.next(&mut self.containers);
                for key in course.take_forgotten() {
                    self.account.gone(&key);
                }
                if let Some((at, task)) = next {
                    return Some(self.loaded(at, task));
                }
                self.course = None;
                self.next = self.next.max(self.now.saturating_add(self.pace_ms));
            }
            match self.steps.pop_front()? {
                Step::Wait(time) => self.next = self.next.saturating_add(time.0),
                Step::Network(text) => self.configure(text.0),
                Step::Load(load) => {
                    let random = Random::new(self.seed, self.courses);
                    self.courses += 1;
                    self.course = Some(Course::new(load, random, self.next));
                }
                step => {
                    let at = self.next;
                    self.next = at.saturating_add(self.pace_ms);
                    return self.written(at, step);
                }
            }
        }
    }

    fn configure(&mut self, text: String) {
        let pool = layout::read(&text).ok();
        let sets = |pool: &layout::Pool| {
            let sets = pool.config.sets.iter();
            sets.map(RangeSet::ranges)
                .map(size)
                .fold(0, u128::saturating_add)
        };
        self.pool = pool.as_ref().map(sets);
        // What is drawn is the pool of the first configuration that has one.
        if let (Some(pool), 0) = (&pool, self.rows.firsts().count()) {
            self.rows = Rows::new(&pool.config);
        }
        self.network = Network::new(text);
    }

    /// A step that is written out; those that are no operation are not.
    fn written(&mut self, at: u64, step: Step) -> Option<Waiting> {
        Some(match step {
            Step::Add(attachment) => self.add(at, attachment),
            Step::Del(attachment) => self.del(at, attachment),
            Step::Check(attachment) => self.check(at, attachment),
            Step::Gc(Gc { keep: None }) => self.gc(at),
            Step::Gc(Gc { keep: Some(keep) }) => {
                let keys = keep.iter().map(|text| key_of(text));
                self.gc_but(at, &valid_attachments(keys))
            }
            Step::Status(_) => {
                let config = self.network.text().to_owned();
                self.invoke(at, "STATUS", None, config, What::Other)
            }
            Step::Reboot(_) => self.reboot(at),
            Step::Wait(_) | Step::Network(_) | Step::Load(_) => return None,
        })
    }

    /// What a load has to be done.
    fn loaded(&mut self, at: u64, task: load::Task) -> Waiting {
        let attachment = |pod: Pod| {
            let Key {
                container,
                interface,
            } = pod.key();
            Attachment {
                container,
                interface,
                args: pod.args,
            }
        };
        match task {
            load::Task::Add(pod) => self.add(at, attachment(pod)),
            load::Task::Del(pod) => self.del(at, attachment(pod)),
            load::Task::Check(pod) => self.check(at, attachment(pod)),
            load::Task::Gc => self.gc(at),
            load::Task::Reboot => self.reboot(at),
        }
    }

    fn add(&mut self, at: u64, attachment: Attachment) -> Waiting {
        let config = self.network.text().to_owned();
        let key = key(&attachment);
        self.invoke(at, "ADD", Some(attachment), config, What::Add(key))
    }

    fn del(&mut self, at: u64, attachment: Attachment) -> Waiting {
        let key = key(&attachment);
        let config = self.with_result(&key);
        self.invoke(at, "DEL", Some(attachment), config, What::Del(key))
    }

    fn check(&mut self, at: u64, attachment: Attachment) -> Waiting {
        let config = self.with_result(&key(&attachment));
        self.invoke(at, "CHECK", Some(attachment), config, What::Other)
    }

    fn gc(&mut self, at: u64) -> Waiting {
        let valid = valid_attachments(self.account.alive().cloned());
        self.gc_but(at, &valid)
    }

    fn gc_but(&mut self, at: u64, valid: &str) -> Waiting {
        let config = self.network.with("cni.dev/valid-attachments", valid);
        self.invoke(at, "GC", None, config, What::Other)
    }

    fn reboot(&mut self, at: u64) -> Waiting {
        self.operation(at, Task::Reboot, What::Reboot)
    }

    /// The configuration, with what the last ADD of an attachment gave.
    fn with_result(&self, key: &Key) -> String {
        match self.account.result(key) {
            Some(result) => self.network.with("prevResult", result),
            None => self.network.text().to_owned(),
        }
    }

    fn invoke(
        &mut self,
        at: u64,
        command: &str,
        attachment: Option<Attachment>,
        config: String,
        what: What,
    ) -> Waiting {
        let netns = attachment.as_ref().map_or_else(String::new, |one| {
            alloc::format!("/run/netns/{}", one.container)
        });
        let (container_id, interface_name, args) = match attachment {
            Some(one) => (one.container, one.interface, one.args),
            None => Default::default(),
        };
        let invocation = Invocation {
            command: command.to_owned(),
            container_id,
            interface_name,
            netns,
            own_netns: false,
            args,
            path: PLUGINS.to_owned(),
            config: config.into_bytes(),
        };
        self.operation(at, Task::Invoke(invocation), what)
    }

    fn operation(&mut self, at: u64, task: Task, what: What) -> Waiting {
        self.number = self.number.saturating_add(1);
        self.now = at;
        let operation = Operation {
            number: self.number,
            ms: at,
            time_ms: self.start_ms.saturating_add(at),
            seed: seed_of(self.seed, self.number),
            task,
        };
        Waiting { operation, what }
    }

    /// Tells what came of the operation that [`Self::next_operation`] gave.
    /// Nothing happens where there is none.
    pub fn answered(&mut self, outcome: &Outcome) {
        let Some(Waiting { operation, what }) = self.waiting.take() else {
            return;
        };
        // In their order: stores may tell them in any.
        let sorted = |addresses: &[IpAddr]| {
            let mut addresses = addresses.to_vec();
            addresses.sort();
            addresses
        };
        let (reserved, released) = (sorted(&outcome.reserved), sorted(&outcome.released));
        let error = outcome.answer.as_ref().err().map(String::as_str);
        let Operation { number, ms, .. } = operation;
        self.tally.count(number, ms, operation.command(), error);
        self.tally.released(&released, ms);
        self.account.release(&released);
        self.account.reserve(&reserved);
        for (addresses, is_reserved) in [(&released, false), (&reserved, true)] {
            for address in addresses {
                self.rows.count(*address, is_reserved);
            }
        }
        match (what, &outcome.answer) {
            (What::Add(key), Ok(result)) => {
                self.tally.gave(&reserved, ms);
                self.account.added(key, result.clone(), &reserved);
            }
            (What::Add(key), Err(_)) => {
                if let Some(course) = &mut self.course {
                    course.failed(ms, &key.container);
                }
            }
            // Whatever it was answered, the container is gone.
            (What::Del(key), _) => self.account.gone(&key),
            (What::Reboot, _) => self.account.all_gone(),
            (What::Other, _) => {}
        }
        self.tally.at_a_time(self.account.reserved());
        self.sample(number, ms);
    }

    fn sample(&mut self, operation: u32, ms: u64) {
        let sample = Sample {
            operation,
            ms,
            reserved: self.account.reserved() as u64,
            stale: self.account.stale() as u64,
            failures: self.tally.failures().into(),
            given: self.tally.given(),
        };
        self.last = Some(sample);
        if self.series.wants(operation) {
            self.series.take(sample, self.rows.shares());
        }
    }

    /// What came of all so far.
    pub fn summary(&self) -> Summary {
        self.tally.summary(self.pool, &self.account)
    }

    /// How the pool filled and emptied.
    pub fn series(&self) -> Series {
        let mut series = self.series.clone();
        let last = series.samples.last().copied();
        if let Some(sample) = self.last.filter(|sample| Some(*sample) != last) {
            series.samples.push(sample);
            series.rows.push(self.rows.shares());
        }
        series
    }

    /// A picture of the pool over time, as SVG.
    pub fn picture(&self) -> String {
        let firsts: Vec<String> = self.rows.firsts().map(|first| first.to_string()).collect();
        picture::draw(&self.title, &firsts, &self.series(), self.pool)
    }
}

fn key(attachment: &Attachment) -> Key {
    Key {
        container: attachment.container.clone(),
        interface: attachment.interface.clone(),
    }
}

/// `container/interface`; `eth0` where it names no interface.
fn key_of(text: &str) -> Key {
    let (container, interface) = text.split_once('/').unwrap_or((text, "eth0"));
    Key {
        container: container.to_owned(),
        interface: interface.to_owned(),
    }
}

fn valid_attachments(keys: impl Iterator<Item = Key>) -> String {
    let attachments: Vec<_> = keys
        .map(|key| serde_json::json!({ "containerID": key.container, "ifname": key.interface }))
        .collect();
    serde_json::to_string(&attachments).unwrap_or_default()
}
