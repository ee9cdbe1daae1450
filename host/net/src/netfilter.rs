//! Single requests over NETLINK_NETFILTER.

use std::io;

use netlink_packet_core::{
    DecodeError, DefaultNla, Emitable, NLM_F_ACK, NLM_F_REQUEST, NetlinkDeserializable,
    NetlinkHeader, NetlinkMessage, NetlinkPayload, NetlinkSerializable,
};
use netlink_sys::Socket;
use netlink_sys::protocols::NETLINK_NETFILTER;

use crate::error::NetError;

/// A request: `struct nfgenmsg` and attributes.
pub(crate) struct Request<'a> {
    /// Subsystem and message.
    pub(crate) kind: u16,
    /// Address family, as the kernel numbers them.
    pub(crate) family: u8,
    /// Version of the message.
    pub(crate) version: u8,
    /// What it is about.
    pub(crate) attributes: &'a [DefaultNla],
}

#[derive(Clone, Debug)]
struct Raw {
    kind: u16,
    bytes: Vec<u8>,
}

impl NetlinkSerializable for Raw {
    fn message_type(&self) -> u16 {
        self.kind
    }

    fn buffer_len(&self) -> usize {
        self.bytes.len()
    }

    fn serialize(&self, buffer: &mut [u8]) {
        buffer.copy_from_slice(&self.bytes);
    }
}

impl NetlinkDeserializable for Raw {
    type Error = DecodeError;

    fn deserialize(header: &NetlinkHeader, payload: &[u8]) -> Result<Self, DecodeError> {
        Ok(Self {
            kind: header.message_type,
            bytes: payload.to_vec(),
        })
    }
}

/// Sends a request and waits for the acknowledgement. `operation` is what an
/// error says was tried.
pub(crate) fn send(operation: &str, request: &Request<'_>) -> Result<(), NetError> {
    let broken = |cause: String| NetError::Netlink {
        operation: operation.to_owned(),
        cause,
    };
    let mut bytes = vec![request.family, request.version, 0, 0];
    let begin = bytes.len();
    bytes.resize(begin + request.attributes.buffer_len(), 0);
    request.attributes.emit(&mut bytes[begin..]);
    let raw = Raw {
        kind: request.kind,
        bytes,
    };
    let mut message =
        NetlinkMessage::new(NetlinkHeader::default(), NetlinkPayload::InnerMessage(raw));
    message.header.flags = NLM_F_REQUEST | NLM_F_ACK;
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);

    let io = |error: io::Error| broken(error.to_string());
    let mut socket = Socket::new(NETLINK_NETFILTER).map_err(io)?;
    socket.bind_auto().map_err(io)?;
    socket.send(&bytes, 0).map_err(io)?;
    let mut buffer = Vec::with_capacity(16 << 10);
    loop {
        buffer.clear();
        match socket.recv(&mut buffer, 0) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(io(error)),
        }
        let reply = NetlinkMessage::<Raw>::deserialize(&buffer)
            .map_err(|error| broken(error.to_string()))?;
        match reply.payload {
            NetlinkPayload::Error(error) if error.code.is_none() => return Ok(()),
            NetlinkPayload::Error(error) => {
                return Err(NetError::Refused {
                    operation: operation.to_owned(),
                    cause: error.to_io(),
                    explanation: String::new(),
                });
            }
            _ => {}
        }
    }
}
