//! Where bounds stand.

use super::sources::{is_test, numbered, without_tests};
use super::{SourceFile, assert_none, rust_files};

/// Endings of names that say that a constant is a bound.
const ENDINGS: [&str; 5] = ["_MAX", "_MIN", "_MS", "_SEC", "_BYTES"];

/// Constants with such a name that are no bounds of a crate, and why.
const NO_BOUNDS: &[(&str, &str)] = &[
    ("crates/testkit/", "bounds of tests stand beside the test"),
    ("xtask/", "rules stand beside their reason"),
    ("fuzz/", "as those of testkit"),
];

#[test]
fn bounds_stand_in_limits_rs() {
    let complaints: Vec<String> = rust_files()
        .into_iter()
        .filter(|file| !is_exempt(&file.path))
        .flat_map(|file| bounds(&file))
        .collect();
    assert_none(
        &complaints,
        "move the constant to the `limits.rs` of its crate, with what happens when it is met; the \
         size of something that is no bound gets a name without such an ending (`_LENGTH`, `_SIZE`)",
    );
}

fn is_exempt(path: &str) -> bool {
    let in_limits = path.ends_with("/limits.rs") || path.contains("/limits/");
    let excepted = NO_BOUNDS.iter().any(|(place, _)| path.starts_with(place));
    in_limits || excepted || is_test(path)
}

/// Returns the constants of a file that stand at the top of a module. Those of traits, and of the
/// functions that alone use them, belong where they are.
fn bounds(file: &SourceFile) -> Vec<String> {
    let bound = |(number, line): (usize, &str)| {
        let name = constant(line)?;
        let is_bound = ENDINGS.iter().any(|ending| name.ends_with(ending));
        is_bound.then(|| format!("{}:{number}: {name}", file.path))
    };
    numbered(without_tests(&file.text))
        .filter_map(bound)
        .collect()
}

/// Returns the name of the constant that a line at the top of a module declares.
fn constant(line: &str) -> Option<&str> {
    let line = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.trim_start(),
        None => line,
    };
    let name = line.strip_prefix("const ")?.split(':').next()?;
    Some(name.trim())
}
