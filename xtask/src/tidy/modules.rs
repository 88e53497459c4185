//! Files that the compiler never sees, and test binaries that cost a link each.

use std::collections::BTreeMap;

use super::{assert_none, rust_files};

#[test]
fn every_file_is_part_of_a_crate() {
    let files = rust_files();
    let texts: BTreeMap<&str, &str> = files
        .iter()
        .map(|file| (file.path.as_str(), file.text.as_str()))
        .collect();
    let complaints: Vec<String> = texts
        .keys()
        .filter(|path| !is_root(path) && !is_declared(path, &texts))
        .map(|path| (*path).to_owned())
        .collect();
    assert_none(
        &complaints,
        "nothing declares these files: add `mod NAME;` to the module above, or delete them",
    );
}

#[test]
fn integration_tests_of_a_crate_are_one_binary() {
    let complaints: Vec<String> = rust_files()
        .into_iter()
        .map(|file| file.path)
        .filter(|path| {
            let rest = path.split_once("/tests/").map(|(_, rest)| rest);
            rest.is_some_and(|rest| !rest.contains('/') && rest != "it.rs")
                && !path.contains("/src/")
        })
        .collect();
    assert_none(
        &complaints,
        "make it a module of tests/it.rs: each file here would be linked on its own",
    );
}

#[test]
fn modules_lie_beside_their_folder() {
    let complaints: Vec<String> = rust_files()
        .into_iter()
        .map(|file| file.path)
        .filter(|path| path.ends_with("/mod.rs"))
        .collect();
    assert_none(&complaints, "rename NAME/mod.rs to NAME.rs");
}

/// Tells whether cargo itself finds this file.
fn is_root(path: &str) -> bool {
    let mut folders = path.rsplit('/').skip(1);
    let folder = folders.next().unwrap_or_default();
    let is_bench = folders.next() == Some("benches") && path.ends_with("/main.rs");
    is_bench
        || path.ends_with("/src/lib.rs")
        || path.ends_with("/src/main.rs")
        || path.ends_with("/build.rs")
        || path.contains("/src/bin/")
        || ["tests", "benches", "examples", "fuzz_targets"].contains(&folder)
            && !path.contains("/src/")
}

/// Tells whether the module above has a `mod` line for this file.
fn is_declared(path: &str, texts: &BTreeMap<&str, &str>) -> bool {
    let Some((folder, name)) = path.trim_end_matches(".rs").rsplit_once('/') else {
        return false;
    };
    let above = [
        format!("{folder}.rs"),
        format!("{folder}/lib.rs"),
        format!("{folder}/main.rs"),
    ];
    let declares = |line: &str| {
        let line = line.trim();
        let line = line.rsplit_once("mod ").map_or("", |(_, module)| module);
        line.strip_suffix(';') == Some(name)
    };
    above
        .iter()
        .filter_map(|above| texts.get(above.as_str()))
        .any(|text| text.lines().any(declares))
}
