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
        match call.tools().masquerade_backend(
            asked,
            masquerading.v4,
            masquerading.v6 && !masquerading.v4,
        ) {
            Ok(backend) => {
                let variant = call.tools().iptables_variant().unwrap_or("none");
                warn(&format!(
                    "masquerading with {backend} (iptables here: {variant})"
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
        let found = setting.read()?.unwrap_or_else(|| "nothing".to_owned());
        if matches!(found.as_str(), "0" | "nothing") {
            return Err(BridgeError::Limited(format!(
                "{setting}: wanted 1, found {found}: packets of the containers of {} are not \
                 forwarded",
                config.bridge
            )));
        }
    }
    Ok(())
}
