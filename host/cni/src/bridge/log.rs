//! A copy of the answer for those who cannot see standard output.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::value::RawValue;

use super::call::Call;
use super::plan::Attached;

#[derive(Serialize)]
struct Line<'a> {
    /// Seconds since 1970.
    time: u64,
    network: &'a str,
    container: &'a str,
    interface: &'a str,
    netns: &'a str,
    result: Box<RawValue>,
}

/// Appends one line of JSON. The lines of several at once do not mix: each is
/// written by one call to a file opened for appending.
pub(crate) fn append(
    file: &Path,
    call: &Call<'_>,
    attached: &Attached,
    result: &str,
) -> io::Result<()> {
    // Without line breaks: a result is printed with them.
    let result: serde_json::Value = serde_json::from_str(result)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let line = Line {
        time: now.map(|now| now.as_secs()).unwrap_or_default(),
        network: call.network.as_str(),
        container: attached.owner.attachment.container.as_str(),
        interface: attached.owner.attachment.interface.as_str(),
        netns: &attached.netns,
        result: serde_json::value::to_raw_value(&result)?,
    };
    let mut text = serde_json::to_string(&line)?;
    text.push('\n');
    let mut file = OpenOptions::new().append(true).create(true).open(file)?;
    file.write_all(text.as_bytes())
}
