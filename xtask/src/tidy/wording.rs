//! What people read.

use super::sources::lines_of_code;
use super::{SourceFile, assert_none, rust_files};

/// Crates whose texts people and their programs read.
const ROOMS_FOR_PEOPLE: [&str; 7] = [
    "acp",
    "app-server",
    "bench",
    "cli",
    "daemon",
    "server",
    "tui",
];

/// Variables that hold a text, which `{:?}` puts between quotes. What else is shown in this way is
/// printed as Rust declares it.
const TEXTS: &[&str] = &[
    "advice", "argument", "beside", "cursor", "filter", "host", "id", "key", "model", "name",
    "new", "old", "origin", "path", "piped", "provider", "task", "text", "tool", "url", "wanted",
];

#[test]
fn people_read_no_debug_output() {
    let mut files = rust_files();
    files.retain(is_for_people);
    let complaints = lines_of_code(files, |_, line| {
        !is_for_developers(line) && shown_as_debug(line).any(|name| !TEXTS.contains(&name))
    });
    assert_none(
        &complaints,
        "`{:?}` shows a value as Rust declares it: give the type an `as_str`, or a table of names \
         beside it. To put a text between quotes, name the variable (`{name:?}`) as in \
         xtask/src/tidy/wording.rs",
    );
}

fn is_for_people(file: &SourceFile) -> bool {
    let is_in = |room: &str| file.path.starts_with(&format!("crates/{room}/src/"));
    ROOMS_FOR_PEOPLE.into_iter().any(is_in)
}

/// Assertions and logs are read by people who have the code.
fn is_for_developers(line: &str) -> bool {
    ["panic!(", "assert", "unreachable!(", "trace!(", "debug!("]
        .into_iter()
        .any(|mark| line.contains(mark))
}

/// Returns the names of what a line shows by `{:?}`; those of nameless arguments are empty.
fn shown_as_debug(line: &str) -> impl Iterator<Item = &str> {
    let before = |at: usize| line[..at].rsplit('{').next().unwrap_or_default();
    let marks = [":?}", ":#?}"];
    marks
        .into_iter()
        .flat_map(|mark| line.match_indices(mark))
        .map(move |(at, _)| before(at))
}
