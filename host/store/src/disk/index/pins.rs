//! A hard link to each record. File systems give a freed inode number to the
//! next file, so name and number alone would not tell a record from one that
//! took its place. While a pin holds the inode, they do.
//!
//! A stamp in the header vouches that every file has its pin, as the one of the
//! network vouches for the entries, so that pins are listed only where a call
//! was killed or a hand was at work.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::path::Path;

use cap_std::fs::Dir;
use rustix::fs::{AtFlags, linkat, unlinkat};
use rustix::io::Errno;

use super::super::listing::{Listed, list};
use super::token::Stamp;

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

    /// Whether nothing was changed here since it had this stamp.
    pub(super) fn have(&self, stamp: Option<Stamp>) -> bool {
        stamp.is_some() && stamp == Stamp::of(&self.0).ok()
    }

    /// The inodes that are held, and the stamp since when they are.
    pub(super) fn all(&self) -> io::Result<(HashMap<IpAddr, u64>, Option<Stamp>)> {
        let stamp = Stamp::set(&self.0)?;
        let listed = list(&self.0, Path::new(NAME)).map_err(io::Error::other)?;
        let pinned = |pin: &Listed| Some((pin.address()?, pin.inode));
        Ok((listed.iter().filter_map(pinned).collect(), stamp))
    }

    /// To be called before the entries of records change: the stamp that
    /// vouches for both together is gone, whenever this process is killed.
    /// Whether it was there.
    pub(super) fn begin(&self, stamp: Option<Stamp>) -> io::Result<bool> {
        let have = self.have(stamp);
        if have {
            Stamp::change(&self.0)?;
        }
        Ok(have)
    }

    /// A stamp that vouches for what was done here.
    pub(super) fn vouch(&self) -> Option<Stamp> {
        Stamp::set(&self.0).unwrap_or(None)
    }

    /// Holds the record of an address; `false` if it is not held. Without a pin
    /// it is only read again when somebody else has changed the directory, so
    /// failing is no harm.
    pub(super) fn pin(&self, network: &Dir, address: IpAddr) -> bool {
        let name = address.to_string();
        let link = || linkat(network, &name, &self.0, &name, AtFlags::empty());
        match link() {
            Err(Errno::EXIST) => self.unpin(address) && link().is_ok(),
            made => made.is_ok(),
        }
    }

    /// Lets go of it; `false` if a pin stays. The next listing finds it.
    pub(super) fn unpin(&self, address: IpAddr) -> bool {
        matches!(
            unlinkat(&self.0, address.to_string(), AtFlags::empty()),
            Ok(()) | Err(Errno::NOENT)
        )
    }
}
