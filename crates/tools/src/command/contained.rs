//! Programs that run nothing from a working tree, whatever a command in the sandbox has written
//! there. Only for these can a yes outside of the sandbox last: of `make`, `npm run`, `cargo` or
//! `python3 -m` the words stay the same while what they run is rewritten.
//!
//! The table is short on purpose. What is not in it is asked for each time; that is a question too
//! many, and never one too few. A program counts by its name, found where no command can put
//! another one of that name.

use std::path::{Path, PathBuf};

use troupe_process::git_directories;

use crate::environment::Variables;

/// Where a command would run.
#[derive(Debug)]
pub(crate) struct Surroundings<'a> {
    pub cwd: &'a Path,
    /// Where commands in the sandbox can write.
    pub roots: &'a [PathBuf],
    pub variables: &'a Variables,
}

/// Programs that do what their arguments say with files as data, or talk to another machine or
/// to the system.
const PLAIN: [&str; 55] = [
    "basename",
    "cat",
    "cksum",
    "cmp",
    "comm",
    "cut",
    "date",
    "df",
    "diff",
    "dig",
    "dirname",
    "du",
    "echo",
    "false",
    "file",
    "free",
    "getent",
    "grep",
    "groups",
    "head",
    "host",
    "hostname",
    "id",
    "journalctl",
    "kill",
    "ls",
    "lsof",
    "md5sum",
    "mkdir",
    "nl",
    "nslookup",
    "ping",
    "pgrep",
    "pkill",
    "printf",
    "ps",
    "pwd",
    "readlink",
    "realpath",
    "rm",
    "rmdir",
    "seq",
    "sha1sum",
    "sha256sum",
    "sleep",
    "ss",
    "stat",
    "tail",
    "test",
    "touch",
    "tr",
    "true",
    "uname",
    "uptime",
    "wc",
];

/// Programs with words that would have them run something, or read settings that do.
const WITHOUT_WORDS: [(&str, &[&str]); 4] = [
    ("curl", &["-K", "--config"]),
    ("wget", &["-e", "--execute", "--config", "--use-askpass"]),
    ("systemctl", &["edit", "link", "enable"]),
    ("gh", &["alias", "codespace", "extension"]),
];

/// Programs of which only these commands count, as their first word.
const WITH_COMMANDS: [(&str, &[&str]); 3] = [
    (
        "docker",
        &[
            "images", "info", "inspect", "logs", "ps", "pull", "restart", "rm", "start", "stop",
            "version",
        ],
    ),
    (
        "kubectl",
        &[
            "api-resources",
            "cluster-info",
            "describe",
            "get",
            "logs",
            "top",
            "version",
        ],
    ),
    // Whether it has hooks and drivers is looked at.
    (
        "git",
        &[
            "add",
            "branch",
            "commit",
            "diff",
            "fetch",
            "log",
            "ls-remote",
            "merge-base",
            "push",
            "remote",
            "reset",
            "restore",
            "rev-parse",
            "show",
            "stash",
            "status",
            "switch",
            "tag",
        ],
    ),
];

/// Words by which git runs a program that they name.
const PROGRAM_WORDS_OF_GIT: [&str; 5] = [
    "--exec",
    "--ext-diff",
    "--receive-pack",
    "--textconv",
    "--upload-pack",
];

/// Settings of a repository by which git runs programs, or reads further settings.
const PROGRAMS_OF_GIT: [&str; 13] = [
    "hookspath",
    "fsmonitor",
    "sshcommand",
    "askpass",
    "[include",
    "[filter",
    "[alias",
    "[credential",
    "textconv",
    "external",
    "driver",
    "program",
    "editor",
];

impl Surroundings<'_> {
    /// Tells whether one command runs nothing from where commands in the sandbox can write.
    /// Blocks on the file system.
    pub(crate) fn contain(&self, words: &[String]) -> bool {
        let [program, arguments @ ..] = words else {
            return false;
        };
        if self.is_home_writable() || !self.is_found_outside(program) {
            return false;
        }
        let name = Path::new(program)
            .file_name()
            .and_then(|name| name.to_str());
        let Some(name) = name else {
            return false;
        };
        if PLAIN.contains(&name) {
            return true;
        }
        if let Some((_, refused)) = WITHOUT_WORDS.iter().find(|(it, _)| *it == name) {
            return !arguments.iter().any(|word| is_refused(word, refused));
        }
        let counted = WITH_COMMANDS.iter().find(|(it, _)| *it == name);
        let first = arguments.first().map(String::as_str).unwrap_or_default();
        let is_counted = counted.is_some_and(|(_, commands)| commands.contains(&first));
        let runs_none = || {
            let mut words = arguments.iter();
            !words.any(|word| is_refused(word, &PROGRAM_WORDS_OF_GIT)) && self.git_runs_nothing()
        };
        is_counted && (name != "git" || runs_none())
    }

    /// Settings of shells, of git and of most programs are there.
    fn is_home_writable(&self) -> bool {
        let home = self.variables.get("HOME");
        home.is_none_or(|home| self.is_writable(Path::new(home)))
    }

    fn is_writable(&self, path: &Path) -> bool {
        let real = path.canonicalize();
        let mut spellings = [Some(path), real.as_deref().ok()].into_iter().flatten();
        spellings.any(|path| self.roots.iter().any(|root| path.starts_with(root)))
    }

    /// Tells whether the program that a name stands for is the same, whatever commands write.
    fn is_found_outside(&self, program: &str) -> bool {
        if program.contains('/') {
            return Path::new(program).is_absolute() && !self.is_writable(Path::new(program));
        }
        let path = self.variables.get("PATH").map_or("", String::as_str);
        for directory in path.split(':') {
            let directory = Path::new(directory);
            // One that is found by the working directory may be writable after the next `cd`.
            if !directory.is_absolute() || self.is_writable(directory) {
                return false;
            }
            let found = directory.join(program);
            if found.is_file() {
                return !self.is_writable(&found);
            }
        }
        // A shell has it built in, or there is none.
        true
    }

    /// Tells whether the repository has neither hooks nor drivers: they may be in the working
    /// tree, and if they are not, what they run is.
    fn git_runs_nothing(&self) -> bool {
        let is_root = |directory: &&Path| directory.join(".git").symlink_metadata().is_ok();
        let Some(root) = self.cwd.ancestors().find(is_root) else {
            return false;
        };
        let mut directories = git_directories(root);
        directories.push(root.join(".git"));
        let of_repository = directories.iter().all(|directory| {
            let mut settings = ["config", "config.worktree"].into_iter();
            has_no_hook(&directory.join("hooks"))
                && settings.all(|name| names_none(&directory.join(name), &PROGRAMS_OF_GIT))
        });
        let home = self.variables.get("HOME").map_or("", String::as_str);
        // What the user signs or asks for passwords with is no matter of the tree.
        let mut of_user = [".gitconfig", ".config/git/config"].into_iter();
        let of_user = of_user.all(|name| {
            let path = Path::new(home).join(name);
            names_none(&path, &["hookspath", "[include"])
        });
        of_repository && of_user
    }
}

/// A value may be glued to its option, short options to each other, and long ones may be cut.
fn is_refused(word: &str, refused: &[&str]) -> bool {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    refused.iter().any(|option| {
        let letter = option.strip_prefix('-').filter(|it| it.len() == 1);
        match letter {
            Some(letter) => {
                word.starts_with('-') && !word.starts_with("--") && word.contains(letter)
            }
            None if option.starts_with("--") => name.len() > 2 && option.starts_with(name),
            None => word == *option,
        }
    })
}

/// Tells whether a file of settings names none of these; one that is not there does not.
fn names_none(path: &Path, names: &[&str]) -> bool {
    match std::fs::read(path) {
        Ok(text) => {
            let text = String::from_utf8_lossy(&text).to_ascii_lowercase();
            !names.iter().any(|name| text.contains(name))
        }
        Err(error) => matches!(
            error.kind(),
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
        ),
    }
}

fn has_no_hook(directory: &Path) -> bool {
    let Ok(entries) = directory.read_dir() else {
        return !directory.exists();
    };
    let mut names = entries.map(|entry| entry.map(|entry| entry.file_name()));
    names.all(|name| name.is_ok_and(|name| name.to_string_lossy().ends_with(".sample")))
}

#[cfg(test)]
mod tests;
