//! Code that was generated from something else in the repository.

use std::collections::BTreeSet;

use super::{assert_none, read, root};
use crate::{codegen, sdk, stamp};

#[test]
fn the_grpc_code_is_that_of_its_description() {
    let text = |path| read(path).map(|file| file.text).unwrap_or_default();
    let description = text("crates/transport/proto/troupe.proto");
    let code = text("crates/transport/src/grpc/generated.rs");
    let first = code.lines().next().unwrap_or_default();
    assert!(
        first.contains(&stamp::of(&description)),
        "grpc/generated.rs is stale: run `cargo xtask codegen` and commit what it writes",
    );
}

#[test]
fn the_types_of_the_clients_are_those_of_the_schema() {
    let files = sdk::files(root()).expect("the schema has only shapes that can be printed");
    let is_stale = |file: &sdk::File| read(file.path).is_none_or(|found| found.text != file.text);
    let stale = files.into_iter().filter(is_stale);
    let complaints: Vec<String> = stale.map(|file| file.path.to_owned()).collect();
    assert_none(
        &complaints,
        "run `cargo xtask codegen` and commit what it writes",
    );
}

#[test]
fn what_is_generated_is_marked_as_such() {
    let attributes = read(".gitattributes").expect("the file is checked in").text;
    let marked: BTreeSet<&str> = attributes
        .lines()
        .filter_map(|line| line.strip_suffix(" linguist-generated"))
        .collect();
    let generated: BTreeSet<&str> = codegen::files().collect();
    let complaints: Vec<String> = marked
        .symmetric_difference(&generated)
        .map(|path| (*path).to_owned())
        .collect();
    assert_none(
        &complaints,
        "these stand in one list only: `.gitattributes`, or what `cargo xtask codegen` writes",
    );
}
