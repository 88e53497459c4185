//! Changes to a configuration file: comments, order and everything that was not meant stay as
//! they are, and a reader sees the old file or the new one.

mod merge;

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use tempfile::NamedTempFile;
use toml_edit::DocumentMut;
use troupe_tools::digest;

use crate::failure::CommandFailure;

pub use merge::{TableMerge, set};

/// A configuration file that nobody else of us changes meanwhile.
#[derive(Debug)]
pub struct ConfigFileEditor {
    /// As people know it.
    path: PathBuf,
    /// What it is a link to, if it is one: it may live among a person's other settings.
    target: PathBuf,
    text: String,
    directory: File,
}

impl ConfigFileEditor {
    /// Takes the file, which need not exist. Blocks while another program changes it.
    pub fn take(path: &Path) -> Result<Self, CommandFailure> {
        let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let taken = || -> io::Result<(File, String)> {
            let directory = target.parent().ok_or(io::ErrorKind::InvalidInput)?;
            // The home is made by whoever comes first, and is its owner's.
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(directory)?;
            let directory = File::open(directory)?;
            directory.lock()?;
            let text = match fs::read_to_string(&target) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
                read => read?,
            };
            Ok((directory, text))
        };
        let (directory, text) = taken().map_err(|error| failed(path, error))?;
        Ok(Self {
            path: path.to_owned(),
            target,
            text,
            directory,
        })
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns what tells this content from any other.
    pub fn version(&self) -> String {
        version(&self.text)
    }

    pub fn document(&self) -> Result<DocumentMut, CommandFailure> {
        self.text
            .parse::<DocumentMut>()
            .with_context(|| format!("{} cannot be changed; mend it first", self.path.display()))
            .map_err(CommandFailure::failed)
    }

    /// Replaces the file.
    pub fn write(&mut self, document: &DocumentMut) -> Result<(), CommandFailure> {
        let text = document.to_string();
        if text != self.text {
            self.replace(&text)
                .map_err(|error| failed(&self.path, error))?;
            self.text = text;
        }
        Ok(())
    }

    fn replace(&self, text: &str) -> io::Result<()> {
        let directory = self.target.parent().ok_or(io::ErrorKind::InvalidInput)?;
        let mut beside = NamedTempFile::new_in(directory)?;
        beside.write_all(text.as_bytes())?;
        beside.as_file().sync_all()?;
        beside.persist(&self.target).map_err(|error| error.error)?;
        self.directory.sync_all()
    }
}

/// Returns the version of a file as it is now; that of an empty one if there is none.
pub fn version_at(path: &Path) -> String {
    version(&fs::read_to_string(path).unwrap_or_default())
}

pub fn version(text: &str) -> String {
    format!("sha256:{}", digest::of_bytes(text.as_bytes()))
}

fn failed(file: &Path, error: io::Error) -> CommandFailure {
    let error = anyhow::Error::new(error);
    CommandFailure::failed(error.context(format!("cannot change {}", file.display())))
}
