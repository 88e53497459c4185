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

use crate::limits::{INDEX_BYTES_MAX, NESTED_PATHS_MAX};
use crate::roots::git_directories;

/// The mode of an entry that stands for a commit of another repository.
const GITLINK: u32 = 0o160_000;
const MODES: [u32; 5] = [0o100_644, 0o100_755, 0o120_000, 0o040_000, GITLINK];

/// Times, device, inode, mode, owner and size of an entry.
const STAT_BYTES: usize = 40;
const MODE_OFFSET: usize = 24;
/// Of SHA-1 and SHA-256; the index does not say which.
const ID_BYTES: [usize; 2] = [20, 32];
const FLAG_EXTENDED: u16 = 0x4000;

/// The extension of an index whose entries are for the most part in another file.
const SHARED: &[u8] = b"link";

/// What an index says of other repositories.
#[derive(Debug, Default)]
struct IndexNames {
    gitlinks: Vec<Vec<u8>>,
    /// Whether no entries are in another file.
    is_whole: bool,
}

/// Returns the places in a work tree where the repository at its top has others; `None` if its
/// index cannot be understood. Without an index there are none.
pub fn gitlinks(top: &Path) -> Option<Vec<PathBuf>> {
    let Some((root, index)) = index_of(top) else {
        let places = [top.join(".git")].into_iter().chain(git_directories(top));
        let mut indices = places.map(|place| place.join("index"));
        let is_absent = indices.all(|index| index.symlink_metadata().is_err());
        return is_absent.then(Vec::new);
    };
    let mut listed = ID_BYTES.iter().filter_map(|bytes| names(&index, *bytes));
    let names = listed.next().filter(|names| names.is_whole)?.gitlinks;
    let places = names.iter().map(|name| root.join(OsStr::from_bytes(name)));
    Some(places.collect())
}

/// Returns the places below a directory where its repository has others. None for an index that
/// is not understood: the search still finds what exists.
pub(super) fn below(directory: &Path) -> Vec<PathBuf> {
    let Some((root, index)) = directory.ancestors().find_map(index_of) else {
        return Vec::new();
    };
    let names = ID_BYTES.iter().find_map(|bytes| names(&index, *bytes));
    let places = names.unwrap_or_default().gitlinks.into_iter();
    let places = places.map(|name| root.join(OsStr::from_bytes(&name)));
    let is_plain = |path: &PathBuf| {
        let mut parts = path.components();
        parts.all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
    };
    places
        .filter(|path| path.starts_with(directory) && path != directory && is_plain(path))
        .take(NESTED_PATHS_MAX)
        .collect()
}

/// Reads the index of the repository whose work tree begins here.
fn index_of(directory: &Path) -> Option<(&Path, Vec<u8>)> {
    let own = directory.join(".git");
    let place = if own.is_dir() {
        own
    } else {
        git_directories(directory).into_iter().next()?
    };
    let mut index = Vec::new();
    let file = File::open(place.join("index")).ok()?;
    file.take(INDEX_BYTES_MAX).read_to_end(&mut index).ok()?;
    Some((directory, index))
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
    let mut name = Vec::new();
    for _ in 0..count {
        let before = reader.0.len();
        let stat = reader.take(STAT_BYTES)?;
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
        if !MODES.contains(&mode) || name.is_empty() {
            return None;
        }
        if mode == GITLINK {
            found.push(name.clone());
        }
    }
    Some(IndexNames {
        gitlinks: found,
        is_whole: !reader.0.starts_with(SHARED),
    })
}

/// What is left of an index.
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
