//! Questions to try a policy with, where there is no network to ask for.

use std::error::Error;
use std::net::IpAddr;

use wipam_core::config::Config;
use wipam_core::json::Field;
use wipam_core::names::{Attachment, ContainerId, InterfaceName, NetworkName};
use wipam_core::policy::{Pod, Request, View};
use wipam_core::pool::HoldBack;
use wipam_core::store::Store;
use wipam_core::version::Version;
use wipam_store::MemoryStore;

/// A network that no policy knows: two ranges, some addresses of which are
/// reserved.
const NETWORK: &str = r#"{ "name": "sample", "cniVersion": "1.1.0", "ipam": { "ranges":
    [[{ "subnet": "10.1.0.0/24" }, { "subnet": "10.2.0.0/24" }], [{ "subnet": "fd00::/64" }]] } }"#;

/// How many questions there are for each range set.
const QUESTIONS: u64 = 16;

/// A question, and the reservations at the time.
pub(crate) struct Question {
    pub(crate) store: MemoryStore,
    pub(crate) request: Request,
    pub(crate) view: View,
}

/// The same questions each time, about the ranges of `network` or, without,
/// about some others, put with a policy's `config`.
pub(crate) fn questions(
    network: Option<&str>,
    config: &str,
) -> Result<Vec<Question>, Box<dyn Error>> {
    let document = Field::document(network.unwrap_or(NETWORK))?.object()?;
    let ranges = Config::read(&document, "", Version::V1_1_0)?;
    let mut questions = Vec::new();
    for (index, set) in ranges.sets.iter().enumerate() {
        for number in 0..QUESTIONS {
            let spans = set.givable();
            let mut store = MemoryStore::fresh();
            let mut last = None;
            for taken in 0..number {
                for span in &spans {
                    if let Some(address) = store.next_free(*span)? {
                        let owner = attachment(&format!("other{taken}"))?;
                        store.reserve(address, &owner)?;
                        last = Some(address);
                    }
                }
            }
            questions.push(Question {
                store,
                request: request(number, index, config)?,
                view: View {
                    ranges: set.ranges().to_vec(),
                    spans,
                    hold_back: HoldBack::default(),
                    last_reserved: last,
                },
            });
        }
    }
    Ok(questions)
}

fn attachment(container: &str) -> Result<Attachment, Box<dyn Error>> {
    Ok(Attachment {
        container: ContainerId::new(container)?,
        interface: InterfaceName::new("eth0")?,
    })
}

fn request(number: u64, set: usize, config: &str) -> Result<Request, Box<dyn Error>> {
    let pod = Pod {
        namespace: format!("namespace-{}", number % 3),
        name: format!("pod-{number}"),
        uid: None,
    };
    let args = [
        ("IgnoreUnknown".to_owned(), "1".to_owned()),
        ("K8S_POD_NAMESPACE".to_owned(), pod.namespace.clone()),
        ("K8S_POD_NAME".to_owned(), pod.name.clone()),
    ];
    let none: Option<IpAddr> = None;
    Ok(Request {
        network: NetworkName::new("sample")?,
        attachment: attachment(&format!("container-{number}"))?,
        // Not every container is in Kubernetes.
        pod: (!number.is_multiple_of(4)).then_some(pod),
        args: args.into(),
        set: u32::try_from(set)?,
        config: config.to_owned(),
        remembered: none,
        time_ms: 1_700_000_000_000 + number * 1000,
        seed: number.wrapping_mul(0x9E37_79B9_7F4A_7C15),
    })
}
