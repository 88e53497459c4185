//! The directory in which looks at one work tree are kept, and in which git runs.
//!
//! To git it is a repository, which borrows the objects and the index of the user's. A store is a
//! cache, and can be thrown away at any time.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use troupe_protocol::discard;

use super::index::{GitIndex, IndexFile, ObjectHash};
use super::manifest::{FileStamp, TreeManifest, now_ns};
use crate::limits::{UNDO_INDEX_BYTES_MAX, UNDO_TREES_BYTES_MAX};

/// Nothing runs by itself and nothing is converted.
const CONFIG: &str = "\
[core]
\tbare = false
\tautocrlf = false
\tsplitIndex = false
\tfsmonitor = false
\thooksPath = /dev/null
";

/// Where the looks are.
const LOOKS: &str = "looks";

#[derive(Debug, Clone)]
pub(super) struct SnapshotStore {
    pub directory: PathBuf,
    /// The top of the work tree.
    pub root: PathBuf,
}

/// The user's index, with what `stat` said of its file when it was read.
#[derive(Debug, Default)]
pub(super) struct StampedIndex {
    pub index: GitIndex,
    /// `None` if there is none, or none that can be understood: then each file counts as one
    /// that git does not track.
    pub stamp: Option<FileStamp>,
}

/// A store that is ready, for one writer.
#[derive(Debug)]
pub(super) struct PreparedStore {
    store: SnapshotStore,
    theirs: Option<UserRepository>,
    /// What `stat` says of the user's index; `None` if there is none.
    pub index_stamp: Option<FileStamp>,
    /// Files beside the work tree that give attributes to its files.
    pub attributes: Vec<u8>,
    /// Settings of the repository.
    pub settings: Vec<u8>,
    /// What is ignored in this repository alone.
    pub exclude: Vec<u8>,
    /// Whoever holds it is the one writer.
    _lock: File,
}

impl SnapshotStore {
    /// `home` is never part of a look, wherever it lies.
    pub(super) fn prepare(&self, home: &Path) -> io::Result<PreparedStore> {
        let directory = &self.directory;
        let mut made = fs::DirBuilder::new();
        made.recursive(true).mode(0o700);
        made.create(directory)?;
        // Beside the store, because the store may be thrown away.
        let lock = File::create(directory.with_extension("lock"))?;
        lock.lock()?;
        // An earlier version kept all contents here, with an index of its own.
        if directory.join("index").exists() {
            fs::remove_dir_all(directory)?;
        }
        for name in ["objects/info", "refs", "info", LOOKS] {
            made.create(directory.join(name))?;
        }
        let theirs = UserRepository::of(&self.root);
        let hash = theirs
            .as_ref()
            .map_or(ObjectHash::Sha1, UserRepository::hash);
        fs::write(directory.join("HEAD"), "ref: refs/heads/none\n")?;
        fs::write(directory.join("config"), config(hash))?;
        let common = theirs.as_ref().map(|theirs| theirs.common.as_path());
        let exclude = exclude(&self.root, home, common);
        fs::write(directory.join("info/exclude"), &exclude)?;
        let attributes = common.and_then(|git| fs::read(git.join("info/attributes")).ok());
        let attributes = attributes.unwrap_or_default();
        fs::write(directory.join("info/attributes"), &attributes)?;
        let borrowed = theirs.as_ref().and_then(UserRepository::objects);
        fs::write(
            directory.join("objects/info/alternates"),
            borrowed.unwrap_or_default(),
        )?;
        let index = theirs.as_ref().map(UserRepository::index);
        let index = index.and_then(|path| fs::metadata(path).ok());
        Ok(PreparedStore {
            store: self.clone(),
            index_stamp: index.as_ref().map(FileStamp::of_metadata),
            attributes,
            settings: theirs
                .as_ref()
                .map_or_else(Vec::new, UserRepository::settings),
            theirs,
            exclude,
            _lock: lock,
        })
    }

    /// Reads the user's index, unless it is still the one that was read before. `None` if there
    /// is none, or none that can be understood.
    fn read_index(
        &self,
        theirs: &UserRepository,
        earlier: Option<Arc<StampedIndex>>,
    ) -> Option<Arc<StampedIndex>> {
        let hash = theirs.hash();
        let path = theirs.index();
        let stamp = FileStamp::of_metadata(&fs::metadata(&path).ok()?);
        if let Some(earlier) = earlier
            && earlier.stamp == Some(stamp)
            && stamp.is_settled(now_ns())
        {
            return Some(earlier);
        }
        let (bytes, stamp) = read_index(&path)?;
        let index = IndexFile::parse(&bytes, hash)?;
        let mut shared = None;
        self.forget_shared();
        if let Some(name) = index.shared() {
            let (bytes, _) = read_index(&theirs.own.join(&name))?;
            shared = Some(IndexFile::parse(&bytes, hash)?);
            // Git looks for it here.
            fs::write(self.directory.join(name), bytes).ok()?;
        }
        let index = index.join(shared, stamp.modified_ns)?;
        let stamp = Some(stamp);
        Some(Arc::new(StampedIndex { index, stamp }))
    }

    /// Removes copies of the second file of an index. One that cannot be removed is of no harm.
    fn forget_shared(&self) {
        let entries = fs::read_dir(&self.directory);
        for entry in entries.into_iter().flatten().flatten() {
            if entry.file_name().as_bytes().starts_with(b"sharedindex.") {
                discard!(
                    fs::remove_file(entry.path()),
                    error,
                    "a file that is not needed any more was not removed"
                );
            }
        }
    }

    /// Returns the last look.
    pub(super) fn last(&self) -> Option<(String, TreeManifest)> {
        let name = self.names().pop()?;
        let manifest = self.load(&name)?;
        Some((name, manifest))
    }

    /// Returns the names of all looks, oldest first.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.directory.join(LOOKS));
        let entries = entries.into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<_> = names.filter(|name| is_name(name)).collect();
        names.sort();
        names
    }

    /// Returns a look that was kept; `None` if it has gone.
    pub(super) fn load(&self, name: &str) -> Option<TreeManifest> {
        if !is_name(name) {
            return None;
        }
        let bytes = fs::read(self.directory.join(LOOKS).join(name)).ok()?;
        TreeManifest::from_bytes(&bytes)
    }

    /// Keeps a look and returns its name. Only who holds the lock may call it.
    pub(super) fn save(&self, manifest: &TreeManifest) -> io::Result<String> {
        let last = self.names().pop();
        let last = last.and_then(|name| u64::from_str_radix(&name, 16).ok());
        let name = format!("{:016x}", last.unwrap_or_default() + 1);
        let path = self.directory.join(LOOKS).join(&name);
        let draft = path.with_extension("tmp");
        fs::write(&draft, manifest.to_bytes())?;
        fs::rename(&draft, &path)?;
        if let Some(stores) = self.directory.parent() {
            prune(stores, &path);
        }
        Ok(name)
    }
}

impl PreparedStore {
    /// Reads the user's index, unless it is still the one that was read before. Blocks on the
    /// file system.
    pub(super) fn index(&self, earlier: Option<Arc<StampedIndex>>) -> Arc<StampedIndex> {
        let read = |theirs| self.store.read_index(theirs, earlier);
        self.theirs.as_ref().and_then(read).unwrap_or_default()
    }

    pub(super) fn index_path(&self) -> Option<PathBuf> {
        self.theirs.as_ref().map(UserRepository::index)
    }
}

fn is_name(name: &str) -> bool {
    name.len() == 16 && name.bytes().all(|letter| letter.is_ascii_hexdigit())
}

fn config(hash: ObjectHash) -> String {
    match hash {
        ObjectHash::Sha1 => format!("{CONFIG}\trepositoryformatversion = 0\n"),
        ObjectHash::Sha256 => format!(
            "{CONFIG}\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n"
        ),
    }
}

/// Returns a file, with its stamp while it is open.
fn read_index(path: &Path) -> Option<(Vec<u8>, FileStamp)> {
    let mut file = File::open(path).ok()?;
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() || metadata.len() > UNDO_INDEX_BYTES_MAX {
        return None;
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).ok()?);
    file.read_to_end(&mut bytes).ok()?;
    Some((bytes, FileStamp::of_metadata(&metadata)))
}

/// The user's own `.git`.
#[derive(Debug)]
struct UserRepository {
    /// What belongs to this work tree.
    own: PathBuf,
    /// What belongs to all work trees of the repository.
    common: PathBuf,
}

impl UserRepository {
    fn of(root: &Path) -> Option<Self> {
        let git = root.join(".git");
        let own = if git.is_dir() {
            git
        } else {
            let pointer = fs::read_to_string(&git).ok()?;
            root.join(pointer.trim().strip_prefix("gitdir:")?.trim())
        };
        let common = fs::read_to_string(own.join("commondir"));
        let common = common.map_or_else(|_| own.clone(), |path| own.join(path.trim()));
        Some(Self { own, common })
    }

    fn index(&self) -> PathBuf {
        self.own.join("index")
    }

    fn hash(&self) -> ObjectHash {
        let config = fs::read_to_string(self.common.join("config")).unwrap_or_default();
        let config = config.to_ascii_lowercase();
        let mut lines = config.lines();
        let is_sha256 = |line: &str| line.contains("objectformat") && line.contains("sha256");
        if lines.any(is_sha256) {
            ObjectHash::Sha256
        } else {
            ObjectHash::Sha1
        }
    }

    fn settings(&self) -> Vec<u8> {
        let files = [self.common.join("config"), self.own.join("config.worktree")];
        let files = files.iter().filter_map(|path| fs::read(path).ok());
        files.flatten().collect()
    }

    /// The line by which a store borrows its objects.
    fn objects(&self) -> Option<Vec<u8>> {
        let objects = self.common.join("objects").canonicalize().ok()?;
        Some([objects.as_os_str().as_bytes(), b"\n"].concat())
    }
}

/// What the user ignores in this repository alone, and the engine's own directory.
fn exclude(root: &Path, home: &Path, common: Option<&Path>) -> Vec<u8> {
    let theirs = common.and_then(|git| fs::read(git.join("info/exclude")).ok());
    let mut text = theirs.unwrap_or_default();
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let home = home.canonicalize().unwrap_or_else(|_| home.to_owned());
    if let Ok(below) = home.strip_prefix(root) {
        text.extend([b"\n/", below.as_os_str().as_bytes(), b"/\n"].concat());
    }
    text
}

/// Removes the oldest looks at any work tree until there is room, but not the newest one, and
/// stores that hold none. What cannot be removed stays: the next look tries again.
fn prune(stores: &Path, newest: &Path) {
    let mut looks = Vec::new();
    for store in fs::read_dir(stores).into_iter().flatten().flatten() {
        let entries = fs::read_dir(store.path().join(LOOKS));
        for entry in entries.into_iter().flatten().flatten() {
            if let Ok(metadata) = entry.metadata() {
                let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                looks.push((modified, metadata.len(), entry.path()));
            }
        }
    }
    let mut total: u64 = looks.iter().map(|(_, bytes, _)| bytes).sum();
    if total <= UNDO_TREES_BYTES_MAX {
        return;
    }
    looks.sort();
    for (_, bytes, path) in looks {
        if total <= UNDO_TREES_BYTES_MAX / 4 * 3 {
            break;
        }
        if path != newest && fs::remove_file(&path).is_ok() {
            total -= bytes;
        }
    }
}
