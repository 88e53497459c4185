//! Runs the target that this program is named after.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use troupe_testkit::fuzz::{Target, target};

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let program = std::env::current_exe().expect("a program knows its name");
    let name = program.file_name().and_then(|name| name.to_str());
    name.and_then(target)
        .expect("each program is named after a target")
});

fuzz_target!(|input: &[u8]| {
    (TARGET.run)(input);
});
