//! `wipam policy compile`.

use std::error::Error;
use std::io::{self, Read, Write};

use wipam_engine::policy::precompile;

/// Most bytes of a component: as much as `limits.component` can be.
const MOST: u64 = 256 << 20;

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
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
