//! What stands in the files.

use super::{SourceFile, assert_none, repository_files, rust_files};

/// Beyond this, ask which second idea lives in the file.
const FILE_LINES_MAX: usize = 700;

/// Where processes may be started, and why.
const STARTS_PROCESSES: &[(&str, &str)] = &[
    ("crates/process/", "the only door to processes"),
    (
        "crates/bench/src/",
        "measures bare processes, and other programs beside ours",
    ),
    (
        "crates/cli/src/exec/changes.rs",
        "asks git what there is to review, before there is a session",
    ),
    (
        "crates/testkit/",
        "plays scenarios against the real program",
    ),
    ("xtask/", "runs cargo and git"),
];

#[test]
fn files_are_of_readable_length() {
    let complaints: Vec<String> = rust_files()
        .into_iter()
        .map(|file| (file.text.lines().count(), file.path))
        .filter(|(lines, _)| *lines > FILE_LINES_MAX)
        .map(|(lines, path)| format!("{path}: {lines} lines"))
        .collect();
    assert_none(
        &complaints,
        "find the second idea in the file and give it a file of its own",
    );
}

#[test]
fn processes_are_started_behind_one_door() {
    let complaints = lines_of_code(rust_files(), |path, line| {
        let allowed = STARTS_PROCESSES
            .iter()
            .any(|(door, _)| path.starts_with(door));
        !allowed && starts_process(line)
    });
    assert_none(
        &complaints,
        "start the program through crates/process, which sandboxes, groups and ends it; or give \
         the reason in xtask/src/tidy/sources.rs",
    );
}

#[test]
fn no_test_is_ignored() {
    let mark = concat!("#[", "ignore");
    let complaints = rust_files()
        .into_iter()
        .filter(|file| file.text.contains(mark))
        .map(|file| file.path)
        .collect::<Vec<_>>();
    assert_none(
        &complaints,
        "assert what is, with a note, or remove the test",
    );
}

#[test]
fn no_file_speaks_of_one_machine() {
    // The home of whoever built it, as compilers and package managers write it down. (Agents
    // have paths below `/root` too, but no agent's name begins with a dot.) In two halves, so
    // that this file does not speak of it.
    let places = [("/root", "/."), ("/home", "/.")].map(|(a, b)| format!("{a}{b}"));
    let complaints: Vec<String> = repository_files()
        .into_iter()
        .flat_map(|file| {
            let found: Vec<String> = numbered(&file.text)
                .filter(|(_, line)| places.iter().any(|place| line.contains(place)))
                .map(|(number, _)| format!("{}:{number}", file.path))
                .collect();
            found
        })
        .collect();
    assert_none(
        &complaints,
        "use a path that means the same on every machine",
    );
}

/// Tells whether the line names `Command`, but not `ShellCommand` or the like.
fn starts_process(line: &str) -> bool {
    line.contains("process::Command")
        || line
            .match_indices("Command::new(")
            .any(|(at, _)| !line[..at].ends_with(|before: char| before.is_alphanumeric()))
}

/// Returns the places of lines outside tests that are picked.
pub(super) fn lines_of_code(
    files: Vec<SourceFile>,
    picked: impl Fn(&str, &str) -> bool,
) -> Vec<String> {
    let mut places = Vec::new();
    for file in files.into_iter().filter(|file| !is_test(&file.path)) {
        for (number, line) in numbered(without_tests(&file.text)) {
            let comment = line.trim_start().starts_with("//");
            if !comment && picked(&file.path, line) {
                places.push(format!("{}:{number}: {}", file.path, line.trim()));
            }
        }
    }
    places
}

pub(super) fn is_test(path: &str) -> bool {
    let in_folder = |folder: &str| path.contains(folder);
    path.ends_with("/tests.rs") || ["/tests/", "/benches/"].into_iter().any(in_folder)
}

/// Cuts off the tests at the end of a file.
pub(super) fn without_tests(text: &str) -> &str {
    match text.find("#[cfg(test)]\nmod tests {") {
        Some(at) => &text[..at],
        None => text,
    }
}

pub(super) fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line))
}
