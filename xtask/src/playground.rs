//! The playground: host-local in a web page.

use crate::Outcome;
use crate::build;
use crate::setup;
use crate::shell::{program, run};

/// Builds all that the page runs, and serves it until it is interrupted.
pub(crate) fn serve(port: u16, build_only: bool) -> Outcome {
    let _ = build::dist()?;
    let _ = build::policies()?;
    site()?;
    if build_only {
        return Ok(());
    }
    run(program("node")
        .arg("playground/serve.mjs")
        .args(["--port", &port.to_string()]))
}

/// The site, in `dist/playground`, of what is in `dist` already.
pub(crate) fn site() -> Outcome {
    setup::node_modules()?;
    build::simulator()?;
    run(program("node").arg("playground/build.mjs"))
}
