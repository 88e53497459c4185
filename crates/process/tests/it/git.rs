//! The engine's own git in a repository that names programs.

use std::fs;
use std::path::Path;
use std::process::Command;

use troupe_process::GitReader;

use crate::support::{bash, launcher};

fn git(cwd: &Path, arguments: &[&str]) {
    let identity = ["-c", "user.name=T", "-c", "user.email=t@localhost"];
    let mut git = Command::new("git");
    git.current_dir(cwd).args(identity).args(arguments);
    let done = git.output().unwrap();
    assert!(done.status.success(), "{done:?}");
}

/// The kernel keeps such a program from doing harm; that it shows nowhere tells that none was run.
#[tokio::test]
async fn a_filter_of_the_repository_is_not_run_by_our_own_git() {
    let directory = tempfile::tempdir().unwrap();
    let cwd = directory.path();
    git(cwd, &["init", "-q", "-b", "main"]);
    fs::write(cwd.join("a"), "one\n").unwrap();
    git(cwd, &["add", "a"]);
    git(cwd, &["commit", "-q", "-m", "one"]);
    git(cwd, &["config", "filter.a.b.clean", "echo filtered"]);
    git(cwd, &["config", "filter.a.b.required", "true"]);
    fs::write(cwd.join(".gitattributes"), "a filter=a.b\n").unwrap();
    fs::write(cwd.join("a"), "two\n").unwrap();

    let env = bash("").env;
    let reader = GitReader::open(launcher(), cwd, &env).await.unwrap();
    let diff = ["diff", "--no-ext-diff", "--no-textconv", "--", "a"];
    let diff = reader.run(&diff).await.unwrap();
    let text = String::from_utf8(diff.stdout).unwrap();
    assert_eq!(diff.code, Some(0), "{}", diff.stderr);
    assert!(text.contains("\n+two\n"), "{text}");
    assert!(!text.contains("filtered"), "{text}");
}
