//! A manifest as a file of our own home: a line that says what it is, the directories, then one
//! record per file.
//! It is a cache, so whatever cannot be read counts as absent.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};

use super::super::listing::{FileListing, KnownDirectory};
use super::{FileContent, FileStamp, KnownFile, ObjectId, TreeManifest, UnkeptReason};

const HEAD: &[u8] = b"troupe files 2\n";

const SETTLED: u8 = 0x80;

impl TreeManifest {
    pub(in super::super) fn to_bytes(&self) -> Vec<u8> {
        let mut out = HEAD.to_vec();
        put_listing(&mut out, self.listing.as_ref());
        for file in &self.files {
            put(&mut out, &file.path);
            put_stamp(&mut out, &file.stamp);
            let (kind, content) = match &file.content {
                FileContent::Object(id) => (0, id.as_bytes()),
                FileContent::Kept(sha256) => (1, &sha256[..]),
                FileContent::Link(target) => (2, target.as_os_str().as_bytes()),
                FileContent::Repository => (3, &[][..]),
                FileContent::Unkept(reason) => (4 + reason.number(), &[][..]),
            };
            out.push(kind | if file.is_settled { SETTLED } else { 0 });
            put(&mut out, content);
        }
        out
    }

    pub(in super::super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(HEAD)?;
        let listing = match u32::from_le_bytes(array(&mut rest)?) {
            0 => None,
            directories => Some(get_listing(&mut rest, directories)?),
        };
        let mut files = Vec::new();
        while !rest.is_empty() {
            let path = get(&mut rest)?.to_vec();
            let stamp = get_stamp(&mut rest)?;
            let [kind] = array(&mut rest)?;
            let content = get(&mut rest)?;
            files.push(KnownFile {
                path,
                stamp,
                content: match kind & !SETTLED {
                    0 => FileContent::Object(ObjectId::new(content)?),
                    1 => FileContent::Kept(content.try_into().ok()?),
                    2 => FileContent::Link(OsString::from_vec(content.to_vec()).into()),
                    3 => FileContent::Repository,
                    kind => FileContent::Unkept(UnkeptReason::from_number(kind - 4)?),
                },
                is_settled: kind & SETTLED != 0,
            });
        }
        let is_sorted = files.is_sorted_by(|one, other| one.path < other.path);
        is_sorted.then_some(Self { files, listing })
    }
}

impl UnkeptReason {
    const ALL: [Self; 4] = [
        Self::TooLarge,
        Self::TooMany,
        Self::Unreadable,
        Self::Special,
    ];

    fn number(self) -> u8 {
        match self {
            Self::TooLarge => 0,
            Self::TooMany => 1,
            Self::Unreadable => 2,
            Self::Special => 3,
        }
    }

    fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

fn put_listing(out: &mut Vec<u8>, listing: Option<&FileListing>) {
    let directories = listing.map_or(&[][..], |listing| &listing.directories);
    // Each directory has a record, and the whole is shorter than what is read.
    let count = u32::try_from(directories.len()).unwrap_or_default();
    out.extend(count.to_le_bytes());
    let Some(listing) = listing.filter(|_| count > 0) else {
        return;
    };
    put(out, listing.basis.as_ref().map_or(&[][..], |it| &it[..]));
    for directory in directories {
        put(out, &directory.path);
        put_stamp(out, &directory.stamp);
        let settled = if directory.is_settled { SETTLED } else { 0 };
        out.push(settled | u8::from(directory.ignore_file.is_some()));
        if let Some(stamp) = &directory.ignore_file {
            put_stamp(out, stamp);
        }
    }
    let ignored = u32::try_from(listing.ignored.len()).unwrap_or_default();
    out.extend(ignored.to_le_bytes());
    for path in listing.ignored.iter().take(ignored as usize) {
        put(out, path);
    }
}

fn get_listing(rest: &mut &[u8], count: u32) -> Option<FileListing> {
    let basis = match get(rest)? {
        [] => None,
        basis => Some(basis.try_into().ok()?),
    };
    let mut directories = Vec::new();
    for _ in 0..count {
        let (path, stamp) = (get(rest)?.to_vec(), get_stamp(rest)?);
        let [flags] = array(rest)?;
        let ignore_file = match flags & !SETTLED {
            0 => None,
            _ => Some(get_stamp(rest)?),
        };
        directories.push(KnownDirectory {
            path,
            stamp,
            ignore_file,
            is_settled: flags & SETTLED != 0,
        });
    }
    let mut ignored = Vec::new();
    for _ in 0..u32::from_le_bytes(array(rest)?) {
        ignored.push(get(rest)?.to_vec());
    }
    Some(FileListing {
        basis,
        directories,
        ignored,
    })
}

fn put_stamp(out: &mut Vec<u8>, stamp: &FileStamp) {
    out.extend(stamp.mode.to_le_bytes());
    out.extend(stamp.inode.to_le_bytes());
    out.extend(stamp.size.to_le_bytes());
    out.extend(stamp.modified_ns.to_le_bytes());
    out.extend(stamp.changed_ns.to_le_bytes());
}

fn get_stamp(rest: &mut &[u8]) -> Option<FileStamp> {
    Some(FileStamp {
        mode: u32::from_le_bytes(array(rest)?),
        inode: u64::from_le_bytes(array(rest)?),
        size: u64::from_le_bytes(array(rest)?),
        modified_ns: i64::from_le_bytes(array(rest)?),
        changed_ns: i64::from_le_bytes(array(rest)?),
    })
}

fn put(out: &mut Vec<u8>, bytes: &[u8]) {
    // Paths and targets of links are shorter than a page.
    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    out.extend(length.to_le_bytes());
    out.extend(bytes);
}

fn get<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = u32::from_le_bytes(array(rest)?);
    let (taken, after) = rest.split_at_checked(length as usize)?;
    *rest = after;
    Some(taken)
}

fn array<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(*taken)
}
