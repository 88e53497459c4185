//! Files of the diagnostic log: one per process, bounded, and all of them together too.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tracing_subscriber::fmt::MakeWriter;

use super::{tell_unwritable, without_secrets};
use crate::limits::{LOG_FILE_BYTES_MAX, LOG_FILES_MAX};

/// The log of this process: the file that is written, and the full one before it.
#[derive(Debug)]
pub struct RotatedLog {
    path: PathBuf,
    full: PathBuf,
    current: Mutex<CurrentFile>,
}

#[derive(Debug)]
struct CurrentFile {
    /// None once it could not be written: the log ends there.
    file: Option<File>,
    bytes: u64,
}

impl RotatedLog {
    pub fn create(directory: &Path) -> io::Result<Self> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)?;
        remove_oldest(directory)?;
        let begun = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S%.3fZ");
        let name = format!("{begun}-{}", std::process::id());
        // In this order they are sorted by age.
        let full = directory.join(format!("{name}-0.log"));
        let path = directory.join(format!("{name}-1.log"));
        let file = Some(open(&path)?);
        let current = Mutex::new(CurrentFile { file, bytes: 0 });
        Ok(Self {
            path,
            full,
            current,
        })
    }

    /// Writes a line without secrets. The first failure is told, and ends the log.
    fn write_line(&self, line: &[u8]) {
        let line = without_secrets(&String::from_utf8_lossy(line));
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.file.is_none() {
            return;
        }
        if let Err(error) = self.append(&mut current, line.as_bytes()) {
            current.file = None;
            tell_unwritable(&error);
        }
    }

    fn append(&self, current: &mut CurrentFile, line: &[u8]) -> io::Result<()> {
        let bytes = line.len() as u64;
        if current.bytes > 0 && current.bytes + bytes > LOG_FILE_BYTES_MAX {
            match fs::rename(&self.path, &self.full) {
                // A process that began later removed it: there were too many.
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Err(_) | Ok(()) => (),
            }
            current.file = Some(open(&self.path)?);
            current.bytes = 0;
        }
        if let Some(file) = &mut current.file {
            file.write_all(line)?;
        }
        current.bytes += bytes;
        Ok(())
    }
}

/// One event is one write, so lines of threads do not mix.
pub struct LineWriter<'a>(&'a RotatedLog);

impl Write for LineWriter<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.write_line(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for RotatedLog {
    type Writer = LineWriter<'a>;

    fn make_writer(&'a self) -> Self::Writer {
        LineWriter(self)
    }
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .create_new(true)
        .append(true)
        .mode(0o600)
        .open(path)
}

/// Leaves room for one more file. Names begin with the time, so their order is that of age.
fn remove_oldest(directory: &Path) -> io::Result<()> {
    let files = logs(directory)?;
    let surplus = (files.len() + 1).saturating_sub(LOG_FILES_MAX);
    for file in files.iter().take(surplus) {
        match fs::remove_file(file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            // Another process that starts now removes the same ones.
            Err(_) | Ok(()) => (),
        }
    }
    Ok(())
}

/// Returns the files of a log directory, oldest first.
fn logs(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "log") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Returns the end of the newest log of another process with its path, for a report. None if there
/// is no such log.
pub fn newest_lines(directory: &Path, bytes_max: u64) -> io::Result<Option<(PathBuf, String)>> {
    let newest = match logs(directory) {
        Ok(files) => files.into_iter().rfind(|file| !is_own(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let Some(path) = newest else {
        return Ok(None);
    };
    let mut file = File::open(&path)?;
    let start = file.metadata()?.len().saturating_sub(bytes_max);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let whole = match text.split_once('\n') {
        Some((_, rest)) if start > 0 => rest,
        Some(_) | None => &text,
    };
    Ok(Some((path, whole.to_owned())))
}

/// Tells whether a log is that of this process.
fn is_own(log: &Path) -> bool {
    let name = log.file_name().unwrap_or_default().to_string_lossy();
    name.ends_with(&format!("-{}-1.log", std::process::id()))
        || name.ends_with(&format!("-{}-0.log", std::process::id()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_full_log_keeps_its_last_half_and_only_its_owner_reads_it() {
        let home = tempfile::tempdir().expect("a directory");
        let directory = home.path().join("log");
        let log = RotatedLog::create(&directory).expect("a log");
        let line = vec![b'x'; usize::try_from(LOG_FILE_BYTES_MAX).expect("a size")];
        for _ in 0..3 {
            log.write_line(&line);
        }
        log.write_line(b"last\n");
        let files = logs(&directory).expect("the directory");
        assert_eq!(files, [log.full.clone(), log.path.clone()]);
        for file in &files {
            let metadata = fs::metadata(file).expect("a file");
            assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
            assert!(metadata.len() <= LOG_FILE_BYTES_MAX);
        }
        let directory_mode = fs::metadata(&directory).expect("it is there").permissions();
        assert_eq!(directory_mode.mode() & 0o777, 0o700);
    }

    #[test]
    fn the_end_of_the_newest_log_of_another_process_is_whole_lines() {
        let home = tempfile::tempdir().expect("a directory");
        let write = |name: &str, text: &str| fs::write(home.path().join(name), text);
        write("20200101T000000.000Z-7-0.log", "full\n").expect("a file");
        write("20200101T000000.000Z-7-1.log", "a long first line\nlast\n").expect("a file");
        RotatedLog::create(home.path()).expect("a log of our own");
        let (newest, text) = newest_lines(home.path(), 10)
            .expect("the directory")
            .expect("a log");
        assert!(newest.ends_with("20200101T000000.000Z-7-1.log"));
        assert_eq!(text, "last\n");
    }

    #[test]
    fn a_full_disk_ends_the_log_and_nothing_else() {
        let home = tempfile::tempdir().expect("a directory");
        let log = RotatedLog::create(&home.path().join("log")).expect("a log");
        let full = OpenOptions::new().write(true).open("/dev/full");
        log.current.lock().expect("no panic").file = Some(full.expect("a full disk"));
        log.write_line(b"lost\n");
        assert!(log.current.lock().expect("no panic").file.is_none());
        log.write_line(b"not tried\n");
    }

    #[test]
    fn old_logs_go_when_there_are_too_many() {
        let home = tempfile::tempdir().expect("a directory");
        let directory = home.path().join("log");
        fs::create_dir(&directory).expect("a directory");
        for number in 0..LOG_FILES_MAX + 5 {
            fs::write(directory.join(format!("2020{number:04}-1.log")), "old").expect("a file");
        }
        RotatedLog::create(&directory).expect("a log");
        let files = logs(&directory).expect("the directory");
        assert_eq!(files.len(), LOG_FILES_MAX);
        let oldest = files.first().and_then(|it| it.file_name());
        assert_eq!(oldest.expect("a file").to_string_lossy(), "20200006-1.log");
    }
}
