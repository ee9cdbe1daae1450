use std::fmt;

use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use super::nfnetlink::{Nfnetlink, Removal, TableName};
use super::{Backend, FirewallError, nft_masquerade, spoof};

/// A table of nftables that several owners share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Table {
    /// `inet cni_plugins_masquerade`.
    Masquerade,
    /// `bridge nat`.
    BridgeNat,
}

impl Table {
    fn name(self) -> TableName {
        match self {
            Self::Masquerade => nft_masquerade::TABLE,
            Self::BridgeNat => spoof::TABLE,
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Masquerade => "table inet cni_plugins_masquerade",
            Self::BridgeNat => "table bridge nat",
        })
    }
}

/// The shared tables that are not there yet, and that masquerading with that
/// backend, or a spoof check, would make.
pub fn absent_tables(
    masquerade: Option<Backend>,
    spoof_check: bool,
) -> Result<Vec<Table>, FirewallError> {
    let mut tables = Vec::new();
    if masquerade == Some(Backend::Nftables) {
        tables.push(Table::Masquerade);
    }
    if spoof_check {
        tables.push(Table::BridgeNat);
    }
    if tables.is_empty() {
        return Ok(tables);
    }
    let Some(kernel) = Nfnetlink::open()? else {
        return Ok(tables);
    };
    let mut absent = Vec::new();
    for table in tables {
        if !kernel.has_table(table.name())? {
            absent.push(table);
        }
    }
    Ok(absent)
}

/// Removes a table that was absent before and serves nobody now; tells whether
/// it did. Who comes between keeps it: the kernel refuses to remove what is
/// not empty.
pub fn remove_unused(table: Table) -> Result<bool, FirewallError> {
    let Some(kernel) = Nfnetlink::open()? else {
        return Ok(false);
    };
    let name = table.name();
    let chains = kernel.chains(name)?;
    let ours = |chain: &str| match table {
        Table::Masquerade => [
            nft_masquerade::POSTROUTING,
            nft_masquerade::CHECKS,
            nft_masquerade::INVALID,
        ]
        .contains(&chain),
        Table::BridgeNat => chain == spoof::PREROUTING,
    };
    if !chains.iter().all(|chain| ours(&chain.name)) || !kernel.has_table(name)? {
        return Ok(false);
    }
    let rules = kernel.rules(name, None)?;
    // These lead to the rules of owners, and have none of their own.
    let leading = |chain: &str| table == Table::Masquerade && chain == nft_masquerade::POSTROUTING;
    if rules
        .iter()
        .any(|r| !leading(&r.chain) || r.comment.is_some())
    {
        return Ok(false);
    }
    let mut steps: Vec<_> = rules
        .iter()
        .map(|rule| Removal::Rule {
            chain: &rule.chain,
            handle: rule.handle,
        })
        .collect();
    steps.extend(chains.iter().map(|c| Removal::EmptyChain(&c.name)));
    steps.push(Removal::EmptyTable);
    match kernel.transact(name, &steps) {
        Ok(()) => Ok(true),
        Err(e) if matches!(Errno::from_io_error(&e), Some(Errno::BUSY | Errno::NOENT)) => Ok(false),
        Err(source) => Err(FirewallError::Kernel {
            wanted: "remove a table",
            source,
        }),
    }
}
