//! What a repository holds at one moment, by a git of our own.
//!
//! Each work tree has a store below the home, which has its own index, so that a second look
//! costs one `stat` per file, and borrows the objects of the user's repository, so that what is
//! committed there is not written again. Contents go in as they are on disk, without the
//! conversions that attributes ask for. A store is a cache: it can be thrown away at any time.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use troupe_process::{Launcher, holds_repository};

use super::git::Git;
use super::look::sha256;
use crate::blocking;
use crate::environment::Variables;
use crate::limits::{UNDO_TREE_OBJECTS_MAX, UNDO_TREE_TIME_MAX};

/// Nothing runs by itself, nothing is converted, and a power cut may take it all.
const CONFIG: &str = "\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = false
\tautocrlf = false
\tfsync = none
\tlooseCompression = 1
\tfsmonitor = false
\thooksPath = /dev/null
[gc]
\tauto = 0
[advice]
\taddEmbeddedRepo = false
";
/// Wins over every `.gitattributes` of the work tree.
const ATTRIBUTES: &str = "* -text -eol -ident -filter -working-tree-encoding\n";

/// Makes and compares snapshots of work trees.
#[derive(Debug)]
pub(super) struct Trees {
    /// Where the stores are.
    directory: PathBuf,
    /// Never part of a snapshot, wherever it lies.
    home: PathBuf,
    launcher: Launcher,
    inherited: Variables,
}

/// A work tree, and what of it a turn may write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub root: PathBuf,
    /// Relative to the root; empty for all of it.
    pub parts: Vec<PathBuf>,
}

impl Place {
    /// Tells whether a file is looked at. The store may know others from earlier looks, as they
    /// were then.
    fn contains(&self, path: &Path) -> bool {
        let is_inside = |part: &PathBuf| path.starts_with(self.root.join(part));
        self.parts.is_empty() || self.parts.iter().any(is_inside)
    }
}

/// One file that differs between two snapshots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Difference {
    pub path: PathBuf,
    pub before: Side,
    pub after: Side,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Side {
    Absent,
    File {
        id: String,
        executable: bool,
    },
    Link {
        id: String,
    },
    /// Another repository.
    Other,
}

impl Trees {
    pub(super) fn new(
        directory: PathBuf,
        home: PathBuf,
        launcher: Launcher,
        inherited: Variables,
    ) -> Self {
        Self {
            directory,
            home,
            launcher,
            inherited,
        }
    }

    /// Returns the work tree that a directory lies in. `writable` is where commands may write;
    /// only that is looked at.
    pub(super) fn place(cwd: &Path, writable: &[PathBuf]) -> Option<Place> {
        let is_root = |directory: &&Path| holds_repository(directory);
        let root = cwd.ancestors().find(is_root)?.to_owned();
        let real = root.canonicalize().ok()?;
        let mut parts = Vec::new();
        for path in writable {
            if real.starts_with(path) || root.starts_with(path) {
                return Some(Place {
                    root,
                    parts: Vec::new(),
                });
            }
            let below = path.strip_prefix(&real).or(path.strip_prefix(&root));
            parts.extend(below.ok().filter(|_| path.exists()).map(Path::to_owned));
        }
        (!parts.is_empty()).then_some(Place { root, parts })
    }

    /// Takes a snapshot and returns its id.
    pub(super) async fn take(&self, place: &Place) -> Result<String, String> {
        let git = self.git(&place.root);
        let taking = async {
            let _lock = self.prepare(&git).await?;
            let parts: Vec<&str> = place
                .parts
                .iter()
                .filter_map(|part| part.to_str())
                .collect();
            if parts.len() != place.parts.len() {
                return Err("the name of its directory is not UTF-8".to_owned());
            }
            let mut arguments = vec!["--literal-pathspecs", "add", "--all"];
            if !parts.is_empty() {
                arguments.push("--");
                arguments.extend(parts);
            }
            git.run(&arguments).await?;
            let tree = git.run(&["write-tree"]).await?;
            Ok(String::from_utf8_lossy(&tree).trim_end().to_owned())
        };
        let failed = match tokio::time::timeout(UNDO_TREE_TIME_MAX, taking).await {
            Ok(Ok(tree)) => return Ok(tree),
            Ok(Err(problem)) => problem,
            // What it has written stays: the next attempt is that much shorter.
            Err(_) => {
                let seconds = UNDO_TREE_TIME_MAX.as_secs();
                return Err(format!("git took longer than {seconds} s"));
            }
        };
        // Whatever is wrong with the store is not wrong with the next one.
        let directory = git.directory().to_owned();
        let removed = blocking::finish(move || remove(&directory)).await?;
        match removed {
            Ok(()) => Err(failed),
            Err(error) => Err(format!("{failed}; nor could its store be removed: {error}")),
        }
    }

    /// Lists what differs between two snapshots of one work tree.
    pub(super) async fn compare(
        &self,
        place: &Place,
        before: &str,
        after: &str,
    ) -> Result<Vec<Difference>, String> {
        let git = self.git(&place.root);
        let listing = git
            .run(&[
                "diff-tree",
                "-r",
                "-z",
                "--raw",
                "--no-renames",
                "--no-abbrev",
                before,
                after,
            ])
            .await?;
        let found = differences(&listing, &place.root);
        let mut found = found.ok_or_else(|| "git's list cannot be read".to_owned())?;
        found.retain(|difference| place.contains(&difference.path));
        Ok(found)
    }

    /// Tells which of the files are part of a snapshot.
    pub(super) async fn members(
        &self,
        root: &Path,
        tree: &str,
        files: &[PathBuf],
    ) -> Result<Vec<PathBuf>, String> {
        let below = files.iter().filter_map(|file| file.strip_prefix(root).ok());
        let below: Vec<&str> = below.filter_map(Path::to_str).collect();
        if below.is_empty() {
            return Ok(Vec::new());
        }
        let mut arguments = vec!["--literal-pathspecs", "ls-tree", "-z", "--name-only"];
        arguments.extend([tree, "--"]);
        arguments.extend(below);
        let listing = self.git(root).run(&arguments).await?;
        let names = listing
            .split(|byte| *byte == 0)
            .filter(|name| !name.is_empty());
        Ok(names
            .map(|name| root.join(OsStr::from_bytes(name)))
            .collect())
    }

    pub(super) fn git(&self, root: &Path) -> Git {
        let real = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let name = &sha256(real.as_os_str().as_bytes())[..16];
        let directory = self.directory.join(name);
        Git::new(
            self.launcher.clone(),
            directory,
            root.to_owned(),
            &self.inherited,
        )
    }

    /// Makes the store ready for one writer, which is whoever holds what is returned.
    async fn prepare(&self, git: &Git) -> Result<File, String> {
        let (directory, root) = (git.directory().to_owned(), git.root().to_owned());
        let home = self.home.clone();
        let prepared = blocking::finish(move || prepare(&directory, &root, &home)).await?;
        prepared.map_err(|error| format!("its store cannot be made ready: {error}"))
    }
}

fn prepare(directory: &Path, root: &Path, home: &Path) -> io::Result<File> {
    let mut made = fs::DirBuilder::new();
    made.recursive(true).mode(0o700);
    made.create(directory)?;
    // Beside the store, because the store may be thrown away.
    let lock = File::create(directory.with_extension("lock"))?;
    lock.lock()?;
    if is_full(directory) {
        remove(directory)?;
    }
    for name in ["objects/info", "refs", "info"] {
        made.create(directory.join(name))?;
    }
    fs::write(directory.join("HEAD"), "ref: refs/heads/none\n")?;
    fs::write(directory.join("config"), CONFIG)?;
    fs::write(directory.join("info/attributes"), ATTRIBUTES)?;
    let theirs = repository(root);
    fs::write(
        directory.join("info/exclude"),
        exclude(root, home, theirs.as_deref()),
    )?;
    fs::write(
        directory.join("objects/info/alternates"),
        theirs.and_then(|git| borrowed(&git)).unwrap_or_default(),
    )?;
    // Left by a git that was killed: nobody else writes here now.
    match fs::remove_file(directory.join("index.lock")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(lock),
    }
}

/// Objects are spread evenly over 256 directories, so one tells about all.
fn is_full(directory: &Path) -> bool {
    let sample = fs::read_dir(directory.join("objects/17"));
    sample.is_ok_and(|entries| entries.count() * 256 > UNDO_TREE_OBJECTS_MAX)
}

fn remove(directory: &Path) -> io::Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Returns the directory of the user's repository that holds its objects.
fn repository(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let pointer = fs::read_to_string(&git).ok()?;
    let git = root.join(pointer.trim().strip_prefix("gitdir:")?.trim());
    let common = fs::read_to_string(git.join("commondir"));
    Some(common.map_or_else(|_| git.clone(), |path| git.join(path.trim())))
}

/// What the user ignores in this repository alone, and the engine's own directory.
fn exclude(root: &Path, home: &Path, theirs: Option<&Path>) -> String {
    let mut text = theirs
        .and_then(|git| fs::read_to_string(git.join("info/exclude")).ok())
        .unwrap_or_default();
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let home = home.canonicalize().unwrap_or_else(|_| home.to_owned());
    if let Ok(below) = home.strip_prefix(root) {
        text.extend(["\n/", &below.to_string_lossy(), "/\n"]);
    }
    text
}

/// Names the objects of a repository, if they can be ours: another hash makes other ids.
fn borrowed(git: &Path) -> Option<String> {
    let config = fs::read_to_string(git.join("config")).ok()?;
    let objects = git.join("objects").canonicalize().ok()?;
    let speaks_ours = !config.to_ascii_lowercase().contains("objectformat");
    speaks_ours.then(|| format!("{}\n", objects.display()))
}

/// Reads `:MODE MODE ID ID KIND` and a path, each ended by a zero.
fn differences(listing: &[u8], root: &Path) -> Option<Vec<Difference>> {
    let mut parts = listing.split(|byte| *byte == 0);
    let mut found = Vec::new();
    while let Some(head) = parts.next().filter(|head| !head.is_empty()) {
        let head = std::str::from_utf8(head).ok()?.strip_prefix(':')?;
        let mut words = head.split(' ');
        let [before_mode, after_mode, before_id, after_id] =
            std::array::from_fn(|_| words.next().unwrap_or_default());
        found.push(Difference {
            path: root.join(OsStr::from_bytes(parts.next()?)),
            before: Side::of(before_mode, before_id),
            after: Side::of(after_mode, after_id),
        });
    }
    Some(found)
}

impl Side {
    fn of(mode: &str, id: &str) -> Self {
        match mode {
            "000000" => Self::Absent,
            "100644" | "100755" => Self::File {
                id: id.to_owned(),
                executable: mode == "100755",
            },
            "120000" => Self::Link { id: id.to_owned() },
            _ => Self::Other,
        }
    }

    /// Returns the name that git has for the contents; empty if there are none.
    pub(super) fn id(&self) -> &str {
        match self {
            Self::File { id, .. } | Self::Link { id } => id,
            Self::Absent | Self::Other => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(listing: &str, expected: Expect) {
        let found = differences(listing.as_bytes(), Path::new("/repo"));
        let shown = match found {
            None => "unreadable".to_owned(),
            Some(found) => found
                .iter()
                .map(|it| format!("{} {:?} -> {:?}", it.path.display(), it.before, it.after))
                .flat_map(|line| [line, "\n".to_owned()])
                .collect(),
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn a_list_of_git_is_read() {
        check("", expect![""]);
        check(
            ":100644 100755 aa bb M\0a b\0:000000 120000 00 cc A\0link\0:100644 000000 aa 00 D\0gone\0",
            expect![[r#"
                /repo/a b File { id: "aa", executable: false } -> File { id: "bb", executable: true }
                /repo/link Absent -> Link { id: "cc" }
                /repo/gone File { id: "aa", executable: false } -> Absent
            "#]],
        );
        check(
            ":100644 100644 aa bb M\0",
            expect![
                "/repo/ File { id: \"aa\", executable: false } -> File { id: \"bb\", executable: false }\n"
            ],
        );
        check("nonsense\0", expect!["unreadable"]);
    }
}
