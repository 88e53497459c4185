//! A file of a home to which lines of JSON are added, each whole, and that does not grow for
//! ever.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use serde::Serialize;
use serde::de::DeserializeOwned;

const FILE_MODE: u32 = 0o600;

/// The file may be absent, and lines that nobody can read are passed over.
#[derive(Debug, Clone)]
pub(super) struct HomeLines {
    path: PathBuf,
    /// Over it the older half is dropped.
    bytes_max: u64,
}

impl HomeLines {
    pub(super) fn new(path: PathBuf, bytes_max: u64) -> Self {
        Self { path, bytes_max }
    }

    /// Returns the newest lines, newest first.
    pub(super) fn newest<T: DeserializeOwned>(&self, limit: usize) -> io::Result<Vec<T>> {
        let text = match fs::read_to_string(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            text => text?,
        };
        let lines = text.lines().rev();
        let readable = lines.filter_map(|line| serde_json::from_str(line).ok());
        Ok(readable.take(limit).collect())
    }

    pub(super) fn add(&self, line: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(line)?;
        line.push(b'\n');
        let mut file = self.open()?;
        file.write_all(&line)?;
        if file.metadata()?.len() > self.bytes_max {
            self.halve()?;
        }
        Ok(())
    }

    fn open(&self) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(FILE_MODE);
        options.open(&self.path)
    }

    /// Drops the older half of the lines.
    fn halve(&self) -> io::Result<()> {
        let text = fs::read_to_string(&self.path)?;
        let middle = text.floor_char_boundary(text.len() / 2);
        let kept = text[middle..].split_once('\n').map_or("", |(_, rest)| rest);
        let beside = self.path.with_extension("tmp");
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        options
            .mode(FILE_MODE)
            .open(&beside)?
            .write_all(kept.as_bytes())?;
        fs::rename(&beside, &self.path)
    }
}
