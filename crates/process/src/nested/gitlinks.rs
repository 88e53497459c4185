//! Where a repository expects others inside it, read from its index.
//!
//! `git status` looks into these places without being asked, so they are protected before
//! anything that merely looks like a repository, and also while nothing is there yet. A command
//! cannot change the list: the index lies in the protected `.git`.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use crate::limits::INDEX_BYTES_MAX;
use crate::roots::git_directories;

/// The mode of an entry that stands for a commit of another repository.
const GITLINK: u32 = 0o160_000;
const MODES: [u32; 5] = [0o100_644, 0o100_755, 0o120_000, 0o040_000, GITLINK];

/// Times, device, inode, mode, owner and size of an entry.
const STAT_LENGTH: usize = 40;
const MODE_OFFSET: usize = 24;
/// Of SHA-1 and SHA-256; the index does not say which.
const ID_LENGTHS: [usize; 2] = [20, 32];
const FLAG_EXTENDED: u16 = 0x4000;

/// The extension of an index whose entries are for the most part in another file.
const SHARED: &[u8] = b"link";

const HEX_DIGITS: [char; 16] = [
    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
];

/// What an index says of other repositories.
#[derive(Debug, Default)]
struct IndexNames {
    gitlinks: Vec<Vec<u8>>,
    /// The id of another file that has the rest of the entries.
    shared: Option<Vec<u8>>,
}

/// The index of a repository.
struct RepositoryIndex {
    /// The top of the work tree.
    top: PathBuf,
    /// Where the index lies.
    place: PathBuf,
    bytes: Vec<u8>,
}

/// Returns the places in a work tree where the repository at its top has others; `None` if its
/// index cannot be understood. Without an index there are none.
pub fn gitlinks(top: &Path) -> Option<Vec<PathBuf>> {
    let Some(index) = RepositoryIndex::read(top) else {
        let places = [top.join(".git")].into_iter().chain(git_directories(top));
        let mut indices = places.map(|place| place.join("index"));
        let is_absent = indices.all(|index| index.symlink_metadata().is_err());
        return is_absent.then(Vec::new);
    };
    let names = index.names().filter(|names| names.shared.is_none())?;
    let places = names.gitlinks.iter();
    let places = places.map(|name| top.join(OsStr::from_bytes(name)));
    Some(places.collect())
}

/// Returns the places below a directory where the repository around it has others. None for an
/// index that is not understood: the search still finds what exists.
pub(super) fn below(directory: &Path) -> Vec<PathBuf> {
    let index = directory.ancestors().find_map(RepositoryIndex::read);
    index.map_or_else(Vec::new, |index| index.places_below(directory))
}

/// The same for the repository at its top.
pub(super) fn inside(top: &Path) -> Vec<PathBuf> {
    let index = RepositoryIndex::read(top);
    index.map_or_else(Vec::new, |index| index.places_below(top))
}

impl RepositoryIndex {
    /// Reads the index of the repository whose work tree begins here.
    fn read(top: &Path) -> Option<Self> {
        let own = top.join(".git");
        let place = if own.is_dir() {
            own
        } else {
            git_directories(top).into_iter().next()?
        };
        Some(Self {
            top: top.to_owned(),
            bytes: read_index(&place.join("index"))?,
            place,
        })
    }

    fn names(&self) -> Option<IndexNames> {
        let mut listed = ID_LENGTHS.iter();
        listed.find_map(|bytes| names(&self.bytes, *bytes))
    }

    /// Those of the other file are among them, also the ones that the first takes back.
    fn places_below(&self, directory: &Path) -> Vec<PathBuf> {
        let mut names = self.names().unwrap_or_default();
        if let Some(id) = names.shared.take() {
            names.gitlinks.extend(self.shared_names(&id));
        }
        let places = names.gitlinks.into_iter();
        let places = places.map(|name| self.top.join(OsStr::from_bytes(&name)));
        let is_plain = |path: &PathBuf| {
            let mut parts = path.components();
            parts.all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
        };
        places
            .filter(|path| path.starts_with(directory) && path != directory && is_plain(path))
            .collect()
    }

    fn shared_names(&self, id: &[u8]) -> Vec<Vec<u8>> {
        let mut name = "sharedindex.".to_owned();
        for byte in id {
            name.extend([byte >> 4, byte & 15].map(|digit| HEX_DIGITS[usize::from(digit)]));
        }
        let shared = read_index(&self.place.join(name));
        let names_in = |index: Vec<u8>| names(&index, id.len());
        shared.and_then(names_in).unwrap_or_default().gitlinks
    }
}

fn read_index(path: &Path) -> Option<Vec<u8>> {
    let mut index = Vec::new();
    let file = File::open(path).ok()?;
    file.take(INDEX_BYTES_MAX).read_to_end(&mut index).ok()?;
    Some(index)
}

/// Returns the names of the entries that are gitlinks; none if the index is not of this kind.
fn names(index: &[u8], id_bytes: usize) -> Option<IndexNames> {
    let mut reader = GitIndexReader(index);
    if reader.take(4)? != b"DIRC" {
        return None;
    }
    let version = reader.number()?;
    let count = reader.number()?;
    let mut found = Vec::new();
    let mut nameless = false;
    let mut name = Vec::new();
    for _ in 0..count {
        let before = reader.0.len();
        let stat = reader.take(STAT_LENGTH)?;
        let mode = GitIndexReader(&stat[MODE_OFFSET..]).number()?;
        reader.take(id_bytes)?;
        let flags = reader.short()?;
        if flags & FLAG_EXTENDED != 0 {
            reader.take(2)?;
        }
        match version {
            2 | 3 => {
                name = reader.text()?.to_vec();
                // Entries are padded with zeros to eight bytes.
                let used = before - reader.0.len();
                reader.take(used.next_multiple_of(8) - used)?;
            }
            4 => {
                let dropped = reader.varint()?;
                name.truncate(name.len().checked_sub(dropped)?);
                name.extend_from_slice(reader.text()?);
            }
            _ => return None,
        }
        if !MODES.contains(&mode) {
            return None;
        }
        // One that stands for an entry of the shared file has no name of its own.
        let is_nameless = name.is_empty();
        nameless |= is_nameless;
        if mode == GITLINK && !is_nameless {
            found.push(name.clone());
        }
    }
    // What follows must end with a hash of this length: read by the wrong one, an index can look
    // like another.
    let mut shared = None;
    while reader.0.len() > id_bytes {
        let name = reader.take(4)?;
        let length = usize::try_from(reader.number()?).ok()?;
        let extension = reader.take(length)?;
        if name == SHARED {
            shared = Some(extension.get(..id_bytes)?.to_vec());
        }
    }
    if reader.0.len() != id_bytes || (nameless && shared.is_none()) {
        return None;
    }
    Some(IndexNames {
        gitlinks: found,
        // All zeros: there is none after all.
        shared: shared.filter(|id| id.iter().any(|byte| *byte != 0)),
    })
}

/// The unread rest of an index.
struct GitIndexReader<'a>(&'a [u8]);

impl<'a> GitIndexReader<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn short(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    /// Takes a text and the zero that ends it.
    fn text(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|byte| *byte == 0)?;
        let text = self.take(end)?;
        self.take(1)?;
        Some(text)
    }

    /// Takes a number of variable length, as offsets in packs are written.
    fn varint(&mut self) -> Option<usize> {
        let mut value = 0_usize;
        loop {
            let byte = usize::from(*self.take(1)?.first()?);
            value = value.checked_mul(128)?.checked_add(byte & 127)?;
            if byte & 128 == 0 {
                return Some(value);
            }
            value = value.checked_add(1)?;
        }
    }
}
