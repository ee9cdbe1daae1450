//! What every command works with.

use wipam_core::invoke::Invocation;
use wipam_core::json::Object;
use wipam_core::names::{Attachment, NetworkName};
use wipam_core::version::Version;
use wipam_net::firewall::{Owner, Tools};

/// An invocation whose parameters were read.
pub(crate) struct Call<'a> {
    pub(crate) invocation: &'a Invocation,
    pub(crate) document: &'a Object<'a>,
    pub(crate) network: NetworkName,
    pub(crate) version: Version,
    pub(crate) tools: Tools,
}

impl Call<'_> {
    pub(crate) fn owner(&self, attachment: &Attachment) -> Owner {
        Owner {
            network: self.network.clone(),
            attachment: attachment.clone(),
        }
    }
}
