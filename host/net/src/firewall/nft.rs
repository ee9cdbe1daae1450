//! nft, spoken to in JSON: names cannot become syntax.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::FirewallError;
use super::nfnetlink::{Family, TableName};
use super::run::run;

impl Family {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Inet => "inet",
            Self::Ip => "ip",
            Self::Bridge => "bridge",
            Self::Ip6 => "ip6",
        }
    }
}

/// Commands that nft does all of, or none.
pub(super) struct Script {
    table: TableName,
    commands: Vec<Value>,
}

impl Script {
    /// Begins with the table, made if it is not there.
    pub(super) fn new(table: TableName) -> Self {
        let add = json!({"add": {"table": {"family": table.family.name(), "name": table.name}}});
        Self {
            table,
            commands: vec![add],
        }
    }

    fn push(&mut self, verb: &str, kind: &str, mut what: Value) {
        what["family"] = json!(self.table.family.name());
        what["table"] = json!(self.table.name);
        self.commands.push(json!({verb: {kind: what}}));
    }

    pub(super) fn add_chain(&mut self, name: &str) {
        self.push("add", "chain", json!({"name": name}));
    }

    pub(super) fn add_base_chain(&mut self, name: &str, kind: &str, hook: &str, priority: i32) {
        let chain = json!({
            "name": name, "type": kind, "hook": hook, "prio": priority, "policy": "accept",
        });
        self.push("add", "chain", chain);
    }

    pub(super) fn flush(&mut self, chain: &str) {
        self.push("flush", "chain", json!({"name": chain}));
    }

    pub(super) fn add_rule(&mut self, chain: &str, comment: Option<&str>, expr: &Value) {
        let mut rule = json!({"chain": chain, "expr": expr});
        if let Some(comment) = comment {
            rule["comment"] = json!(comment);
        }
        self.push("add", "rule", rule);
    }

    pub(super) fn delete_rule(&mut self, chain: &str, handle: u64) {
        self.push("delete", "rule", json!({"chain": chain, "handle": handle}));
    }

    pub(super) fn run(self, nft: &Path, wanted: &'static str) -> Result<(), FirewallError> {
        let input = json!({"nftables": self.commands}).to_string();
        let mut command = Command::new(nft);
        run(command.args(["-j", "-f", "-"]), input.as_bytes(), wanted).map(drop)
    }
}

/// A rule that nft listed.
pub(super) struct Listed {
    pub(super) chain: String,
    pub(super) comment: String,
    /// Without counters.
    pub(super) expr: Vec<Value>,
}

/// The rules of a table that is there.
pub(super) fn list(nft: &Path, table: TableName) -> Result<Vec<Listed>, FirewallError> {
    let mut command = Command::new(nft);
    command.args(["-j", "list", "table", table.family.name(), table.name]);
    let printed = run(&mut command, b"", "list rules")?;
    let printed: Value =
        serde_json::from_slice(&printed).map_err(|source| FirewallError::Json {
            program: nft.to_owned(),
            source,
        })?;
    let text = |rule: &Value, key: &str| rule[key].as_str().unwrap_or("").to_owned();
    let all = printed["nftables"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    Ok(all
        .iter()
        .filter_map(|object| object.get("rule"))
        .map(|rule| Listed {
            chain: text(rule, "chain"),
            comment: text(rule, "comment"),
            expr: rule["expr"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|statement| statement.get("counter").is_none())
                .cloned()
                .collect(),
        })
        .collect())
}

/// A comparison of a field of a packet's header.
pub(super) fn field(operator: &str, protocol: &str, field: &str, right: Value) -> Value {
    let left = json!({"payload": {"protocol": protocol, "field": field}});
    json!({"match": {"op": operator, "left": left, "right": right}})
}
