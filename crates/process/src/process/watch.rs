//! Follows a command to its end.
//!
//! ```text
//! Running ──ended──► Draining ──output ended or grace over: kill──► Sweeping
//!    │                   │                                             │
//!    │                   └─────────── nothing left ──► Emptying ◄──────┘
//!    └── ended alone ─────────────────────────────────────▲
//! ```
//!
//! Emptying ends with the output. All but Running have a deadline.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::control::Control;
use super::stream::Outputs;
use super::{Denial, Exit, LeftBehind, ProcessEvent};
use crate::holder::{ExitRecord, Order, Report};
use crate::limits::{DRAIN_GRACE_MS, SWEEP_WAIT_MS};

#[derive(Debug)]
pub(super) struct Watch {
    control: std::sync::Arc<Control>,
    outputs: Outputs,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    Running,
    /// The command has ended; what it left behind may finish writing.
    Draining {
        exit: Exit,
        until: Instant,
    },
    /// What it left behind is being killed.
    Sweeping {
        exit: Exit,
        until: Instant,
    },
    /// Nobody is left to write; what was written is still in the pipe.
    Emptying {
        exit: Exit,
        until: Instant,
    },
    Finished,
}

enum Happened {
    DeadlinePassed,
    Reported(Option<Report>),
    Output(Option<ProcessEvent>),
}

impl Watch {
    pub fn new(control: std::sync::Arc<Control>, outputs: Outputs) -> Self {
        Self {
            control,
            outputs,
            phase: Phase::Running,
        }
    }

    pub fn is_finished(&self) -> bool {
        matches!(self.phase, Phase::Finished)
    }

    /// Waits for the next event; `None` once finished. Whatever is awaited is taken whole before
    /// anything changes, so this may be dropped at any time and called again.
    pub async fn advance(&mut self) -> Option<ProcessEvent> {
        loop {
            if let Some(exit) = self.settle() {
                return Some(ProcessEvent::Exited(exit));
            }
            if self.is_finished() {
                return None;
            }
            match self.wait().await {
                Happened::Output(Some(event)) => return Some(event),
                Happened::Output(None) => {}
                Happened::Reported(report) => self.hear(report),
                Happened::DeadlinePassed => self.lose_patience(),
            }
        }
    }

    async fn wait(&mut self) -> Happened {
        let (deadline, keeper_lives) = match &self.phase {
            Phase::Running => (None, true),
            Phase::Draining { until, .. } | Phase::Sweeping { until, .. } => (Some(*until), true),
            Phase::Emptying { until, .. } => (Some(*until), false),
            Phase::Finished => (None, false),
        };
        let open = self.outputs.are_open();
        tokio::select! {
            // A tree that never stops writing must not keep its end from being seen.
            biased;
            () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                Happened::DeadlinePassed
            }
            report = self.control.report(), if keeper_lives => Happened::Reported(report),
            output = self.outputs.read(), if open => Happened::Output(
                output.map(|(stream, bytes)| ProcessEvent::Output { stream, bytes })
            ),
        }
    }

    /// Makes the steps that need no waiting; returns the exit with the last one.
    fn settle(&mut self) -> Option<Exit> {
        if self.outputs.are_open() {
            return None;
        }
        self.phase = match std::mem::replace(&mut self.phase, Phase::Finished) {
            Phase::Draining { exit, .. } => self.sweep(exit),
            Phase::Emptying { exit, .. } => return Some(exit),
            unchanged @ (Phase::Running | Phase::Sweeping { .. } | Phase::Finished) => unchanged,
        };
        None
    }

    fn hear(&mut self, report: Option<Report>) {
        self.phase = match (std::mem::replace(&mut self.phase, Phase::Finished), report) {
            (Phase::Running, Some(Report::Exited(record))) if record.left_behind => {
                Phase::Draining {
                    exit: exit(&record, LeftBehind::Ended),
                    until: after(DRAIN_GRACE_MS),
                }
            }
            (Phase::Running, Some(Report::Exited(record))) => {
                empty(exit(&record, LeftBehind::Nothing))
            }
            // The keeper has ended: with everything gone, or because somebody killed it.
            (Phase::Draining { exit, .. } | Phase::Sweeping { exit, .. }, None) => empty(exit),
            (Phase::Running, None) => empty(killed_with_its_keeper()),
            (phase, _) => phase,
        };
    }

    fn lose_patience(&mut self) {
        self.phase = match std::mem::replace(&mut self.phase, Phase::Finished) {
            Phase::Draining { exit, .. } => self.sweep(exit),
            Phase::Sweeping { mut exit, .. } => {
                exit.left_behind = LeftBehind::Unverified;
                self.outputs.close();
                empty(exit)
            }
            Phase::Emptying { exit, .. } => {
                self.outputs.close();
                empty(exit)
            }
            unchanged @ (Phase::Running | Phase::Finished) => unchanged,
        };
    }

    fn sweep(&self, exit: Exit) -> Phase {
        self.control.order(Order::Kill);
        Phase::Sweeping {
            exit,
            until: after(SWEEP_WAIT_MS),
        }
    }
}

fn empty(exit: Exit) -> Phase {
    Phase::Emptying {
        exit,
        until: after(SWEEP_WAIT_MS),
    }
}

fn after(milliseconds: u64) -> Instant {
    Instant::now() + Duration::from_millis(milliseconds)
}

fn exit(record: &ExitRecord, left_behind: LeftBehind) -> Exit {
    Exit {
        code: record.code,
        signal: record.signal,
        denial: denial(record),
        left_behind,
        wall: Duration::from_micros(record.wall_us),
        cpu: Duration::from_micros(record.cpu_us),
        memory_peak_bytes: record.memory_peak_bytes,
    }
}

fn denial(record: &ExitRecord) -> Option<Denial> {
    let what = record.denials.join(", ");
    (!what.is_empty()).then_some(Denial {
        what,
        moved_aside: record.moved_aside,
    })
}

/// The holder kills what a keeper could not, but nobody reports it.
fn killed_with_its_keeper() -> Exit {
    Exit {
        code: None,
        signal: Some(libc::SIGKILL),
        denial: None,
        left_behind: LeftBehind::Unverified,
        wall: Duration::ZERO,
        cpu: Duration::ZERO,
        memory_peak_bytes: 0,
    }
}
