//! What nf_tables has, asked of the kernel itself, and removals by handle.
//! Running `nft` for either takes a hundred times as long; only making rules
//! is worth its compiler.

use std::io;

use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_NETFILTER};
use rustix::io::Errno;

use super::FirewallError;

/// Address family of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Inet = 1,
    Ip = 2,
    Bridge = 7,
    Ip6 = 10,
}

/// A table's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TableName {
    pub(super) family: Family,
    pub(super) name: &'static str,
}

/// A chain.
#[derive(Debug)]
pub(super) struct Chain {
    pub(super) name: String,
    /// The hook's number, of a base chain.
    pub(super) hook: Option<u32>,
}

/// A rule.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) chain: String,
    pub(super) handle: u64,
    pub(super) comment: Option<String>,
    /// The whole message: iptables keeps its comments inside the expressions.
    pub(super) raw: Vec<u8>,
}

impl Rule {
    /// What it was compiled to.
    pub(super) fn expressions(&self) -> &[u8] {
        let all = attributes(self.raw.get(HEADERS..).unwrap_or(&[]));
        value(&all, RULE_EXPRESSIONS).unwrap_or(&[])
    }
}

/// A step of a [`Nfnetlink::transact`].
#[derive(Debug)]
pub(super) enum Removal<'a> {
    Rule {
        chain: &'a str,
        handle: u64,
    },
    /// With its rules; refused while a rule elsewhere jumps to it.
    Chain(&'a str),
    /// Refused while it has rules.
    EmptyChain(&'a str),
    /// Refused while it has anything.
    EmptyTable,
}

const SUBSYSTEM: u16 = 10 << 8;
const GET_TABLE: u16 = SUBSYSTEM | 1;
const DELETE_TABLE: u16 = SUBSYSTEM | 2;
const GET_CHAIN: u16 = SUBSYSTEM | 4;
const DELETE_CHAIN: u16 = SUBSYSTEM | 5;
const GET_RULE: u16 = SUBSYSTEM | 7;
const DELETE_RULE: u16 = SUBSYSTEM | 8;
const BATCH_BEGIN: u16 = 16;
const BATCH_END: u16 = 17;

const ERROR: u16 = 2;
const DONE: u16 = 3;

const REQUEST: u16 = 1;
const ACK: u16 = 4;
const DUMP_INTERRUPTED: u16 = 0x10;
const NOT_RECURSIVE: u16 = 0x100;
const DUMP: u16 = 0x300;

const TABLE_NAME: u16 = 1;
const CHAIN_TABLE: u16 = 1;
const CHAIN_NAME: u16 = 3;
const CHAIN_HOOK: u16 = 4;
const HOOK_NUMBER: u16 = 1;
const RULE_TABLE: u16 = 1;
const RULE_CHAIN: u16 = 2;
const RULE_HANDLE: u16 = 3;
const RULE_EXPRESSIONS: u16 = 4;
const RULE_USERDATA: u16 = 7;
const USERDATA_COMMENT: u8 = 0;

/// Length of the headers of netlink and of nfnetlink.
const NETLINK_HEADER: usize = 16;
const HEADERS: usize = NETLINK_HEADER + 4;

/// How often a dump is begun anew because the rules changed during it.
const DUMP_ATTEMPTS: u32 = 10;

/// A socket to nf_tables.
pub(super) struct Nfnetlink {
    socket: Socket,
}

impl Nfnetlink {
    /// `None` if the kernel has no nfnetlink: then it has no tables either.
    pub(super) fn open() -> Result<Option<Self>, FirewallError> {
        let open = || -> io::Result<Socket> {
            let socket = Socket::new(NETLINK_NETFILTER)?;
            // Answers wait in the socket before a request returns.
            socket.set_non_blocking(true)?;
            socket.connect(&SocketAddr::new(0, 0))?;
            Ok(socket)
        };
        match open() {
            Ok(socket) => Ok(Some(Self { socket })),
            Err(e) if is_absent(&e) => Ok(None),
            Err(source) => Err(FirewallError::Kernel {
                wanted: "open a netfilter socket",
                source,
            }),
        }
    }

    /// Whether there is such a table.
    pub(super) fn has_table(&self, table: TableName) -> Result<bool, FirewallError> {
        let mut request = Message::new(GET_TABLE, REQUEST | ACK, table.family as u8);
        request.text(TABLE_NAME, table.name);
        let found = self.ask(request, "look for a table")?;
        Ok(!found.is_empty())
    }

    /// A chain, if there is such a one.
    pub(super) fn chain(
        &self,
        table: TableName,
        name: &str,
    ) -> Result<Option<Chain>, FirewallError> {
        let mut request = Message::new(GET_CHAIN, REQUEST | ACK, table.family as u8);
        request.text(CHAIN_TABLE, table.name);
        request.text(CHAIN_NAME, name);
        let found = self.ask(request, "look for a chain")?;
        Ok(found.iter().find_map(|m| read_chain(m, table)))
    }

    /// The chains of a table.
    pub(super) fn chains(&self, table: TableName) -> Result<Vec<Chain>, FirewallError> {
        // The kernel knows no filter for this dump.
        let found = self.dump("list chains", || {
            Message::new(GET_CHAIN, REQUEST | DUMP, table.family as u8)
        })?;
        Ok(found.iter().filter_map(|m| read_chain(m, table)).collect())
    }

    /// The rules of a table, or of one of its chains.
    pub(super) fn rules(
        &self,
        table: TableName,
        chain: Option<&str>,
    ) -> Result<Vec<Rule>, FirewallError> {
        let found = self.dump("list rules", || {
            let mut request = Message::new(GET_RULE, REQUEST | DUMP, table.family as u8);
            request.text(RULE_TABLE, table.name);
            if let Some(chain) = chain {
                request.text(RULE_CHAIN, chain);
            }
            request
        })?;
        // An old kernel does not filter.
        Ok(found
            .into_iter()
            .filter_map(|m| read_rule(m, table))
            .filter(|rule| chain.is_none_or(|chain| rule.chain == chain))
            .collect())
    }

    /// Does all of it, or nothing.
    pub(super) fn transact(&self, table: TableName, steps: &[Removal<'_>]) -> io::Result<()> {
        let mut batch = Message::frame(BATCH_BEGIN).0;
        for step in steps {
            let (kind, flags) = match step {
                Removal::Rule { .. } => (DELETE_RULE, 0),
                Removal::Chain(_) => (DELETE_CHAIN, 0),
                Removal::EmptyChain(_) => (DELETE_CHAIN, NOT_RECURSIVE),
                Removal::EmptyTable => (DELETE_TABLE, NOT_RECURSIVE),
            };
            let mut message = Message::new(kind, REQUEST | ACK | flags, table.family as u8);
            // The table's attribute is the first of all three kinds.
            message.text(TABLE_NAME, table.name);
            match step {
                Removal::Rule { chain, handle } => {
                    message.text(RULE_CHAIN, chain);
                    message.attribute(RULE_HANDLE, &handle.to_be_bytes());
                }
                Removal::Chain(name) | Removal::EmptyChain(name) => {
                    message.text(CHAIN_NAME, name);
                }
                Removal::EmptyTable => {}
            }
            batch.extend(message.finish());
        }
        batch.extend(Message::frame(BATCH_END).finish());
        self.socket.send(&batch, 0)?;
        let mut answered = 0;
        while answered < steps.len() {
            for message in split(&self.receive()?) {
                if kind_of(message) == ERROR {
                    answered += 1;
                    refusal(message)?;
                }
            }
        }
        Ok(())
    }

    /// Asks for one thing; nothing comes if it does not exist.
    fn ask(&self, request: Message, wanted: &'static str) -> Result<Vec<Vec<u8>>, FirewallError> {
        self.answers(request.finish())
            .map(|(found, _)| found)
            .map_err(|source| FirewallError::Kernel { wanted, source })
    }

    fn dump(
        &self,
        wanted: &'static str,
        request: impl Fn() -> Message,
    ) -> Result<Vec<Vec<u8>>, FirewallError> {
        let mut attempt = 1;
        loop {
            let (found, whole) = self
                .answers(request().finish())
                .map_err(|source| FirewallError::Kernel { wanted, source })?;
            if whole || attempt == DUMP_ATTEMPTS {
                return Ok(found);
            }
            attempt += 1;
        }
    }

    /// Everything up to the end or the acknowledgement, and whether nothing
    /// changed in between.
    fn answers(&self, request: Vec<u8>) -> io::Result<(Vec<Vec<u8>>, bool)> {
        self.socket.send(&request, 0)?;
        let mut found = Vec::new();
        let mut whole = true;
        loop {
            for message in split(&self.receive()?) {
                whole &= u16_at(message, 6) & DUMP_INTERRUPTED == 0;
                match kind_of(message) {
                    DONE => return Ok((found, whole)),
                    ERROR => match refusal(message) {
                        Ok(()) => return Ok((found, whole)),
                        Err(e) if is_absent(&e) => return Ok((Vec::new(), true)),
                        Err(e) if Errno::from_io_error(&e) == Some(Errno::INTR) => whole = false,
                        Err(e) => return Err(e),
                    },
                    _ => found.push(message.to_vec()),
                }
            }
        }
    }

    fn receive(&self) -> io::Result<Vec<u8>> {
        // The kernel makes no message of a dump longer than this.
        let mut buffer = Vec::with_capacity(1 << 16);
        self.socket.recv(&mut buffer, 0)?;
        Ok(buffer)
    }
}

/// What the kernel says of a thing, a family or a subsystem it has not.
fn is_absent(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(
            Errno::NOENT
                | Errno::INVAL
                | Errno::OPNOTSUPP
                | Errno::PROTONOSUPPORT
                | Errno::AFNOSUPPORT
        )
    )
}

/// A message being written.
struct Message(Vec<u8>);

impl Message {
    fn new(kind: u16, flags: u16, family: u8) -> Self {
        let mut bytes = vec![0; HEADERS];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        bytes[NETLINK_HEADER] = family;
        let mut message = Self(bytes);
        message.measure();
        message
    }

    /// The beginning or end of a transaction: names the subsystem.
    fn frame(kind: u16) -> Self {
        let mut message = Self::new(kind, REQUEST, 0);
        message.0[HEADERS - 2..HEADERS].copy_from_slice(&(SUBSYSTEM >> 8).to_be_bytes());
        message
    }

    fn text(&mut self, kind: u16, text: &str) {
        let mut value = text.as_bytes().to_vec();
        value.push(0);
        self.attribute(kind, &value);
    }

    fn attribute(&mut self, kind: u16, value: &[u8]) {
        // Names have at most 255 bytes or so: what is longer, the kernel
        // refuses for its announced length.
        let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
        self.0.extend(length.to_ne_bytes());
        self.0.extend(kind.to_ne_bytes());
        self.0.extend(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
        self.measure();
    }

    fn measure(&mut self) {
        let length = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        self.0[..4].copy_from_slice(&length.to_ne_bytes());
    }

    fn finish(self) -> Vec<u8> {
        self.0
    }
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    match bytes.get(at..at + 2) {
        Some(&[a, b]) => u16::from_ne_bytes([a, b]),
        _ => 0,
    }
}

fn kind_of(message: &[u8]) -> u16 {
    u16_at(message, 4)
}

/// The messages in a buffer.
fn split(mut buffer: &[u8]) -> Vec<&[u8]> {
    let mut messages = Vec::new();
    while let Some(&[a, b, c, d]) = buffer.get(..4) {
        let length = u32::from_ne_bytes([a, b, c, d]) as usize;
        if length < NETLINK_HEADER || length > buffer.len() {
            break;
        }
        messages.push(&buffer[..length]);
        buffer = buffer.get(length.next_multiple_of(4)..).unwrap_or(&[]);
    }
    messages
}

/// An acknowledgement is an error of number 0.
fn refusal(message: &[u8]) -> io::Result<()> {
    match message.get(NETLINK_HEADER..NETLINK_HEADER + 4) {
        Some(&[a, b, c, d]) => match i32::from_ne_bytes([a, b, c, d]) {
            0 => Ok(()),
            code => Err(io::Error::from_raw_os_error(-code)),
        },
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// The attributes in a payload: kind and value.
fn attributes(mut bytes: &[u8]) -> Vec<(u16, &[u8])> {
    let mut found = Vec::new();
    while bytes.len() >= 4 {
        let length = usize::from(u16_at(bytes, 0));
        if length < 4 || length > bytes.len() {
            break;
        }
        // The two upper bits say how the value is written.
        found.push((u16_at(bytes, 2) & 0x3fff, &bytes[4..length]));
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or(&[]);
    }
    found
}

fn value<'a>(attributes: &[(u16, &'a [u8])], kind: u16) -> Option<&'a [u8]> {
    attributes.iter().find(|a| a.0 == kind).map(|a| a.1)
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn read_chain(message: &[u8], table: TableName) -> Option<Chain> {
    let all = attributes(message.get(HEADERS..)?);
    if text(value(&all, CHAIN_TABLE)?) != table.name {
        return None;
    }
    let hook = value(&all, CHAIN_HOOK).and_then(|hook| {
        let number = value(&attributes(hook), HOOK_NUMBER)?;
        Some(u32::from_be_bytes(number.try_into().ok()?))
    });
    Some(Chain {
        name: text(value(&all, CHAIN_NAME)?),
        hook,
    })
}

fn read_rule(raw: Vec<u8>, table: TableName) -> Option<Rule> {
    let all = attributes(raw.get(HEADERS..)?);
    if text(value(&all, RULE_TABLE)?) != table.name {
        return None;
    }
    let handle = u64::from_be_bytes(value(&all, RULE_HANDLE)?.try_into().ok()?);
    let chain = text(value(&all, RULE_CHAIN)?);
    let comment = value(&all, RULE_USERDATA).and_then(comment_in);
    Some(Rule {
        chain,
        handle,
        comment,
        raw,
    })
}

/// User data is nft's own: a byte of kind, a byte of length, the value.
fn comment_in(mut data: &[u8]) -> Option<String> {
    while let Some((&[kind, length], rest)) = data.split_first_chunk() {
        let value = rest.get(..usize::from(length))?;
        if kind == USERDATA_COMMENT {
            return Some(text(value));
        }
        data = &rest[value.len()..];
    }
    None
}
