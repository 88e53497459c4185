//! `troupe agents result`: what a task came to, in the agent's words and in the engine's.

use std::fmt::Write as _;
use std::io;

use anyhow::anyhow;
use serde_json::json;
use troupe_engine::result_after_crash;
use troupe_protocol::TaskOutcome;
use troupe_protocol::agent::AgentStatus;
use troupe_protocol::result::{Evidence, FileEvidence, StopReason, StructuredOutput, TaskResult};
use troupe_protocol::text::one_line;
use troupe_store::SessionStore;
use troupe_tree::AgentRecord;
use troupe_tree::lifecycle::Lifecycle;

use super::draw::{self, thousands};
use super::logged_tree::TreeLiveness;
use super::{CommandSite, OutputAudience, address};
use crate::commands::{print, tell};
use crate::control::client;
use crate::failure::{CommandExit, CommandFailure, Outcome};
use crate::limits::SHOWN_LINE_CHARS_MAX;
use crate::style::{ColorChoice, TextStyle};

pub async fn run(
    site: &CommandSite,
    address: Option<&str>,
    task: Option<String>,
    shown: OutputAudience,
) -> Outcome {
    let target = address::find(site, address).await?;
    let agent = target.tree.agent(target.agent)?;
    let served = if client::is_there(site.home.path(), target.tree.root).await {
        TreeLiveness::Yes
    } else {
        TreeLiveness::No
    };
    let cut_off = salvaged_result(site, agent, served).await?;
    let cut_off_task = cut_off.as_ref().map(|result| result.task_id.clone());
    let ended = target.tree.facts.results.get(&agent.id).cloned();
    let results: Vec<TaskResult> = ended.into_iter().flatten().chain(cut_off).collect();
    let found = match &task {
        Some(task) => results.iter().find(|result| result.task_id.0 == *task),
        None => results.last(),
    };
    let Some(result) = found else {
        if let (Some(last), None) = (target.tree.last_known_status(agent.id), &task) {
            return print_lost_agent(agent, last, shown);
        }
        let missing = missing_task_error(&agent.path, &results, task, served);
        return Err(CommandFailure::failed(missing));
    };
    let text = match shown {
        OutputAudience::Programs => {
            serde_json::to_string(result).map_err(CommandFailure::failed)? + "\n"
        }
        OutputAudience::People => {
            let style = TextStyle::choose(ColorChoice::Auto, &io::stdout());
            page(&agent.path, result, style)
        }
    };
    print(&text)?;
    if cut_off_task.as_ref() == Some(&result.task_id) {
        tell(&format!(
            "no process runs this tree: the last task of {} was cut off, and this is how far it \
             had come; `troupe agents resume {}:{}` goes on with it",
            agent.path,
            target.tree.root.short(),
            agent.id
        ));
    }
    Ok(CommandExit::Success)
}

/// Returns what a task had come to that runs no more, because its process has ended: the
/// record that taking up the tree would write.
async fn salvaged_result(
    site: &CommandSite,
    agent: &AgentRecord,
    served: TreeLiveness,
) -> Result<Option<TaskResult>, CommandFailure> {
    let (Lifecycle::Running { task }, TreeLiveness::No) = (&agent.lifecycle, served) else {
        return Ok(None);
    };
    let live = site.store.read_live(agent.session).await;
    let live = live.map_err(CommandFailure::failed)?;
    Ok(Some(result_after_crash(&live, task).await))
}

/// Tells what the root's log says of an agent whose own log is gone, and the record with it.
fn print_lost_agent(agent: &AgentRecord, last: &AgentStatus, shown: OutputAudience) -> Outcome {
    let status = AgentStatus::Lost(Some(Box::new(last.clone())));
    let text = match shown {
        OutputAudience::Programs => {
            let object = json!({
                "session_id": agent.session,
                "status": status,
                "last_message": last.text(),
                "result": null,
            });
            format!("{object}\n")
        }
        OutputAudience::People => {
            let words = last.text().map(|text| format!("\n{}\n", text.trim_end()));
            let head = format!("{}  {}", agent.path, draw::word(&status));
            format!("{head}\n{}", words.unwrap_or_default())
        }
    };
    print(&text)?;
    tell(&format!(
        "the log of {} is gone, and the record of its task with it; this is what the root's log \
         told of it last, and nothing starts it again",
        agent.path
    ));
    Ok(CommandExit::Success)
}

fn missing_task_error(
    path: &str,
    results: &[TaskResult],
    task: Option<String>,
    served: TreeLiveness,
) -> anyhow::Error {
    match task {
        Some(task) => {
            let known: Vec<&str> = results.iter().map(|it| it.task_id.as_str()).collect();
            anyhow!(
                "{path} has no finished task {task}; it has {}",
                if known.is_empty() {
                    "none".to_owned()
                } else {
                    known.join(", ")
                }
            )
        }
        None if served == TreeLiveness::No => anyhow!(
            "{path} has not begun a task, and no process runs its tree; `troupe agents resume` \
             goes on with it"
        ),
        None => anyhow!("{path} has not finished a task yet; `troupe agents wait` waits for it"),
    }
}

/// Returns the result for people: how it ended, the words, the evidence.
fn page(path: &str, result: &TaskResult, style: TextStyle) -> String {
    let mut text = String::new();
    let mut add = |line: &str| {
        writeln!(text, "{line}").expect("a string takes any text");
    };
    let duration = result.evidence.ended_at_ms - result.evidence.started_at_ms;
    let head = format!("{} · {}", stop(&result.stop), draw::age(duration));
    add(&format!("{}  {head}", style.bold(path)));
    add(&style.dim(&format!(
        "session {}  task {}",
        result.session_id, result.task_id
    )));
    if let Some(message) = result.text() {
        add("");
        add(message.trim_end());
    }
    match &result.output {
        Some(StructuredOutput::Valid { .. }) => add(&style.dim("(fits its schema)")),
        Some(StructuredOutput::Invalid { problems }) => {
            add(&style.red("does not fit its schema:"));
            for problem in problems {
                add(&format!("  {problem}"));
            }
        }
        None => {}
    }
    for line in evidence(&result.evidence, style) {
        add(&line);
    }
    text
}

fn stop(stop: &StopReason) -> String {
    let text = match stop {
        StopReason::Cancelled { note: Some(note) } => return format!("cancelled ({note})"),
        StopReason::OutputInvalid { .. } => "answered in the wrong shape",
        StopReason::FailedToStart { .. } => "could not be started",
        StopReason::Crash => "cut off: Troupe was killed",
        StopReason::Shutdown => "cut off: Troupe was shut down",
        StopReason::BudgetExceeded => "over budget",
        StopReason::Replaced => "replaced by newer input",
        StopReason::Completed
        | StopReason::Errored { .. }
        | StopReason::Interrupted
        | StopReason::Cancelled { note: None } => TaskOutcome::from(stop).as_str(),
    };
    text.to_owned()
}

fn evidence(evidence: &Evidence, style: TextStyle) -> Vec<String> {
    let mut lines = vec![String::new(), style.bold("Recorded by Troupe")];
    let mut row = |name: &str, value: String| lines.push(format!("  {name:<9} {value}"));
    row(
        "tokens",
        format!(
            "{} in ({} cached), {} out",
            thousands(evidence.usage.input_tokens),
            thousands(evidence.usage.cached_input_tokens),
            thousands(evidence.usage.output_tokens)
        ),
    );
    row("messages", evidence.messages.to_string());
    let calls = evidence.tool_calls.iter();
    let calls: Vec<String> = calls
        .map(|(tool, count)| format!("{tool} ×{count}"))
        .collect();
    row(
        "calls",
        if calls.is_empty() {
            "none".to_owned()
        } else {
            calls.join(", ")
        },
    );
    for command in &evidence.commands {
        let exit = match (command.exit_code, command.refused) {
            (Some(code), _) => format!("exit {code}"),
            (None, true) => "not allowed".to_owned(),
            (None, false) => "did not finish".to_owned(),
        };
        let line = one_line(&command.command, SHOWN_LINE_CHARS_MAX);
        row("command", format!("{line}  → {exit}"));
    }
    for file in &evidence.files {
        row("file", format!("{}  {}", change(file), file.path.display()));
    }
    if evidence.omitted > 0 {
        row(
            "more",
            format!("{} entries were left out", evidence.omitted),
        );
    }
    for child in &evidence.children {
        row("child", child.to_string());
    }
    lines
}

fn change(file: &FileEvidence) -> &'static str {
    match (&file.before, &file.after) {
        (None, Some(_)) => "added  ",
        (Some(_), None) => "deleted",
        (Some(before), Some(after)) if before == after => "as it was",
        (Some(_), Some(_)) => "changed",
        (None, None) => "gone   ",
    }
}

#[cfg(test)]
mod tests;
