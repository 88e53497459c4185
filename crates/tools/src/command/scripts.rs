//! What a command names in writable roots: scripts and files that a confined command can rewrite.
//! A yes that lasts counts for their contents, and not for what stands there later; and it lasts
//! only if nothing else that can be rewritten is run (see [`CommandContext`]).

use std::path::PathBuf;

use super::contained::CommandContext;
use crate::digest::FileDigest;
use crate::limits::{COMMAND_SCRIPT_BYTES_MAX, COMMAND_WORDS_BOUND_MAX};
use crate::safety;
use crate::safety::script::{is_of_the_system, is_shell};

/// What a lasting yes to a command is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum ScriptDigests {
    /// Each place in a writable root that the command may name, with the SHA-256 of the file
    /// there; `None` if there is none, so that one that appears is noticed.
    Known(Vec<(PathBuf, Option<String>)>),
    /// The words do not tell which files they mean or what these run in turn, so that nothing
    /// can be compared.
    Unknown,
}

impl ScriptDigests {
    pub(crate) fn none() -> Self {
        Self::Known(Vec::new())
    }

    /// Looks at what the words name. Blocks on the file system.
    pub(crate) fn look(argv: &[String], around: &CommandContext<'_>) -> Self {
        let CommandContext { cwd, roots, .. } = around;
        if roots.is_empty() {
            return Self::none();
        }
        let parts = safety::parts(argv);
        let runs_only_known = parts.is_some_and(|parts| {
            let mut parts = parts.iter();
            parts.all(|part| around.contain(part) || is_contained_script(part, around))
        });
        let Some(words) = words(argv).filter(|_| runs_only_known) else {
            return Self::Unknown;
        };
        let mut known: Vec<(PathBuf, Option<String>)> = Vec::new();
        for word in words {
            let path = cwd.join(&word);
            let real = std::fs::canonicalize(&path).ok();
            let named = [Some(&path), real.as_ref()];
            let is_writable = |path: &PathBuf| roots.iter().any(|root| path.starts_with(root));
            if !named.into_iter().flatten().any(is_writable) {
                continue;
            }
            let sha256 = match &real {
                Some(real) if real.is_file() => match FileDigest::look(real.clone()).sha256 {
                    Some(sha256) => Some(sha256),
                    None => return Self::Unknown,
                },
                Some(_) | None => None,
            };
            known.push((path, sha256));
        }
        known.sort();
        known.dedup();
        Self::Known(known)
    }

    /// Tells whether a yes can outlast the files as they are now: a rule knows only words.
    pub(crate) fn has_files(&self) -> bool {
        match self {
            Self::Known(known) => known.iter().any(|(_, sha256)| sha256.is_some()),
            Self::Unknown => true,
        }
    }
}

/// Tells whether a command is a script of a shell that runs contained programs alone. That it
/// stays so is seen by its contents.
fn is_contained_script(part: &[String], around: &CommandContext<'_>) -> bool {
    let (file, needs_head) = match part {
        [shell, file, ..] if is_shell(shell) && is_of_the_system(shell) => (file, false),
        [file, ..] if file.contains('/') => (file, true),
        _ => return false,
    };
    let path = around.cwd.join(file);
    let is_short = std::fs::metadata(&path)
        .is_ok_and(|found| found.is_file() && found.len() <= COMMAND_SCRIPT_BYTES_MAX);
    if file.starts_with('-') || !is_short {
        return false;
    }
    let Ok(text) = std::fs::read_to_string(&path) else {
        return false;
    };
    let head = text.lines().next().filter(|line| line.starts_with("#!"));
    let is_of_shell = head.map_or(!needs_head, |head| SHELL_HEADS.contains(&head.trim_end()));
    let body = head.map_or(text.as_str(), |head| &text[head.len()..]);
    let parts = safety::segments(body.trim());
    is_of_shell && parts.is_some_and(|parts| parts.iter().all(|part| around.contain(part)))
}

const SHELL_HEADS: [&str; 5] = [
    "#!/bin/sh",
    "#!/bin/bash",
    "#!/usr/bin/bash",
    "#!/usr/bin/env sh",
    "#!/usr/bin/env bash",
];

/// Returns what may be a path in a command or its script; `None` if that is decided only when
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

    fn look(words: &str, cwd: &Path, roots: &[PathBuf]) -> ScriptDigests {
        let variables = [("HOME", "/nowhere"), ("PATH", "/usr/bin:/bin")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let around = CommandContext {
            cwd,
            roots,
            variables: &Variables::from(variables),
            git_is_guarded: true,
        };
        ScriptDigests::look(&argv(words), &around)
    }

    #[test]
    fn a_script_that_is_changed_or_appears_is_another_command() {
        let dir = tempfile::tempdir().unwrap();
        let roots = [std::fs::canonicalize(dir.path()).unwrap()];
        let root = &roots[0];
        let script = root.join("build.sh");
        for words in ["bash ./build.sh", "true;sh 'build.sh' --all", "ls build.sh"] {
            std::fs::write(&script, "true").unwrap();
            let first = look(words, root, &roots);
            assert!(
                first.has_files() && first != ScriptDigests::Unknown,
                "{words}"
            );
            assert_eq!(look(words, root, &roots), first, "{words}");
            std::fs::write(&script, "true again").unwrap();
            let second = look(words, root, &roots);
            assert!(first != second, "{words}");
        }
        std::fs::write(&script, "#!/bin/sh\necho built\n").unwrap();
        let bare = look("./build.sh", root, &roots);
        assert!(bare.has_files() && bare != ScriptDigests::Unknown);
    }

    /// The script is the same afterwards; what it runs is not.
    #[test]
    fn a_script_that_runs_others_is_bound_to_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let roots = [std::fs::canonicalize(dir.path()).unwrap()];
        let root = &roots[0];
        for text in [
            "make",
            ". ./lib.sh",
            "./other.sh",
            "echo $(make)",
            "#!/usr/bin/python3\n",
        ] {
            std::fs::write(root.join("build.sh"), text).unwrap();
            for words in ["bash ./build.sh", "./build.sh"] {
                assert_eq!(
                    look(words, root, &roots),
                    ScriptDigests::Unknown,
                    "{words}: {text}"
                );
            }
        }
    }

    #[test]
    fn words_that_are_decided_later_are_bound_to_nothing() {
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
                ScriptDigests::Unknown,
                "{words}"
            );
            // Nothing can be rewritten where nothing is writable.
            assert_eq!(
                look(words, &roots[0], &[]),
                ScriptDigests::none(),
                "{words}"
            );
        }
    }
}
