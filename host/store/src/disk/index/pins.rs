//! A hard link to each record. File systems give a freed inode number to the
//! next file, so name and number alone would not tell a record from one that
//! took its place. While a pin holds the inode, they do.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::path::Path;

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, linkat, unlinkat};
use rustix::io::Errno;

use super::super::listing::{Listed, list};

const NAME: &str = "pins";

/// The pins of a network.
#[derive(Debug)]
pub(super) struct Pins(Dir);

impl Pins {
    pub(super) fn open(folder: &Dir) -> io::Result<Self> {
        folder.open_dir(NAME).map(Self)
    }

    pub(super) fn open_or_create(folder: &Dir) -> io::Result<Self> {
        match folder.create_dir(NAME) {
            Ok(()) => {}
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
            Err(cause) => return Err(cause),
        }
        Self::open(folder)
    }

    /// The inodes that are held.
    pub(super) fn all(&self) -> io::Result<HashMap<IpAddr, u64>> {
        let listed = list(&self.0, Path::new(NAME)).map_err(io::Error::other)?;
        let pinned = |pin: &Listed| Some((pin.address()?, pin.inode));
        Ok(listed.iter().filter_map(pinned).collect())
    }

    /// Holds the record of an address. Without a pin it is only read again
    /// when somebody else has changed the directory, so failing is no harm.
    pub(super) fn pin(&self, network: &Dir, address: IpAddr) {
        let name = address.to_string();
        let link = || linkat(network, &name, &self.0, &name, AtFlags::empty());
        if link() == Err(Errno::EXIST) {
            self.unpin(address);
            let _ = link();
        }
    }

    /// Lets go of it. A pin that stays is found by the next comparison.
    pub(super) fn unpin(&self, address: IpAddr) {
        let _ = unlinkat(&self.0, address.to_string(), AtFlags::empty());
    }
}
