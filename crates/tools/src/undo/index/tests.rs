use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;

use super::*;

fn git(cwd: &Path, arguments: &[&str]) {
    let identity = ["-c", "user.name=T", "-c", "user.email=t@localhost"];
    let done = Command::new("git")
        .current_dir(cwd)
        .args(identity)
        .args(arguments)
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
}

fn names() -> Vec<String> {
    (0..300)
        .map(|number| format!("d{}/a file {number}", number % 7))
        .collect()
}

/// A repository whose files are a while older than its index.
fn repository(init: &[&str]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let top = directory.path();
    git(top, &[&["init", "-q"], init].concat());
    for name in names() {
        fs::create_dir_all(top.join(&name).parent().unwrap()).unwrap();
        fs::write(top.join(&name), &name).unwrap();
    }
    git(top, &["add", "."]);
    git(top, &["commit", "-q", "-m", "one"]);
    directory
}

fn parse(top: &Path, hash: ObjectHash) -> GitIndex {
    let path = top.join(".git/index");
    let file = IndexFile::parse(&fs::read(&path).unwrap(), hash).unwrap();
    let shared = file.shared().map(|name| {
        let bytes = fs::read(top.join(".git").join(name)).unwrap();
        IndexFile::parse(&bytes, hash).unwrap()
    });
    let metadata = fs::metadata(&path).unwrap();
    file.join(
        shared,
        metadata.mtime() * NS_PER_SECOND + metadata.mtime_nsec(),
    )
    .unwrap()
}

/// What git itself says of its index.
fn listed(top: &Path) -> Vec<(String, String)> {
    let mut git = Command::new("git");
    git.current_dir(top).args(["ls-files", "--stage", "-z"]);
    let printed = String::from_utf8(git.output().unwrap().stdout).unwrap();
    let lines = printed.split('\0').filter(|line| !line.is_empty());
    let pair = |line: &str| {
        let (head, path) = line.split_once('\t').unwrap();
        let id = head.split(' ').nth(1).unwrap();
        (path.to_owned(), id.to_owned())
    };
    lines.map(pair).collect()
}

fn check(top: &Path, hash: ObjectHash) {
    let index = parse(top, hash);
    let entries = index.entries.iter();
    let found: Vec<_> = entries
        .map(|entry| {
            let path = String::from_utf8(entry.path.clone()).unwrap();
            (path, entry.id.to_hex())
        })
        .collect();
    assert_eq!(found, listed(top));
}

#[test]
fn every_version_that_git_writes_is_read() {
    let directory = repository(&[]);
    let top = directory.path();
    check(top, ObjectHash::Sha1);
    // An entry that is only announced makes it version 3.
    fs::write(top.join("later"), "later").unwrap();
    git(top, &["add", "--intent-to-add", "later"]);
    check(top, ObjectHash::Sha1);
    git(top, &["update-index", "--index-version", "4"]);
    check(top, ObjectHash::Sha1);
    for extension in ["--untracked-cache", "--split-index"] {
        git(top, &["update-index", extension]);
        check(top, ObjectHash::Sha1);
    }
}

#[test]
fn an_index_in_two_files_is_joined() {
    let directory = repository(&[]);
    let top = directory.path();
    git(top, &["config", "core.splitIndex", "true"]);
    git(top, &["config", "splitIndex.maxPercentChange", "100"]);
    git(top, &["update-index", "--split-index"]);
    fs::write(top.join("d1/a file 1"), "replaced").unwrap();
    fs::write(top.join("d3/new"), "new").unwrap();
    git(top, &["add", "."]);
    git(top, &["rm", "-q", "d2/a file 2", "d2/a file 9"]);
    let file =
        IndexFile::parse(&fs::read(top.join(".git/index")).unwrap(), ObjectHash::Sha1).unwrap();
    assert!(file.shared().is_some(), "it is in two files");
    check(top, ObjectHash::Sha1);
}

#[test]
fn names_of_the_longer_hash_are_read() {
    let directory = repository(&["--object-format=sha256"]);
    check(directory.path(), ObjectHash::Sha256);
}

#[test]
fn what_is_no_index_is_refused() {
    let directory = repository(&[]);
    let whole = fs::read(directory.path().join(".git/index")).unwrap();
    assert!(IndexFile::parse(b"", ObjectHash::Sha1).is_none());
    for end in (0..whole.len() - 20).step_by(37) {
        // It must not panic; a cut between two extensions may pass.
        let _ = IndexFile::parse(&whole[..end], ObjectHash::Sha1);
    }
    let mut many = whole.clone();
    many[8..12].copy_from_slice(&u32::MAX.to_be_bytes());
    assert!(IndexFile::parse(&many, ObjectHash::Sha1).is_none());
}
