//! Looking at files that a model named: they may be anything, of any size.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use troupe_protocol::policy::SandboxPolicy;

use crate::call::CallContext;
use crate::limits::LINKS_MAX;

/// The directory that a model's calls cannot read: the engine's own tokens and conversations.
/// The kernel keeps confined work from it; this says so in words, and covers what a weaker
/// backend leaves open.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct HiddenDirectory {
    root: Option<PathBuf>,
    /// Directories inside it that can be read.
    #[serde(default)]
    shown: Vec<PathBuf>,
}

impl HiddenDirectory {
    pub(crate) fn new(root: Option<PathBuf>, shown: Vec<PathBuf>) -> Self {
        Self { root, shown }
    }

    /// Returns what is hidden from one call. Commands of a session with full access can read
    /// everything, so there is no point in hiding it from the tools.
    pub(crate) fn during(&self, context: &CallContext) -> Self {
        match context.sandbox_policy {
            SandboxPolicy::DangerFullAccess => Self::default(),
            SandboxPolicy::ReadOnly { .. } | SandboxPolicy::WorkspaceWrite { .. } => self.clone(),
        }
    }

    /// Judges the file that was opened, not its name: links lead anywhere.
    fn covers(&self, file: &File) -> bool {
        let Some(root) = &self.root else {
            return false;
        };
        let root = root.canonicalize().unwrap_or_else(|_| root.clone());
        let opened = std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()));
        // Without /proc nothing can be said of the file, so it stays hidden.
        opened.map_or(true, |path| path.starts_with(root) && !self.shows(&path))
    }

    fn shows(&self, path: &Path) -> bool {
        self.shown.iter().any(|shown| path.starts_with(shown))
    }

    /// Judges a name that could not be opened, because where the kernel hides the directory there
    /// is nothing to open.
    fn contains(&self, path: &Path) -> bool {
        let Some(root) = &self.root else {
            return false;
        };
        let root = root.canonicalize().unwrap_or_else(|_| root.clone());
        let mut path = path.to_path_buf();
        for _ in 0..LINKS_MAX {
            match std::fs::read_link(&path) {
                Ok(target) => path = path.parent().unwrap_or(Path::new("/")).join(target),
                Err(_) => break,
            }
        }
        if self.shows(&path) {
            return false;
        }
        let directory = path.parent().map(Path::canonicalize);
        path.starts_with(&root) || matches!(directory, Some(Ok(real)) if real.starts_with(&root))
    }
}

/// Opens a regular file and returns its size. Anything else is refused: a pipe or a device
/// would block or never end.
pub(crate) fn open_regular(path: &Path, hidden: &HiddenDirectory) -> Result<(File, u64), String> {
    let file = OpenOptions::new()
        .read(true)
        // Without it, opening a named pipe waits for a writer.
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open(path)
        .map_err(|error| {
            if hidden.contains(path) {
                not_for_tools(path)
            } else {
                problem("open", path, &error)
            }
        })?;
    let metadata = file
        .metadata()
        .map_err(|error| problem("look at", path, &error))?;
    let kind = metadata.file_type();
    if hidden.covers(&file) {
        return Err(not_for_tools(path));
    }
    if kind.is_file() {
        return Ok((file, metadata.len()));
    }
    let (kind, hint) = if kind.is_dir() {
        ("a directory", "; list it with list_dir")
    } else if kind.is_fifo() {
        ("a named pipe", "")
    } else if kind.is_socket() {
        ("a socket", "")
    } else {
        ("a device", "")
    };
    Err(format!("{} is {kind}, not a file{hint}", path.display()))
}

fn not_for_tools(path: &Path) -> String {
    format!(
        "{} belongs to the engine and is not readable for tools",
        path.display()
    )
}

/// Returns what a failed look at a file tells the model.
pub(crate) fn problem(verb: &str, path: &Path, error: &io::Error) -> String {
    let what = match error.kind() {
        io::ErrorKind::NotFound => "it does not exist",
        io::ErrorKind::PermissionDenied => "permission denied",
        io::ErrorKind::NotADirectory => "a part of the path is a file, not a directory",
        _ => return format!("cannot {verb} {}: {error}", path.display()),
    };
    format!("cannot {verb} {}: {what}", path.display())
}

/// Reads up to `max` bytes from the file's beginning.
pub(crate) fn head(file: &mut File, max: usize) -> io::Result<Vec<u8>> {
    let mut head = Vec::with_capacity(max);
    let limit = u64::try_from(max).unwrap_or(u64::MAX);
    file.take(limit).read_to_end(&mut head)?;
    Ok(head)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BinaryKind {
    Image(image::ImageFormat),
    Known(&'static str),
    Unknown,
}

impl BinaryKind {
    pub(crate) fn is_image(self) -> bool {
        matches!(self, Self::Image(_))
    }
}

impl fmt::Display for BinaryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Image(format) => f.write_str(format.to_mime_type()),
            Self::Known(name) => f.write_str(name),
            Self::Unknown => f.write_str("binary data"),
        }
    }
}

/// Tells what a file is by its first bytes; `None` for text.
pub(crate) fn binary_kind(head: &[u8]) -> Option<BinaryKind> {
    const KNOWN: [(&[u8], &str); 9] = [
        (b"\x7fELF", "an ELF program or object"),
        (b"%PDF-", "a PDF document"),
        (b"PK\x03\x04", "a zip archive"),
        (b"\x1f\x8b", "gzip data"),
        (b"\xfd7zXZ", "xz data"),
        (b"\x28\xb5\x2f\xfd", "zstd data"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"\0asm", "a WebAssembly module"),
        (b"\xff\xfe", "UTF-16 text"),
    ];
    if let Some(format) = image_format(head) {
        return Some(BinaryKind::Image(format));
    }
    if let Some((_, name)) = KNOWN.iter().find(|(magic, _)| head.starts_with(magic)) {
        return Some(BinaryKind::Known(name));
    }
    memchr::memchr(0, head).map(|_| BinaryKind::Unknown)
}

/// Returns the format of an image that a model can be shown. Of the many magic numbers only
/// these are asked for: two letters such as `BM` also begin a text.
pub(crate) fn image_format(head: &[u8]) -> Option<image::ImageFormat> {
    use image::ImageFormat::{Gif, Jpeg, Png, WebP};
    image::guess_format(head)
        .ok()
        .filter(|format| matches!(format, Png | Jpeg | Gif | WebP))
}
