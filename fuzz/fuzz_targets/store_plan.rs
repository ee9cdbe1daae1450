//! See `wipam_fuzz::store_plan`.

#![cfg_attr(fuzzing, no_main)]

wipam_fuzz::target!(store_plan);
