//! See `wipam_fuzz::cni_args`.

#![cfg_attr(fuzzing, no_main)]

wipam_fuzz::target!(cni_args);
