//! The fields of `ipam` that are ours: what is refused, and what is warned of.

use crate::net::Net;

const POOL: &str = r#""subnet":"10.1.0.0/24""#;

/// What an ADD says against these members of `ipam`.
fn complaint(ipam: &str) -> String {
    let mut net = Net::new(&format!("{POOL},{ipam}"));
    let refused = net.refused("c", "");
    assert_eq!(refused.code, 7, "{ipam}: {refused:?}");
    assert!(net.world.calls().is_empty(), "{ipam}");
    // STATUS says the same, and nobody is kept from releasing.
    let status = net.run("STATUS", "", "").unwrap_err();
    assert_eq!((status.code, &status.message), (50, &refused.message));
    net.del("c");
    refused.message
}

fn warnings(ipam: &str) -> Vec<String> {
    let mut net = Net::new(&format!("{POOL},{ipam}"));
    net.world.answers = [Ok(wipam_core::policy::Answer::YouDecide)].into();
    net.run("ADD", "c", "").unwrap();
    net.world.warnings
}

#[test]
fn a_bad_value_is_named_with_its_place() {
    let year = 366 * 24 * 3600 + 1;
    let too_long = format!(r#""cooldown":{{"seconds":{year}}}"#);
    let too_long_plain = format!(r#""cooldown":{year}"#);
    let kept_too_long = format!(r#""sticky":{{"keepSeconds":{year}}}"#);
    for (ipam, wanted) in [
        (
            r#""exclude":"10.1.0.4""#,
            r#"ipam.exclude: wanted a list, found the string "10.1.0.4""#,
        ),
        (
            r#""exclude":[4]"#,
            "ipam.exclude[0]: wanted a string, found the number 4",
        ),
        (
            r#""exclude":["10.1.0.4",null]"#,
            "ipam.exclude[1]: wanted a string, found null",
        ),
        (
            r#""exclude":["10.1.0.4","x"]"#,
            r#"ipam.exclude[1]: "x": wanted an address"#,
        ),
        (
            r#""exclude":[""]"#,
            r#"ipam.exclude[0]: "": wanted an address"#,
        ),
        (
            r#""exclude":["10.1.0.5/30"]"#,
            "the network address is 10.1.0.4",
        ),
        (r#""exclude":["10.1.0.5-10.1.0.4"]"#, "wanted FIRST-LAST"),
        (r#""exclude":["10.1.0.5-fd00::1"]"#, "wanted FIRST-LAST"),
        (r#""static":["10.1.0"]"#, r#"ipam.static[0]: "10.1.0""#),
        (
            r#""ranges":[[{"subnet":"10.2.0.0/24"},{"subnet":"10.3.0.0/24","exclude":["y"]}]]"#,
            r#"ipam.ranges[0][1].exclude[0]: "y""#,
        ),
        (
            r#""requestExcluded":"yes""#,
            r#"ipam.requestExcluded: wanted true or false"#,
        ),
        (
            r#""strategy":"Lowest""#,
            r#"ipam.strategy: wanted "round-robin", "lowest", "random" or "owner-hash", found "Lowest""#,
        ),
        (
            r#""strategy":3"#,
            "ipam.strategy: wanted a string, found the number 3",
        ),
        (
            r#""sticky":"yes""#,
            "ipam.sticky: wanted true, false or an object",
        ),
        (
            r#""sticky":{"keepSecond":1}"#,
            "ipam.sticky.keepSecond: unknown; wanted one of key, keepSeconds",
        ),
        (
            r#""sticky":{"key":[]}"#,
            "ipam.sticky.key: wanted keys of CNI_ARGS",
        ),
        (
            r#""sticky":{"key":""}"#,
            "ipam.sticky.key: wanted keys of CNI_ARGS",
        ),
        (
            r#""sticky":{"key":["A",""]}"#,
            "ipam.sticky.key: wanted keys of CNI_ARGS",
        ),
        (
            r#""sticky":{"key":7}"#,
            "ipam.sticky.key: wanted a list of keys, found the number 7",
        ),
        (
            r#""sticky":{"key":["A",7]}"#,
            "ipam.sticky.key[1]: wanted a string",
        ),
        (
            r#""sticky":{"keepSeconds":-1}"#,
            "ipam.sticky.keepSeconds: wanted a whole number",
        ),
        (
            r#""sticky":{"keepSeconds":1.5}"#,
            "ipam.sticky.keepSeconds: wanted a whole number",
        ),
        (
            &kept_too_long,
            "ipam.sticky.keepSeconds: wanted 0 to 31622400 seconds, found 31622401",
        ),
        (
            r#""cooldown":"5""#,
            "ipam.cooldown: wanted seconds, true, false or an object",
        ),
        (
            r#""cooldown":-5"#,
            "ipam.cooldown: wanted seconds, true, false or an object",
        ),
        (
            r#""cooldown":[5]"#,
            "ipam.cooldown: wanted seconds, true, false or an object",
        ),
        (
            &too_long_plain,
            "ipam.cooldown: wanted 0 to 31622400 seconds",
        ),
        (
            &too_long,
            "ipam.cooldown.seconds: wanted 0 to 31622400 seconds",
        ),
        (
            r#""cooldown":{"second":5}"#,
            "ipam.cooldown.second: unknown; wanted one of seconds, whenFull",
        ),
        (
            r#""cooldown":{"whenFull":"give"}"#,
            r#"ipam.cooldown.whenFull: wanted "refuse" or "use", found "give""#,
        ),
        (r#""policy":"/p.wasm""#, "ipam.policy: wanted an object"),
        (
            r#""policy":{}"#,
            "ipam.policy.component: wanted an absolute path, found nothing",
        ),
        (
            r#""policy":{"component":"p.wasm"}"#,
            r#"ipam.policy.component: wanted an absolute path, found "p.wasm""#,
        ),
        (
            r#""policy":{"component":"/p","cache":""}"#,
            r#"ipam.policy.cache: wanted an absolute path, found """#,
        ),
        (
            r#""policy":{"component":"/p","onError":"deny"}"#,
            "ipam.policy.onError: unknown; wanted one of component, config, limits, onFailure, cache",
        ),
        (
            r#""policy":{"component":"/p","onFailure":"allow"}"#,
            r#"ipam.policy.onFailure: wanted "deny" or "built-in", found "allow""#,
        ),
        (
            r#""policy":{"component":"/p","limits":[]}"#,
            "ipam.policy.limits: wanted an object",
        ),
        (
            r#""policy":{"component":"/p","limits":{"ram":5}}"#,
            "ipam.policy.limits.ram: unknown; wanted one of fuel, memory",
        ),
        (
            r#""policy":{"component":"/p","limits":{"memory":"16M"}}"#,
            "ipam.policy.limits.memory: wanted a whole number",
        ),
    ] {
        let found = complaint(ipam);
        assert!(found.contains(wanted), "{ipam}: {found}");
    }
}

#[test]
fn limits_have_bounds_of_their_own() {
    for (name, most) in [
        ("fuel", 1_000_000_000_000_u64),
        ("memory", 1 << 30),
        ("tableElements", 1_000_000),
        ("instances", 1000),
        ("stack", 1 << 20),
        ("lifted", 64 << 20),
        ("component", 256 << 20),
        ("state", 1 << 20),
    ] {
        let setting =
            |n: u64| format!(r#""policy":{{"component":"/p","limits":{{"{name}":{n}}}}}"#);
        for n in [1, most] {
            assert_eq!(warnings(&setting(n)), [""; 0], "{name}");
        }
        for n in [0, most + 1, u64::MAX] {
            let found = complaint(&setting(n));
            let wanted = format!("ipam.policy.limits.{name}: wanted 1 to {most}, found {n}");
            assert!(found.contains(&wanted), "{found}");
        }
    }
}

#[test]
fn nothing_is_said_of_settings_that_make_sense() {
    for ipam in [
        r#""exclude":null,"static":null,"strategy":null,"sticky":null,"cooldown":null,"policy":null"#,
        r#""exclude":[],"static":[],"requestExcluded":false,"sticky":false,"cooldown":false"#,
        r#""EXCLUDE":["10.1.0.9"],"Strategy":"lowest","Sticky":{"KEY":"A","keepseconds":5}"#,
        r#""cooldown":0"#,
        r#""cooldown":{}"#,
        r#""cooldown":{"seconds":31622400,"whenFull":"use"},"sticky":{"keepSeconds":31622400}"#,
        r#""static":["10.1.0.9"],"exclude":["10.1.0.8","10.1.0.10"]"#,
        r#""policy":{"component":"/p","cache":"/c","config":{"strange":[]}},"cooldown":5"#,
        r#""policy":{"component":"/p","onFailure":"built-in"},"strategy":"random""#,
    ] {
        assert_eq!(warnings(ipam), [""; 0], "{ipam}");
    }
}

#[test]
fn a_field_that_looks_like_one_of_ours_is_told() {
    for (name, meant) in [
        ("staticOnly", "static"),
        ("excludes", "exclude"),
        ("excluded", "exclude"),
        ("exclud", "exclude"),
        ("stratgy", "strategy"),
        ("strategie", "strategy"),
        ("stiky", "sticky"),
        ("coolDowns", "cooldown"),
        ("cooldownSeconds", "cooldown"),
        ("polici", "policy"),
        ("range", "ranges"),
        ("subnets", "subnet"),
        ("requestExclude", "requestExcluded"),
        ("repeatAdd", "repeatedAdd"),
    ] {
        let wanted = format!("ipam.{name} is not read: is {meant} meant?");
        assert_eq!(warnings(&format!(r#""{name}":1"#)), [wanted]);
    }
    for name in [
        "extra",
        "name",
        "x",
        "",
        "sync2",
        "dns",
        "logFile",
        "kubeconfig",
        "état",
    ] {
        assert_eq!(warnings(&format!(r#""{name}":1"#)), [""; 0], "{name}");
    }
}

#[test]
fn what_contradicts_itself_is_told() {
    for (ipam, wanted) in [
        (
            r#""exclude":["10.9.0.0/24"]"#,
            "exclude: 10.9.0.0-10.9.0.255 is outside of every subnet",
        ),
        (
            r#""static":["fd00::9"]"#,
            "static: fd00::9-fd00::9 is outside of every subnet",
        ),
        (
            r#""static":["10.1.0.8/30"],"exclude":["10.1.0.9"]"#,
            "static: 10.1.0.8-10.1.0.11 is for requests, but exclude has 10.1.0.9-10.1.0.9",
        ),
        (r#""sticky":{"keepSeconds":0}"#, "sticky.keepSeconds is 0"),
        (
            r#""policy":{"component":"/p"},"strategy":"random""#,
            r#"strategy "random" counts only where the policy leaves the choice"#,
        ),
    ] {
        let told = warnings(ipam);
        assert!(
            told.len() == 1 && told[0].contains(wanted),
            "{ipam}: {told:?}"
        );
    }
    let both = r#""static":["10.1.0.8"],"exclude":["10.1.0.8"],"requestExcluded":true"#;
    assert_eq!(warnings(both), [""; 0]);
}

/// A setting that is off is as good as none: nothing is remembered for it.
#[test]
fn what_is_off_remembers_nothing() {
    for ipam in [
        r#""sticky":false"#,
        r#""cooldown":false"#,
        r#""cooldown":0"#,
    ] {
        let mut net = Net::new(&format!(r#"{POOL},"strategy":"lowest",{ipam}"#));
        let first = net.add("a", &crate::net::pod("db-0"));
        net.del("a");
        assert_eq!(net.add("b", ""), first);
        let calls = net.world.calls();
        assert!(
            !calls.contains(&"remember") && !calls.contains(&"released"),
            "{calls:?}"
        );
    }
}

#[test]
fn what_is_set_is_explained() {
    let explained = wipam_core::explain::explain(
        br#"{"cniVersion":"1.1.0","name":"net","ipam":{"subnet":"10.1.0.0/24",
            "exclude":["10.1.0.2/31"],"static":["10.1.0.9"],"strategy":"lowest",
            "sticky":{"key":["A","B"],"keepSeconds":60},"cooldown":{"whenFull":"use"},
            "policy":{"component":"/p.wasm","onFailure":"built-in"},"stratgy":1}}"#,
    );
    let explained = explained.unwrap();
    for wanted in [
        "250 addresses to give",
        "excluded: 10.1.0.2-10.1.0.3",
        "static, for requests only: 10.1.0.9-10.1.0.9",
        "policy: /p.wasm; the strategy chooses if it fails",
        "strategy: lowest",
        "sticky: by A and B, kept for 60 s",
        "cooldown: 150 s; those that are cooling come last",
        "warning: ipam.stratgy is not read: is strategy meant?",
    ] {
        assert!(
            explained.contains(wanted),
            "{wanted} is not in\n{explained}"
        );
    }
}
