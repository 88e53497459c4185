//! Which commands destroy: one rule per command, on its decoded words.

use crate::safety::script::program_name;
use crate::safety::search::Word;

/// Why these words, taken as one command, are dangerous.
pub fn command(words: &[Word]) -> Option<String> {
    let (name, arguments) = words.split_first()?;
    let name = program_name(name.as_deref()?);
    let arguments = CommandWords(arguments);
    match name {
        "rm" => rm(&arguments),
        "dd" => dd(&arguments),
        "chmod" | "chown" | "chgrp" => recursive_at_root(name, &arguments),
        "find" => {
            let deletes = arguments.texts().any(|word| word == "-delete");
            deletes.then(|| "`find -delete` removes files".to_owned())
        }
        "git" => git(&arguments),
        "kill" => {
            let everything = arguments.texts().skip(1).any(|word| word == "-1");
            everything.then(|| "`kill` with the target -1 ends every process".to_owned())
        }
        "crontab" => arguments
            .has_short('r')
            .then(|| "`crontab -r` removes all scheduled commands".to_owned()),
        "systemctl" => {
            let stops = arguments.texts().find(|word| STOPS_MACHINE.contains(word));
            stops.map(|word| format!("`systemctl {word}` stops the machine"))
        }
        "init" | "telinit" => {
            let stops = arguments.texts().any(|word| matches!(word, "0" | "6"));
            stops.then(|| format!("`{name}` stops the machine"))
        }
        "mv" | "cp" | "tee" => arguments.texts().find_map(write_to),
        _ if STOPS_MACHINE.contains(&name) => Some(format!("`{name}` stops the machine")),
        _ if DESTROYS_DISK.contains(&name) || name.starts_with("mkfs") => {
            Some(format!("`{name}` destroys data on a disk"))
        }
        _ => None,
    }
}

const STOPS_MACHINE: [&str; 6] = ["halt", "kexec", "poweroff", "reboot", "shutdown", "suspend"];

const DESTROYS_DISK: [&str; 11] = [
    "blkdiscard",
    "cfdisk",
    "fdisk",
    "hdparm",
    "mke2fs",
    "mkswap",
    "parted",
    "sfdisk",
    "sgdisk",
    "shred",
    "wipefs",
];

const DISKS: [&str; 12] = [
    "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "md", "dm-", "mapper/", "loop", "disk/", "mem",
];

/// Why writing to a path destroys more than a file.
pub fn write_to(path: &str) -> Option<String> {
    let device = path.strip_prefix("/dev/")?;
    let disk = DISKS.iter().any(|prefix| device.starts_with(prefix)) || device == "kmem";
    disk.then(|| format!("it writes to the device `{path}`"))
}

/// The words after the name of a command.
struct CommandWords<'w>(&'w [Word]);

impl<'w> CommandWords<'w> {
    /// The literal ones.
    fn texts(&self) -> impl Iterator<Item = &'w str> + use<'w> {
        self.0.iter().flatten().map(String::as_str)
    }

    /// The literal ones that are options.
    fn options(&self) -> impl Iterator<Item = &'w str> + use<'w> {
        self.texts()
            .take_while(|word| *word != "--")
            .filter(|word| word.len() > 1 && word.starts_with('-'))
    }

    fn operands(&self) -> impl Iterator<Item = &'w str> + use<'w> {
        let mut only_operands = false;
        self.texts().filter(move |word| {
            if !only_operands && *word == "--" {
                only_operands = true;
                return false;
            }
            only_operands || !word.starts_with('-')
        })
    }

    fn has_short(&self, flag: char) -> bool {
        self.options()
            .any(|word| !word.starts_with("--") && word.contains(flag))
    }

    /// Long options may be shortened as long as they are unambiguous.
    fn has_long(&self, flag: &str, letters_min: usize) -> bool {
        self.options().any(|word| {
            let name = word.split('=').next().unwrap_or(word);
            name.strip_prefix("--")
                .is_some_and(|name| name.len() >= letters_min && flag.starts_with(name))
        })
    }
}

fn rm(arguments: &CommandWords<'_>) -> Option<String> {
    let forced = arguments.has_short('f') || arguments.has_long("force", 1);
    let recursive =
        arguments.has_short('r') || arguments.has_short('R') || arguments.has_long("recursive", 1);
    (forced || recursive).then(|| "`rm` removes recursively or without asking".to_owned())
}

fn dd(arguments: &CommandWords<'_>) -> Option<String> {
    let mut outputs = arguments
        .texts()
        .filter_map(|word| word.strip_prefix("of="));
    outputs.find_map(write_to)
}

fn recursive_at_root(name: &str, arguments: &CommandWords<'_>) -> Option<String> {
    if !arguments.has_short('R') && !arguments.has_long("recursive", 1) {
        return None;
    }
    let mut operands = arguments.operands().skip(1);
    let target = operands.find(|path| is_near_root(path))?;
    Some(format!("`{name} -R` changes everything below `{target}`"))
}

/// The root, a directory in it, or a home directory.
fn is_near_root(path: &str) -> bool {
    let trimmed = path.trim_end_matches(['/', '*', '.']);
    match trimmed.strip_prefix('/') {
        Some(rest) => !rest.contains('/') && rest != "tmp",
        None => trimmed.starts_with('~') || (trimmed.is_empty() && path.starts_with('/')),
    }
}

fn git(arguments: &CommandWords<'_>) -> Option<String> {
    let command = git_command(arguments.0)?;
    let (name, rest) = arguments.0[command..].split_first()?;
    let rest = CommandWords(rest);
    let why = match name.as_deref()? {
        "push" => {
            let forced = rest.has_short('f')
                || rest.has_short('d')
                || rest.has_long("force", 2)
                || rest.options().any(|word| word.starts_with("--force-"))
                || rest.has_long("mirror", 1)
                || rest.has_long("delete", 2)
                || rest.has_long("prune", 3)
                || rest.operands().any(|word| word.starts_with(['+', ':']));
            forced.then_some("`git push` replaces or removes what others may have")
        }
        "reset" => rest
            .has_long("hard", 1)
            .then_some("`git reset --hard` discards changes"),
        "clean" => (rest.has_short('f') || rest.has_long("force", 1))
            .then_some("`git clean` removes files that git does not have"),
        "checkout" | "switch" | "restore" => {
            let discards = rest.has_short('f')
                || rest.has_long("force", 1)
                || rest.has_long("discard-changes", 2)
                || rest.operands().any(|word| word == ".");
            discards.then_some("it discards changes in the work tree")
        }
        "branch" => rest
            .has_short('D')
            .then_some("`git branch -D` removes a branch that may not be merged"),
        "stash" => {
            let drops = rest.texts().any(|word| matches!(word, "drop" | "clear"));
            drops.then_some("it removes stashed changes")
        }
        "reflog" => {
            let expires = rest.texts().any(|word| matches!(word, "expire" | "delete"));
            expires.then_some("it removes the way back to former commits")
        }
        "filter-branch" | "filter-repo" => Some("it rewrites the history"),
        "update-ref" => rest.has_short('d').then_some("it removes a reference"),
        _ => None,
    };
    why.map(str::to_owned)
}

/// Where the name of the git command stands, after the options for git itself.
fn git_command(words: &[Word]) -> Option<usize> {
    const WITH_VALUE: [&str; 7] = [
        "-C",
        "-c",
        "--git-dir",
        "--work-tree",
        "--namespace",
        "--exec-path",
        "--config-env",
    ];
    let mut index = 0;
    loop {
        match words.get(index)?.as_deref() {
            Some(option) if WITH_VALUE.contains(&option) => index += 2,
            Some(option) if option.starts_with('-') => index += 1,
            Some(_) => return Some(index),
            None => index += 1,
        }
    }
}
