//! See `wipam_fuzz::cni_config`.

#![cfg_attr(fuzzing, no_main)]

wipam_fuzz::target!(cni_config);
