use std::fs;
use std::path::Path;

use super::*;
use crate::undo::manifest::{KnownFile, now_ns};

/// Long after everything that a test writes.
fn later_ns() -> i64 {
    now_ns() + 60_000_000_000
}

fn file(path: &str, content: FileContent) -> KnownFile {
    KnownFile {
        path: path.as_bytes().to_vec(),
        stamp: FileStamp {
            mode: 0o100_644,
            inode: 1,
            size: 1,
            modified_ns: 1,
            changed_ns: 1,
        },
        content,
        is_settled: true,
    }
}

/// A work tree with two files, a repository inside, and a directory that is ignored.
struct Forest {
    directory: tempfile::TempDir,
    manifest: TreeManifest,
}

impl Forest {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for name in [".git", "sub/empty", "inner/.git", "target"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        fs::write(root.join("top"), "").unwrap();
        fs::write(root.join("sub/low"), "").unwrap();
        fs::write(root.join("sub/.gitignore"), "x").unwrap();
        let kept = |path| file(path, FileContent::Kept([0; 32]));
        let files = vec![
            file("inner", FileContent::Repository),
            kept("sub/.gitignore"),
            kept("sub/low"),
            kept("top"),
        ];
        let mut forest = Self {
            directory,
            manifest: TreeManifest {
                files,
                listing: None,
            },
        };
        forest.manifest.listing = Some(forest.listing());
        forest
    }

    fn root(&self) -> &Path {
        self.directory.path()
    }

    fn listing(&self) -> FileListing {
        let mut collected = DirectoryCollector::default();
        let files = self.manifest.files.iter().map(|file| file.path.as_slice());
        let mut new = collected.add_above(files, |_| true);
        new.extend(collected.add([b"inner".to_vec()]));
        let repositories = BTreeSet::from([b"inner".to_vec()]);
        let tree = WorkTree::open(self.root()).unwrap();
        let stop = WorkDeadline::after(None);
        let read = collected.read(new, &repositories, &tree, later_ns(), &stop);
        let mut unnamed = read.unwrap();
        unnamed.sort();
        assert_eq!(unnamed, [b"sub/empty".to_vec(), b"target".to_vec()]);
        collected.add_ignored([b"target".to_vec()]);
        let new = collected.add([b"sub/empty".to_vec()]);
        let read = collected.read(new, &repositories, &tree, later_ns(), &stop);
        assert_eq!(read, Some(Vec::new()));
        collected.into_listing(Some([0; 32]))
    }

    /// The new names; `None` if all has to be listed again.
    fn check(&self) -> Option<Vec<String>> {
        let tree = WorkTree::open(self.root()).unwrap();
        let listing = self.manifest.listing.as_ref().unwrap();
        let stop = WorkDeadline::after(None);
        let checked = listing.check(&tree, &self.manifest, later_ns(), &stop);
        match checked.unwrap() {
            ListingCheck::Holds { new, .. } => {
                let names = new.into_iter().map(|name| String::from_utf8(name.path));
                Some(names.collect::<Result<_, _>>().unwrap())
            }
            ListingCheck::Outdated => None,
        }
    }
}

#[test]
fn what_no_directory_has_changed_need_not_be_listed_again() {
    let forest = Forest::new();
    assert_eq!(forest.check(), Some(Vec::new()));
    // Contents, and names in what is ignored, are no concern of a list.
    fs::write(forest.root().join("top"), "other").unwrap();
    fs::write(forest.root().join("target/made"), "").unwrap();
    // So is a name that goes, or comes back.
    fs::remove_file(forest.root().join("sub/low")).unwrap();
    assert_eq!(forest.check(), Some(Vec::new()));
    fs::write(forest.root().join("sub/low"), "").unwrap();
    assert_eq!(forest.check(), Some(Vec::new()));
}

#[test]
fn a_name_that_comes_is_found_wherever_git_looks() {
    let forest = Forest::new();
    for name in ["new", "sub/new", "sub/empty/new"] {
        fs::write(forest.root().join(name), "").unwrap();
        assert_eq!(forest.check(), Some(vec![name.to_owned()]));
        fs::remove_file(forest.root().join(name)).unwrap();
    }
    // A directory in the place of a file is new, and the other way round.
    fs::remove_file(forest.root().join("top")).unwrap();
    fs::create_dir(forest.root().join("top")).unwrap();
    assert_eq!(forest.check(), Some(vec!["top".to_owned()]));
    fs::remove_dir(forest.root().join("top")).unwrap();
    fs::remove_dir(forest.root().join("sub/empty")).unwrap();
    fs::write(forest.root().join("sub/empty"), "").unwrap();
    assert_eq!(forest.check(), Some(vec!["sub/empty".to_owned()]));
}

#[test]
fn rules_and_repositories_that_change_have_git_list_everything() {
    let changes: [fn(&Path); 4] = [
        |root| fs::write(root.join("sub/.gitignore"), "other rules").unwrap(),
        |root| fs::write(root.join(".gitignore"), "rules").unwrap(),
        |root| fs::create_dir(root.join("sub/.git")).unwrap(),
        |root| fs::remove_dir(root.join("inner/.git")).unwrap(),
    ];
    for change in changes {
        let forest = Forest::new();
        change(forest.root());
        assert_eq!(forest.check(), None);
    }
}

#[test]
fn a_directory_that_was_written_just_now_is_read_again() {
    let mut forest = Forest::new();
    let listing = forest.manifest.listing.as_mut().unwrap();
    // A name came within one tick of the clock, after the directory had been read.
    listing.directories[0].is_settled = false;
    forest.manifest.files.pop();
    assert_eq!(forest.check(), Some(vec!["top".to_owned()]));
}
