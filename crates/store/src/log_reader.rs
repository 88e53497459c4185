//! Reads one log forwards, from a position to its end as it is by then.

use std::mem;

use troupe_protocol::SessionId;

use crate::error::StoreError;
use crate::store::{LogLine, LogPosition, SessionStore};

/// A place in one log, which moves on as lines are read.
#[derive(Debug, Clone)]
pub struct LogReader {
    session: SessionId,
    next: LogPosition,
    is_at_end: bool,
}

impl LogReader {
    /// Begins with the first line.
    pub fn new(session: SessionId) -> Self {
        Self::after(session, LogPosition::default())
    }

    /// Begins with the line that follows the position.
    pub fn after(session: SessionId, position: LogPosition) -> Self {
        Self {
            session,
            next: position,
            is_at_end: false,
        }
    }

    pub fn session(&self) -> SessionId {
        self.session
    }

    /// Returns the next lines, as many as fit a batch; `None` at the end. Asked again after
    /// that, it goes on with what was added meanwhile.
    pub async fn next(
        &mut self,
        store: &dyn SessionStore,
    ) -> Result<Option<Vec<LogLine>>, StoreError> {
        if mem::take(&mut self.is_at_end) {
            return Ok(None);
        }
        let batch = store.read_all(self.session, self.next).await?;
        // A line that is not whole yet keeps the reader where it is.
        self.is_at_end = batch.at_end || batch.next == self.next;
        self.next = batch.next;
        Ok(Some(batch.lines))
    }
}
