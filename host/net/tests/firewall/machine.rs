//! A network namespace, and what is in it.

use std::ffi::OsString;
use std::fs;
use std::net::IpAddr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use ipnet::IpNet;
use rustix::thread::{UnshareFlags, unshare_unsafe};
use wipam_core::names::{Attachment, ContainerId, InterfaceName, NetworkName};
use wipam_net::firewall::{Masquerade, Owner, Tools};

/// What containerd calls a container.
pub(crate) const LONG: &str = "3f29b1c0a7de4f6588c1b7a2d9e0f4135c6b7a8990123456789abcdef0123456";

/// Runs `test` in a new network namespace.
pub(crate) fn alone(test: impl FnOnce() + Send) {
    if !rustix::process::geteuid().is_root() {
        #[allow(clippy::print_stderr, reason = "tests say why they do nothing")]
        {
            eprintln!("SKIP firewall: needs root");
        }
        return;
    }
    let run = || {
        // SAFETY: only the network is unshared, and only for this thread.
        #[allow(unsafe_code, reason = "the system call is marked so for files")]
        unsafe {
            unshare_unsafe(UnshareFlags::NEWNET).unwrap();
        }
        test();
    };
    std::thread::scope(|scope| {
        if let Err(panic) = scope.spawn(run).join() {
            std::panic::resume_unwind(panic);
        }
    });
}

pub(crate) fn attachment(container: &str, interface: &str) -> Attachment {
    Attachment {
        container: ContainerId::new(container).unwrap(),
        interface: InterfaceName::new(interface).unwrap(),
    }
}

pub(crate) fn owner(network: &str, container: &str, interface: &str) -> Owner {
    Owner {
        network: NetworkName::new(network).unwrap(),
        attachment: attachment(container, interface),
    }
}

pub(crate) fn masquerade_of(owner: &Owner, addresses: &[&str]) -> Masquerade {
    Masquerade {
        owner: owner.clone(),
        addresses: addresses.iter().map(|a| a.parse().unwrap()).collect(),
        live: Vec::new(),
        drop_invalid: false,
    }
}

pub(crate) fn hosts(addresses: &[&str]) -> Vec<IpAddr> {
    addresses
        .iter()
        .map(|a| a.parse::<IpNet>().unwrap().addr())
        .collect()
}

pub(crate) fn all_tools() -> Tools {
    Tools::find(&std::env::var_os("PATH").unwrap())
}

/// A search path with only these programs: links to the files behind them,
/// given as `name` or as `name=program`.
pub(crate) fn only(programs: &[&str]) -> OsString {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("path-{}-{number}", std::process::id()));
    fs::create_dir_all(&directory).unwrap();
    for program in programs {
        let (name, program) = program.split_once('=').unwrap_or((program, program));
        symlink(which(program).canonicalize().unwrap(), directory.join(name)).unwrap();
    }
    directory.into()
}

fn which(program: &str) -> PathBuf {
    std::env::split_paths(&std::env::var_os("PATH").unwrap())
        .map(|directory| directory.join(program))
        .find(|file| file.exists())
        .unwrap()
}

pub(crate) fn sh(line: &str) -> String {
    let output = Command::new("sh").args(["-ec", line]).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// The rules of a program of iptables, without the kernel's chains.
pub(crate) fn listed(program: &str, table: &str) -> Vec<String> {
    sh(&format!("{program} -t {table} -S"))
        .lines()
        .filter(|line| !line.starts_with("-P"))
        .map(str::to_owned)
        .collect()
}

/// The rules of a table of nft, without comments of tables and chains.
pub(crate) fn nft(table: &str) -> Vec<String> {
    sh(&format!("nft list table {table} 2>/dev/null || true"))
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && *line != "}" && !line.starts_with("comment"))
        .map(str::to_owned)
        .collect()
}
