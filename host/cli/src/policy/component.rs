//! Files that hold a component, or what one is made of.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use wit_component::ComponentEncoder;

#[derive(Args)]
pub(crate) struct Make {
    /// A core module that was built for a world of `wipam:ipam`.
    module: PathBuf,
    /// The component.
    component: PathBuf,
}

impl Make {
    pub(crate) fn run(&self) -> Result<(), Box<dyn Error>> {
        let bytes = read(&self.module)?;
        let made = &self.component;
        fs::write(made, &bytes).map_err(|error| format!("{}: {error}", made.display()))?;
        println!("{}: {} bytes", made.display(), bytes.len());
        Ok(())
    }
}

/// Reads a component. A core module that was built for a world, as compilers
/// leave it, becomes one.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    component(bytes).map_err(|error| format!("{}: {error}", path.display()).into())
}

fn component(bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    // Magic number, then version and layer: 1 and 0 of a module, 1 of a
    // component.
    match bytes.get(..8) {
        Some(b"\0asm\x01\0\0\0") => {}
        Some([0, b'a', b's', b'm', _, _, 1, 0]) => return Ok(bytes),
        _ => return Err("wanted a WebAssembly component, found something else".to_owned()),
    }
    let encode = |error| format!("making a component of this module: {error:#}");
    ComponentEncoder::default()
        .validate(true)
        .module(&bytes)
        .map_err(encode)?
        .encode()
        .map_err(encode)
}
