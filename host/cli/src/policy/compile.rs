//! `wipam policy compile`.

use std::error::Error;
use std::io::{self, Read, Write};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use wipam_engine::policy::precompile;

/// Most bytes of a component: as much as `limits.component` can be.
const MOST: u64 = 256 << 20;

/// What compiling may take. A component can be written so that it takes time
/// and memory in no proportion to its size, and an ADD waits for this.
const MOST_MEMORY: u64 = 4 << 30;
const MOST_SECONDS: u64 = 120;

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    limit(Resource::As, MOST_MEMORY)?;
    limit(Resource::Cpu, MOST_SECONDS)?;
    let mut component = Vec::new();
    io::stdin()
        .lock()
        .take(MOST + 1)
        .read_to_end(&mut component)?;
    if component.len() as u64 > MOST {
        return Err(format!("wanted a component of at most {MOST} bytes, found more").into());
    }
    let code = precompile(&component)?;
    let mut out = io::stdout().lock();
    out.write_all(&code)?;
    out.flush()?;
    Ok(())
}

/// Lowers a limit of this process, unless it is lower already.
fn limit(resource: Resource, most: u64) -> rustix::io::Result<()> {
    let Rlimit { current, maximum } = getrlimit(resource);
    let lower = |limit: Option<u64>| Some(limit.map_or(most, |limit| limit.min(most)));
    setrlimit(
        resource,
        Rlimit {
            current: lower(current),
            maximum: lower(maximum),
        },
    )
}
