//! Failures outside the component, which no component can report.

use std::fmt;
use std::io;

use wipam_core::error::{CniError, code};
use wipam_core::version::Version;
use wipam_engine::EngineError;

/// Why there is no answer from the component.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Standard input could not be read.
    Input(io::Error),
    /// There is more of it than anybody needs.
    TooMuchInput {
        /// Bytes that would have been read.
        most: u64,
    },
    /// The component failed.
    Engine(EngineError),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(error) => write!(f, "reading standard input: {error}"),
            Self::TooMuchInput { most } => write!(
                f,
                "standard input: wanted a network configuration of at most {most} bytes, found more"
            ),
            Self::Engine(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Failure {}

impl Failure {
    /// The error object to print.
    pub(crate) fn to_cni(&self) -> CniError {
        let code = match self {
            Self::Input(_) => code::IO,
            Self::TooMuchInput { .. } => code::DECODE,
            Self::Engine(EngineError::Trapped(_)) => code::COMPONENT_TRAPPED,
            Self::Engine(EngineError::Overran(_)) => code::COMPONENT_OVERRAN,
            Self::Engine(EngineError::Load(_) | EngineError::Instantiate(_)) => {
                code::COMPONENT_UNUSABLE
            }
        };
        CniError {
            cni_version: Version::V1_1_0.as_str(),
            code,
            msg: self.to_string(),
            details: String::new(),
        }
    }
}
