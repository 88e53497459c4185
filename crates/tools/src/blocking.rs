//! File work off the async threads, ended by the call's cancellation.

use std::fs::File;
use std::io::{self, Read};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use crate::call::ToolInvocation;

/// Says when long file work has to stop.
#[derive(Debug, Clone)]
pub(crate) struct WorkDeadline {
    cancel: CancellationToken,
    deadline: Option<Instant>,
}

impl WorkDeadline {
    /// Stops by the clock alone.
    pub(crate) fn after(time_max: Option<Duration>) -> Self {
        Self::when(CancellationToken::new(), time_max)
    }

    fn when(cancel: CancellationToken, time_max: Option<Duration>) -> Self {
        Self {
            cancel,
            deadline: time_max.map(|time| Instant::now() + time),
        }
    }

    pub(crate) fn is_due(&self) -> bool {
        self.cancel.is_cancelled() || self.deadline.is_some_and(|time| Instant::now() >= time)
    }
}

/// A file that can be read until the work has to stop, however long its lines are.
#[derive(Debug)]
pub(crate) struct StoppableFile<'a> {
    pub file: File,
    pub stop: &'a WorkDeadline,
}

impl Read for StoppableFile<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_due() {
            return Err(io::Error::other("it takes too long; read a smaller part"));
        }
        self.file.read(buffer)
    }
}

/// Runs `work` on the blocking pool. It is expected to look at [`WorkDeadline`] between steps; the
/// answer does not wait for it once the call is cancelled.
pub(crate) async fn run<T, F>(
    call: &ToolInvocation,
    time_max: Option<Duration>,
    work: F,
) -> Result<T, String>
where
    T: Send + 'static,
    F: FnOnce(&WorkDeadline) -> Result<T, String> + Send + 'static,
{
    let began = Instant::now();
    let stop = WorkDeadline::when(call.cancel.clone(), time_max);
    let mut task = tokio::task::spawn_blocking(move || work(&stop));
    tokio::select! {
        done = &mut task => match done {
            Ok(done) => done,
            // The registry tells panics; losing this one here would hide it.
            Err(join) if join.is_panic() => std::panic::resume_unwind(join.into_panic()),
            Err(_) => Err("the engine is shutting down".to_owned()),
        },
        () = call.cancel.cancelled() => Err(aborted_text(began.elapsed())),
    }
}

/// Who stopped the task, and why, is told after its answers: a call does not know it.
pub(crate) fn aborted_text(after: Duration) -> String {
    format!("aborted after {:.1} seconds", after.as_secs_f64())
}

/// Of a call that was stopped while somebody was asked about it, or before.
pub(crate) const NEVER_RUN_TEXT: &str = "aborted before it was run";

/// Runs short work that must not be stopped half-way.
pub(crate) async fn finish<T, F>(work: F) -> Result<T, String>
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => Ok(done),
        Err(join) if join.is_panic() => std::panic::resume_unwind(join.into_panic()),
        Err(_) => Err("the engine is shutting down".to_owned()),
    }
}
