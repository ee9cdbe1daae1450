//! What becomes of the answers of a policy: the world's, which says what it is
//! told to say.

use std::net::IpAddr;

use wipam_core::policy::{Answer, Pod};

use crate::net::{Net, ip, ips, pod};

const POOL: &str = r#""subnet":"10.1.0.0/24""#;
const POLICY: &str = r#""policy":{"component":"/p.wasm"}"#;

fn net(more: &str) -> Net {
    Net::new(&format!("{POOL},{POLICY}{more}"))
}

fn candidates(texts: &[&str]) -> Result<Answer, String> {
    Ok(Answer::Candidates(ips(texts)))
}

/// An ADD, after the policy was told what to answer.
fn answered(net: &mut Net, answer: Result<Answer, String>, args: &str) -> crate::net::Answer {
    net.world.answers = [answer].into();
    net.run("ADD", "c", args)
}

/// Holds the address in the name of another container.
fn hold(net: &Net, address: &str) {
    net.world.store.put(ip(address), "other", Some("eth0"));
}

#[test]
fn the_first_candidate_that_is_free_wins() {
    let mut net = net("");
    hold(&net, "10.1.0.50");
    net.world.store.put_foreign(ip("10.1.0.51"));
    let answer = candidates(&["10.1.0.50", "10.1.0.51", "10.1.0.52", "10.1.0.53"]);
    assert_eq!(answered(&mut net, answer, ""), Ok(ips(&["10.1.0.52"])));
    // It counts as every other does.
    assert_eq!(net.world.store.contents().marks[&0], ip("10.1.0.52"));
    let notes = net.world.notes.join("\n");
    assert!(
        notes.contains("10.1.0.52: chosen by policy /p.wasm"),
        "{notes}"
    );
    assert!(
        notes.contains("10.1.0.50 is held by container other"),
        "{notes}"
    );
}

/// W18
#[test]
fn a_candidate_that_breaks_a_rule_is_a_fault_that_names_it() {
    let v4 = r#""subnet":"10.1.0.0/24","rangeStart":"10.1.0.0","rangeEnd":"10.1.0.255",
        "exclude":["10.1.0.20/31"],"static":["10.1.0.30"]"#;
    let v6 = r#""subnet":"::/64""#;
    for (ipam, address, rule) in [
        (v4, "10.1.0.1", "is a gateway"),
        (
            v4,
            "10.2.0.1",
            "is outside of the range set 10.1.0.0-10.1.0.255",
        ),
        (v4, "fd00::1", "is outside"),
        (v4, "::ffff:10.1.0.9", "is outside"),
        (
            v4,
            "10.1.0.0",
            "is the network or broadcast address of 10.1.0.0/24",
        ),
        (v4, "10.1.0.255", "is the network or broadcast address"),
        (v4, "10.1.0.21", "is excluded (10.1.0.20-10.1.0.21)"),
        (v4, "10.1.0.30", "is static, for requests only"),
        (v6, "::ffff:10.1.0.9", "stands for an IPv4 address"),
        (v6, "::1", "is a gateway"),
        (v6, "::", "is outside"),
    ] {
        let mut net = Net::new(&format!("{ipam},{POLICY}"));
        hold(&net, "10.1.0.9");
        let held = net.held();
        let answer = candidates(&["10.1.0.9", address]);
        let answer = if ipam == v6 {
            candidates(&[address])
        } else {
            answer
        };
        let refused = answered(&mut net, answer, "").unwrap_err();
        assert_eq!(refused.code, 103, "{refused:?}");
        let wanted = format!("range 0: policy /p.wasm answered {address}, which {rule}");
        assert!(refused.message.contains(&wanted), "{wanted}: {refused:?}");
        assert_eq!(net.held(), held);
    }
}

/// A gateway of another set is one, too.
#[test]
fn rules_of_all_sets_hold_for_each() {
    let mut net = Net::new(&format!(
        r#""ranges":[[{{"subnet":"10.1.0.0/24","rangeEnd":"10.1.0.99"}}],
            [{{"subnet":"10.1.0.0/24","rangeStart":"10.1.0.100","gateway":"10.1.0.7"}}]],{POLICY}"#
    ));
    let refused = answered(&mut net, candidates(&["10.1.0.7"]), "").unwrap_err();
    assert!(refused.message.contains("10.1.0.7, which is a gateway"));
    // What is right for one set is wrong for the other.
    net.world.answers = [candidates(&["10.1.0.8"]), candidates(&["10.1.0.9"])].into();
    let refused = net.refused("c", "");
    assert!(
        refused
            .message
            .contains("range 1: policy /p.wasm answered 10.1.0.9, which is outside")
    );
    assert!(net.held().is_empty());
    assert!(net.world.store.contents().marks.is_empty());
}

#[test]
fn what_may_be_asked_for_may_not_be_answered() {
    let mut net = net(r#","exclude":["10.1.0.20"],"requestExcluded":true"#);
    let refused = answered(&mut net, candidates(&["10.1.0.20"]), "").unwrap_err();
    assert!(refused.message.contains("is excluded"));
}

#[test]
fn a_list_without_an_address_to_give_is_a_fault() {
    let mut net = net("");
    let refused = answered(&mut net, candidates(&[]), "").unwrap_err();
    assert_eq!(refused.code, 103);
    assert!(
        refused
            .message
            .contains("policy /p.wasm answered a list without any address")
    );
    let taken = [
        "10.1.0.50",
        "10.1.0.51",
        "10.1.0.52",
        "10.1.0.53",
        "10.1.0.54",
    ];
    taken.iter().for_each(|address| hold(&net, address));
    let refused = answered(&mut net, candidates(&taken), "").unwrap_err();
    assert_eq!(refused.code, 103);
    for wanted in [
        "answered no address that can be given: 10.1.0.50 is held by container other",
        "10.1.0.52",
        "(and 2 more)",
    ] {
        assert!(refused.message.contains(wanted), "{wanted}: {refused:?}");
    }
}

#[test]
fn candidates_that_are_held_back_come_after_the_others() {
    let more = r#","sticky":true,"cooldown":{"seconds":10,"whenFull":"WHEN"}"#;
    for (when_full, last) in [("use", Some("10.1.0.60")), ("refuse", None)] {
        let mut net = net(&more.replace("WHEN", when_full));
        // .61 is kept, .60 is cooling.
        net.world.answers = [candidates(&["10.1.0.61"]), candidates(&["10.1.0.60"])].into();
        net.add("a", &pod("db-0"));
        net.add("b", "");
        net.del("a");
        net.pass(10_000);
        net.del("b");
        let all = ["10.1.0.60", "10.1.0.61", "10.1.0.62"];
        for wanted in [Some("10.1.0.62"), Some("10.1.0.61"), last] {
            net.world.answers = [candidates(&all)].into();
            let given = net.run("ADD", wanted.unwrap_or("x"), "").ok();
            assert_eq!(given, wanted.map(|wanted| vec![ip(wanted)]), "{when_full}");
        }
    }
    // It is not held back from who had it.
    let mut net = net(&more.replace("WHEN", "refuse"));
    net.world.answers = [candidates(&["10.1.0.60"])].into();
    net.add("a", &pod("db-0"));
    net.del("a");
    let refused = answered(&mut net, candidates(&["10.1.0.60"]), "").unwrap_err();
    assert!(
        refused
            .message
            .contains("10.1.0.60 is cooling for another 10 s"),
        "{refused:?}"
    );
    let again = answered(&mut net, candidates(&["10.1.0.60"]), &pod("db-0"));
    assert_eq!(again, Ok(ips(&["10.1.0.60"])));
}

#[test]
fn a_policy_that_leaves_the_choice_gets_the_built_in_one() {
    let mut net = net(r#","strategy":"lowest","sticky":true"#);
    assert_eq!(
        answered(&mut net, Ok(Answer::YouDecide), &pod("p")),
        Ok(ips(&["10.1.0.2"]))
    );
    assert!(
        net.world.warnings.iter().all(|w| w.contains("strategy")),
        "{:?}",
        net.world.warnings
    );
    net.del("c");
    assert_eq!(
        answered(&mut net, Ok(Answer::YouDecide), ""),
        Ok(ips(&["10.1.0.3"]))
    );
    net.del("c");
    assert_eq!(
        answered(&mut net, Ok(Answer::YouDecide), &pod("p")),
        Ok(ips(&["10.1.0.2"]))
    );
}

#[test]
fn a_refusal_is_passed_on_in_printable_words() {
    for more in ["", r#","x":1"#] {
        let mut net = net(more);
        let reason = Ok(Answer::Nothing("no\nmore\u{7}for\u{1b}[1m you".to_owned()));
        let refused = answered(&mut net, reason, "").unwrap_err();
        assert_eq!(refused.code, 11);
        let wanted = "range 0: policy /p.wasm gives no address: no more for [1m you";
        assert!(refused.message.ends_with(wanted), "{refused:?}");
        let long = Ok(Answer::Nothing("é".repeat(100_000)));
        let refused = answered(&mut net, long, "").unwrap_err();
        assert!(refused.message.len() < 1200, "{}", refused.message.len());
        assert!(net.held().is_empty());
    }
    // A refusal is no failure: nothing steps in.
    let policy = POLICY.replace('}', r#","onFailure":"built-in"}"#);
    let mut net = Net::new(&format!("{POOL},{policy}"));
    let refused = answered(&mut net, Ok(Answer::Nothing("no".to_owned())), "").unwrap_err();
    assert_eq!(refused.code, 11);
}

#[test]
fn a_failure_fails_the_whole_add() {
    let sets = format!(r#""ranges":[[{{{POOL}}}],[{{"subnet":"fd00::/64"}}]],{POLICY}"#);
    let mut net = Net::new(&sets);
    net.world.store.mark(0, ip("10.1.0.77"));
    let before = net.world.store.contents();
    net.world.answers = [candidates(&["10.1.0.9"]), Err("/p.wasm trapped".to_owned())].into();
    let refused = net.refused("c", "");
    assert_eq!(refused.code, 103);
    assert!(
        refused.message.contains("range 1: /p.wasm trapped"),
        "{refused:?}"
    );
    assert_eq!(net.world.store.contents(), before);
    assert!(!net.world.calls().contains(&"keep_state"));
}

#[test]
fn where_that_is_set_the_built_in_strategy_steps_in() {
    let policy = POLICY.replace('}', r#","onFailure":"built-in"}"#);
    for answer in [
        Err("/p.wasm trapped".to_owned()),
        candidates(&["10.1.0.1"]),
        candidates(&[]),
    ] {
        let mut net = Net::new(&format!(r#"{POOL},{policy},"strategy":"lowest""#));
        assert_eq!(answered(&mut net, answer, ""), Ok(ips(&["10.1.0.2"])));
        let warnings = net.world.warnings.join("\n");
        let wanted = "; the built-in strategy chooses (lowest)";
        assert!(
            warnings.contains(wanted) && warnings.contains("/p.wasm"),
            "{warnings}"
        );
    }
}

/// A store that fails is no failure of the policy.
#[test]
fn a_failure_of_the_store_is_none_of_the_policy() {
    let policy = POLICY.replace('}', r#","onFailure":"built-in"}"#);
    for policy in [POLICY, &policy] {
        let mut net = Net::new(&format!("{POOL},{policy}"));
        answered(&mut net, candidates(&["10.1.0.9"]), "").unwrap();
        let calls = net.world.calls();
        let at = calls.iter().position(|call| *call == "choose").unwrap();
        let mut net = Net::new(&format!("{POOL},{policy}"));
        let add = net.invocation("ADD", "c", "");
        let refused = net.world.run_failing(&add, at).unwrap_err();
        assert_eq!(refused.code, 5);
        assert!(refused.message.contains("choose failed on purpose"));
        assert!(net.held().is_empty());
    }
}

#[test]
fn a_policy_is_asked_what_it_needs_to_know() {
    let mut net = Net::new(
        r#""ranges":[[{"subnet":"10.1.0.0/29","exclude":["10.1.0.4"]},{"subnet":"10.2.0.0/30"}],
            [{"subnet":"fd00::/125","static":["fd00::4/126"]}]],
            "sticky":{"keepSeconds":60},"cooldown":10,
            "policy":{"component":"/p.wasm","config":{"a": [1, null]}}"#,
    );
    net.seed = 40;
    net.world.answers = vec![Ok(Answer::YouDecide); 4].into();
    let args = format!("{};K8S_POD_UID=u-1;X=1;X=2", pod("db-0"));
    let given = net.run("ADD", "c net1", &args).unwrap();
    let first = &net.world.asked[0];
    assert_eq!((first.0.remembered, first.1.last_reserved), (None, None));
    net.del("c net1");
    net.pass(5000);
    assert_eq!(net.run("ADD", "d net1", &args), Ok(given.clone()));
    let asked = &net.world.asked;
    assert_eq!(asked.len(), 2);
    for (set, (request, view)) in asked.iter().enumerate() {
        assert_eq!(request.network.to_string(), "net");
        assert_eq!(request.attachment.container.to_string(), "d");
        assert_eq!(request.attachment.interface.to_string(), "net1");
        let pod = Pod {
            namespace: "d".to_owned(),
            name: "db-0".to_owned(),
            uid: Some("u-1".to_owned()),
        };
        assert_eq!(request.pod, Some(pod));
        let pairs: Vec<_> = request
            .args
            .iter()
            .map(|(k, v)| format!("{k}={v}"))
            .collect();
        assert_eq!(pairs.join(";"), args);
        assert_eq!(request.set, u32::try_from(set).unwrap());
        assert_eq!(request.config, r#"{"a": [1, null]}"#);
        assert_eq!(request.remembered, Some(given[set]));
        assert_eq!((request.time_ms, request.seed), (net.now_ms(), 43));
        assert_eq!(view.last_reserved, Some(given[set]));
        assert_eq!(
            (view.hold_back.cooldown_ms, view.hold_back.keep_ms),
            (10_000, 60_000)
        );
        let key = ["d/db-0@net1", "d/db-0@net1#1"][set];
        assert_eq!(view.hold_back.key.as_deref(), Some(key));
    }
    let spans = |set: usize| {
        asked[set]
            .1
            .spans
            .iter()
            .map(|s| s.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        spans(0),
        [
            "10.1.0.2-10.1.0.3",
            "10.1.0.5-10.1.0.6",
            "10.2.0.2-10.2.0.2"
        ]
    );
    assert_eq!(spans(1), ["fd00::2-fd00::3"]);
    assert_eq!(asked[0].1.ranges.len(), 2);
}

#[test]
fn who_is_no_pod_is_none_to_a_policy() {
    for (args, name) in [
        ("", None),
        ("IgnoreUnknown=1;K8S_POD_NAME=x", None),
        (
            "IgnoreUnknown=1;K8S_POD_NAME=x;K8S_POD_NAMESPACE=y",
            Some("x"),
        ),
    ] {
        let mut net = net("");
        answered(&mut net, Ok(Answer::YouDecide), args).unwrap();
        let (request, view) = &net.world.asked[0];
        assert_eq!(request.pod.as_ref().map(|pod| pod.name.as_str()), name);
        assert_eq!(request.pod.as_ref().and_then(|pod| pod.uid.clone()), None);
        assert_eq!(request.config, "null");
        assert!(view.hold_back.is_off());
    }
}

#[test]
fn who_needs_no_choice_asks_no_policy() {
    let mut net = net(r#","repeatedAdd":"return""#);
    let mut given = |args: &str| {
        let given = net.run("ADD", "c", args);
        assert!(net.world.asked.is_empty(), "{args}");
        given.map(|given| given[0])
    };
    let asked: IpAddr = ip("10.1.0.9");
    assert_eq!(given("IP=10.1.0.9"), Ok(asked));
    assert_eq!(given(""), Ok(asked));
    assert_eq!(given("IP=10.1.0.9"), Ok(asked));
    net.del("c");
    assert_eq!(net.status(), 0);
    assert!(net.world.asked.is_empty());
}

#[test]
fn what_a_policy_wrote_counts_once_and_only_after_success() {
    let kept = |net: &Net| {
        let calls = net.world.calls();
        calls.iter().filter(|call| **call == "keep_state").count()
    };
    let mut net = Net::new(&format!(
        r#""ranges":[[{{{POOL}}}],[{{"subnet":"fd00::/64"}}]],{POLICY}"#
    ));
    net.world.answers = vec![Ok(Answer::YouDecide); 2].into();
    net.run("ADD", "c", "").unwrap();
    assert_eq!(kept(&net), 1);
    for last in [
        Ok(Answer::Nothing("no".to_owned())),
        candidates(&["fd00::1"]),
    ] {
        net.world.answers = [Ok(Answer::YouDecide), last].into();
        net.refused("d", "");
        assert_eq!(kept(&net), 0);
    }
    net.refused("c", "");
    assert_eq!(kept(&net), 0);
    net.del("c");
    assert_eq!(kept(&net), 1);
    net.ipam = POOL.to_owned();
    net.add("c", "");
    assert_eq!(kept(&net), 0);
}

#[test]
fn a_policy_is_told_of_each_release() {
    let mut net = Net::new(
        r#""ranges":[[{"subnet":"10.1.0.0/24"}],[{"subnet":"fd00::/64"}]],
            "policy":{"component":"/p.wasm","config":7}"#,
    );
    net.top = r#","cni.dev/valid-attachments":[{"containerID":"b","ifname":"eth0"}]"#.to_owned();
    for container in ["a", "b"] {
        net.world.answers = vec![Ok(Answer::YouDecide); 2].into();
        net.run("ADD", container, "").unwrap();
    }
    net.run("DEL", "a", "").unwrap();
    let told = &net.world.told;
    let addresses: Vec<_> = told.iter().map(|notice| notice.address).collect();
    assert_eq!(addresses, ips(&["10.1.0.2", "fd00::2"]));
    for notice in told {
        assert_eq!(notice.owner.to_string(), "container a, interface eth0");
        assert_eq!(
            (notice.config.as_str(), notice.time_ms),
            ("7", net.now_ms())
        );
        assert_eq!(notice.network.to_string(), "net");
    }
    // Once.
    net.run("DEL", "a", "").unwrap();
    assert!(net.world.told.is_empty());
    for n in 0..3 {
        net.world
            .store
            .put([10, 1, 0, 70 + n].into(), "gone", (n > 0).then_some("eth0"));
    }
    net.run("GC", "", "").unwrap();
    let told: Vec<_> = net.world.told.iter().map(|notice| notice.address).collect();
    assert_eq!(told, ips(&["10.1.0.70", "10.1.0.71", "10.1.0.72"]));
    assert_eq!(net.world.told[0].owner.interface, None);
    assert_eq!(net.held(), ips(&["10.1.0.3", "fd00::3"]));
}

#[test]
fn a_release_does_not_fail_because_a_policy_is_not_told() {
    let mut net = net("");
    net.top = r#","cni.dev/valid-attachments":[]"#.to_owned();
    for command in ["DEL", "GC"] {
        for failing in ["notice", "keep_state"] {
            hold(&net, "10.1.0.9");
            let release = net.invocation(command, "other", "");
            net.world.run(&release).unwrap();
            let calls = net.world.calls();
            let at = calls.iter().position(|call| *call == failing).unwrap();
            hold(&net, "10.1.0.9");
            assert_eq!(net.world.run_failing(&release, at), Ok(Vec::new()));
            assert!(net.held().is_empty());
            let warnings = net.world.warnings.join("\n");
            assert!(warnings.contains("failed on purpose"), "{warnings}");
        }
    }
}

/// A failing release is told to nobody.
#[test]
fn a_policy_is_not_told_of_what_stays() {
    let mut net = net("");
    for address in ["10.1.0.8", "10.1.0.9"] {
        hold(&net, address);
    }
    let del = net.invocation("DEL", "other", "");
    assert_eq!(net.world.run_failing(&del, 2).unwrap_err().code, 5);
    let told: Vec<_> = net.world.told.iter().map(|notice| notice.address).collect();
    assert_eq!(told, ips(&["10.1.0.9"]));
}

#[test]
fn broken_settings_keep_nothing_from_being_released() {
    for policy in [
        r#""policy":5"#,
        r#""policy":{"component":"relative"}"#,
        r#""policy":{"component":"/p.wasm","limits":{"fuel":0}}"#,
        r#""policy":{"component":"/p.wasm"},"sticky":{"keep":1}"#,
        r#""policy":{"component":"/p.wasm"},"exclude":["x"]"#,
    ] {
        let mut net = Net::new(&format!("{POOL},{policy}"));
        hold(&net, "10.1.0.9");
        net.del("other");
        assert!(net.held().is_empty());
        assert!(net.world.told.is_empty());
        let warnings = net.world.warnings.join("\n");
        assert!(
            warnings.contains("ignored while releasing: ipam."),
            "{warnings}"
        );
    }
}

#[test]
fn status_fails_where_an_add_would_for_want_of_the_policy() {
    for (on_failure, wanted) in [("deny", 50), ("built-in", 0)] {
        let mut net = Net::new(&format!(
            r#""subnet":"10.1.0.0/29","policy":{{"component":"/p.wasm","onFailure":"{on_failure}"}}"#
        ));
        assert_eq!(net.status(), 0, "{on_failure}");
        net.world.unready = Some("policy /p.wasm could not be read".to_owned());
        assert_eq!(net.status(), wanted, "{on_failure}");
    }
}
