//! Brings rows to where the logs are.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;

use troupe_protocol::SessionId;

use crate::error::StoreError;
use crate::fold::{SessionFold, SummaryRow};
use crate::layout::{FoundRollout, HomeLayout};
use crate::limits::INDEX_BATCH_LOGS;
use crate::source::ByteSource;
use crate::store::{LogPosition, ReindexProgress, ReindexReport};

use super::rows::{FoldBase, FoldChange, IndexedLog};
use super::{IndexDatabase, LogLocation};

impl IndexDatabase {
    /// Applies the lines of one log that the index has not seen.
    pub(crate) fn apply<S: ByteSource + ?Sized>(
        &mut self,
        log: &LogLocation,
        source: &S,
    ) -> Result<(), StoreError> {
        let end = source
            .bytes()
            .map_err(|error| StoreError::read(&place(log), error))?;
        self.apply_up_to(log, source, LogPosition(end))
    }

    /// Applies lines up to `end`. The index may be ahead already: another process that lists
    /// applies lines before they are committed.
    pub(super) fn apply_up_to<S: ByteSource + ?Sized>(
        &mut self,
        log: &LogLocation,
        source: &S,
        end: LogPosition,
    ) -> Result<(), StoreError> {
        let row = self.row(log.id)?;
        if row.as_ref().is_some_and(|row| row.offset >= end.0) {
            return Ok(());
        }
        let change = self.read_change(log, source, row, end)?;
        self.save(&[change])
    }

    /// Looks at every log of the home and applies what is new. Logs that are gone are
    /// forgotten; logs that were replaced or cut are read anew.
    pub(super) fn catch_up(&mut self, layout: &HomeLayout) -> Result<(), StoreError> {
        let mut known: HashMap<SessionId, IndexedLog> = self.known()?.into_iter().collect();
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
            changes.extend(self.read_missing(&found, &log, offset)?);
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
        layout: &HomeLayout,
        progress: &mut dyn FnMut(ReindexProgress),
    ) -> Result<ReindexReport, StoreError> {
        let logs = layout.all()?;
        let mut told = ReindexProgress {
            files: logs.len() as u64,
            bytes: logs.iter().map(|found| size(&found.path)).sum(),
            ..ReindexProgress::default()
        };
        progress(told);
        let mut gone: HashMap<SessionId, IndexedLog> = self.known()?.into_iter().collect();
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
                    Err(error) => self.warn(error_chain(&error)),
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
    fn read_missing(
        &mut self,
        found: &FoundRollout,
        log: &LogLocation,
        offset: Option<u64>,
    ) -> Result<Option<FoldChange>, StoreError> {
        if offset == Some(size(&found.path)) {
            return Ok(None);
        }
        let Some(file) = self.open_log(found) else {
            return Ok(None);
        };
        let end = match file.bytes() {
            Ok(end) => LogPosition(end),
            Err(error) => {
                self.warn(error_chain(&StoreError::read(&found.path, error)));
                return Ok(None);
            }
        };
        let row = match offset {
            None => None,
            Some(_) => self.row(log.id)?,
        };
        match self.read_change(log, &file, row, end) {
            Ok(change) if change.base == FoldBase::Offset(change.fold.row.offset) => Ok(None),
            Ok(change) => Ok(Some(change)),
            Err(error @ StoreError::Index { .. }) => Err(error),
            Err(error) => {
                self.warn(error_chain(&error));
                Ok(None)
            }
        }
    }

    pub(super) fn read_change<S: ByteSource + ?Sized>(
        &mut self,
        log: &LogLocation,
        source: &S,
        row: Option<SummaryRow>,
        end: LogPosition,
    ) -> Result<FoldChange, StoreError> {
        // A row that ends where no line ends is about a file that is no longer there.
        let is_usable = row.as_ref().is_some_and(|row| {
            row.offset <= end.0 && source.is_line_boundary(row.offset).unwrap_or(false)
        });
        match row {
            None => self.fold(
                log,
                source,
                SessionFold::begin(log.id),
                FoldBase::Nothing,
                end,
            ),
            Some(row) if is_usable => {
                let base = FoldBase::Offset(row.offset);
                self.fold(log, source, SessionFold::resume(row), base, end)
            }
            Some(_) => self.fold(
                log,
                source,
                SessionFold::begin(log.id),
                FoldBase::Replaced,
                end,
            ),
        }
    }

    pub(super) fn read_whole<S: ByteSource + ?Sized>(
        &mut self,
        log: &LogLocation,
        source: &S,
    ) -> Result<FoldChange, StoreError> {
        let end = source
            .bytes()
            .map_err(|error| StoreError::read(&place(log), error))?;
        let fold = SessionFold::begin(log.id);
        self.fold(log, source, fold, FoldBase::Replaced, LogPosition(end))
    }

    fn fold<S: ByteSource + ?Sized>(
        &mut self,
        log: &LogLocation,
        source: &S,
        mut fold: SessionFold,
        base: FoldBase,
        end: LogPosition,
    ) -> Result<FoldChange, StoreError> {
        fold.apply(source, end)
            .map_err(|error| StoreError::read(&place(log), error))?;
        for warning in std::mem::take(&mut fold.warnings) {
            self.warn(format!("{}: {warning}", place(log).display()));
        }
        Ok(FoldChange {
            log: log.clone(),
            base,
            fold,
        })
    }

    fn open_log(&mut self, found: &FoundRollout) -> Option<File> {
        match File::open(&found.path) {
            Ok(file) => Some(file),
            // Moved or deleted since the directory was read.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => {
                self.warn(error_chain(&StoreError::read(&found.path, error)));
                None
            }
        }
    }
}

/// 0 for what is gone or closed to us; opening it tells which.
fn size(path: &Path) -> u64 {
    path.metadata().map_or(0, |metadata| metadata.len())
}

fn place(log: &LogLocation) -> std::path::PathBuf {
    log.path
        .clone()
        .unwrap_or_else(|| log.id.to_string().into())
}

/// An error with its causes, for a warning.
pub(super) fn error_chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let texts: Vec<String> = causes.map(ToString::to_string).collect();
    texts.join(": ")
}
