//! The end of a command that is run to its end.

use troupe_protocol::command::WorkStatus;

use super::item::CommandSummary;
use super::text::{OneShot, remarks};
use super::{CommandRun, WatchOutcome};
use crate::blocking::aborted_text;
use crate::call::ToolInvocation;
use crate::limits::ANSWER_TOKENS_MAX;
use crate::policy::WatchStart;
use crate::tool::ToolOutput;

/// What `timeout(1)` exits with.
const TIMED_OUT: i32 = 124;

impl CommandRun {
    /// Ends what still runs, shows the command's end, and returns the call's answer.
    pub(crate) async fn finish(mut self, call: &ToolInvocation) -> ToolOutput {
        if matches!(self.ending, WatchOutcome::Running | WatchOutcome::Cancelled) {
            self.terminal.kill(call, &mut self.capture).await;
        }
        let elapsed = self.began.elapsed();
        let capture = &self.capture;
        let failed = |exit_code| CommandSummary {
            status: WorkStatus::Failed,
            exit_code,
            capture,
            elapsed,
        };
        let (outcome, remarks, preface) = match &self.ending {
            WatchOutcome::Exited(exit) => (
                CommandSummary::of_exit(exit, capture, elapsed),
                remarks(
                    exit,
                    call.context.leaving_policy(),
                    WatchStart::FromTheStart,
                ),
                None,
            ),
            WatchOutcome::Running => {
                let text = format!(
                    "command timed out after {} milliseconds",
                    elapsed.as_millis()
                );
                (failed(Some(TIMED_OUT)), Vec::new(), Some(text))
            }
            WatchOutcome::Cancelled => {
                let killed = 128 + libc::SIGKILL;
                (
                    failed(Some(killed)),
                    Vec::new(),
                    Some(aborted_text(elapsed)),
                )
            }
        };
        let text = OneShot {
            exit_code: outcome.exit_code.unwrap_or(-1),
            elapsed,
            remarks,
            preface,
            output: &capture.aggregated,
            tokens_max: ANSWER_TOKENS_MAX,
        }
        .render();
        self.item.completed(call, outcome, text).await
    }
}
