//! Every strategy, with and without stickiness, cooldown and a policy, against
//! a naive model that says which addresses an ADD may get, if any.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use proptest::collection::vec;
use proptest::option::{of, weighted};
use proptest::prelude::*;
use wipam_core::policy::Answer;
use wipam_core::store::Store;

use crate::model::{address, turned};
use crate::net::{Net, pod};
use crate::world::Contents;

/// A subnet of 16 addresses; each bit of a mask is one of them.
#[derive(Clone, Debug)]
struct Set {
    v6: bool,
    end: u8,
    exclude: u16,
    fixed: u16,
}

#[derive(Clone, Debug)]
struct Setup {
    sets: Vec<Set>,
    strategy: &'static str,
    keep_s: Option<u64>,
    cooldown: Option<(u64, bool)>,
    policy: bool,
}

#[derive(Clone, Debug)]
enum Step {
    Add {
        pod: Option<u8>,
        request: Option<u8>,
        /// Of the policy, for each set: `None` leaves it to the strategy.
        answers: [Option<Vec<u8>>; 2],
    },
    Del(u8),
    Wait(u8),
    Status,
}

const BASES: [[u128; 2]; 2] = [[0x0a01_0000, 0x0a02_0000], [0xfd00 << 112, 0xfd01 << 112]];

impl Setup {
    fn address(&self, set: usize, n: u8) -> IpAddr {
        let v6 = self.sets[set].v6;
        address(v6, BASES[usize::from(v6)][set] + u128::from(n))
    }

    fn config(&self) -> String {
        let sets = self.sets.iter().enumerate().map(|(index, set)| {
            let listed = |mask: u16| {
                let of_mask = (0..16).filter(|n| mask >> n & 1 == 1);
                let texts: Vec<_> = of_mask
                    .map(|n| format!("\"{}\"", self.address(index, n)))
                    .collect();
                texts.join(",")
            };
            format!(
                r#"[{{"subnet":"{}/{}","rangeEnd":"{}","exclude":[{}],"static":[{}]}}]"#,
                self.address(index, 0),
                if set.v6 { 124 } else { 28 },
                self.address(index, set.end),
                listed(set.exclude),
                listed(set.fixed)
            )
        });
        let sets: Vec<_> = sets.collect();
        let mut text = format!(
            r#""strategy":"{}","ranges":[{}]"#,
            self.strategy,
            sets.join(",")
        );
        if let Some(keep) = self.keep_s {
            text += &format!(r#","sticky":{{"keepSeconds":{keep}}}"#);
        }
        if let Some((seconds, use_them)) = self.cooldown {
            let when_full = if use_them { "use" } else { "refuse" };
            text += &format!(r#","cooldown":{{"seconds":{seconds},"whenFull":"{when_full}"}}"#);
        }
        if self.policy {
            text += r#","policy":{"component":"/p.wasm"}"#;
        }
        text
    }

    /// What of a set may be given unasked, in order.
    fn usable(&self, set: usize) -> Vec<IpAddr> {
        let Set {
            end,
            exclude,
            fixed,
            ..
        } = self.sets[set];
        let all = (2..=end).filter(|n| (exclude | fixed) >> n & 1 == 0);
        all.map(|n| self.address(set, n)).collect()
    }

    fn key(&self, pod: Option<u8>, set: usize) -> Option<(u8, usize)> {
        self.keep_s.and(pod).map(|pod| (pod, set))
    }
}

type Key = Option<(u8, usize)>;

/// Code of the error, and how many addresses are said to be cooling.
type Refusal = (u64, usize);

#[derive(Clone, Debug, Default)]
struct Model {
    held: BTreeMap<IpAddr, (String, Key)>,
    /// Who had it, and when it was released.
    pasts: BTreeMap<IpAddr, (Key, u64)>,
    /// To whom each address was given last, as far as anybody was named, and
    /// how many were given before.
    given: BTreeMap<IpAddr, ((u8, usize), usize)>,
    gifts: usize,
    marks: BTreeMap<usize, IpAddr>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tier {
    Never,
    Rested,
    Kept,
    Cooling,
}

impl Model {
    /// Of the addresses that were given to somebody last, the latest.
    fn latest(&self, key: (u8, usize)) -> Option<IpAddr> {
        let theirs = self.given.iter().filter(|(_, (to, _))| *to == key);
        let latest = theirs.max_by_key(|(_, (_, order))| *order);
        latest.map(|(address, _)| *address)
    }

    fn tier(&self, setup: &Setup, address: IpAddr, key: Key, now: u64) -> Tier {
        let Some((had, then)) = self.pasts.get(&address) else {
            return Tier::Never;
        };
        let age = now - then;
        let of_last = had.is_some_and(|had| self.latest(had) == Some(address));
        if had.is_some() && *had == key {
            Tier::Rested
        } else if setup.cooldown.is_some_and(|(s, _)| age < s * 1000) {
            Tier::Cooling
        } else if of_last && setup.keep_s.is_some_and(|s| age < s * 1000) {
            Tier::Kept
        } else {
            Tier::Rested
        }
    }

    fn is_free(&self, address: IpAddr) -> bool {
        !self.held.contains_key(&address)
    }

    /// The addresses that have rested longest.
    fn oldest(&self, of: &[IpAddr]) -> BTreeSet<IpAddr> {
        let then = |address: &IpAddr| self.pasts[address].1;
        let first = of.iter().map(then).min();
        let oldest = of.iter().filter(|a| Some(then(a)) == first);
        oldest.copied().collect()
    }

    /// What the built-in rules may give.
    fn built_in(
        &self,
        setup: &Setup,
        set: usize,
        key: Key,
        now: u64,
    ) -> Result<BTreeSet<IpAddr>, Refusal> {
        let mut free = setup.usable(set);
        if setup.strategy == "round-robin" {
            free = turned_after(free, self.marks.get(&set).copied());
        }
        free.retain(|a| self.is_free(*a));
        let of = |tiers: &[Tier]| -> Vec<IpAddr> {
            let of = free.iter().copied();
            of.filter(|a| tiers.contains(&self.tier(setup, *a, key, now)))
                .collect()
        };
        if let Some(own) = key.and_then(|key| self.latest(key))
            && of(&[Tier::Never, Tier::Rested]).contains(&own)
        {
            return Ok([own].into());
        }
        let by_strategy = match setup.cooldown {
            Some(_) => of(&[Tier::Never]),
            None => of(&[Tier::Never, Tier::Rested]),
        };
        if !by_strategy.is_empty() {
            return Ok(match setup.strategy {
                "lowest" | "round-robin" => [by_strategy[0]].into(),
                _ => by_strategy.into_iter().collect(),
            });
        }
        for tier in [Tier::Rested, Tier::Kept] {
            if !of(&[tier]).is_empty() {
                return Ok(self.oldest(&of(&[tier])));
            }
        }
        let cooling = of(&[Tier::Cooling]);
        match setup.cooldown {
            Some((_, true)) if !cooling.is_empty() => Ok(self.oldest(&cooling)),
            _ => Err((11, cooling.len())),
        }
    }

    /// What is given of a list of candidates.
    fn of_list(
        &self,
        setup: &Setup,
        set: usize,
        list: &[u8],
        key: Key,
        now: u64,
    ) -> Result<BTreeSet<IpAddr>, Refusal> {
        let usable = setup.usable(set);
        let mut others: Vec<(Tier, IpAddr)> = Vec::new();
        for n in list {
            let address = setup.address(set, *n);
            if !usable.contains(&address) {
                return Err((103, 0));
            }
            if !self.is_free(address) {
                continue;
            }
            match self.tier(setup, address, key, now) {
                Tier::Never | Tier::Rested => return Ok([address].into()),
                tier => others.push((tier, address)),
            }
        }
        others.sort_by_key(|(tier, _)| *tier);
        let may = |tier: &Tier| *tier == Tier::Kept || setup.cooldown.is_some_and(|(_, u)| u);
        let first = others.iter().find(|(tier, _)| may(tier));
        first.map(|(_, a)| [*a].into()).ok_or((103, 0))
    }

    fn status(&self, setup: &Setup, now: u64) -> u64 {
        let has_room = |set: usize| {
            let usable = setup.usable(set);
            let mut free = usable.iter().filter(|a| self.is_free(**a));
            free.any(|a| match setup.cooldown {
                Some((s, false)) => self
                    .pasts
                    .get(a)
                    .is_none_or(|(_, then)| now - then >= s * 1000),
                _ => true,
            })
        };
        match (0..setup.sets.len()).all(has_room) {
            true => 0,
            false => 50,
        }
    }
}

/// Everything that a round robin may visit, beginning after the marker, which
/// need not be of it.
fn turned_after(addresses: Vec<IpAddr>, mark: Option<IpAddr>) -> Vec<IpAddr> {
    let mut all = addresses;
    let added = mark.filter(|mark| !all.contains(mark));
    all.extend(added);
    all.sort();
    let mut all = turned(all, mark);
    all.retain(|a| Some(*a) != added);
    all
}

/// A network and what should be the case on it.
struct Course {
    setup: Setup,
    net: Net,
    model: Model,
    names: Vec<String>,
}

impl Course {
    fn new(setup: &Setup) -> Self {
        Self {
            setup: setup.clone(),
            net: Net::new(&setup.config()),
            model: Model::default(),
            names: Vec::new(),
        }
    }

    fn after(setup: &Setup, steps: &[Step]) -> Self {
        let mut course = Self::new(setup);
        for step in steps {
            course.step(step);
        }
        course
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Wait(seconds) => self.net.pass(u64::from(*seconds) * 1000),
            Step::Status => {
                let wanted = self.model.status(&self.setup, self.net.now_ms());
                assert_eq!(self.net.status(), wanted);
            }
            Step::Del(nth) => {
                if self.names.is_empty() {
                    return;
                }
                let name = self.names.remove(usize::from(*nth) % self.names.len());
                self.net.del(&name);
                let now = self.net.now_ms();
                let (pasts, given) = (&mut self.model.pasts, &mut self.model.given);
                self.model.held.retain(|address, (holder, key)| {
                    if *holder == name {
                        pasts.insert(*address, (*key, now));
                        if key.is_none() {
                            given.remove(address);
                        }
                    }
                    *holder != name
                });
            }
            Step::Add { pod, .. } => {
                let name = format!("c{}", self.net.seed);
                let args = self.prepare(step);
                let wanted = self.wanted(step);
                let given = self.net.run("ADD", &name, &args);
                match (given, wanted) {
                    (Ok(given), Ok(wanted)) => {
                        assert_eq!(given.len(), wanted.len());
                        for (set, address) in given.iter().enumerate() {
                            let may = &wanted[set];
                            assert!(may.contains(address), "{address} is none of {may:?}");
                            let key = self.setup.key(*pod, set);
                            self.model.held.insert(*address, (name.clone(), key));
                            self.model.marks.insert(set, *address);
                            if let Some(key) = key {
                                self.model.gifts += 1;
                                let gift = (key, self.model.gifts);
                                self.model.given.insert(*address, gift);
                            }
                        }
                        self.names.push(name);
                    }
                    (Err(refused), Err((code, cooling))) => {
                        assert_eq!(refused.code, code, "{refused:?}");
                        let told = match cooling {
                            0 => return assert!(!refused.message.contains("cooling, the next")),
                            1 => "(1 is cooling".to_owned(),
                            n => format!("({n} are cooling"),
                        };
                        assert!(refused.message.contains(&told), "{refused:?}");
                    }
                    (given, wanted) => panic!("{step:?}: {given:?}, not {wanted:?}"),
                }
            }
        }
        let held = self.net.held();
        assert!(held.iter().eq(self.model.held.keys()), "{held:?}");
    }

    /// Tells the policy what to answer, and says what `CNI_ARGS` are.
    fn prepare(&mut self, step: &Step) -> String {
        let Step::Add {
            pod: of,
            request,
            answers,
        } = step
        else {
            panic!("{step:?}");
        };
        let sets = (0..self.setup.sets.len()).skip(usize::from(request.is_some()));
        let answers = sets.map(|set| {
            Ok(match &answers[set] {
                None => Answer::YouDecide,
                Some(list) => {
                    Answer::Candidates(list.iter().map(|n| self.setup.address(set, *n)).collect())
                }
            })
        });
        self.net.world.answers = answers.collect();
        let mut args = of.map_or("IgnoreUnknown=1".to_owned(), |of| pod(&of.to_string()));
        if let Some(n) = request {
            args += &format!(";IP={}", self.setup.address(0, *n));
        }
        args
    }

    fn wanted(&self, step: &Step) -> Result<Vec<BTreeSet<IpAddr>>, Refusal> {
        let Step::Add {
            pod,
            request,
            answers,
        } = step
        else {
            panic!("{step:?}");
        };
        let (setup, model, now) = (&self.setup, &self.model, self.net.now_ms());
        let mut wanted = Vec::new();
        for (set, rules) in setup.sets.iter().enumerate() {
            let key = setup.key(*pod, set);
            wanted.push(match (request.filter(|_| set == 0), &answers[set]) {
                (Some(n), _) if n < 2 || n > rules.end => return Err((7, 0)),
                (Some(n), _) if rules.exclude >> n & 1 == 1 => return Err((7, 0)),
                (Some(n), _) if !model.is_free(setup.address(set, n)) => return Err((11, 0)),
                (Some(n), _) => [setup.address(set, n)].into(),
                (None, Some(list)) if setup.policy => model.of_list(setup, set, list, key, now)?,
                _ => model.built_in(setup, set, key, now)?,
            });
        }
        Ok(wanted)
    }
}

fn set() -> impl Strategy<Value = Set> {
    let mask = || weighted(0.5, any::<u16>());
    (any::<bool>(), 3_u8..10, mask(), mask()).prop_map(|(v6, end, exclude, fixed)| Set {
        v6,
        end,
        exclude: exclude.unwrap_or(0),
        // Most should be left.
        fixed: fixed.unwrap_or(0) & (fixed.unwrap_or(0) >> 3),
    })
}

fn setup() -> impl Strategy<Value = Setup> {
    let strategy = prop::sample::select(vec!["round-robin", "lowest", "random", "owner-hash"]);
    let cooldown = of((0_u64..20, any::<bool>()));
    (
        vec(set(), 1..=2),
        strategy,
        of(0_u64..40),
        cooldown,
        any::<bool>(),
    )
        .prop_map(|(sets, strategy, keep_s, cooldown, policy)| Setup {
            sets,
            strategy,
            keep_s,
            // 0 is none.
            cooldown: cooldown.filter(|(s, _)| *s > 0),
            policy,
        })
}

fn adding() -> impl Strategy<Value = Step> {
    let answer = || weighted(0.5, vec(prop_oneof![1 => 0_u8..16, 6 => 2_u8..6], 0..5));
    let request = weighted(0.1, 0_u8..12);
    (of(0_u8..4), request, [answer(), answer()]).prop_map(|(pod, request, answers)| Step::Add {
        pod,
        request,
        answers,
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => adding(),
        4 => any::<u8>().prop_map(Step::Del),
        2 => (1_u8..20).prop_map(Step::Wait),
        1 => Just(Step::Status),
    ]
}

/// What is remembered of addresses that are free, but for whom they are kept.
fn rests(net: &Net) -> Vec<(IpAddr, u64)> {
    let pasts = net.world.store.clone().released(0).unwrap();
    pasts
        .into_iter()
        .map(|past| (past.address, past.released_ms_ago))
        .collect()
}

fn judge(call: &str, before: (&Contents, &[(IpAddr, u64)]), net: &Net) {
    let after = net.world.store.contents();
    if call == "release" {
        // What could not be given back stays, and people are told.
        assert_eq!(after.reserved.len(), before.0.reserved.len() + 1);
        let warnings = &net.world.warnings;
        assert!(warnings.iter().any(|w| w.contains("failed on purpose")));
        return;
    }
    assert_eq!(after.reserved, before.0.reserved, "{call}");
    // Of the last steps, those before the one that failed are done.
    if !["remember", "set_last_reserved", "keep_state"].contains(&call) {
        assert_eq!(after.marks, before.0.marks, "{call}");
    }
    assert_eq!(rests(net), before.1, "{call}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn an_add_gets_what_may_be_given_and_fails_only_if_nothing_may(
        setup in setup(),
        steps in vec(step(), 1..40),
    ) {
        Course::after(&setup, &steps);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_failure_anywhere_leaves_nothing_reserved(
        setup in setup(),
        steps in vec(step(), 0..20),
        last in adding(),
        quiet in any::<bool>(),
    ) {
        let ready = || {
            let mut course = Course::after(&setup, &steps);
            course.net.world.quiet = quiet;
            let args = course.prepare(&last);
            let add = course.net.invocation("ADD", "last", &args);
            (course.net, add)
        };
        let (mut net, add) = ready();
        let (contents, past) = (net.world.store.contents(), rests(&net));
        let whole = net.world.run(&add);
        for (index, call) in net.world.calls().into_iter().enumerate() {
            let (mut net, add) = ready();
            let refused = net.world.run_failing(&add, index).unwrap_err();
            match &whole {
                Err(of_whole) if call == "release" => assert_eq!(refused.code, of_whole.code),
                _ => assert_eq!(refused.code, 5, "{call}: {refused:?}"),
            }
            judge(call, (&contents, &past), &net);
        }
    }
}
