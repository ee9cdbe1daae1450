//! A reservation that nobody learns of is undone.

use std::fs::OpenOptions;
use std::io::Write;
use std::process::{Output, Stdio};

use crate::plugin::{Plugin, finish};

/// An ADD whose answer goes there.
fn add_into(plugin: &Plugin, stdout: Stdio) -> Output {
    let mut process = plugin.command("ADD", "c1", "eth0");
    process
        .stdin(Stdio::piped())
        .stdout(stdout)
        .stderr(Stdio::piped());
    let mut child = process.spawn().unwrap();
    let config = plugin.small().to_string();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(config.as_bytes())
        .unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn standard_output_is_full() {
    let plugin = Plugin::new();
    plugin.run("ADD", "before", &plugin.small()).ok();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = add_into(&plugin, full.into());
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("could not be written"));
    assert!(!plugin.has("10.1.0.3"));
    assert!(plugin.has("10.1.0.2"), "what was there before stays");
}

#[test]
fn standard_output_is_closed() {
    let plugin = Plugin::new();
    let mut process = std::process::Command::new("sh");
    process
        .args(["-c", "exec \"$0\" >&-", env!("CARGO_BIN_EXE_host-local")])
        .envs([
            ("CNI_COMMAND", "ADD"),
            ("CNI_CONTAINERID", "c1"),
            ("CNI_IFNAME", "eth0"),
        ])
        .env("CNI_NETNS", "/dev/null");
    let run = finish(process, plugin.small().to_string().as_bytes());
    assert_eq!(run.status, Some(1), "{run:?}");
    assert!(run.stderr.contains("could not be written"), "{run:?}");
    assert!(!plugin.has("10.1.0.2"));
    // Thrown away is not closed.
    add_into(&plugin, Stdio::null());
    assert!(plugin.has("10.1.0.2") || plugin.has("10.1.0.3"));
}

#[test]
fn the_runtime_is_gone() {
    let plugin = Plugin::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = add_into(&plugin, writer.into());
    assert_eq!(output.status.code(), Some(1));
    assert!(!plugin.has("10.1.0.2"));
}
