use std::fs;

use super::*;

const PATCH: &str = "*** Begin Patch\n*** Update File: d/a\n@@\n-one\n+two\n*** End Patch\n";

/// Plans, lets something happen, applies; returns the answer and what the file contains then.
fn check(meanwhile: impl FnOnce(&Path)) -> (Result<String, String>, String) {
    let work = tempfile::tempdir().expect("a temporary directory can be made");
    let cwd = work.path().to_path_buf();
    fs::create_dir_all(cwd.join("d")).expect("a directory can be made");
    fs::write(cwd.join("d/a"), "one\n").expect("a file can be written");
    let stop = WorkDeadline::after(None);
    let planning = PlanPatchWork {
        body: PATCH.into(),
        cwd: cwd.clone(),
        roots: PatchRoots::Unrestricted,
    };
    let planned = planning.run(&stop).expect("the patch fits");
    meanwhile(&cwd);
    let applying = ApplyPatchWork {
        body: PATCH.into(),
        cwd: cwd.clone(),
        roots: PatchRoots::Unrestricted,
        found: planned.found,
    };
    let answer = applying.run(&stop);
    let content = fs::read_to_string(cwd.join("d/a")).expect("the file is there");
    (answer, content)
}

#[test]
fn what_was_seen_is_applied() {
    let (answer, content) = check(|_| {});
    assert!(answer.is_ok(), "{answer:?}");
    assert_eq!(content, "two\n");
}

#[test]
fn another_file_in_its_place_is_not_touched() {
    let (answer, content) = check(|cwd| {
        fs::write(cwd.join("other"), "one\n").expect("a file can be written");
        fs::rename(cwd.join("other"), cwd.join("d/a")).expect("it can be moved");
    });
    let text = "d/a changed since the patch was checked; nothing was written: read it again";
    assert_eq!(answer, Err(text.to_owned()));
    assert_eq!(content, "one\n");
}

#[test]
fn another_directory_in_its_place_is_not_touched() {
    let (answer, content) = check(|cwd| {
        fs::rename(cwd.join("d"), cwd.join("old")).expect("it can be moved");
        fs::create_dir(cwd.join("new")).expect("a directory can be made");
        fs::hard_link(cwd.join("old/a"), cwd.join("new/a")).expect("a link can be made");
        std::os::unix::fs::symlink("new", cwd.join("d")).expect("a link can be made");
    });
    assert!(answer.is_err(), "{answer:?}");
    assert_eq!(content, "one\n");
}
