//! Finds out whether there is something to review, before a model is asked.

use std::path::Path;
use std::process::{Command, Stdio};

use troupe_protocol::event::ReviewOutput;
use troupe_protocol::op::ReviewTarget;

use crate::failure::Failure;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changes {
    /// There are some, or nobody can tell without reading.
    Likely,
    None,
}

/// Looks for what is to be reviewed. What git does not know cannot be.
pub fn look(cwd: &Path, target: &ReviewTarget) -> Result<Changes, Failure> {
    match target {
        ReviewTarget::BaseBranch { branch } => must_exist(cwd, "--base", branch),
        ReviewTarget::Commit { sha, .. } => must_exist(cwd, "--commit", sha),
        ReviewTarget::UncommittedChanges => Ok(uncommitted(cwd)),
        ReviewTarget::Custom { .. } => Ok(Changes::Likely),
    }
}

/// What a review of nothing comes to.
pub fn no_changes() -> ReviewOutput {
    ReviewOutput {
        findings: Vec::new(),
        overall_correctness: "nothing to review".to_owned(),
        overall_explanation: "all changes are committed; --base and --commit review those"
            .to_owned(),
        overall_confidence_score: 1.0,
    }
}

fn must_exist(cwd: &Path, option: &str, name: &str) -> Result<Changes, Failure> {
    let commit = format!("{name}^{{commit}}");
    let mut git = git(cwd);
    git.args(["rev-parse", "--verify", "--quiet", "--end-of-options"])
        .arg(commit);
    match git.output() {
        Ok(found) if !found.status.success() => Err(Failure::usage(format!(
            "{option} {name}: git knows no such branch or commit in {}",
            cwd.display()
        ))),
        // Without git, the reviewer will say what it cannot see.
        Ok(_) | Err(_) => Ok(Changes::Likely),
    }
}

fn uncommitted(cwd: &Path) -> Changes {
    let mut git = git(cwd);
    git.args(["status", "--porcelain", "--untracked-files=normal"]);
    match git.output() {
        Ok(listed) if listed.status.success() && listed.stdout.is_empty() => Changes::None,
        Ok(_) | Err(_) => Changes::Likely,
    }
}

/// A git that only looks, and starts no program that the repository names to watch its files.
fn git(cwd: &Path) -> Command {
    let mut git = Command::new("git");
    git.current_dir(cwd)
        .args(["--no-optional-locks", "-c", "core.fsmonitor=false"])
        .stdin(Stdio::null());
    git
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use troupe_protocol::op::ReviewTarget;

    use super::{Changes, git, look};

    fn run(cwd: &Path, arguments: &[&str]) {
        let identity = ["-c", "user.name=T", "-c", "user.email=t@localhost"];
        let done = git(cwd).args(identity).args(arguments).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    }

    fn repository() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let cwd = directory.path();
        run(cwd, &["init", "-q", "-b", "main"]);
        fs::write(cwd.join("a"), "1").unwrap();
        run(cwd, &["add", "a"]);
        run(cwd, &["commit", "-q", "-m", "one"]);
        directory
    }

    #[test]
    fn a_clean_tree_has_nothing_to_review() {
        let directory = repository();
        let uncommitted = || look(directory.path(), &ReviewTarget::UncommittedChanges).unwrap();
        assert_eq!(uncommitted(), Changes::None);
        fs::write(directory.path().join("new"), "").unwrap();
        assert_eq!(uncommitted(), Changes::Likely);
    }

    #[test]
    fn outside_a_repository_nobody_can_tell() {
        let directory = tempfile::tempdir().unwrap();
        let found = look(directory.path(), &ReviewTarget::UncommittedChanges);
        assert_eq!(found.unwrap(), Changes::Likely);
    }

    #[test]
    fn branches_and_commits_must_exist() {
        let directory = repository();
        let base = |branch: &str| {
            let branch = branch.to_owned();
            look(directory.path(), &ReviewTarget::BaseBranch { branch })
        };
        assert_eq!(base("main").unwrap(), Changes::Likely);
        let refused = base("mian").unwrap_err().to_string();
        let told = "--base mian: git knows no such branch or commit in ";
        assert!(refused.starts_with(told), "{refused}");
        assert!(base("--help").is_err());
        let commit = |sha: &str| {
            let sha = sha.to_owned();
            look(directory.path(), &ReviewTarget::Commit { sha, title: None })
        };
        assert_eq!(commit("HEAD").unwrap(), Changes::Likely);
        assert!(commit("HEAD~1").is_err());
    }
}
