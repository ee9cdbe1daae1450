//! Announcements that ADD does not wait for.

use std::env;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use wipam_net::{Kernel, Mac, Namespace, NetError};

use super::plan::Attached;

/// The argument this program has in the background.
pub(crate) const ARGUMENT: &str = "announce";

/// Time between two announcements.
const APART: Duration = Duration::from_secs(1);

/// Starts this program again, to announce `times` more. It goes on when this
/// one ends.
pub(crate) fn announce(attached: &Attached, mac: Mac, times: u64, warn: &mut dyn FnMut(&str)) {
    let started = env::current_exe().and_then(|program| {
        Command::new(program)
            .arg(ARGUMENT)
            .arg(&attached.netns)
            .arg(attached.owner.attachment.interface.as_str())
            .arg(mac.to_string())
            .arg(times.to_string())
            .env_clear()
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // What ends the caller and its children is not meant for it.
            .process_group(0)
            .spawn()
    });
    if let Err(error) = started {
        warn(&format!("announcing in the background: {error}"));
    }
}

/// What is done in the background.
pub(crate) fn run(mut arguments: impl Iterator<Item = String>) -> ExitCode {
    let mut next = || arguments.next().unwrap_or_default();
    let (netns, link) = (next(), next());
    let (Ok(mac), Ok(times)) = (next().parse::<Mac>(), next().parse::<u64>()) else {
        return ExitCode::FAILURE;
    };
    match repeat(&netns, &link, mac, times) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn repeat(netns: &str, link: &str, mac: Mac, times: u64) -> Result<(), NetError> {
    for _ in 0..times {
        thread::sleep(APART);
        // Opened each time: a container that is gone must not be kept alive.
        let namespace = Namespace::open(netns)?;
        let still_there = namespace.within(|| {
            let mut kernel = Kernel::open()?;
            // Whoever gave it another address meanwhile announces that one.
            let found = kernel.link(link)?.and_then(|link| link.mac);
            if found != Some(mac) {
                return Ok(false);
            }
            wipam_net::announce(&mut kernel, link, mac).map(|()| true)
        })??;
        if !still_there {
            break;
        }
    }
    Ok(())
}
