//! Waiting for what the kernel does in its own time.

use std::time::{Duration, Instant};

use wipam_net::{Kernel, NetError, PortState};

use super::error::BridgeError;

/// How long a port of a bridge without spanning tree may take: the kernel sets
/// it forwarding as soon as it has noticed the carrier.
const CARRIER: Duration = Duration::from_secs(3);

/// How often the kernel is asked whether something has come about: at first,
/// and later.
const IMPATIENT: Duration = Duration::from_micros(200);
const PATIENT: Duration = Duration::from_millis(20);

fn pause(since: Instant) {
    let long = since.elapsed() > PATIENT;
    std::thread::sleep(if long { PATIENT } else { IMPATIENT });
}

/// Waits until the addresses of an interface can be used. It is an error if
/// somebody else has one of them.
pub(crate) fn for_addresses(
    kernel: &mut Kernel,
    index: u32,
    link: &str,
    limit: Duration,
) -> Result<(), BridgeError> {
    let begin = Instant::now();
    loop {
        let addresses = kernel.addresses(Some(index))?;
        let ours = || addresses.iter().filter(|address| !address.link_local);
        if let Some(duplicate) = ours().find(|address| address.duplicate) {
            return Err(BridgeError::Duplicate {
                link: link.to_owned(),
                address: duplicate.address,
            });
        }
        let Some(tentative) = ours().find(|address| address.tentative) else {
            return Ok(());
        };
        if begin.elapsed() > limit {
            return Err(BridgeError::Net(NetError::TimedOut {
                what: format!("address {} of {link}", tentative.address),
                found: "tentative".to_owned(),
                waited_ms: begin.elapsed().as_millis(),
            }));
        }
        pause(begin);
    }
}

/// Waits until a bridge forwards a port's frames: for `limit`, or as long as
/// this bridge needs. If it takes longer, that is an error if it is `required`,
/// and else what there is to say.
pub(crate) fn for_port(
    kernel: &mut Kernel,
    name: &str,
    bridge: &str,
    limit: Option<Duration>,
    required: bool,
) -> Result<Option<String>, BridgeError> {
    let begin = Instant::now();
    let mut time = limit;
    while time != Some(Duration::ZERO) {
        let found = kernel.link(name)?.and_then(|link| link.port);
        let state = found.map(|port| port.state).unwrap_or_default();
        if state == PortState::Forwarding {
            break;
        }
        let time = match time {
            Some(time) => time,
            None => *time.insert(time_of(kernel, bridge)?),
        };
        if begin.elapsed() >= time {
            let error = NetError::TimedOut {
                what: format!("port {name} of {bridge}, wanted to forward"),
                found: state.as_str().to_owned(),
                waited_ms: begin.elapsed().as_millis(),
            };
            // Without carrier it will not forward later either.
            if required || limit.is_none() && state == PortState::Disabled {
                return Err(error.into());
            }
            return Ok(Some(error.to_string()));
        }
        pause(begin);
    }
    Ok(None)
}

/// How long a port of this bridge may take to forward.
fn time_of(kernel: &mut Kernel, bridge: &str) -> Result<Duration, BridgeError> {
    let found = kernel.link(bridge)?.and_then(|link| link.bridge);
    Ok(match found {
        // Listening, then learning: the delay is in hundredths of a second.
        Some(bridge) if bridge.stp => {
            CARRIER + 2 * Duration::from_millis(10 * u64::from(bridge.forward_delay))
        }
        _ => CARRIER,
    })
}
