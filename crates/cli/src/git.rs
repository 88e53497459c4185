//! What a repository's files say about its state. Asking git would cost a process.

use std::fs;
use std::path::{Path, PathBuf};

use troupe_protocol::session::GitInfo;

/// Reads branch and commit of the repository at `root`, as far as they can be read.
pub fn info(root: &Path) -> Option<GitInfo> {
    let git = git_directory(root)?;
    let head = fs::read_to_string(git.join("HEAD")).ok()?;
    let head = head.trim();
    let Some(reference) = head.strip_prefix("ref: ") else {
        return Some(GitInfo {
            commit_hash: Some(head.to_owned()),
            branch: None,
        });
    };
    Some(GitInfo {
        commit_hash: commit(&git, reference),
        branch: reference.strip_prefix("refs/heads/").map(str::to_owned),
    })
}

/// Follows the pointer file of a worktree or submodule.
fn git_directory(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let pointer = fs::read_to_string(&git).ok()?;
    Some(root.join(pointer.trim().strip_prefix("gitdir: ")?))
}

fn commit(git: &Path, reference: &str) -> Option<String> {
    // Branches of a worktree live in the repository that it belongs to.
    let common = fs::read_to_string(git.join("commondir"))
        .map_or_else(|_| git.to_owned(), |path| git.join(path.trim()));
    if let Ok(hash) = fs::read_to_string(common.join(reference)) {
        return Some(hash.trim().to_owned());
    }
    let packed = fs::read_to_string(common.join("packed-refs")).ok()?;
    let hash = packed
        .lines()
        .find_map(|line| line.strip_suffix(reference)?.strip_suffix(' '))?;
    Some(hash.to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::info;

    fn write(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn check(files: &[(&str, &str)], root: &str, expected: Option<(Option<&str>, Option<&str>)>) {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let text = text.replace("ROOT", &directory.path().display().to_string());
            write(&directory.path().join(path), &text);
        }
        let found = info(&directory.path().join(root));
        let found = found.map(|git| (git.commit_hash, git.branch));
        let found = found
            .as_ref()
            .map(|(commit, branch)| (commit.as_deref(), branch.as_deref()));
        assert_eq!(found, expected);
    }

    #[test]
    fn branch_and_commit_are_read_from_files() {
        let head = (".git/HEAD", "ref: refs/heads/main\n");
        check(&[], "", None);
        check(&[head], "", Some((None, Some("main"))));
        check(
            &[head, (".git/refs/heads/main", "abc\n")],
            "",
            Some((Some("abc"), Some("main"))),
        );
        check(
            &[
                head,
                (
                    ".git/packed-refs",
                    "# pack\n123 refs/heads/mai\nabc refs/heads/main\n",
                ),
            ],
            "",
            Some((Some("abc"), Some("main"))),
        );
        check(&[(".git/HEAD", "abc\n")], "", Some((Some("abc"), None)));
    }

    #[test]
    fn a_worktree_points_elsewhere() {
        let files = [
            ("tree/.git", "gitdir: ROOT/main/.git/worktrees/tree\n"),
            ("main/.git/worktrees/tree/HEAD", "ref: refs/heads/side\n"),
            ("main/.git/worktrees/tree/commondir", "../..\n"),
            ("main/.git/refs/heads/side", "abc\n"),
        ];
        check(&files, "tree", Some((Some("abc"), Some("side"))));
    }
}
