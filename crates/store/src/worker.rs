//! A thread that is started when it is first needed and ends with its owner.

use std::sync::OnceLock;
use std::thread::{self, JoinHandle};

use tokio::sync::mpsc;
use troupe_protocol::discard;

use crate::error::StoreError;

#[derive(Debug)]
pub(crate) struct WorkerThread<M> {
    name: &'static str,
    /// `None` inside if the thread could not be started.
    thread: OnceLock<Option<RunningThread<M>>>,
}

#[derive(Debug)]
struct RunningThread<M> {
    mailbox: mpsc::Sender<M>,
    handle: JoinHandle<()>,
}

impl<M: Send + 'static> WorkerThread<M> {
    pub(crate) fn new(name: &'static str) -> Self {
        Self {
            name,
            thread: OnceLock::new(),
        }
    }

    /// Returns the mailbox of the thread, which is started with `run` if there is none yet.
    pub(crate) fn mailbox<R>(
        &self,
        queued_max: usize,
        run: impl FnOnce() -> R,
    ) -> Result<&mpsc::Sender<M>, StoreError>
    where
        R: FnOnce(mpsc::Receiver<M>) + Send + 'static,
    {
        let start = || {
            let (mailbox, messages) = mpsc::channel(queued_max);
            let run = run();
            let handle = thread::Builder::new()
                .name(format!("store-{}", self.name))
                .spawn(move || run(messages))
                .ok()?;
            Some(RunningThread { mailbox, handle })
        };
        match self.thread.get_or_init(start) {
            Some(running) => Ok(&running.mailbox),
            None => Err(self.stopped()),
        }
    }

    pub(crate) fn stopped(&self) -> StoreError {
        StoreError::Stopped { thread: self.name }
    }
}

impl<M> Drop for WorkerThread<M> {
    fn drop(&mut self) {
        if let Some(Some(running)) = self.thread.take() {
            drop(running.mailbox);
            // A panic of the thread was seen by whoever waited for its answer.
            discard!(running.handle.join(), "a worker thread ended by a panic");
        }
    }
}
