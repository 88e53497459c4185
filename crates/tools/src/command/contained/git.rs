//! When git, outside of the sandbox, runs nothing that a confined command can have written.
//!
//! Git obeys the repository that it finds from where it is: hooks, drivers and settings of it, of
//! the repositories that its index names, and of one on this machine that it talks to. What
//! stands there now says little, because a command in the background can change it between the
//! look and the run. So a repository counts only where the kernel keeps commands from all of
//! its git directories: it lies outside of the writable roots, or its top is one of them. In a
//! directory below a root a command can make another repository at any moment.

use std::path::{Component, Path, PathBuf};

use troupe_process::{git_directories, gitlinks};

use super::{CommandContext, is_refused};

/// Words by which git runs a program that they name, or writes a file.
const PROGRAM_WORDS: [&str; 8] = [
    "--exec",
    "--ext-diff",
    "--open-files-in-pager",
    "--output",
    "--receive-pack",
    "--remote",
    "--textconv",
    "--upload-pack",
];

/// Commands with options of one letter that do the same, and commands that always do (an empty
/// option).
const PROGRAM_COMMANDS: [(&str, &str); 7] = [
    ("bisect", ""),
    ("difftool", ""),
    ("filter-branch", ""),
    ("grep", "-O"),
    ("mergetool", ""),
    ("rebase", "-x"),
    ("submodule", ""),
];

/// Tells whether a command of git runs what its words say, or in another place than here.
pub(super) fn names_program(arguments: &[String]) -> bool {
    let [first, rest @ ..] = arguments else {
        return false;
    };
    let refuses = |option: &str| rest.iter().any(|word| is_refused(word, &[option]));
    let mut commands = PROGRAM_COMMANDS.iter();
    first.starts_with('-')
        || rest.iter().any(|word| is_refused(word, &PROGRAM_WORDS))
        || commands
            .any(|(command, option)| command == first && (option.is_empty() || refuses(option)))
}

/// Settings of a repository by which git runs programs, or reads further settings.
const PROGRAMS: [&str; 19] = [
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
    "command",
    "difffilter",
    "gitproxy",
    "receivepack",
    "uploadpack",
    "insteadof",
];

/// Keys of the user's own settings by which a file of the work tree chooses a program.
const DRIVERS: [&str; 6] = [
    "clean", "smudge", "process", "textconv", "driver", "external",
];

/// The one program behind such a key that many people have, and that takes nothing from the tree.
const LARGE_FILES: &str = "git-lfs ";

/// Commands that talk to another repository, and their options that take no value of their own
/// and change nothing about where it is.
const TALKING: [(&str, &[&str]); 4] = [
    (
        "fetch",
        &[
            "--all",
            "--dry-run",
            "--force",
            "--no-tags",
            "--prune",
            "--quiet",
            "--tags",
            "--verbose",
            "-f",
            "-p",
            "-q",
            "-t",
            "-v",
        ],
    ),
    (
        "ls-remote",
        &["--heads", "--quiet", "--refs", "--tags", "-q"],
    ),
    (
        "push",
        &[
            "--all",
            "--atomic",
            "--delete",
            "--dry-run",
            "--follow-tags",
            "--force",
            "--force-with-lease",
            "--porcelain",
            "--prune",
            "--quiet",
            "--set-upstream",
            "--tags",
            "--verbose",
            "-d",
            "-f",
            "-n",
            "-q",
            "-u",
            "-v",
        ],
    ),
    // Only what it says without asking the other side.
    ("remote", &["--verbose", "-v"]),
];

/// Commands of `git remote` that ask nobody.
const QUIET_REMOTE: [&str; 6] = [
    "add",
    "get-url",
    "remove",
    "rename",
    "set-branches",
    "set-url",
];

/// A repository that git finds, with the text of its settings.
struct GuardedRepository {
    top: PathBuf,
    settings: String,
}

impl CommandContext<'_> {
    /// Tells whether one command of git runs nothing that a confined command can have written.
    /// Blocks on the file system.
    pub(super) fn git_is_contained(&self, arguments: &[String]) -> bool {
        let mut words = arguments.iter();
        !words.any(|word| is_refused(word, &PROGRAM_WORDS))
            && self.repository().is_some_and(|repository| {
                repository.runs_nothing() && self.talks_to_known(&repository, arguments)
            })
    }

    /// Tells whether other programs may ask git things here.
    pub(super) fn git_is_harmless(&self) -> bool {
        let repository = self.repository();
        repository.is_some_and(|repository| repository.runs_nothing())
    }

    /// Returns the repository here, if no command in the sandbox can write to its git
    /// directories or put another one in its way, and the user's own settings run nothing from
    /// the tree.
    fn repository(&self) -> Option<GuardedRepository> {
        let top = self.top()?;
        let mut directories = git_directories(&top);
        directories.push(top.join(".git").canonicalize().ok()?);
        let is_guarded = |path: &PathBuf| {
            let mut roots = self.roots.iter();
            !self.is_writable(path)
                || (self.git_is_guarded && roots.any(|root| path.starts_with(root.join(".git"))))
        };
        let is_free = |place: PathBuf| {
            !self.is_writable(&place) || place.join(".git").symlink_metadata().is_err()
        };
        let mut settings = String::new();
        for directory in &directories {
            if !is_guarded(directory) || !has_no_hook(&directory.join("hooks")) {
                return None;
            }
            for name in ["config", "config.worktree"] {
                settings += &text_of(&directory.join(name))?;
                settings += "\n";
            }
        }
        let has_others = !gitlinks(&top)?.into_iter().all(is_free);
        (!has_others && self.user_runs_nothing()).then_some(GuardedRepository { top, settings })
    }

    /// Returns the top of the repository that git finds here, if no command can change which one
    /// that is.
    fn top(&self) -> Option<PathBuf> {
        let cwd = self.cwd.canonicalize().ok()?;
        let is_below = |root: &PathBuf| cwd.starts_with(root) && cwd != *root;
        if self.roots.iter().any(is_below) {
            return None;
        }
        let is_top = |directory: &&Path| {
            let git = directory.join(".git").symlink_metadata();
            git.is_ok_and(|found| !found.is_symlink())
        };
        if self.roots.contains(&cwd) {
            let is_there =
                is_top(&cwd.as_path()) && !troupe_process::is_placeholder(&cwd.join(".git"));
            return is_there.then_some(cwd);
        }
        cwd.ancestors().find(is_top).map(Path::to_path_buf)
    }

    /// What the user signs or asks for passwords with is no matter of the tree.
    fn user_runs_nothing(&self) -> bool {
        let home = self.variables.get("HOME").map_or("", String::as_str);
        [".gitconfig", ".config/git/config"].iter().all(|name| {
            text_of(&Path::new(home).join(name)).is_some_and(|text| {
                !names_any(&text, &["hookspath", "[include"])
                    && entries(&text).all(|(key, value)| match key.as_str() {
                        "fsmonitor" => ["true", "false"].contains(&value),
                        key if DRIVERS.contains(&key) => value.starts_with(LARGE_FILES),
                        _ => true,
                    })
            })
        })
    }

    /// Tells whether what git talks to lies on another machine, or where no command can write:
    /// one on this machine runs its own hooks.
    fn talks_to_known(&self, repository: &GuardedRepository, arguments: &[String]) -> bool {
        let [command, rest @ ..] = arguments else {
            return false;
        };
        let Some((_, options)) = TALKING.iter().find(|(name, _)| name == command) else {
            return true;
        };
        let mut operands = rest.iter().filter(|word| !word.starts_with('-'));
        let first = operands.next().map(String::as_str);
        let mut given = rest.iter().filter(|word| word.starts_with('-'));
        if !given.all(|word| options.contains(&word.as_str())) {
            return false;
        }
        if command == "remote" {
            return first.is_none_or(|first| QUIET_REMOTE.contains(&first));
        }
        let is_known = |url: &str| self.is_known(repository, url);
        let mut configured = entries(&repository.settings);
        configured.all(|(key, url)| !matches!(key.as_str(), "url" | "pushurl") || is_known(url))
            && first.is_none_or(|name| {
                let section = format!("[remote \"{name}\"]");
                let mut lines = repository.settings.lines();
                lines.any(|line| line.trim() == section) || is_elsewhere(name) == Some(true)
            })
    }

    fn is_known(&self, repository: &GuardedRepository, url: &str) -> bool {
        match is_elsewhere(url) {
            Some(true) => true,
            Some(false) => {
                let path = Path::new(url.strip_prefix("file://").unwrap_or(url));
                let place = beside(&repository.top, path);
                place.is_some_and(|place| !self.is_writable(&place))
            }
            None => false,
        }
    }
}

impl GuardedRepository {
    fn runs_nothing(&self) -> bool {
        !names_any(&self.settings, &PROGRAMS)
    }
}

/// Returns where a path leads from a directory that is real; `None` if it turns back on the way,
/// which a link can make another place.
fn beside(top: &Path, path: &Path) -> Option<PathBuf> {
    let mut parts = path.components().peekable();
    let mut place = top.to_path_buf();
    while parts
        .next_if(|part| matches!(part, Component::ParentDir | Component::CurDir))
        .is_some_and(|part| part == Component::CurDir || place.pop())
    {}
    let rest: PathBuf = parts.collect();
    let turns_back = rest.components().any(|part| part == Component::ParentDir);
    (!turns_back).then(|| place.join(rest))
}

/// Tells whether an address is one of another machine; `None` if a program decides that.
fn is_elsewhere(url: &str) -> Option<bool> {
    if let Some((scheme, _)) = url.split_once("://") {
        return Some(scheme != "file");
    }
    if url.contains("::") {
        return None;
    }
    let host = url.split('/').next().unwrap_or_default();
    Some(host.contains(':'))
}

/// Returns the keys of a file of settings, in small letters, with their values.
fn entries(text: &str) -> impl Iterator<Item = (String, &str)> {
    text.lines().filter_map(|line| {
        // A key may stand behind the head of its section.
        let line = line.trim();
        let line =
            line.rsplit_once(']').map_or(
                line,
                |(head, rest)| {
                    if head.starts_with('[') { rest } else { line }
                },
            );
        let (key, value) = line.split_once('=')?;
        let value = value.trim().trim_matches('"');
        Some((key.trim().to_ascii_lowercase(), value))
    })
}

fn names_any(text: &str, names: &[&str]) -> bool {
    let text = text.to_ascii_lowercase();
    names.iter().any(|name| text.contains(name))
}

/// Returns the text of a file, which may be absent; `None` if it cannot be read.
fn text_of(path: &Path) -> Option<String> {
    match std::fs::read(path) {
        Ok(text) => Some(String::from_utf8_lossy(&text).into_owned()),
        Err(error) => matches!(
            error.kind(),
            std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory
        )
        .then(String::new),
    }
}

fn has_no_hook(directory: &Path) -> bool {
    let Ok(entries) = directory.read_dir() else {
        return !directory.exists();
    };
    let mut names = entries.map(|entry| entry.map(|entry| entry.file_name()));
    names.all(|name| name.is_ok_and(|name| name.to_string_lossy().ends_with(".sample")))
}
