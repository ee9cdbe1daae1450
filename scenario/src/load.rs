//! Load that is made up: pods that come and go, crash, and are forgotten.

use alloc::collections::{BTreeMap, BinaryHeap};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::account::Key;
use crate::duration::Duration;
use crate::format::{Crashes, Load, Spread};
use crate::random::Random;

/// How long a crashing container is waited for, at first; doubled with each
/// crash, as the kubelet does (Kubernetes documentation, "Pod Lifecycle").
const BACK_OFF_MS: u64 = 10_000;

/// The longest such wait.
const LONGEST_BACK_OFF_MS: u64 = 300_000;

/// After a boot, pods come back one after the other.
const AFTER_BOOT_MS: u64 = 100;

/// What is to be done next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    Add(Pod),
    Del(Pod),
    Check(Pod),
    Gc,
    Reboot,
}

/// A container of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pod {
    pub(crate) container: String,
    pub(crate) args: String,
}

impl Pod {
    pub(crate) fn key(&self) -> Key {
        Key {
            container: self.container.clone(),
            interface: "eth0".into(),
        }
    }
}

/// Number of a container, over all loads of a scenario.
type Container = u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A new pod.
    Arrive,
    /// A pod gets another container.
    Start {
        name: u64,
        restarts: Restarts,
    },
    Check(Container),
    End(Container),
    Gc,
    Reboot,
}

/// How often a pod is still to come back, and what came before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Restarts {
    left: u32,
    /// `None`: it does not crash.
    crashed: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Living {
    name: u64,
    restarts: Restarts,
}

/// A load under way.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    load: Load,
    random: Random,
    /// What is to come, the soonest first; in the order in which it was
    /// decided, if it is to come at the same time.
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    decided: u64,
    left: u32,
    /// Containers that are alive.
    living: BTreeMap<Container, Living>,
    /// How many containers of each name there are, or are to come.
    names: BTreeMap<u64, u32>,
    next_name: u64,
    /// Containers that ended without a DEL, since this was asked last.
    forgotten: Vec<Key>,
}

impl Course {
    /// `now` is the time of its first operation.
    pub(crate) fn new(load: Load, random: Random, now: u64) -> Self {
        let mut course = Self {
            left: load.operations,
            random,
            events: BinaryHeap::new(),
            decided: 0,
            living: BTreeMap::new(),
            names: BTreeMap::new(),
            next_name: 0,
            forgotten: Vec::new(),
            load,
        };
        course.plan(now, Event::Arrive);
        if let Some(Duration(every)) = course.load.gc {
            course.plan(now + every, Event::Gc);
        }
        if let Some(Duration(every)) = course.load.reboots {
            course.plan(now + every, Event::Reboot);
        }
        course
    }

    /// What is next, and when. `number` makes names of containers.
    pub(crate) fn next(&mut self, number: &mut Container) -> Option<(u64, Task)> {
        loop {
            if self.left == 0 {
                return None;
            }
            let Reverse((now, _, event)) = self.events.pop()?;
            if let Some(task) = self.happen(now, event, number) {
                self.left -= 1;
                return Some((now, task));
            }
        }
    }

    /// Operations that are left.
    pub(crate) fn left(&self) -> u32 {
        self.left
    }

    /// An ADD failed: the runtime cleans up, and the pod is given up.
    pub(crate) fn failed(&mut self, now: u64, container: &str) {
        let number = container.strip_prefix(PREFIX).and_then(|n| n.parse().ok());
        if let Some(living) = number.and_then(|number| self.living.get_mut(&number)) {
            living.restarts.left = 0;
        }
        if let Some(number) = number {
            self.plan(now, Event::End(number));
        }
    }

    /// Containers that ended without a DEL, since this was asked last.
    pub(crate) fn take_forgotten(&mut self) -> Vec<Key> {
        core::mem::take(&mut self.forgotten)
    }

    fn happen(&mut self, now: u64, event: Event, number: &mut Container) -> Option<Task> {
        match event {
            Event::Arrive => {
                let pause = self.time(self.load.arrivals);
                self.plan(now + pause.max(1), Event::Arrive);
                let restarts = self.restarts();
                let name = self.name()?;
                Some(Task::Add(self.start(now, name, restarts, number)))
            }
            Event::Start { name, restarts } => {
                Some(Task::Add(self.start(now, name, restarts, number)))
            }
            Event::Check(container) => {
                let living = self.living.get(&container)?;
                Some(Task::Check(pod(container, living.name)))
            }
            Event::End(container) => self.end(now, container),
            Event::Gc => {
                if let Some(Duration(every)) = self.load.gc {
                    self.plan(now + every, Event::Gc);
                }
                Some(Task::Gc)
            }
            Event::Reboot => {
                self.reboot(now);
                Some(Task::Reboot)
            }
        }
    }

    fn restarts(&mut self) -> Restarts {
        let Some(Crashes {
            share, restarts, ..
        }) = self.load.crashes
        else {
            return Restarts {
                left: 0,
                crashed: None,
            };
        };
        match self.random.percent(share) {
            true => Restarts {
                left: restarts,
                crashed: Some(0),
            },
            false => Restarts {
                left: 0,
                crashed: None,
            },
        }
    }

    /// A name that no pod has; nothing if there is none.
    fn name(&mut self) -> Option<u64> {
        let most = self.load.names.map_or(u64::MAX, u64::from);
        if self.names.len() as u64 >= most {
            return None;
        }
        while self.names.contains_key(&(self.next_name % most)) {
            self.next_name += 1;
        }
        let name = self.next_name % most;
        self.next_name += 1;
        self.names.insert(name, 1);
        Some(name)
    }

    /// A container of the pod begins.
    fn start(&mut self, now: u64, name: u64, restarts: Restarts, number: &mut Container) -> Pod {
        *number += 1;
        let container = *number;
        let mean = match (restarts.crashed, &self.load.crashes) {
            (Some(_), Some(crashes)) => crashes.lifetime,
            _ => self.load.lifetimes,
        };
        let life = self.time(mean);
        let checked = self.random.percent(self.load.checks);
        self.living.insert(container, Living { name, restarts });
        if checked {
            self.plan(now + life / 2, Event::Check(container));
        }
        self.plan(now + life, Event::End(container));
        pod(container, name)
    }

    /// A container ends, unless it is gone already.
    fn end(&mut self, now: u64, container: Container) -> Option<Task> {
        let Living { name, restarts } = self.living.remove(&container)?;
        match restarts {
            Restarts {
                left: left @ 1..,
                crashed: Some(crashed),
            } => {
                let wait = BACK_OFF_MS << crashed.min(16);
                let restarts = Restarts {
                    left: left - 1,
                    crashed: Some(crashed + 1),
                };
                self.plan(
                    now + wait.min(LONGEST_BACK_OFF_MS),
                    Event::Start { name, restarts },
                );
            }
            _ => {
                self.names.remove(&name);
            }
        }
        let pod = pod(container, name);
        if self.random.percent(self.load.lost_dels) {
            self.forgotten.push(pod.key());
            return None;
        }
        Some(Task::Del(pod))
    }

    /// Nothing is left of containers, and their pods come back.
    fn reboot(&mut self, now: u64) {
        if let Some(Duration(every)) = self.load.reboots {
            self.plan(now + every, Event::Reboot);
        }
        let mut at = now;
        for Living { name, restarts } in core::mem::take(&mut self.living).into_values() {
            at += AFTER_BOOT_MS;
            self.plan(at, Event::Start { name, restarts });
        }
    }

    fn time(&mut self, Duration(mean): Duration) -> u64 {
        match self.load.spread {
            Spread::Even => mean,
            Spread::Random => self.random.exponential(mean),
        }
    }

    fn plan(&mut self, at: u64, event: Event) {
        self.decided += 1;
        self.events.push(Reverse((at, self.decided, event)));
    }
}

const PREFIX: &str = "sim-";

fn pod(container: Container, name: u64) -> Pod {
    let container = format!("{PREFIX}{container}");
    Pod {
        args: format!(
            "IgnoreUnknown=1;K8S_POD_NAMESPACE=sim;K8S_POD_NAME=pod-{name};K8S_POD_INFRA_CONTAINER_ID={container}"
        ),
        container,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use alloc::borrow::ToOwned;

    use super::*;

    fn course(fields: &str) -> Course {
        let text =
            format!(r#"{{"arrivals": "1s", "lifetimes": "10s", "spread": "even", {fields}}}"#);
        let load: Load = serde_json::from_str(&text).unwrap();
        Course::new(load, Random::new(1, 0), 0)
    }

    fn all(mut course: Course) -> Vec<(u64, Task)> {
        let mut number = 0;
        core::iter::from_fn(|| course.next(&mut number)).collect()
    }

    fn count(tasks: &[(u64, Task)], of: impl Fn(&Task) -> bool) -> usize {
        tasks.iter().filter(|(_, task)| of(task)).count()
    }

    #[test]
    fn pods_come_and_go() {
        let tasks = all(course(r#""operations": 100"#));
        assert_eq!(tasks.len(), 100);
        assert!(tasks.is_sorted_by_key(|(at, _)| *at));
        let adds = count(&tasks, |task| matches!(task, Task::Add(_)));
        assert_eq!((adds, 100 - adds), (55, 45));
        assert!(tasks[0].1 == Task::Add(pod(1, 0)));
    }

    #[test]
    fn a_name_is_of_one_pod_at_a_time() {
        let tasks = all(course(r#""operations": 100, "names": 3"#));
        let mut living = Vec::new();
        for (_, task) in tasks {
            match task {
                Task::Add(pod) => {
                    let name = pod.args.split(';').nth(2).unwrap().to_owned();
                    assert!(living.iter().all(|(_, other)| *other != name));
                    living.push((pod.container, name));
                }
                Task::Del(pod) => living.retain(|(container, _)| *container != pod.container),
                other => unreachable!("{other:?}"),
            }
            assert!(living.len() <= 3);
        }
    }

    #[test]
    fn who_crashes_comes_back_under_the_same_name() {
        let tasks = all(course(
            r#""operations": 8, "names": 1, "crashes": {"share": 100, "lifetime": "2s", "restarts": 3}"#,
        ));
        let times: Vec<u64> = tasks.iter().map(|(at, _)| at / 1000).collect();
        assert_eq!(times, [0, 2, 12, 14, 34, 36, 76, 78]);
        assert!(tasks.iter().all(|(_, task)| match task {
            Task::Add(pod) | Task::Del(pod) => pod.args.contains("K8S_POD_NAME=pod-0;"),
            _ => false,
        }));
    }

    #[test]
    fn dels_are_lost_and_boots_have_none() {
        let tasks = all(course(r#""operations": 100, "lostDels": 100"#));
        assert_eq!(count(&tasks, |task| matches!(task, Task::Del(_))), 0);
        let tasks = all(course(
            r#""operations": 100, "reboots": "15s", "gc": "20s""#,
        ));
        assert!(count(&tasks, |task| *task == Task::Reboot) >= 2);
        assert!(count(&tasks, |task| *task == Task::Gc) >= 1);
        let boot = tasks.iter().position(|(_, task)| *task == Task::Reboot);
        let back = &tasks[boot.unwrap() + 1..][..10];
        assert_eq!(count(back, |task| matches!(task, Task::Add(_))), 10);
    }

    #[test]
    fn who_gets_nothing_is_cleaned_up_after() {
        let mut course = course(r#""operations": 4"#);
        let mut number = 0;
        let (at, Task::Add(pod)) = course.next(&mut number).unwrap() else {
            unreachable!("a pod arrives first")
        };
        course.failed(at, &pod.container);
        assert_eq!(course.next(&mut number), Some((at, Task::Del(pod))));
        assert!(matches!(
            course.next(&mut number),
            Some((1000, Task::Add(_)))
        ));
    }
}
