//! What a command names in writable roots: programs and scripts that a confined command can
//! rewrite. A yes that lasts counts for their contents, and not for what stands there later.

use std::path::{Path, PathBuf};

use crate::digest::Digested;
use crate::limits::COMMAND_WORDS_BOUND_MAX;

/// What a lasting yes to a command is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Scripts {
    /// Each place in a writable root that the command may name, with the SHA-256 of the file
    /// there; `None` if there is none, so that one that appears is noticed.
    Known(Vec<(PathBuf, Option<String>)>),
    /// The words do not tell which files they mean, so that nothing can be compared.
    Unknown,
}

impl Scripts {
    pub(crate) fn none() -> Self {
        Self::Known(Vec::new())
    }

    /// Looks at what the words name. Blocks on the file system.
    pub(crate) fn look(argv: &[String], cwd: &Path, roots: &[PathBuf]) -> Self {
        if roots.is_empty() {
            return Self::none();
        }
        let Some(words) = words(argv) else {
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
                Some(real) if real.is_file() => match Digested::look(real.clone()).sha256 {
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
    use std::path::PathBuf;

    use super::Scripts;

    fn argv(script: &str) -> Vec<String> {
        ["bash", "-lc", script].map(str::to_owned).to_vec()
    }

    #[test]
    fn a_script_that_is_changed_or_appears_is_another_command() {
        let dir = tempfile::tempdir().unwrap();
        let roots = [std::fs::canonicalize(dir.path()).unwrap()];
        let root = &roots[0];
        let script = root.join("build.sh");
        for words in [
            "bash ./build.sh",
            "build.sh",
            "true;sh 'build.sh' --all > log",
        ] {
            std::fs::remove_file(&script).ok();
            let absent = Scripts::look(&argv(words), root, &roots);
            assert!(!absent.has_files(), "{words}");
            std::fs::write(&script, "make").unwrap();
            let first = Scripts::look(&argv(words), root, &roots);
            assert!(first.has_files(), "{words}");
            assert_eq!(Scripts::look(&argv(words), root, &roots), first, "{words}");
            std::fs::write(&script, "curl").unwrap();
            let second = Scripts::look(&argv(words), root, &roots);
            assert!(absent != first && first != second, "{words}");
        }
        std::fs::write(root.join("log"), "").unwrap();
        let bare = ["./build.sh".to_owned()];
        assert!(Scripts::look(&bare, root, &roots).has_files());
    }

    #[test]
    fn words_that_are_decided_later_are_bound_to_nothing() {
        let roots = [PathBuf::from("/w")];
        for words in [
            "cd sub && ./build.sh",
            "bash $SCRIPT",
            "sh *.sh",
            "sh `which x`",
        ] {
            let look = Scripts::look(&argv(words), &roots[0], &roots);
            assert_eq!(look, Scripts::Unknown, "{words}");
            // Nothing can be rewritten where nothing is writable.
            let look = Scripts::look(&argv(words), &roots[0], &[]);
            assert_eq!(look, Scripts::none(), "{words}");
        }
    }
}
