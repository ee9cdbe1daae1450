//! The `bridge` plugin with failures on request.
//!
//! `WIPAM_STOP_AT=N` makes an ADD fail before its step number N as if the
//! kernel had refused it, or, with `WIPAM_STOP_HOW=kill`, ends the process by
//! SIGKILL there. `WIPAM_STEPS=FILE` has a line for each step written to FILE.

use std::env;
use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;
use std::process::ExitCode;

use rustix::process::{Signal, getpid, kill_process};

fn main() -> ExitCode {
    let stop_at: Option<usize> = env::var("WIPAM_STOP_AT").ok().and_then(|n| n.parse().ok());
    let kill = env::var("WIPAM_STOP_HOW").is_ok_and(|how| how == "kill");
    let mut steps = env::var_os("WIPAM_STEPS")
        .and_then(|file| OpenOptions::new().append(true).create(true).open(file).ok());
    wipam_cni::bridge_watched(&mut |number: usize, step: &dyn Display| {
        if let Some(file) = &mut steps {
            let line = step.to_string().replace('\n', " ");
            // A file that cannot be written shows as steps that are missing.
            let _ = writeln!(file, "{line}");
        }
        if stop_at != Some(number) {
            return true;
        }
        if kill {
            let _ = kill_process(getpid(), Signal::KILL);
        }
        false
    })
}
