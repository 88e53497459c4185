//! Where bounds stand.

use super::sources::{is_test, numbered, without_tests};
use super::{SourceFile, assert_none, rust_files};

/// Parts of names that say that a constant is a bound: `INTERVAL_S_MAX`, `CANCEL_WAIT`.
const PARTS: [&str; 2] = ["MAX", "MIN"];
const LAST_PARTS: [&str; 8] = [
    "BYTES", "INTERVAL", "MS", "S", "SEC", "SECS", "TIMEOUT", "WAIT",
];

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
        let name = constant(line).filter(|name| is_bound(name))?;
        Some(format!("{}:{number}: {name}", file.path))
    };
    numbered(without_tests(&file.text))
        .filter_map(bound)
        .collect()
}

fn is_bound(name: &str) -> bool {
    let parts: Vec<&str> = name.split('_').skip(1).collect();
    parts.iter().any(|part| PARTS.contains(part))
        || parts.last().is_some_and(|part| LAST_PARTS.contains(part))
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
