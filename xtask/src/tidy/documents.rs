//! What every repository and every crate says about itself.

use super::{assert_none, exists, read, rust_files};

#[test]
fn the_repository_introduces_itself() {
    let documents = [
        "README.md",
        "ARCHITECTURE.md",
        "CHANGELOG.md",
        "LICENSE",
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
