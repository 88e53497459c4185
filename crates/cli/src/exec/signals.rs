//! Ctrl-C and the request of other programs to end.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Who asks, in both cases for the same: stop the task, keep what there is, end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitSignal {
    /// A person, who wants to see how it ends.
    Interrupt,
    /// A program, which has given the run up.
    Terminate,
}

#[derive(Debug)]
pub struct ExitSignals {
    interrupt: Signal,
    terminate: Signal,
}

impl ExitSignals {
    pub fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Returns when somebody asks. Safe to cancel.
    pub async fn next(&mut self) -> ExitSignal {
        tokio::select! {
            _ = self.interrupt.recv() => ExitSignal::Interrupt,
            _ = self.terminate.recv() => ExitSignal::Terminate,
        }
    }
}
