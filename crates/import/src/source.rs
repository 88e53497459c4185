//! A foreign file, read a line at a time.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::error::ImportError;
use crate::limits::LINE_BYTES_MAX;

/// An open file with a conversation. What is appended while it is read is not looked at, so that
/// two passes see the same.
#[derive(Debug)]
pub struct SourceFile {
    path: PathBuf,
    bytes: u64,
}

/// One line, without its line feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NumberedLine<'a> {
    /// The first one is 1.
    pub number: usize,
    /// `None` if it is longer than any line of a conversation may be.
    pub bytes: Option<&'a [u8]>,
}

impl SourceFile {
    /// Looks whether this is a file that can be read. A link may lead anywhere, and a device or a
    /// pipe has no end.
    pub fn open(path: &Path) -> Result<Self, ImportError> {
        let is_packed = path.extension().is_some_and(|kind| kind == "zst");
        if is_packed {
            return Err(ImportError::Compressed {
                path: path.to_owned(),
            });
        }
        let file = open_plain(path)?;
        let bytes = file
            .metadata()
            .map_err(|source| ImportError::read(path, source))?
            .len();
        Ok(Self {
            path: path.to_owned(),
            bytes,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Shows each line to `wants_more` until it has seen enough.
    pub fn read(
        &self,
        mut wants_more: impl FnMut(NumberedLine<'_>) -> bool,
    ) -> Result<(), ImportError> {
        let file = open_plain(&self.path)?;
        let mut lines = SourceLines {
            reader: BufReader::new(io::Read::take(file, self.bytes)),
            line: Vec::new(),
        };
        let mut number = 0;
        loop {
            let more = lines
                .next()
                .map_err(|source| ImportError::read(&self.path, source))?;
            let Some(is_whole) = more else { return Ok(()) };
            number += 1;
            let bytes = is_whole.then(|| lines.line.trim_ascii());
            if bytes.is_some_and(<[u8]>::is_empty) {
                continue;
            }
            if !wants_more(NumberedLine { number, bytes }) {
                return Ok(());
            }
        }
    }
}

fn open_plain(path: &Path) -> Result<File, ImportError> {
    let opened = OpenOptions::new()
        .read(true)
        // A pipe without a writer would hold the open up.
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path);
    let file = opened.map_err(|source| match source.raw_os_error() {
        Some(libc::ELOOP) => ImportError::Link {
            path: path.to_owned(),
        },
        Some(libc::ENXIO) => ImportError::NoFile {
            path: path.to_owned(),
            what: "a socket",
        },
        _ => ImportError::read(path, source),
    })?;
    let kind = file
        .metadata()
        .map_err(|source| ImportError::read(path, source))?
        .file_type();
    let what = if kind.is_file() {
        return Ok(file);
    } else if kind.is_dir() {
        "a directory"
    } else if kind.is_fifo() {
        "a pipe"
    } else {
        "a device"
    };
    Err(ImportError::NoFile {
        path: path.to_owned(),
        what,
    })
}

struct SourceLines<R> {
    reader: R,
    line: Vec<u8>,
}

impl<R: BufRead> SourceLines<R> {
    /// Reads the next line. `None` at the end; `false` if it is too long to be kept.
    fn next(&mut self) -> io::Result<Option<bool>> {
        self.line.clear();
        let mut is_whole = true;
        let mut is_any = false;
        loop {
            let chunk = self.reader.fill_buf()?;
            if chunk.is_empty() {
                return Ok(is_any.then_some(is_whole));
            }
            is_any = true;
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let part = &chunk[..end.unwrap_or(chunk.len())];
            if self.line.len() + part.len() > LINE_BYTES_MAX {
                is_whole = false;
                self.line.clear();
            } else if is_whole {
                self.line.extend_from_slice(part);
            }
            let used = end.map_or(chunk.len(), |end| end + 1);
            self.reader.consume(used);
            if end.is_some() {
                return Ok(Some(is_whole));
            }
        }
    }
}
