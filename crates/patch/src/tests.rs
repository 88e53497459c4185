//! Whole patches on real files: a folder per case, and random ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use proptest::prelude::*;

use super::{Patch, PatchRoots, plan, run_standalone};

/// Every file below a directory with its content; directories end with a slash.
pub fn tree(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut rest = vec![root.to_owned()];
    while let Some(directory) = rest.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().display().to_string();
            if path.is_symlink() {
                let target = fs::read_link(&path).unwrap();
                files.insert(name, format!("-> {}", target.display()).into_bytes());
            } else if path.is_dir() {
                files.insert(format!("{name}/"), Vec::new());
                rest.push(path);
            } else {
                files.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    files
}

fn copy(from: &Path, to: &Path) {
    for (name, content) in tree(from) {
        let path = to.join(&name);
        if name.ends_with('/') {
            fs::create_dir_all(path).unwrap();
        } else {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
    }
}

/// The files alone: git keeps no empty directories in the expected trees.
fn files(mut tree: BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Vec<u8>> {
    tree.retain(|name, _| !name.ends_with('/'));
    tree
}

fn check_fixture(case: &Path) {
    let work = tempfile::tempdir().unwrap();
    if case.join("input").exists() {
        copy(&case.join("input"), work.path());
    }
    let before = tree(work.path());
    let patch = fs::read_to_string(case.join("patch.txt")).unwrap();
    let finished = run_standalone(&[patch.into()], std::io::empty(), work.path());

    let outcome = format!("{}\n{}{}", finished.code, finished.stdout, finished.stderr);
    expect_file![case.join("outcome.txt")].assert_eq(&outcome);
    let after = tree(work.path());
    let expected = case.join("expected");
    if expected.exists() {
        assert_eq!(files(after), files(tree(&expected)), "{}", case.display());
        assert_eq!(finished.code, 0, "{}", case.display());
    } else {
        assert_eq!(after, before, "{}", case.display());
        assert_eq!(finished.code, 1, "{}", case.display());
    }
}

#[test]
fn fixtures() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut cases: Vec<PathBuf> = fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    cases.sort();
    assert!(cases.len() >= 50, "the fixtures are gone");
    for case in cases {
        check_fixture(&case);
    }
}

/// A file with equal lines in it, and an edit of each line.
#[derive(Debug, Clone)]
enum LineEdit {
    Keep,
    Remove,
    Replace(String),
    InsertAfter(String),
}

fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "[ab]{1,2}",
        1 => "[ -~]{0,12}",
        1 => "\\PC{1,6}",
        1 => Just(String::new()),
    ]
}

fn line_edit() -> impl Strategy<Value = LineEdit> {
    prop_oneof![
        6 => Just(LineEdit::Keep),
        1 => Just(LineEdit::Remove),
        1 => line().prop_map(LineEdit::Replace),
        1 => line().prop_map(LineEdit::InsertAfter),
    ]
}

fn edited_file() -> impl Strategy<Value = (Vec<(String, LineEdit)>, &'static str)> {
    let lines = prop::collection::vec((line(), line_edit()), 1..40);
    (lines, prop_oneof![Just("\n"), Just("\r\n")])
}

/// One chunk with the whole file as context: what it means does not depend on search.
fn whole_file_patch(lines: &[(String, LineEdit)]) -> String {
    let lines = lines.iter().map(|(line, edit)| match edit {
        LineEdit::Keep => format!(" {line}\n"),
        LineEdit::Remove => format!("-{line}\n"),
        LineEdit::Replace(new) => format!("-{line}\n+{new}\n"),
        LineEdit::InsertAfter(new) => format!(" {line}\n+{new}\n"),
    });
    let lines: Vec<String> = lines.collect();
    let header = "*** Begin Patch\n*** Update File: file.txt\n@@\n";
    format!("{header}{}*** End Patch\n", lines.concat())
}

fn edited(lines: &[(String, LineEdit)], end: &str) -> String {
    let lines = lines.iter().map(|(line, edit)| match edit {
        LineEdit::Keep => format!("{line}{end}"),
        LineEdit::Remove => String::new(),
        LineEdit::Replace(new) => format!("{new}{end}"),
        LineEdit::InsertAfter(new) => format!("{line}{end}{new}{end}"),
    });
    lines.collect()
}

fn unedited(lines: &[(String, LineEdit)], end: &str) -> String {
    let lines = lines.iter().flat_map(|(line, _)| [line, end]);
    lines.collect()
}

proptest! {
    #[test]
    fn a_patch_makes_of_a_file_what_it_says((lines, end) in edited_file()) {
        let work = tempfile::tempdir().unwrap();
        let path = work.path().join("file.txt");
        fs::write(&path, unedited(&lines, end)).unwrap();

        let patch = Patch::parse(&whole_file_patch(&lines)).unwrap();
        let roots = PatchRoots::Within { writable: vec![work.path().to_owned()], protected: vec![], protected_names: vec![] };
        plan(&patch, work.path(), &roots).unwrap().apply().unwrap();

        prop_assert_eq!(fs::read_to_string(&path).unwrap(), edited(&lines, end));
        prop_assert_eq!(tree(work.path()).len(), 1);
    }
}
