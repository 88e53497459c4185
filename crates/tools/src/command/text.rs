//! What the model is told about a command. The lines are those that models were trained on.

use std::borrow::Cow;
use std::time::Duration;

use troupe_process::{LeftBehind, OutputBuffer, ProcessExit, SandboxDenial};
use troupe_protocol::command::WorkStatus;
use troupe_protocol::policy::ApprovalPolicy;

use super::capture::OutputCapture;
use super::item::CommandSummary;
use super::table::TerminalId;
use crate::blocking::aborted_text;
use crate::lines;
use crate::policy::{self, WatchStart};
use crate::truncate;

/// Returns the exit code as a shell would: a signal is 128 and its number.
pub(crate) fn exit_code(exit: &ProcessExit) -> i32 {
    match (exit.code, exit.signal) {
        (Some(code), _) => code,
        (None, Some(signal)) => 128 + signal,
        (None, None) => -1,
    }
}

/// Returns what else the model should know about a command that ended.
pub(crate) fn remarks(
    exit: &ProcessExit,
    approval: ApprovalPolicy,
    watched: WatchStart,
) -> Vec<String> {
    let mut remarks = Vec::new();
    // What went well did not need what was stopped: `mkdir -p` tries what is there already. But
    // what was moved aside afterwards had gone well too.
    let is_news = |denial: &&SandboxDenial| denial.moved_aside || !exit.is_success();
    if let Some(denial) = exit.denial.as_ref().filter(is_news) {
        let hint = policy::denial_hint(approval, watched);
        remarks.push(format!("Sandbox: stopped {}; {hint}", denial.what));
    }
    match exit.left_behind {
        LeftBehind::Nothing => {}
        LeftBehind::Ended => remarks.push(
            "Background: what the command left running was ended; keep long-running commands in \
             the foreground of exec_command"
                .to_owned(),
        ),
        LeftBehind::Unverified => remarks
            .push("Background: what the command left running could not be seen to end".to_owned()),
    }
    remarks
}

/// The answer of a command that was run to its end.
#[derive(Debug)]
pub(crate) struct OneShot<'a> {
    pub exit_code: i32,
    pub elapsed: Duration,
    pub remarks: Vec<String>,
    /// Said in front of the output.
    pub preface: Option<String>,
    pub output: &'a OutputBuffer,
    pub tokens_max: usize,
}

impl OneShot<'_> {
    pub(crate) fn render(&self) -> String {
        let output = self.output.render();
        let shown = truncate::middle_of(&output, self.output.total_bytes(), self.tokens_max);
        let mut text = format!(
            "Exit code: {}\nWall time: {:.1} seconds\n",
            self.exit_code,
            self.elapsed.as_secs_f64()
        );
        if matches!(shown, Cow::Owned(_)) || self.output.omitted_bytes() > 0 {
            let lines = self.output.total_lines();
            lines::push(&mut text, format_args!("Total output lines: {lines}"));
        }
        for remark in &self.remarks {
            lines::push(&mut text, remark);
        }
        text.push_str("Output:\n");
        if let Some(preface) = &self.preface {
            lines::push(&mut text, preface);
        }
        text.push_str(&shown);
        text
    }
}

/// How a command in the background stands.
#[derive(Debug, Clone, Copy)]
pub(crate) enum BackgroundStatus<'a> {
    Exited(&'a ProcessExit),
    Running(TerminalId),
    /// It was ended because the call was cancelled.
    Aborted,
}

/// The answer of a look at a command that may go on.
#[derive(Debug)]
pub(crate) struct BackgroundReport<'a> {
    /// Counts the answers of the session.
    pub number: u32,
    pub elapsed: Duration,
    pub standing: BackgroundStatus<'a>,
    pub capture: &'a OutputCapture,
    pub tokens_max: usize,
    pub watched: WatchStart,
}

impl<'a> BackgroundReport<'a> {
    pub(crate) fn render(&self, approval: ApprovalPolicy) -> String {
        let mut text = format!(
            "Chunk ID: {:06x}\nWall time: {:.4} seconds\n",
            self.number,
            self.elapsed.as_secs_f64()
        );
        match self.standing {
            BackgroundStatus::Exited(exit) => {
                let code = exit_code(exit);
                lines::push(&mut text, format_args!("Process exited with code {code}"));
                for remark in remarks(exit, approval, self.watched) {
                    lines::push(&mut text, &remark);
                }
            }
            BackgroundStatus::Running(id) => {
                lines::push(
                    &mut text,
                    format_args!("Process running with session ID {id}"),
                );
            }
            BackgroundStatus::Aborted => {
                let aborted = aborted_text(self.elapsed);
                lines::push(&mut text, format_args!("Process {aborted}"));
            }
        }
        let output = &self.capture.aggregated;
        let tokens = truncate::tokens(output.total_bytes());
        lines::push(&mut text, format_args!("Original token count: {tokens}"));
        text.push_str("Output:\n");
        text.push_str(&truncate::middle_of(
            &output.render(),
            output.total_bytes(),
            self.tokens_max,
        ));
        text
    }

    pub(crate) fn outcome(&self) -> CommandSummary<'a> {
        let (status, exit_code) = match self.standing {
            BackgroundStatus::Exited(exit) => {
                return CommandSummary::of_exit(exit, self.capture, self.elapsed);
            }
            BackgroundStatus::Running(_) => (WorkStatus::InProgress, None),
            BackgroundStatus::Aborted => (WorkStatus::Failed, None),
        };
        CommandSummary {
            status,
            exit_code,
            capture: self.capture,
            elapsed: self.elapsed,
        }
    }
}

#[cfg(test)]
mod tests;
