//! What a command names in writable roots: scripts and files that a confined command can rewrite.
//!
//! A yes that lasts cannot count for them. To compare their contents is not enough: what was
//! compared is opened anew by the program that runs, and a command in the background can exchange
//! it in between, as often as it likes.

use std::path::{Path, PathBuf};

use super::contained::CommandContext;
use crate::limits::COMMAND_WORDS_BOUND_MAX;
use crate::safety;

/// What a lasting yes to a command stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ApprovalReach {
    /// Its words: they run nothing, and name no file, that a confined command can rewrite.
    Words,
    /// Nothing: it is asked for each time.
    Once,
}

impl ApprovalReach {
    /// Looks at what the words name. Blocks on the file system.
    pub(crate) fn look(argv: &[String], around: &CommandContext<'_>) -> Self {
        let CommandContext { cwd, roots, .. } = around;
        if roots.is_empty() {
            return Self::Words;
        }
        let is_contained =
            safety::parts(argv).is_some_and(|parts| parts.iter().all(|part| around.contain(part)));
        let names_file = |words: &[String]| words.iter().any(|it| is_rewritable(it, cwd, roots));
        match words(argv) {
            Some(words) if is_contained && !names_file(&words) => Self::Words,
            Some(_) | None => Self::Once,
        }
    }
}

/// Tells whether a word names a file in a writable root. What is nothing yet is looked at again
/// before each command.
fn is_rewritable(word: &str, cwd: &Path, roots: &[PathBuf]) -> bool {
    let path = cwd.join(word);
    let Ok(real) = std::fs::canonicalize(&path) else {
        return false;
    };
    let is_inside = |path: &PathBuf| roots.iter().any(|root| path.starts_with(root));
    !real.is_dir() && (is_inside(&path) || is_inside(&real))
}

/// Returns what may be a path in a command; `None` if that is decided only when
/// it runs, or there are too many.
fn words(argv: &[String]) -> Option<Vec<String>> {
    let mut words = Vec::new();
    for word in argv {
        if !word.contains(char::is_whitespace) && !word.contains(SEPARATORS) {
            words.push(word.clone());
            continue;
        }
        if word.contains(DECIDED_LATER) {
            return None;
        }
        let mut is_output = false;
        for part in word.replace('>', " > ").split([' ', '\t', '\n', '\r']) {
            if part == ">" {
                is_output = true;
                continue;
            }
            let pieces = part.split(SEPARATORS).filter(|piece| !piece.is_empty());
            for piece in pieces {
                if MOVES.contains(&piece) {
                    return None;
                }
                // What is written to is not run.
                if !std::mem::take(&mut is_output) {
                    words.push(piece.to_owned());
                }
            }
        }
    }
    (words.len() <= COMMAND_WORDS_BOUND_MAX).then_some(words)
}

const SEPARATORS: [char; 10] = [';', '|', '&', '(', ')', '<', '\'', '"', '{', '}'];

/// Expansions of a shell.
const DECIDED_LATER: [char; 7] = ['$', '`', '*', '?', '[', '~', '\\'];

/// What makes later words mean other places.
const MOVES: [&str; 3] = ["cd", "pushd", "popd"];

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::environment::Variables;

    fn argv(script: &str) -> Vec<String> {
        ["bash", "-lc", script].map(str::to_owned).to_vec()
    }

    fn look(words: &str, cwd: &Path, roots: &[PathBuf]) -> ApprovalReach {
        let variables = [("HOME", "/nowhere"), ("PATH", "/usr/bin:/bin")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let around = CommandContext {
            cwd,
            roots,
            variables: &Variables::from(variables),
            git_is_guarded: true,
        };
        ApprovalReach::look(&argv(words), &around)
    }

    /// However harmless it is now.
    #[test]
    fn a_file_that_can_be_rewritten_is_asked_for_each_time() {
        let dir = tempfile::tempdir().unwrap();
        let roots = [std::fs::canonicalize(dir.path()).unwrap()];
        let root = &roots[0];
        for text in ["true", "make", ". ./lib.sh", "#!/bin/sh\necho built\n"] {
            std::fs::write(root.join("build.sh"), text).unwrap();
            for words in [
                "bash ./build.sh",
                "./build.sh",
                "true;sh 'build.sh' --all",
                "ls build.sh",
            ] {
                assert_eq!(look(words, root, &roots), ApprovalReach::Once, "{words}");
            }
        }
        assert_eq!(look("ls -l", root, &roots), ApprovalReach::Words);
        assert_eq!(look("ls later", root, &roots), ApprovalReach::Words);
        std::fs::write(root.join("later"), "").unwrap();
        assert_eq!(look("ls later", root, &roots), ApprovalReach::Once);
    }

    #[test]
    fn words_that_are_decided_later_are_asked_for_each_time() {
        let roots = [PathBuf::from("/w")];
        for words in [
            "cd sub && ./build.sh",
            "bash $SCRIPT",
            "sh *.sh",
            "sh `which x`",
            "make test",
        ] {
            assert_eq!(
                look(words, &roots[0], &roots),
                ApprovalReach::Once,
                "{words}"
            );
            // Nothing can be rewritten where nothing is writable.
            assert_eq!(look(words, &roots[0], &[]), ApprovalReach::Words, "{words}");
        }
    }
}
