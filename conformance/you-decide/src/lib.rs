//! A policy without an opinion, which is told of releases and says nothing.

#![no_std]

use wipam_policy::prelude::*;

fn choose(_: &Request, _: &Pool) -> Answer {
    Answer::YouDecide
}

fn released(_: &Notice, _: &State) -> Result<(), String> {
    Ok(())
}

wipam_policy::policy!(choose, released);
