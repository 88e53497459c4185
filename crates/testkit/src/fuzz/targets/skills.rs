//! Skill files, front matter and all.

use troupe_engine::skills;

use crate::fuzz::{Shape, Target};

pub(super) const TARGET: Target = Target {
    name: "skills",
    run,
    words: &[
        "---\n",
        "name: ",
        "description: ",
        "metadata:\n  ",
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

fn run(input: &[u8]) -> Shape {
    let text = String::from_utf8_lossy(input);
    match skills::parse(&text, "fuzzed") {
        Ok((_, body)) => {
            assert!(text.contains(body), "the body is a part of the file");
            Shape::of("a skill")
        }
        Err(problem) => Shape::of(&problem.to_string()),
    }
}
