//! Conversations with the kernel over NETLINK_ROUTE.

use std::io;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload,
    NlasIterator,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::Socket;
use netlink_sys::protocols::NETLINK_ROUTE;
use rustix::io::Errno;

use crate::error::NetError;

/// How often a dump is asked for again when what it lists changes meanwhile.
const DUMP_TRIES: usize = 16;

/// `NLMSGERR_ATTR_MSG`, linux/netlink.h.
const ACK_TEXT: u16 = 1;

/// A conversation with one network namespace: that of the thread that opened
/// it, wherever the thread goes later.
pub struct Kernel {
    socket: Socket,
    sequence: u32,
    buffer: Vec<u8>,
}

/// What came back for a request.
enum Reply {
    Done,
    Interrupted,
}

impl Kernel {
    /// Opens one in this thread's namespace.
    pub fn open() -> Result<Self, NetError> {
        let failed = |cause: io::Error| NetError::Netlink {
            operation: "opening a socket".to_owned(),
            cause: cause.to_string(),
        };
        let mut socket = Socket::new(NETLINK_ROUTE).map_err(failed)?;
        socket.bind_auto().map_err(failed)?;
        // Errors then come with the kernel's words and without the request.
        // Kernels before 4.12 know neither, and need not.
        let _ = socket.set_ext_ack(true);
        let _ = socket.set_cap_ack(true);
        // Only the interfaces, routes and so on that are asked for, where the
        // kernel (4.20) can choose them.
        let _ = socket.set_netlink_get_strict_chk(true);
        Ok(Self {
            socket,
            sequence: 0,
            buffer: Vec::with_capacity(64 << 10),
        })
    }

    /// Has something done. `operation` is what an error says was tried.
    pub(crate) fn change(
        &mut self,
        operation: impl Fn() -> String,
        message: RouteNetlinkMessage,
        flags: u16,
    ) -> Result<(), NetError> {
        self.exchange(&operation, message, NLM_F_ACK | flags, |_| {})
            .map(|_| ())
    }

    /// Asks for one thing; nothing if it is not there.
    pub(crate) fn get(
        &mut self,
        operation: impl Fn() -> String,
        message: RouteNetlinkMessage,
    ) -> Result<Option<RouteNetlinkMessage>, NetError> {
        let mut found = None;
        let outcome = self.exchange(&operation, message, NLM_F_ACK, |message| {
            found = Some(message);
        });
        match outcome {
            Ok(_) => Ok(found),
            Err(error) if error.is(Errno::NODEV) || error.is(Errno::NOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Asks for all of a kind. A list that changed while it was written is
    /// asked for again: half of it could be missing.
    pub(crate) fn dump(
        &mut self,
        operation: impl Fn() -> String,
        message: &RouteNetlinkMessage,
    ) -> Result<Vec<RouteNetlinkMessage>, NetError> {
        for _ in 0..DUMP_TRIES {
            let mut found = Vec::new();
            let reply = self.exchange(&operation, message.clone(), NLM_F_DUMP, |message| {
                found.push(message);
            })?;
            if matches!(reply, Reply::Done) {
                return Ok(found);
            }
        }
        Err(NetError::Netlink {
            operation: operation(),
            cause: format!("the list changed {DUMP_TRIES} times while it was read"),
        })
    }

    fn exchange(
        &mut self,
        operation: &impl Fn() -> String,
        message: RouteNetlinkMessage,
        flags: u16,
        mut each: impl FnMut(RouteNetlinkMessage),
    ) -> Result<Reply, NetError> {
        let broken = |cause: String| NetError::Netlink {
            operation: operation(),
            cause,
        };
        self.sequence = self.sequence.wrapping_add(1);
        let mut request = NetlinkMessage::from(message);
        request.header.flags = NLM_F_REQUEST | flags;
        request.header.sequence_number = self.sequence;
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        self.socket
            .send(&bytes, 0)
            .map_err(|error| broken(error.to_string()))?;

        let mut reply = Reply::Done;
        loop {
            self.buffer.clear();
            match self.socket.recv(&mut self.buffer, 0) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(broken(error.to_string())),
            }
            let mut rest = self.buffer.as_slice();
            while !rest.is_empty() {
                let message = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest)
                    .map_err(|error| broken(error.to_string()))?;
                let length = message.header.length as usize;
                rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
                if message.header.sequence_number != self.sequence {
                    // Of a request that was given up.
                    continue;
                }
                if message.header.flags & NLM_F_DUMP_INTR != 0 {
                    reply = Reply::Interrupted;
                }
                match message.payload {
                    NetlinkPayload::InnerMessage(inner) => each(inner),
                    NetlinkPayload::Done(done) if done.code == 0 => return Ok(reply),
                    NetlinkPayload::Done(done) => {
                        let cause = io::Error::from_raw_os_error(done.code.abs());
                        // EINTR is the older way to say that the list changed.
                        if cause.kind() == io::ErrorKind::Interrupted {
                            return Ok(Reply::Interrupted);
                        }
                        return Err(NetError::Refused {
                            operation: operation(),
                            cause,
                            explanation: String::new(),
                        });
                    }
                    NetlinkPayload::Error(error) if error.code.is_none() => return Ok(reply),
                    NetlinkPayload::Error(error) => {
                        return Err(NetError::Refused {
                            operation: operation(),
                            cause: error.to_io(),
                            explanation: explanation(&error.header),
                        });
                    }
                    _ => {}
                }
            }
        }
    }
}

/// The kernel's words in a refusal: attributes after the header of the request.
fn explanation(refused: &[u8]) -> String {
    const HEADER: usize = 16;
    let attributes = NlasIterator::new(refused.get(HEADER..).unwrap_or_default());
    for attribute in attributes.flatten() {
        if attribute.kind() == ACK_TEXT {
            let text = String::from_utf8_lossy(attribute.value());
            return text.trim_end_matches('\0').to_owned();
        }
    }
    String::new()
}
