//! The end of a command that is run to its end.

use troupe_protocol::command::WorkStatus;

use super::item::Outcome;
use super::text::{OneShot, remarks};
use super::{Ending, Run};
use crate::blocking::aborted_text;
use crate::call::Call;
use crate::limits::ANSWER_TOKENS_MAX;
use crate::policy::Watched;
use crate::tool::ToolOutput;

/// What `timeout(1)` exits with.
const TIMED_OUT: i32 = 124;

impl Run {
    /// Ends what still runs, shows the command's end, and returns the call's answer.
    pub(crate) async fn finish(mut self, call: &Call) -> ToolOutput {
        if matches!(self.ending, Ending::Running | Ending::Cancelled) {
            self.terminal.kill(call, &mut self.capture).await;
        }
        let elapsed = self.began.elapsed();
        let capture = &self.capture;
        let failed = |exit_code| Outcome {
            status: WorkStatus::Failed,
            exit_code,
            capture,
            elapsed,
        };
        let (outcome, remarks, preface) = match &self.ending {
            Ending::Exited(exit) => (
                Outcome::of_exit(exit, capture, elapsed),
                remarks(exit, call.context.leaving_policy(), Watched::FromTheStart),
                None,
            ),
            Ending::Running => {
                let text = format!(
                    "command timed out after {} milliseconds",
                    elapsed.as_millis()
                );
                (failed(Some(TIMED_OUT)), Vec::new(), Some(text))
            }
            Ending::Cancelled => {
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
