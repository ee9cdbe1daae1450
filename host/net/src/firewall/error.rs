use std::io;
use std::path::PathBuf;

/// Why firewall rules could not be read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FirewallError {
    /// Masquerading without any program that could do it.
    #[error("masquerading wants {iptables} or nft, and PATH has neither")]
    NoBackend {
        /// The iptables programs that the addresses ask for.
        iptables: &'static str,
    },
    /// A program that was asked for is not there.
    #[error("{wanted} wants the program {program}, which is not in PATH")]
    Missing {
        /// Its name.
        program: &'static str,
        /// What it was wanted for.
        wanted: &'static str,
    },
    /// A program could not be started.
    #[error("cannot run {}", program.display())]
    Start {
        /// Its path.
        program: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A program refused.
    #[error("{} failed to {wanted}: {found}", program.display())]
    Refused {
        /// Its path.
        program: PathBuf,
        /// What it was to do.
        wanted: &'static str,
        /// Its words, or its exit status if it had none.
        found: String,
    },
    /// `nft -j` printed what is not the JSON it is known to print.
    #[error("{} printed no JSON as wanted", program.display())]
    Json {
        /// Its path.
        program: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The kernel refused a question or a removal.
    #[error("the kernel refused to {wanted}")]
    Kernel {
        /// What it was to do.
        wanted: &'static str,
        /// Its answer.
        source: io::Error,
    },
    /// The chain that spoof checks hang in is somebody's and sees no packets
    /// that arrive.
    #[error(
        "chain PREROUTING of table bridge nat: wanted a chain with hook prerouting, found {found}"
    )]
    BaseChain {
        /// Where it hangs instead.
        found: String,
    },
    /// nft would read the name as a pattern or a set.
    #[error("host interface {0:?}: wanted 1 to 15 bytes without @, * and quotes")]
    HostInterface(String),
    /// Several backends failed.
    #[error("{}", each(.0))]
    Several(Vec<FirewallError>),
}

fn each(errors: &[FirewallError]) -> String {
    let texts: Vec<_> = errors
        .iter()
        .map(|e| match std::error::Error::source(e) {
            Some(source) => format!("{e}: {source}"),
            None => e.to_string(),
        })
        .collect();
    texts.join("; ")
}

/// What all parts gave, or what went wrong in some of them.
pub(super) fn gather(
    parts: impl IntoIterator<Item = Result<Vec<String>, FirewallError>>,
) -> Result<Vec<String>, FirewallError> {
    let mut done = Vec::new();
    let mut errors = Vec::new();
    for part in parts {
        match part {
            Ok(more) => done.extend(more),
            Err(FirewallError::Several(more)) => errors.extend(more),
            Err(error) => errors.push(error),
        }
    }
    match errors.len() {
        0 => Ok(done),
        1 => Err(errors.remove(0)),
        _ => Err(FirewallError::Several(errors)),
    }
}
