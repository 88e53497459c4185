//! Ctrl-C and the request of other programs to end.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Both signals ask for the same: stop the task, keep what there is, end.
#[derive(Debug)]
pub struct StopRequests {
    interrupt: Signal,
    terminate: Signal,
}

impl StopRequests {
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Returns when somebody asks. Safe to cancel.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
