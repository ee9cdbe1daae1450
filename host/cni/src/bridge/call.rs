//! What every command works with.

use std::env;
use std::sync::OnceLock;

use wipam_core::json::Object;
use wipam_core::names::{Attachment, NetworkName};
use wipam_core::parameters::Invocation;
use wipam_core::version::Version;
use wipam_net::firewall::{Owner, Tools};

/// An invocation whose parameters were read.
pub(crate) struct Call<'a> {
    pub(crate) invocation: &'a Invocation,
    pub(crate) document: &'a Object<'a>,
    pub(crate) network: NetworkName,
    pub(crate) version: Version,
    tools: OnceLock<Tools>,
}

impl<'a> Call<'a> {
    pub(crate) fn new(
        invocation: &'a Invocation,
        document: &'a Object<'a>,
        network: NetworkName,
        version: Version,
    ) -> Self {
        Self {
            invocation,
            document,
            network,
            version,
            tools: OnceLock::new(),
        }
    }

    /// The firewall's programs. They are looked for when they are first wanted:
    /// there are better things for DEL to begin with.
    pub(crate) fn tools(&self) -> &Tools {
        self.tools
            .get_or_init(|| Tools::find(&env::var_os("PATH").unwrap_or_default()))
    }

    pub(crate) fn owner(&self, attachment: &Attachment) -> Owner {
        Owner {
            network: self.network.clone(),
            attachment: attachment.clone(),
        }
    }
}
