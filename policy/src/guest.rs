//! The component: the imports, the exports, and what a program without the
//! standard library has to bring along.

use alloc::string::String;
use alloc::vec::Vec;
use core::net::IpAddr;
use core::panic::PanicInfo;

use bindings::choice::wipam::ipam::{decision, log as wit_log, pool, state, types};

use crate::types::{Attachment, Notice, Owner, Pod, Range, Request, Reservation};
use crate::{Answer, Span};

/// Generated from `wit/`, the folder beside this crate's.
///
/// The world of a policy that is told of releases is put together from two: its
/// two exports have a macro each, and the component has what is used of them.
#[allow(
    missing_docs,
    unreachable_pub,
    unsafe_code,
    clippy::all,
    clippy::allow_attributes_without_reason,
    reason = "generated code; the calls across the boundary are unsafe by nature"
)]
pub mod bindings {
    pub mod choice {
        wit_bindgen::generate!({
            path: "../wit",
            world: "wipam:ipam/policy",
            pub_export_macro: true,
            export_macro_name: "export_choice",
        });
    }

    pub mod releases {
        wit_bindgen::generate!({
            path: "../wit",
            inline: "
                package wipam:policy-sdk;
                world told { export wipam:ipam/releases@0.1.0; }
            ",
            world: "wipam:policy-sdk/told",
            with: {
                "wipam:ipam/types@0.1.0": super::choice::wipam::ipam::types,
                "wipam:ipam/decision@0.1.0": super::choice::wipam::ipam::decision,
            },
            pub_export_macro: true,
            export_macro_name: "export_releases",
        });
    }
}

/// Makes a component of a function that chooses, and of one that is told of
/// releases, if there is one:
///
/// - `fn choose(&Request, &Pool) -> A`, where `A` is an [`Answer`] or a `Result`
///   of one: an error is a refusal;
/// - `fn released(&Notice, &State) -> Result<(), String>`: an error is logged.
#[macro_export]
macro_rules! policy {
    ($choose:path) => {
        const _: () = {
            struct Policy;
            impl $crate::host::bindings::choice::exports::wipam::ipam::choice::Guest for Policy {
                fn choose(
                    request: $crate::host::bindings::choice::wipam::ipam::decision::Request,
                ) -> $crate::host::bindings::choice::wipam::ipam::decision::Answer {
                    $crate::host::choose(request, $choose)
                }
            }
            $crate::host::bindings::choice::export_choice!(
                Policy with_types_in $crate::host::bindings::choice
            );
        };
    };
    ($choose:path, $released:path) => {
        $crate::policy!($choose);
        const _: () = {
            struct Policy;
            impl $crate::host::bindings::releases::exports::wipam::ipam::releases::Guest for Policy {
                fn released(
                    notice: $crate::host::bindings::choice::wipam::ipam::decision::Notice,
                ) {
                    $crate::host::released(notice, $released);
                }
            }
            $crate::host::bindings::releases::export_releases!(
                Policy with_types_in $crate::host::bindings::releases
            );
        };
    };
}

pub fn choose<A: Into<Answer>>(
    request: decision::Request,
    policy: impl FnOnce(&Request, &crate::Pool) -> A,
) -> decision::Answer {
    let request = Request {
        network: request.network,
        attachment: Attachment {
            container: request.attachment.container,
            interface: request.attachment.interface,
        },
        pod: request.pod.map(|pod| Pod {
            namespace: pod.namespace,
            name: pod.name,
            uid: pod.uid,
        }),
        args: request.args,
        set: request.set,
        config: request.config,
        remembered: request.remembered.map(address),
        time_ms: request.time_ms,
        seed: request.seed,
    };
    let pool = crate::Pool::new(Pool, crate::State::new(State));
    match policy(&request, &pool).into() {
        Answer::Candidates(addresses) => {
            decision::Answer::Candidates(addresses.into_iter().map(to_address).collect())
        }
        Answer::Nothing(why) => decision::Answer::None(why),
        Answer::YouDecide => decision::Answer::YouDecide,
    }
}

pub fn released(
    notice: decision::Notice,
    policy: impl FnOnce(&Notice, &crate::State) -> Result<(), String>,
) {
    let notice = Notice {
        network: notice.network,
        address: address(notice.address),
        owner: Owner {
            container: notice.container,
            interface: notice.interface,
        },
        config: notice.config,
        time_ms: notice.time_ms,
    };
    if let Err(error) = policy(&notice, &crate::State::new(State)) {
        log(&error);
    }
}

pub(crate) fn log(message: &str) {
    wit_log::write(message);
}

pub struct Pool;

impl Pool {
    pub(crate) fn ranges(&self) -> Vec<Range> {
        let to_range = |range: types::Range| {
            Some(Range {
                subnet: address(range.subnet),
                prefix_length: range.prefix_length,
                span: span(range.span)?,
                gateway: range.gateway.map(address),
            })
        };
        pool::ranges().into_iter().filter_map(to_range).collect()
    }

    pub(crate) fn spans(&self) -> Vec<Span> {
        pool::spans().into_iter().filter_map(span).collect()
    }

    pub(crate) fn is_reserved(&self, address: IpAddr) -> bool {
        pool::is_reserved(to_address(address))
    }

    pub(crate) fn next_free(&self, at: IpAddr) -> Option<IpAddr> {
        pool::next_free(to_address(at)).map(address)
    }

    pub(crate) fn last_reserved(&self) -> Option<IpAddr> {
        pool::last_reserved().map(address)
    }

    pub(crate) fn reservations(&self, after: Option<IpAddr>) -> Vec<Reservation> {
        let page = pool::reservations(after.map(to_address)).into_iter();
        page.map(|reservation| Reservation {
            address: address(reservation.address),
            owner: Owner {
                container: reservation.owner.container,
                interface: reservation.owner.interface,
            },
        })
        .collect()
    }
}

pub struct State;

impl State {
    pub(crate) fn get(&self, key: &str) -> Option<Vec<u8>> {
        state::get(key)
    }

    pub(crate) fn set(&self, key: &str, value: &[u8]) -> Result<(), String> {
        state::set(key, value)
    }

    pub(crate) fn remove(&self, key: &str) {
        state::remove(key);
    }

    pub(crate) fn keys(&self) -> Vec<String> {
        state::keys()
    }
}

fn address(from: types::IpAddress) -> IpAddr {
    match from {
        types::IpAddress::Ipv4(bits) => IpAddr::V4(bits.into()),
        types::IpAddress::Ipv6((a, b, c, d)) => {
            let join = |bits, part| bits << 32 | u128::from(part);
            IpAddr::V6([a, b, c, d].into_iter().fold(0, join).into())
        }
    }
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "parts of 128 bits are meant"
)]
fn to_address(from: IpAddr) -> types::IpAddress {
    match from {
        IpAddr::V4(v4) => types::IpAddress::Ipv4(v4.to_bits()),
        IpAddr::V6(v6) => {
            let bits = v6.to_bits();
            let part = |shift: u32| (bits >> shift) as u32;
            types::IpAddress::Ipv6((part(96), part(64), part(32), part(0)))
        }
    }
}

/// Always `Some`: the host gives no span whose ends are reversed.
fn span(from: types::Span) -> Option<Span> {
    Span::new(address(from.first), address(from.last))
}

#[global_allocator]
static HEAP: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

/// Drops what happened, and where: the message holds paths of the machine that
/// built the policy, and two builds would differ. The host reports the trap,
/// and a native test shows the message.
#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}
