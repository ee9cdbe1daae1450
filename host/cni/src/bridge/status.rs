//! STATUS: whether an ADD would work, as far as it can be told cheaply.

use wipam_net::Kernel;

use super::add::look;
use super::call::Call;
use super::config::{Config, ipam_type};
use super::delegate::Ipam;
use super::error::BridgeError;
use super::plan::forwarding_settings;

/// Asks the IPAM plugin, and looks whether the containers that are there can
/// be reached. Like the Go plugin, it does not judge the configuration: that
/// is told, not answered.
pub(crate) fn status(call: &Call<'_>, warn: &mut dyn FnMut(&str)) -> Result<(), BridgeError> {
    let kind = ipam_type(call.document).map_err(|error| BridgeError::Config(error.into()))?;
    if let Some(kind) = kind {
        Ipam::find(&kind, call.invocation)?.command("STATUS")?;
    }
    match Config::read(call.document, &call.invocation.args) {
        Ok(config) => {
            config.warnings.iter().for_each(|warning| warn(warning));
            programs(call, &config, warn);
            forwarding(&config)
        }
        Err(error) => {
            warn(&format!("an ADD would fail: {error}"));
            Ok(())
        }
    }
}

fn programs(call: &Call<'_>, config: &Config, warn: &mut dyn FnMut(&str)) {
    if let Some(masquerading) = &config.masquerading {
        let asked = masquerading.backend;
        match call
            .tools()
            .masquerade_backend(asked, masquerading.v4, false)
        {
            Ok(backend) => {
                let variant = call.tools().iptables_variant().unwrap_or("none");
                warn(&format!(
                    "masquerading with {backend:?} (iptables: {variant})"
                ));
            }
            Err(error) => warn(&format!("an ADD would fail: {error}")),
        }
    }
    if config.spoof_check
        && let Err(error) = call.tools().for_spoof_check()
    {
        warn(&format!("an ADD would fail: {error}"));
    }
}

/// Forwarding that was switched off under containers that need it. An ADD
/// switches it on; before the first, nobody needs it.
fn forwarding(config: &Config) -> Result<(), BridgeError> {
    let there = look(&mut Kernel::open()?, config)?;
    for setting in forwarding_settings(config, there.addresses.iter()) {
        if setting.read()?.is_some_and(|value| value == "0") {
            return Err(BridgeError::Limited(format!(
                "{setting}: wanted 1, found 0: packets of the containers of {} are not forwarded",
                config.bridge
            )));
        }
    }
    Ok(())
}
