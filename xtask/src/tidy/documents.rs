//! What every repository and every crate says about itself.

use std::collections::BTreeSet;
use std::path::Path;

use super::tables::is_there;
use super::{assert_none, exists, names, read, rust_files};

/// A map that is longer is a manual.
const ARCHITECTURE_LINES_MAX: usize = 250;

#[test]
fn the_repository_introduces_itself() {
    let documents = [
        "README.md",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "AGENTS.md",
        "LICENSE",
        "docs/glossary.md",
        "docs/decisions/README.md",
        ".ci/run",
    ];
    let complaints: Vec<String> = documents
        .into_iter()
        .filter(|path| !exists(path))
        .map(str::to_owned)
        .collect();
    assert_none(&complaints, "write what is missing");
}

#[test]
fn every_crate_says_what_it_is_for() {
    let is_root = |path: &str| path.ends_with("/src/lib.rs") || path.ends_with("/src/main.rs");
    let complaints: Vec<String> = rust_files()
        .into_iter()
        .filter(|file| is_root(&file.path) && !file.text.starts_with("//! "))
        .map(|file| file.path)
        .collect();
    assert_none(
        &complaints,
        "open the file with `//!`: what the crate is for, how it flows, what is deliberately absent",
    );
}

#[test]
fn every_crate_inherits_the_lints_and_the_licence() {
    let complaints: Vec<String> = super::repository_files()
        .into_iter()
        .filter(|file| file.path.ends_with("/Cargo.toml"))
        // No member of the workspace, and so nobody's heir.
        .filter(|file| file.path != "fuzz/Cargo.toml")
        .filter(|file| {
            let has = |line: &str| file.text.lines().any(|found| found == line);
            !(has("[lints]") && has("license.workspace = true") && has("publish.workspace = true"))
        })
        .map(|file| file.path)
        .collect();
    assert_none(
        &complaints,
        "take `license`, `publish` and `[lints]` from the workspace",
    );
}

#[test]
fn the_licence_is_the_whole_text() {
    let licence = read("LICENSE").expect("LICENSE is checked in").text;
    assert!(licence.contains("Apache License") && licence.contains("END OF TERMS AND CONDITIONS"));
}

#[test]
fn the_map_fits_in_one_sitting() {
    let lines = text("ARCHITECTURE.md").lines().count();
    assert!(
        lines <= ARCHITECTURE_LINES_MAX,
        "ARCHITECTURE.md has {lines} lines, more than {ARCHITECTURE_LINES_MAX}: move decisions to \
         docs/decisions/ and details to the first lines of the module",
    );
}

#[test]
fn the_map_draws_every_crate() {
    let map = text("ARCHITECTURE.md");
    let folders = std::fs::read_dir(super::root().join("crates")).expect("there are crates");
    let complaints: Vec<String> = folders
        .filter_map(|folder| folder.ok()?.file_name().into_string().ok())
        .filter(|room| !map.contains(&format!("**{room}**")))
        .map(|room| format!("there is no paragraph **{room}**"))
        .collect();
    assert_none(
        &complaints,
        "say in ARCHITECTURE.md what the crate is for, its entry type, and what it never imports",
    );
}

#[test]
fn pages_name_types_files_and_tests_that_exist() {
    let types: BTreeSet<String> = names::types()
        .into_iter()
        .map(|declared| declared.name)
        .collect();
    let pages = ["ARCHITECTURE.md", "docs/glossary.md"];
    let complaints: Vec<String> = pages
        .into_iter()
        .flat_map(|page| {
            let text = text(page);
            let wrong = quoted_words(&text)
                .filter(|word| !is_known(word, &types))
                .map(|word| format!("{page}: `{word}`"));
            wrong.collect::<Vec<_>>()
        })
        .collect();
    assert_none(
        &complaints,
        "these are no types, files or tests of this repository; write what they are called now",
    );
}

/// Designs and decisions name files by the ends of their paths.
#[test]
fn designs_and_decisions_name_files_that_exist() {
    let files = super::repository_files();
    let is_there = |quoted: &str| {
        let (room, rest) = quoted.split_once('/').unwrap_or_default();
        let (end, within) = (format!("/{quoted}"), format!("crates/{room}/src/{rest}"));
        files
            .iter()
            .any(|file| file.path == quoted || file.path == within || file.path.ends_with(&end))
    };
    let is_a = |path: &str, kind: &str| Path::new(path).extension().is_some_and(|it| it == kind);
    let is_page = |path: &str| path.starts_with("docs/de") && is_a(path, "md");
    let complaints: Vec<String> = files
        .iter()
        .filter(|file| is_page(&file.path))
        .flat_map(|page| {
            let paths = quoted_words(&page.text).filter(|word| {
                word.contains('/') && is_a(word, "rs") && !word.contains([' ', '{'])
            });
            let gone = paths.filter(|path| !is_there(path));
            gone.map(|path| format!("{}: `{path}`", page.path))
        })
        .collect();
    assert_none(
        &complaints,
        "these files are not there; write where it stands now",
    );
}

/// The two sequences are told in names of functions: in the table of a task, and in the drawing of
/// a spawn.
#[test]
fn the_sequences_name_functions_that_exist() {
    let map = text("ARCHITECTURE.md");
    let sources: Vec<String> = rust_files().into_iter().map(|file| file.text).collect();
    let is_function = |name: &&str| {
        let heads = [format!("fn {name}("), format!("fn {name}<")];
        sources
            .iter()
            .any(|text| heads.iter().any(|head| text.contains(head)))
    };
    let is_module = |name: &&str| in_a_crate(&format!("agents/supervisor/{name}.rs"));
    let table = section(&map, "## One task").lines().filter_map(|row| {
        let cells: Vec<&str> = row.strip_prefix("| ")?.split(" | ").collect();
        cells.get(1).copied()
    });
    let quoted: Vec<&str> = table.flat_map(quoted_words).collect();
    let steps = quoted
        .into_iter()
        .filter(|word| !word.contains('/') && !word.starts_with("task."))
        .flat_map(identifiers);
    let drawing = section(&map, "## Spawn").split("```").nth(1);
    let drawn = drawing.unwrap_or_default().lines();
    // Prose of the drawing has no underscore, and its paths are those of code.
    let drawn = drawn.flat_map(str::split_whitespace).flat_map(|word| {
        let is_code = word.contains('_') || word.contains("::");
        identifiers(if is_code { word } else { "" })
    });
    let names: BTreeSet<&str> = steps.chain(drawn).collect();
    assert!(names.len() > 50, "the sequences were not found: {names:?}");
    let complaints: Vec<String> = names
        .into_iter()
        .filter(|name| name.starts_with(|first: char| first.is_ascii_lowercase()))
        .filter(|name| !is_function(name) && !is_module(name) && !exists(&format!("crates/{name}")))
        .map(str::to_owned)
        .collect();
    assert_none(
        &complaints,
        "ARCHITECTURE.md names functions that are not there; follow the sequence and mend it",
    );
}

/// Returns what stands between a heading and the next.
fn section<'a>(text: &'a str, heading: &str) -> &'a str {
    let rest = text.split_once(heading).map_or("", |(_, rest)| rest);
    rest.split("\n## ").next().unwrap_or_default()
}

fn identifiers(word: &str) -> impl Iterator<Item = &str> {
    let is_part = |part: char| part.is_ascii_alphanumeric() || part == '_';
    let words = word.split(move |letter| !is_part(letter));
    words.filter(|word| !word.is_empty())
}

fn text(path: &str) -> String {
    read(path).map(|file| file.text).unwrap_or_default()
}

/// Returns what stands between backticks, outside of blocks of code.
fn quoted_words(text: &str) -> impl Iterator<Item = &str> {
    text.split("```")
        .step_by(2)
        .flat_map(|part| part.split('`').skip(1).step_by(2))
}

/// Tells whether a quoted word can be found. Only types, paths of files and tests are looked for:
/// everything else may be a command, a key or a function.
fn is_known(word: &str, types: &BTreeSet<String>) -> bool {
    let is_file = word.contains('/')
        && Path::new(word)
            .extension()
            .is_some_and(|kind| kind == "rs" || kind == "md");
    if is_file {
        return exists(word) || exists(&format!("crates/{word}")) || in_a_crate(word);
    }
    if let Some((room, path)) = word.split_once(' ')
        && exists(&format!("crates/{room}"))
        && path.contains("::")
    {
        return is_there(&format!("`{word}`")).unwrap_or(false);
    }
    let name = word.split("::").next().unwrap_or_default();
    let name = name.split(['<', '(', ' ']).next().unwrap_or_default();
    !names::is_camel_case(name) || types.contains(name)
}

/// `engine/host.rs` is a file of the crate `engine`.
fn in_a_crate(word: &str) -> bool {
    word.split_once('/')
        .is_some_and(|(room, rest)| exists(&format!("crates/{room}/src/{rest}")))
}
