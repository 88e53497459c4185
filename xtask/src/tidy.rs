//! The house rules, as tests. Each failure says what to do.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

mod bounds;
mod contract;
mod decisions;
mod dependencies;
mod documents;
mod generated;
mod imports;
mod licences;
mod modules;
mod names;
mod protocol;
mod sources;
mod spdx;
mod tables;
mod wording;

/// Fails with every complaint at once, so that they can be mended at once.
fn assert_none(complaints: &[String], what_to_do: &str) {
    assert!(
        complaints.is_empty(),
        "{what_to_do}:\n  {}\n",
        complaints.join("\n  "),
    );
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("this package lies in the root of the workspace")
}

/// A file of the repository.
struct SourceFile {
    /// Relative to the root, with slashes.
    path: String,
    text: String,
}

/// Returns the text files that are or could be checked in.
fn repository_files() -> Vec<SourceFile> {
    let listed = output(
        "git",
        &["ls-files", "--cached", "--others", "--exclude-standard"],
    );
    let mut files: Vec<SourceFile> = listed.lines().filter_map(read).collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

/// Returns our code; the inputs of tests are not ours.
fn rust_files() -> Vec<SourceFile> {
    let is_rust = |path: &str| Path::new(path).extension().is_some_and(|kind| kind == "rs");
    let mut files = repository_files();
    files.retain(|file| is_rust(&file.path) && !file.path.contains("/fixtures/"));
    files
}

/// Returns `None` for a file that was deleted or is not text.
fn read(path: &str) -> Option<SourceFile> {
    Some(SourceFile {
        path: path.to_owned(),
        text: fs::read_to_string(root().join(path)).ok()?,
    })
}

/// Returns what a program prints when it is run in the root of the workspace.
fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap_or_else(|error| panic!("{program} cannot be started: {error}"));
    assert!(
        output.status.success(),
        "{program} {}: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr),
    );
    String::from_utf8(output.stdout).expect("git and cargo print UTF-8")
}

fn cargo(arguments: &[&str]) -> String {
    output(env!("CARGO"), arguments)
}

fn exists(path: &str) -> bool {
    PathBuf::from(root()).join(path).exists()
}
