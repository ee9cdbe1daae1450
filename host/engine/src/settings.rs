//! Settings that code made ahead of time and the engine that runs it must
//! share. The build script of `wipam-artifact` includes this file.

use wasmtime::Config;

/// Bytes of stack that a component may use.
pub(crate) const STACK: usize = 512 << 10;

/// How code is generated, and what it may assume.
pub(crate) fn config() -> Config {
    let mut config = Config::new();
    config
        // Fuel bounds every loop, needs no second thread to enforce it, and
        // runs out at the same place each time.
        .consume_fuel(true)
        .max_wasm_stack(STACK)
        // By default a memory reserves gigabytes of address space, which fails
        // under `ulimit -v` and in small machines. Without the last setting it
        // would still reserve 2 GiB for growth. The guard makes bounds checks
        // shorter: a tenth less code.
        .memory_reservation(0)
        .memory_guard_size(64 << 10)
        .memory_reservation_for_growth(1 << 20)
        // One instantiation a process: copying beats mapping the image.
        .memory_init_cow(false)
        .generate_address_map(false)
        .native_unwind_info(false);
    config
}
