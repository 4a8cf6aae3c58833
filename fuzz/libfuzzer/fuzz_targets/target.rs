//! The target that `VERBENA_FUZZ_TARGET` names, under libFuzzer. One program for all, so that it is
//! linked once.
#![no_main]

use std::sync::LazyLock;
use verbena_fuzz::{Target, find};

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("VERBENA_FUZZ_TARGET").unwrap_or_default();
    find(&name).unwrap_or_else(|| panic!("VERBENA_FUZZ_TARGET is {name:?}, which is no target"))
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| (TARGET.run)(data));
