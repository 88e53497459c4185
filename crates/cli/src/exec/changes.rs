//! Finds out whether there is something to review, before a model is asked.

use std::collections::BTreeMap;
use std::path::Path;

use troupe_process::{GitError, GitOutput, GitReader, Launcher, LauncherOptions};
use troupe_protocol::event::ReviewOutput;
use troupe_protocol::op::ReviewTarget;

use crate::failure::CommandFailure;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewableChanges {
    /// There are some, or nobody can tell without reading.
    Likely,
    None,
}

/// Looks for what is to be reviewed. What git does not know cannot be.
pub async fn look(
    home: &Path,
    cwd: &Path,
    target: &ReviewTarget,
) -> Result<ReviewableChanges, CommandFailure> {
    let git = RepositoryLook { home, cwd };
    match target {
        ReviewTarget::BaseBranch { branch } => git.must_exist("--base", branch).await,
        ReviewTarget::Commit { sha, .. } => git.must_exist("--commit", sha).await,
        ReviewTarget::UncommittedChanges => Ok(git.uncommitted().await),
        ReviewTarget::Custom { .. } => Ok(ReviewableChanges::Likely),
    }
}

/// What a review of nothing comes to.
pub fn no_changes() -> ReviewOutput {
    ReviewOutput {
        findings: Vec::new(),
        overall_correctness: "Nothing to review".to_owned(),
        overall_explanation: "all changes are committed. Use --base BRANCH or --commit SHA"
            .to_owned(),
        overall_confidence_score: 1.0,
    }
}

struct RepositoryLook<'a> {
    home: &'a Path,
    cwd: &'a Path,
}

impl RepositoryLook<'_> {
    async fn must_exist(
        &self,
        option: &str,
        name: &str,
    ) -> Result<ReviewableChanges, CommandFailure> {
        let commit = format!("{name}^{{commit}}");
        let verify = ["rev-parse", "--verify", "--quiet", "--end-of-options"];
        let asked = self.ask(&[&verify[..], &[&commit]].concat()).await;
        match asked {
            Ok(found) if found.code != Some(0) => Err(CommandFailure::usage(format!(
                "{option} {name}: git knows no such branch or commit in {}",
                self.cwd.display()
            ))),
            // Without git, the reviewer will say what it cannot see.
            Ok(_) | Err(_) => Ok(ReviewableChanges::Likely),
        }
    }

    /// Repositories inside this one have drivers of their own, so they are not looked into: where
    /// there are some, nobody can tell.
    async fn uncommitted(&self) -> ReviewableChanges {
        let changed = [
            "status",
            "--porcelain",
            "--untracked-files=normal",
            "--ignore-submodules=dirty",
        ];
        let nested = ["ls-files", "--", ":/.gitmodules"];
        let says_nothing = |said: Result<GitOutput, GitError>| {
            said.is_ok_and(|it| it.code == Some(0) && it.stdout.is_empty())
        };
        if says_nothing(self.ask(&changed).await) && says_nothing(self.ask(&nested).await) {
            ReviewableChanges::None
        } else {
            ReviewableChanges::Likely
        }
    }

    async fn ask(&self, arguments: &[&str]) -> Result<GitOutput, GitError> {
        let launcher = Launcher::new(LauncherOptions {
            troupe_home: Some(self.home.to_path_buf()),
            ..LauncherOptions::default()
        });
        let inherited: BTreeMap<String, String> = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        let git = GitReader::open(launcher, self.cwd, &inherited).await?;
        git.run(arguments).await
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use troupe_protocol::op::ReviewTarget;

    use super::{ReviewableChanges, look};
    use crate::failure::CommandFailure;

    fn run(cwd: &Path, arguments: &[&str]) {
        let identity = ["-c", "user.name=T", "-c", "user.email=t@localhost"];
        let mut git = Command::new("git");
        git.current_dir(cwd).args(identity).args(arguments);
        let done = git.output().unwrap();
        assert!(done.status.success(), "{done:?}");
    }

    struct Scene {
        home: tempfile::TempDir,
        directory: tempfile::TempDir,
    }

    impl Scene {
        fn bare() -> Self {
            Self {
                home: tempfile::tempdir().unwrap(),
                directory: tempfile::tempdir().unwrap(),
            }
        }

        fn with_a_commit() -> Self {
            let scene = Self::bare();
            let cwd = scene.directory.path();
            run(cwd, &["init", "-q", "-b", "main"]);
            fs::write(cwd.join("a"), "1").unwrap();
            run(cwd, &["add", "a"]);
            run(cwd, &["commit", "-q", "-m", "one"]);
            scene
        }

        async fn look(&self, target: &ReviewTarget) -> Result<ReviewableChanges, CommandFailure> {
            look(self.home.path(), self.directory.path(), target).await
        }
    }

    #[tokio::test]
    async fn a_clean_tree_has_nothing_to_review() {
        let scene = Scene::with_a_commit();
        let uncommitted = ReviewTarget::UncommittedChanges;
        assert_eq!(
            scene.look(&uncommitted).await.unwrap(),
            ReviewableChanges::None
        );
        fs::write(scene.directory.path().join("new"), "").unwrap();
        assert_eq!(
            scene.look(&uncommitted).await.unwrap(),
            ReviewableChanges::Likely
        );
    }

    #[tokio::test]
    async fn outside_a_repository_nobody_can_tell() {
        let found = Scene::bare().look(&ReviewTarget::UncommittedChanges).await;
        assert_eq!(found.unwrap(), ReviewableChanges::Likely);
    }

    #[tokio::test]
    async fn branches_and_commits_must_exist() {
        let scene = Scene::with_a_commit();
        let base = async |branch: &str| {
            let branch = branch.to_owned();
            scene.look(&ReviewTarget::BaseBranch { branch }).await
        };
        assert_eq!(base("main").await.unwrap(), ReviewableChanges::Likely);
        let refused = base("mian").await.unwrap_err().to_string();
        let told = "--base mian: git knows no such branch or commit in ";
        assert!(refused.starts_with(told), "{refused}");
        assert!(base("--help").await.is_err());
        let commit = async |sha: &str| {
            let sha = sha.to_owned();
            scene.look(&ReviewTarget::Commit { sha, title: None }).await
        };
        assert_eq!(commit("HEAD").await.unwrap(), ReviewableChanges::Likely);
        assert!(commit("HEAD~1").await.is_err());
    }

    #[tokio::test]
    async fn looking_for_changes_runs_nothing_that_the_repository_names() {
        let scene = Scene::with_a_commit();
        let cwd = scene.directory.path();
        let outside = tempfile::tempdir().unwrap();
        let mark = outside.path().join("mark");
        let program = format!("touch {}; cat", mark.display());
        run(cwd, &["config", "filter.mine.clean", &program]);
        run(cwd, &["config", "core.fsmonitor", &program]);
        run(cwd, &["config", "core.sshCommand", &program]);
        run(cwd, &["config", "core.repositoryFormatVersion", "1"]);
        run(cwd, &["config", "extensions.partialClone", "origin"]);
        run(cwd, &["config", "remote.origin.promisor", "true"]);
        run(cwd, &["config", "remote.origin.url", "ssh://nobody/x"]);
        fs::write(cwd.join(".gitattributes"), "* filter=mine\n").unwrap();
        fs::write(cwd.join("a"), "2").unwrap();
        let uncommitted = scene.look(&ReviewTarget::UncommittedChanges).await;
        assert_eq!(uncommitted.unwrap(), ReviewableChanges::Likely);
        let missing = ReviewTarget::Commit {
            sha: "1234567890123456789012345678901234567890".to_owned(),
            title: None,
        };
        assert!(scene.look(&missing).await.is_err());
        assert!(!mark.exists());
    }
}
