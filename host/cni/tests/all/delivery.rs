//! A reservation that nobody learns of is undone.

use std::fs::OpenOptions;
use std::process::Stdio;

use crate::plugin::{Plugin, start, wait};

#[test]
fn standard_output_is_full() {
    let plugin = Plugin::new();
    plugin.run("ADD", "before", &plugin.small()).ok();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut process = plugin.command("ADD", "c1", "eth0");
    process
        .stdin(Stdio::piped())
        .stdout(full)
        .stderr(Stdio::piped());
    let mut child = process.spawn().unwrap();
    std::io::Write::write_all(
        &mut child.stdin.take().unwrap(),
        plugin.small().to_string().as_bytes(),
    )
    .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("could not be written"));
    assert!(!plugin.has("10.1.0.3"));
    assert!(plugin.has("10.1.0.2"), "what was there before stays");
}

#[test]
fn the_runtime_is_gone() {
    let plugin = Plugin::new();
    let mut child = start(plugin.command("ADD", "c1", "eth0"), b"");
    drop(child.stdout.take());
    drop(child.wait());
    // As above, but with a configuration, and nobody to read the answer.
    let mut process = plugin.command("ADD", "c1", "eth0");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    process
        .stdin(Stdio::piped())
        .stdout(writer)
        .stderr(Stdio::piped());
    let mut child = process.spawn().unwrap();
    std::io::Write::write_all(
        &mut child.stdin.take().unwrap(),
        plugin.small().to_string().as_bytes(),
    )
    .unwrap();
    assert_eq!(wait(child).status, Some(1));
    assert!(!plugin.has("10.1.0.2"));
}
