//! Follows a command to its end.
//!
//! ```text
//! Running ──ended──► Draining ──output ended or grace over: kill──► Sweeping
//!    │                   │                                             │
//!    │                   └─────────── nothing left ──► Emptying ◄──────┘
//!    └── ended alone ─────────────────────────────────────▲
//! ```
//!
//! Emptying ends with the output. Then comes Looking, if the command may have written where a
//! repository can be brought in, and the exit. All but Running and Looking have a deadline; a look
//! is bounded by what the search before it has seen.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::control::KeeperControl;
use super::second_look::SecondLook;
use super::stream::ProcessOutputs;
use super::{LeftBehind, ProcessEvent, ProcessExit, SandboxDenial};
use crate::holder::{ExitRecord, KeeperOrder, KeeperReport};
use crate::limits::{DRAIN_GRACE_MS, SWEEP_WAIT_MS};

#[derive(Debug)]
pub(super) struct ProcessWatch {
    control: std::sync::Arc<KeeperControl>,
    outputs: ProcessOutputs,
    phase: WatchPhase,
    second_look: Option<SecondLook>,
    /// What is left behind of a command is not reported, but may write as it did.
    may_have_written: bool,
}

#[derive(Debug)]
enum WatchPhase {
    Running,
    /// The command has ended; what it left behind may finish writing.
    Draining {
        exit: ProcessExit,
        until: Instant,
    },
    /// What it left behind is being killed.
    Sweeping {
        exit: ProcessExit,
        until: Instant,
    },
    /// Nobody is left to write; what was written is still in the pipe.
    Emptying {
        exit: ProcessExit,
        until: Instant,
    },
    /// Nothing of it is left.
    Looking {
        exit: ProcessExit,
    },
    Finished,
}

enum WatchEvent {
    LookedAgain,
    LookedLast(Vec<String>),
    DeadlinePassed,
    Reported(Option<KeeperReport>),
    Output(Option<ProcessEvent>),
}

impl ProcessWatch {
    pub fn new(
        control: std::sync::Arc<KeeperControl>,
        outputs: ProcessOutputs,
        second_look: Option<SecondLook>,
    ) -> Self {
        Self {
            control,
            outputs,
            phase: WatchPhase::Running,
            second_look,
            may_have_written: false,
        }
    }

    pub fn is_finished(&self) -> bool {
        matches!(self.phase, WatchPhase::Finished)
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
                WatchEvent::Output(Some(event)) => return Some(event),
                WatchEvent::Output(None) | WatchEvent::LookedAgain => {}
                WatchEvent::Reported(report) => self.handle_report(report),
                WatchEvent::DeadlinePassed => self.handle_deadline(),
                WatchEvent::LookedLast(moved) => {
                    if let WatchPhase::Looking { exit } =
                        std::mem::replace(&mut self.phase, WatchPhase::Finished)
                    {
                        return Some(ProcessEvent::Exited(with_moved(exit, moved)));
                    }
                }
            }
        }
    }

    async fn wait(&mut self) -> WatchEvent {
        let (deadline, keeper_lives) = match &self.phase {
            WatchPhase::Running => (None, true),
            WatchPhase::Draining { until, .. } | WatchPhase::Sweeping { until, .. } => {
                (Some(*until), true)
            }
            WatchPhase::Emptying { until, .. } => (Some(*until), false),
            WatchPhase::Looking { .. } | WatchPhase::Finished => (None, false),
        };
        if let (WatchPhase::Looking { .. }, Some(look)) = (&self.phase, &mut self.second_look) {
            return WatchEvent::LookedLast(look.last().await);
        }
        let look = &mut self.second_look;
        let looks_again = look.is_some() && matches!(self.phase, WatchPhase::Running);
        let looking = async {
            match look {
                Some(look) => look.again().await,
                None => std::future::pending().await,
            }
        };
        let open = self.outputs.are_open();
        tokio::select! {
            // A tree that never stops writing must not keep its end from being seen.
            biased;
            () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                WatchEvent::DeadlinePassed
            }
            () = looking, if looks_again => WatchEvent::LookedAgain,
            report = self.control.report(), if keeper_lives => WatchEvent::Reported(report),
            output = self.outputs.read(), if open => WatchEvent::Output(
                output.map(|(stream, bytes)| ProcessEvent::Output { stream, bytes })
            ),
        }
    }

    /// Makes the steps that need no waiting; returns the exit with the last one.
    fn settle(&mut self) -> Option<ProcessExit> {
        if self.outputs.are_open() {
            return None;
        }
        self.phase = match std::mem::replace(&mut self.phase, WatchPhase::Finished) {
            WatchPhase::Draining { exit, .. } => self.sweep(exit),
            WatchPhase::Emptying { exit, .. }
                if self.may_have_written && self.second_look.is_some() =>
            {
                WatchPhase::Looking { exit }
            }
            WatchPhase::Emptying { exit, .. } => {
                // What was moved while it ran was written by it, whatever was seen.
                let moved = self.second_look.as_mut().map(SecondLook::take_moved);
                return Some(with_moved(exit, moved.unwrap_or_default()));
            }
            unchanged @ (WatchPhase::Running
            | WatchPhase::Sweeping { .. }
            | WatchPhase::Looking { .. }
            | WatchPhase::Finished) => unchanged,
        };
        None
    }

    fn handle_report(&mut self, report: Option<KeeperReport>) {
        self.may_have_written |= match &report {
            Some(KeeperReport::Exited(record)) => record.has_written || record.left_behind,
            Some(_) => false,
            // Nobody knows what it did.
            None => true,
        };
        self.phase = match (
            std::mem::replace(&mut self.phase, WatchPhase::Finished),
            report,
        ) {
            (WatchPhase::Running, Some(KeeperReport::Exited(record))) if record.left_behind => {
                WatchPhase::Draining {
                    exit: exit(&record, LeftBehind::Ended),
                    until: after(DRAIN_GRACE_MS),
                }
            }
            (WatchPhase::Running, Some(KeeperReport::Exited(record))) => {
                empty(exit(&record, LeftBehind::Nothing))
            }
            // The keeper has ended: with everything gone, or because somebody killed it.
            (WatchPhase::Draining { exit, .. } | WatchPhase::Sweeping { exit, .. }, None) => {
                empty(exit)
            }
            (WatchPhase::Running, None) => empty(killed_with_its_keeper()),
            (phase, _) => phase,
        };
    }

    fn handle_deadline(&mut self) {
        self.phase = match std::mem::replace(&mut self.phase, WatchPhase::Finished) {
            WatchPhase::Draining { exit, .. } => self.sweep(exit),
            WatchPhase::Sweeping { mut exit, .. } => {
                exit.left_behind = LeftBehind::Unverified;
                self.outputs.close();
                empty(exit)
            }
            WatchPhase::Emptying { exit, .. } => {
                self.outputs.close();
                empty(exit)
            }
            unchanged @ (WatchPhase::Running
            | WatchPhase::Looking { .. }
            | WatchPhase::Finished) => unchanged,
        };
    }

    fn sweep(&self, exit: ProcessExit) -> WatchPhase {
        self.control.order(KeeperOrder::Kill);
        WatchPhase::Sweeping {
            exit,
            until: after(SWEEP_WAIT_MS),
        }
    }
}

fn empty(exit: ProcessExit) -> WatchPhase {
    WatchPhase::Emptying {
        exit,
        until: after(SWEEP_WAIT_MS),
    }
}

fn after(milliseconds: u64) -> Instant {
    Instant::now() + Duration::from_millis(milliseconds)
}

fn exit(record: &ExitRecord, left_behind: LeftBehind) -> ProcessExit {
    ProcessExit {
        code: record.code,
        signal: record.signal,
        denial: denial(record),
        left_behind,
        wall: Duration::from_micros(record.wall_us),
        cpu: Duration::from_micros(record.cpu_us),
        memory_peak_bytes: record.memory_peak_bytes,
    }
}

fn denial(record: &ExitRecord) -> Option<SandboxDenial> {
    let what = record.denials.join(", ");
    (!what.is_empty()).then_some(SandboxDenial {
        what,
        moved_aside: record.moved_aside,
    })
}

/// Adds what was moved aside, which is told also of a command that went well.
fn with_moved(mut exit: ProcessExit, moved: Vec<String>) -> ProcessExit {
    if moved.is_empty() {
        return exit;
    }
    let told = exit.denial.take().map(|denial| denial.what);
    let what: Vec<String> = told.into_iter().chain(moved).collect();
    exit.denial = Some(SandboxDenial {
        what: what.join(", "),
        moved_aside: true,
    });
    exit
}

/// The holder kills what a keeper could not, but nobody reports it.
fn killed_with_its_keeper() -> ProcessExit {
    ProcessExit {
        code: None,
        signal: Some(libc::SIGKILL),
        denial: None,
        left_behind: LeftBehind::Unverified,
        wall: Duration::ZERO,
        cpu: Duration::ZERO,
        memory_peak_bytes: 0,
    }
}
