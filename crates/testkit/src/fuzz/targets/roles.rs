//! Role files, front matter and all.

use std::cell::OnceCell;
use std::fs;

use tempfile::TempDir;
use troupe_agents::roles::RoleLibrary;

use crate::fuzz::{Shape, Target};

pub(super) const TARGET: Target = Target {
    name: "roles",
    run,
    words: &[
        "---\n",
        "description: ",
        "model: ",
        "effort: high\n",
        "tools:\n  - ",
        "sandbox: read-only\n",
        "output_schema: ",
        "budget:\n  tokens: ",
        "&a ",
        "*a",
        "<<: ",
        "!!binary ",
        "{[{[",
        "\"\\x",
        "|\n  ",
        "\t",
    ],
};

thread_local! {
    static PLACE: OnceCell<TempDir> = const { OnceCell::new() };
}

fn run(input: &[u8]) -> Shape {
    PLACE.with(|place| {
        let place = place.get_or_init(|| TempDir::new().expect("a directory can be made"));
        let path = place.path().join("fuzzed.md");
        fs::write(&path, input).expect("it is ours");
        // A new one each time: it remembers what it has read.
        match RoleLibrary::new(place.path()).read(&path) {
            Ok(role) => Shape::of(&format!("{:?} {:?}", role.name, role.origin)),
            Err(error) => Shape::of(&error.to_string()),
        }
    })
}
