//! Brings rows to where the logs are.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use troupe_protocol::SessionId;

use crate::error::Error;
use crate::fold::{Fold, Row};
use crate::layout::{Found, Layout};
use crate::limits::INDEX_BATCH_LOGS;
use crate::source::Source;
use crate::store::{Position, ReindexProgress, ReindexReport};

use super::rows::{Base, Change, Known};
use super::{Index, LogAt};

impl Index {
    /// Applies the lines of one log that the index has not seen.
    pub(crate) fn apply<S: Source + ?Sized>(
        &mut self,
        log: &LogAt,
        source: &S,
    ) -> Result<(), Error> {
        let end = source
            .bytes()
            .map_err(|error| Error::read(&place(log), error))?;
        self.apply_up_to(log, source, Position(end))
    }

    /// Applies lines up to `end`. The index may be ahead already: another process that lists
    /// applies lines before they are committed.
    pub(super) fn apply_up_to<S: Source + ?Sized>(
        &mut self,
        log: &LogAt,
        source: &S,
        end: Position,
    ) -> Result<(), Error> {
        let row = self.row(log.id)?;
        if row.as_ref().is_some_and(|row| row.offset >= end.0) {
            return Ok(());
        }
        let change = self.read_change(log, source, row, end)?;
        self.save(&[change])
    }

    /// Looks at every log of the home and applies what is new. Logs that are gone are
    /// forgotten; logs that were replaced or cut are read anew.
    pub(super) fn catch_up(&mut self, layout: &Layout) -> Result<(), Error> {
        let mut known: HashMap<SessionId, Known> = self.known()?.into_iter().collect();
        let mut changes = Vec::new();
        let mut moved = Vec::new();
        for found in layout.all()? {
            let known = known.remove(&found.id);
            let log = layout.log_at(&found);
            if let Some(known) = &known
                && (known.path != log.path || known.archived != log.archived)
            {
                moved.push(log.clone());
            }
            let offset = known.map(|known| known.offset);
            changes.extend(self.behind(&found, &log, offset)?);
            if changes.len() >= INDEX_BATCH_LOGS {
                self.save(&changes)?;
                changes.clear();
            }
        }
        if !changes.is_empty() {
            self.save(&changes)?;
        }
        let gone: Vec<SessionId> = known.into_keys().collect();
        self.relocate(&moved, &gone)
    }

    /// Reads every log once and replaces everything the index says.
    pub(super) fn rebuild(
        &mut self,
        layout: &Layout,
        progress: &mut dyn FnMut(ReindexProgress),
    ) -> Result<ReindexReport, Error> {
        let logs = layout.all()?;
        let mut told = ReindexProgress {
            files: logs.len() as u64,
            bytes: logs.iter().map(|found| size(&found.path)).sum(),
            ..ReindexProgress::default()
        };
        progress(told);
        let mut gone: HashMap<SessionId, Known> = self.known()?.into_iter().collect();
        let mut changes = Vec::new();
        for found in logs {
            gone.remove(&found.id);
            if let Some(file) = self.open_log(&found) {
                let log = layout.log_at(&found);
                match self.read_whole(&log, &file) {
                    Ok(change) => {
                        told.bytes_done += change.fold.row.offset;
                        changes.push(change);
                    }
                    Err(error) => self.warn(shown(&error)),
                }
            }
            told.files_done += 1;
            progress(told);
            if changes.len() >= INDEX_BATCH_LOGS {
                self.save(&changes)?;
                changes.clear();
            }
        }
        self.save(&changes)?;
        let gone: Vec<SessionId> = gone.into_keys().collect();
        self.relocate(&[], &gone)?;
        self.drop_orphans()?;
        let report = self.report()?;
        Ok(ReindexReport {
            bytes: told.bytes_done,
            ..report
        })
    }

    /// Returns what the index lacks of a log. A log that cannot be read is a warning: it
    /// must not hide the others.
    fn behind(
        &mut self,
        found: &Found,
        log: &LogAt,
        offset: Option<u64>,
    ) -> Result<Option<Change>, Error> {
        if offset == Some(size(&found.path)) {
            return Ok(None);
        }
        let Some(file) = self.open_log(found) else {
            return Ok(None);
        };
        let end = match file.bytes() {
            Ok(end) => Position(end),
            Err(error) => {
                self.warn(shown(&Error::read(&found.path, error)));
                return Ok(None);
            }
        };
        let row = match offset {
            None => None,
            Some(_) => self.row(log.id)?,
        };
        match self.read_change(log, &file, row, end) {
            Ok(change) if change.base == Base::Offset(change.fold.row.offset) => Ok(None),
            Ok(change) => Ok(Some(change)),
            Err(error @ Error::Index { .. }) => Err(error),
            Err(error) => {
                self.warn(shown(&error));
                Ok(None)
            }
        }
    }

    pub(super) fn read_change<S: Source + ?Sized>(
        &mut self,
        log: &LogAt,
        source: &S,
        row: Option<Row>,
        end: Position,
    ) -> Result<Change, Error> {
        // A row that ends where no line ends is about a file that is no longer there.
        let is_usable = row.as_ref().is_some_and(|row| {
            row.offset <= end.0 && source.is_line_boundary(row.offset).unwrap_or(false)
        });
        match row {
            None => self.fold(log, source, Fold::begin(log.id), Base::Nothing, end),
            Some(row) if is_usable => {
                let base = Base::Offset(row.offset);
                self.fold(log, source, Fold::resume(row), base, end)
            }
            Some(_) => self.fold(log, source, Fold::begin(log.id), Base::Replaced, end),
        }
    }

    pub(super) fn read_whole<S: Source + ?Sized>(
        &mut self,
        log: &LogAt,
        source: &S,
    ) -> Result<Change, Error> {
        let end = source
            .bytes()
            .map_err(|error| Error::read(&place(log), error))?;
        let fold = Fold::begin(log.id);
        self.fold(log, source, fold, Base::Replaced, Position(end))
    }

    fn fold<S: Source + ?Sized>(
        &mut self,
        log: &LogAt,
        source: &S,
        mut fold: Fold,
        base: Base,
        end: Position,
    ) -> Result<Change, Error> {
        fold.apply(source, end)
            .map_err(|error| Error::read(&place(log), error))?;
        for warning in std::mem::take(&mut fold.warnings) {
            self.warn(format!("{}: {warning}", place(log).display()));
        }
        Ok(Change {
            log: log.clone(),
            base,
            fold,
        })
    }

    fn open_log(&mut self, found: &Found) -> Option<File> {
        match File::open(&found.path) {
            Ok(file) => Some(file),
            // Moved or deleted since the directory was read.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => {
                self.warn(shown(&Error::read(&found.path, error)));
                None
            }
        }
    }
}

/// 0 for what is gone or closed to us; opening it tells which.
fn size(path: &Path) -> u64 {
    path.metadata().map_or(0, |metadata| metadata.len())
}

fn place(log: &LogAt) -> std::path::PathBuf {
    log.path
        .clone()
        .unwrap_or_else(|| log.id.to_string().into())
}

/// An error with its causes, for a warning.
pub(super) fn shown(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let texts: Vec<String> = causes.map(ToString::to_string).collect();
    texts.join(": ")
}
