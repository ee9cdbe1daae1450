//! See `wipam_fuzz::range_set`.

#![cfg_attr(fuzzing, no_main)]

wipam_fuzz::target!(range_set);
