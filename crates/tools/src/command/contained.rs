//! Programs that run nothing from a working tree, whatever a command in the sandbox has written
//! there. Only for these can a yes outside of the sandbox last: of `make`, `npm run`, `cargo` or
//! `python3 -m` the words stay the same while what they run is rewritten.
//!
//! The table is short on purpose. What is not in it is asked for each time; that is a question too
//! many, and never one too few. A program counts by its name, found where no command can put
//! another one of that name.

mod git;

use std::path::{Path, PathBuf};

use crate::environment::Variables;
use crate::safety::script::program_name;

/// Where a command would run.
#[derive(Debug)]
pub(crate) struct CommandContext<'a> {
    pub cwd: &'a Path,
    /// Where commands in the sandbox can write.
    pub roots: &'a [PathBuf],
    pub variables: &'a Variables,
    /// Whether the kernel keeps commands from a `.git` at the top of a root. Landlock alone
    /// does not.
    pub git_is_guarded: bool,
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

/// What is known of a command that is to run outside of the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Containment {
    /// It runs nothing from where commands in the sandbox can write.
    Contained,
    /// Commands in the sandbox can choose what it runs.
    Changeable,
    /// Nothing is known of the program.
    Unlisted,
}

impl CommandContext<'_> {
    /// Tells whether one command runs nothing from where commands in the sandbox can write.
    /// Blocks on the file system.
    pub(crate) fn contain(&self, words: &[String]) -> bool {
        let [program, arguments @ ..] = words else {
            return false;
        };
        if self.is_home_writable() || !self.is_found_outside(program) {
            return false;
        }
        let name = program_name(program);
        if PLAIN.contains(&name) {
            return true;
        }
        if let Some((_, refused)) = WITHOUT_WORDS.iter().find(|(it, _)| *it == name) {
            let is_asked = arguments.iter().any(|word| is_refused(word, refused));
            // It asks git about the repository around it.
            return !is_asked && (name != "gh" || self.git_is_harmless());
        }
        let counted = WITH_COMMANDS.iter().find(|(it, _)| *it == name);
        let first = arguments.first().map(String::as_str).unwrap_or_default();
        let is_counted = counted.is_some_and(|(_, commands)| commands.contains(&first));
        is_counted && (name != "git" || self.git_is_contained(arguments))
    }

    /// Says what is known of a command that a rule lets out of the sandbox. The rule stands for
    /// its words; what they run may be another thing by now. Blocks on the file system.
    pub(crate) fn judge(&self, words: &[String]) -> Containment {
        let [program, arguments @ ..] = words else {
            return Containment::Changeable;
        };
        if self.contain(words) {
            return Containment::Contained;
        }
        let name = program_name(program);
        let first = arguments.first().map(String::as_str).unwrap_or_default();
        let counted = WITH_COMMANDS.iter().find(|(it, _)| *it == name);
        let is_listed = PLAIN.contains(&name)
            || WITHOUT_WORDS.iter().any(|(it, _)| *it == name)
            || counted.is_some_and(|(_, commands)| commands.contains(&first));
        // What somebody names by its path, or of which nothing is known, is their own choice.
        let is_in_the_way = !program.contains('/') && !self.is_found_outside(program);
        let is_led_away =
            name == "git" && (git::names_program(arguments) || !self.git_is_harmless());
        if is_listed || is_in_the_way || is_led_away {
            Containment::Changeable
        } else {
            Containment::Unlisted
        }
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

#[cfg(test)]
mod tests;
