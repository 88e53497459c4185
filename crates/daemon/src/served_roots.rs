//! Which sessions this daemon has worked with, so that the next one takes up those, and not what other
//! programs of the home left.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use troupe_protocol::SessionId;

const FILE_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;

/// A file with one id in each line.
#[derive(Debug)]
pub(crate) struct ServedRoots {
    file: PathBuf,
    noted: Mutex<BTreeSet<SessionId>>,
}

impl ServedRoots {
    pub(crate) fn new(file: PathBuf) -> Self {
        Self {
            file,
            noted: Mutex::default(),
        }
    }

    /// Notes a root before anything runs in it.
    pub(crate) fn note(&self, root: SessionId) -> io::Result<()> {
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        if noted.contains(&root) {
            return Ok(());
        }
        if let Some(directory) = self.file.parent() {
            let mut builder = fs::DirBuilder::new();
            builder
                .recursive(true)
                .mode(DIRECTORY_MODE)
                .create(directory)?;
        }
        let mut options = OpenOptions::new();
        let mut file = options
            .append(true)
            .create(true)
            .mode(FILE_MODE)
            .open(&self.file)?;
        file.write_all(format!("{root}\n").as_bytes())?;
        noted.insert(root);
        Ok(())
    }

    /// Returns the roots of the daemons before, and forgets them.
    pub(crate) fn take(&self) -> io::Result<BTreeSet<SessionId>> {
        let text = match fs::read_to_string(&self.file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
            read => read?,
        };
        fs::remove_file(&self.file)?;
        // The last line may have been cut by a crash.
        Ok(text.lines().filter_map(|line| line.parse().ok()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_daemon_noted_the_next_one_takes_once() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("serve/roots");
        let [first, second] = [SessionId::random(), SessionId::random()];
        let before = ServedRoots::new(file.clone());
        for root in [first, second, first] {
            before.note(root).unwrap();
        }
        assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 2);
        let mut cut = OpenOptions::new().append(true).open(&file).unwrap();
        cut.write_all(b"4a7b3c2d-").unwrap();
        let after = ServedRoots::new(file);
        assert_eq!(after.take().unwrap(), BTreeSet::from([first, second]));
        assert_eq!(after.take().unwrap(), BTreeSet::new());
    }
}
