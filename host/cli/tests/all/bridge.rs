//! `wipam bridge`.

use std::io::Write;
use std::process::{Command, Output, Stdio};

fn plan(config: &str, arguments: &[&str]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_wipam"))
        .args(["bridge", "plan"])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(config.as_bytes()).unwrap();
    drop(stdin);
    child.wait_with_output().unwrap()
}

const GATEWAY: &str = r#"{"cniVersion":"1.0.0","name":"n","type":"bridge","bridge":"wipamtest0",
    "isDefaultGateway":true,"ipMasq":true,"ipMasqBackend":"nftables",
    "ipam":{"type":"host-local","subnet":"192.0.2.0/24"}}"#;

#[test]
fn a_plan_is_shown_and_nothing_is_done() {
    let output = plan(GATEWAY, &[]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    for line in [
        "host       make bridge wipamtest0",
        "container  give eth0 address 192.0.2.2/24",
        "host       give wipamtest0 address 192.0.2.1/24",
        "container  add route to 0.0.0.0/0 via 192.0.2.1 on eth0",
        "ip saddr 192.0.2.2 ip daddr != 192.0.2.0/24 masquerade",
        "assumed: the addresses that host-local gives from an empty pool",
        "\"gw\": \"192.0.2.1\"",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    assert!(!std::path::Path::new("/sys/class/net/wipamtest0").exists());
}

#[test]
fn a_plan_is_json_on_request() {
    let output = plan(GATEWAY, &["--json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["result"]["ips"][0]["address"], "192.0.2.2/24");
    assert_eq!(json["steps"][0]["in"], "host");
}

#[test]
fn a_configuration_that_cannot_be_used_is_said() {
    let output = plan(r#"{"cniVersion":"1.0.0","name":"n","vlan":4095}"#, &[]);
    assert!(!output.status.success());
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        text.contains("vlan: wanted a VLAN id of 1 to 4094, found 4095"),
        "{text}"
    );
}
