//! The component that `plugin-wasm` makes, portable and compiled.
//!
//! The build script is the only one of the workspace: it builds `plugin-wasm`
//! for wasm32-unknown-unknown, makes a component of it and compiles that with
//! the settings that `wipam-engine` runs with, for the target's baseline
//! processor. Nothing that is shipped contains a compiler.

use wipam_engine::Code;

/// The component, portable.
pub static COMPONENT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/host-local.wasm"));

/// The same, compiled: a part of this program's own text, so that it is
/// executed where it is, and no memory ever has to be made executable.
#[allow(unsafe_code, reason = "only the linker knows what it has put where")]
pub fn compiled() -> Code {
    // SAFETY: the two symbols are the ends of what stands between them below:
    // bytes that nobody writes, in an executable section, beginning at a page
    // boundary, as `precompile_component` has made them in the build script.
    unsafe {
        let start = &raw const wipam_component;
        let length = (&raw const wipam_component_end).offset_from_unsigned(start);
        Code::in_text(core::slice::from_raw_parts(start, length))
    }
}

#[allow(unsafe_code, reason = "defined by the assembly below")]
unsafe extern "C" {
    static wipam_component: u8;
    static wipam_component_end: u8;
}

/// For the largest pages that kernels of these processors use.
const ALIGNMENT: usize = if cfg!(target_arch = "x86_64") {
    4096
} else {
    65536
};

#[allow(
    unsafe_code,
    reason = "data gets into an executable section by no other means"
)]
mod text {
    core::arch::global_asm!(
        ".pushsection .text.wipam, \"ax\"",
        ".balign {alignment}",
        ".globl wipam_component",
        ".hidden wipam_component",
        ".globl wipam_component_end",
        ".hidden wipam_component_end",
        "wipam_component:",
        // Changes with the file, so that the compiler sees that it has changed.
        concat!("# ", env!("WIPAM_COMPILED")),
        concat!(".incbin \"", env!("OUT_DIR"), "/host-local.cwasm\""),
        "wipam_component_end:",
        ".popsection",
        alignment = const super::ALIGNMENT,
    );
}
