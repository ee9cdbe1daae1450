//! What the protocol hands over: `CNI_*` variables and standard input.

use std::env;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;

use wipam_core::parameters::Invocation;

use crate::failure::Failure;

/// Most that is read from standard input. Configurations are some hundred
/// bytes; with a prevResult of many interfaces some ten thousand.
const MOST_INPUT: u64 = 8 << 20;

/// A variable's value. One that is not set is empty, and bytes that are no
/// UTF-8 become U+FFFD, which no name may contain.
pub(crate) fn variable(name: &str) -> String {
    env::var_os(name)
        .map(|value| value.to_string_lossy().into_owned())
        .unwrap_or_default()
}

/// Reads the parameters. VERSION reads no standard input, as with the
/// reference: a caller need not provide any.
pub(crate) fn read(command: String) -> Result<Invocation, Failure> {
    let config = if command == "VERSION" {
        Vec::new()
    } else {
        standard_input()?
    };
    let netns = variable("CNI_NETNS");
    let own_netns = is_own(&netns) && !is_meant(&variable("CNI_NETNS_OVERRIDE"));
    Ok(Invocation {
        command,
        container_id: variable("CNI_CONTAINERID"),
        interface_name: variable("CNI_IFNAME"),
        netns,
        own_netns,
        args: variable("CNI_ARGS"),
        path: variable("CNI_PATH"),
        config,
    })
}

pub(crate) fn standard_input() -> Result<Vec<u8>, Failure> {
    let mut config = Vec::new();
    let mut bounded = io::stdin().lock().take(MOST_INPUT + 1);
    bounded.read_to_end(&mut config).map_err(Failure::Input)?;
    if config.len() as u64 > MOST_INPUT {
        return Err(Failure::TooMuchInput { most: MOST_INPUT });
    }
    Ok(config)
}

/// Whether a path is the network name space of this process. A path that
/// cannot be looked at is not.
fn is_own(netns: &str) -> bool {
    let identity = |path: &str| {
        fs::metadata(path)
            .ok()
            .map(|found| (found.dev(), found.ino()))
    };
    !netns.is_empty() && identity(netns).is_some_and(|it| Some(it) == identity("/proc/self/ns/net"))
}

fn is_meant(value: &str) -> bool {
    value == "1" || value.eq_ignore_ascii_case("true")
}
