//! Events → what a person reads on standard error while the run goes on.
//!
//! The final message goes to standard output and to nowhere else. Which message is the
//! final one is known only at the end of the run, because a child that is done may begin
//! another turn; so the newest one is held back until something of this agent follows it.

mod agents;
mod stopped;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use troupe_engine::SessionClock;
use troupe_protocol::agent::SubagentLifecycle;
use troupe_protocol::command::{FileChange, PlanStep, StepStatus, WorkStatus};
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::{AbortReason, SessionConfigured, TurnAborted, TurnComplete};
use troupe_protocol::item::{CommandExecutionItem, FileChangeItem, McpToolCallItem, ToolCallItem};
use troupe_protocol::policy::{CollaborationMode, SandboxPolicy};
use troupe_protocol::usage::TokenUsage;
use troupe_protocol::{AgentId, CallId, Event, EventMsg, ItemId, SessionId, TurnItem};

use crate::exec::command_line;
use crate::exec::event_kinds::is_left_out;
use crate::exec::roster::AgentRoster;
use crate::limits::{SHOWN_DIFF_LINES_MAX, SHOWN_LINE_CHARS_MAX, SHOWN_OUTPUT_LINES_MAX};
use crate::style::TextStyle;
use crate::terminal;

/// What must be remembered between events.
#[derive(Debug)]
pub struct HumanOutput {
    style: TextStyle,
    cwd: PathBuf,
    /// The session, if it can be resumed.
    kept: Option<SessionId>,
    /// What the model said last, as long as nothing follows it.
    held: HeldMessages,
    /// What the last completed turn came to.
    final_message: Option<String>,
    clock: SessionClock,
    roster: AgentRoster,
    /// Who asked a person, by the id of the question.
    questions: HashMap<CallId, String>,
    totals: TokenUsage,
    /// The command of which was written last.
    newest_command: Option<ItemId>,
    in_turn: bool,
}

/// What the model said in one response.
#[derive(Debug, Default)]
struct HeldMessages {
    message: Option<String>,
    plan: Option<String>,
}

impl HeldMessages {
    /// Tells whether a message says this too.
    fn is_part_of(&self, message: &str) -> bool {
        match (&self.plan, &self.message) {
            (Some(plan), _) => message.contains(plan.trim()),
            (None, Some(own)) => own == message,
            (None, None) => true,
        }
    }
}

impl HumanOutput {
    pub fn new(style: TextStyle, clock: SessionClock) -> Self {
        Self {
            style,
            cwd: PathBuf::new(),
            kept: None,
            held: HeldMessages::default(),
            final_message: None,
            clock,
            roster: AgentRoster::default(),
            questions: HashMap::new(),
            totals: TokenUsage::default(),
            newest_command: None,
            in_turn: false,
        }
    }

    /// Returns what is to be written, with its line feeds; often nothing.
    pub fn project(&mut self, event: &Event) -> String {
        match &event.msg {
            EventMsg::SessionConfigured(session) => self.opening(session),
            EventMsg::ItemStarted { item, .. } => self.started(item),
            EventMsg::ItemCompleted { item, .. } => self.completed(item),
            EventMsg::PlanUpdate { plan, explanation } => {
                self.after_message(self.plan(plan, explanation.as_deref()))
            }
            EventMsg::TokenCount { info, .. } => {
                if let Some(info) = info {
                    self.totals = info.total_token_usage;
                }
                String::new()
            }
            EventMsg::Warning { message } => {
                self.after_message(format!("{} {message}\n", self.style.yellow("warning:")))
            }
            EventMsg::DeprecationNotice { summary, .. } => {
                self.after_message(format!("{} {summary}\n", self.style.yellow("deprecated:")))
            }
            EventMsg::StreamError(error) => self.after_message(format!(
                "{} {}\n",
                self.style.yellow("again:"),
                error.message
            )),
            // The end of the turn says it.
            EventMsg::Error(error) if error.error_info == Some(ErrorInfo::Interrupted) => {
                String::new()
            }
            EventMsg::Error(error) => {
                self.after_message(format!("{} {}\n", self.style.red("error:"), error.message))
            }
            EventMsg::TurnComplete(complete) => self.turn_complete(complete),
            EventMsg::TurnStarted(_) => {
                self.in_turn = true;
                // Another turn follows; that stays the final message only if this one fails.
                let earlier = self.final_message.clone();
                earlier.map_or_else(String::new, |earlier| self.message(&earlier))
            }
            // A resumed session may first tell how an earlier turn ended; that is not ours.
            EventMsg::TurnAborted(_) if !self.in_turn => String::new(),
            EventMsg::TurnAborted(aborted) => {
                let text = self.aborted(aborted);
                self.after_message(text)
            }
            // The words that announce it come first.
            other if is_of_this_agent(other) => {
                let text = self.of_other_agents(other).unwrap_or_default();
                self.after_message(text)
            }
            other if let Some(text) = self.of_other_agents(other) => text,
            other => {
                debug_assert!(is_left_out(other), "{other:?} is shown to nobody");
                String::new()
            }
        }
    }

    /// Returns a text of ours without what would act on a terminal, but for the styles that it
    /// was made with.
    pub fn made_safe(&self, text: &str) -> String {
        match self.style {
            TextStyle::Ansi => terminal::styled(text),
            TextStyle::Plain => terminal::harmless(text),
        }
    }

    /// Returns the message that the run came to.
    pub fn take_final_message(&mut self) -> Option<String> {
        self.final_message.take()
    }

    fn turn_complete(&mut self, complete: &TurnComplete) -> String {
        let held = std::mem::take(&mut self.held);
        let unexpected = match &complete.last_agent_message {
            Some(last) if !held.is_part_of(last) => self.said(&held),
            _ => String::new(),
        };
        self.final_message.clone_from(&complete.last_agent_message);
        unexpected
    }

    fn opening(&mut self, session: &SessionConfigured) -> String {
        let context = &session.context;
        self.cwd.clone_from(&context.cwd);
        self.kept = session.rollout_path.as_ref().map(|_| session.session_id);
        let effort = match context.effort {
            Some(effort) => format!(", effort {}", effort.as_str()),
            None => String::new(),
        };
        let mode = match context.collaboration_mode {
            CollaborationMode::Default => None,
            CollaborationMode::Plan => Some((
                "mode",
                if context.plan_writes {
                    "plan: it proposes, and is told to change nothing".to_owned()
                } else {
                    "plan: it proposes; commands can only read".to_owned()
                },
            )),
        };
        let rows = [
            ("session", session.session_id.to_string()),
            (
                "model",
                format!("{} ({}{effort})", context.model, session.model_provider_id),
            ),
            ("sandbox", sandbox(&context.sandbox_in_force())),
            ("directory", context.cwd.display().to_string()),
        ];
        let rows = rows.into_iter().chain(mode);
        rows.fold(String::new(), |mut text, (name, value)| {
            add(&mut text, &self.style.dim(&format!("{name:>9}  {value}")));
            text
        })
    }

    fn started(&mut self, item: &TurnItem) -> String {
        let text = match item {
            TurnItem::CommandExecution(item) => {
                self.newest_command = Some(item.id.clone());
                let line = command_line::shown(&item.command);
                format!("{} {}\n", self.style.cyan("$"), self.style.bold(&line))
            }
            TurnItem::McpToolCall(item) => self.called(&format!("{}.{}", item.server, item.tool)),
            _ => return String::new(),
        };
        self.after_message(text)
    }

    fn completed(&mut self, item: &TurnItem) -> String {
        let text = match item {
            // Message and plan of one response belong together, in either order.
            TurnItem::AgentMessage(item) => {
                let shown = match self.held.message {
                    Some(_) => self.after_message(String::new()),
                    None => String::new(),
                };
                self.held.message = Some(item.text.clone());
                return shown;
            }
            TurnItem::Plan(item) => {
                let shown = match self.held.plan {
                    Some(_) => self.after_message(String::new()),
                    None => String::new(),
                };
                self.held.plan = Some(item.text.clone());
                return shown;
            }
            TurnItem::Reasoning(item) => {
                let summary = item.summary_text.join("\n");
                if summary.trim().is_empty() {
                    return String::new();
                }
                // The headline is marked up as bold, which a terminal shows as stars.
                let summary = summary.replace("**", "");
                format!("{}\n", self.style.dim(summary.trim()))
            }
            TurnItem::CommandExecution(item) => {
                // Others were begun or shown since: whose output is it?
                let newest = self.newest_command.replace(item.id.clone());
                let is_another = newest.is_some_and(|newest| newest != item.id);
                let head = if is_another {
                    let line = command_line::shown(&item.command);
                    let line = line.lines().next().unwrap_or_default();
                    format!("  {}\n", self.style.dim(&format!("of {}:", cut(line))))
                } else {
                    String::new()
                };
                head + &self.command(item)
            }
            TurnItem::FileChange(item) => self.file_change(item),
            // Told by what becomes of the other agent.
            TurnItem::ToolCall(item) if agents::is_told(item) => return String::new(),
            TurnItem::ToolCall(item) => self.tool_call(item),
            TurnItem::McpToolCall(item) => self.mcp_call(item),
            TurnItem::ImageView(item) => {
                let path = self.relative(&item.path);
                format!("{} {path}\n", self.style.cyan("image"))
            }
            TurnItem::Skill(item) => {
                let path = self.relative(&item.path);
                format!("{} {} ({path})\n", self.style.cyan("skill"), item.name)
            }
            // Why it failed is told by an error, or somebody stopped it.
            TurnItem::ContextCompaction(item) if item.status != WorkStatus::Completed => {
                return String::new();
            }
            TurnItem::ContextCompaction(_) => {
                format!("{}\n", self.style.dim("the conversation was summarised"))
            }
            TurnItem::UserMessage(_) => return String::new(),
        };
        self.after_message(text)
    }

    fn command(&self, item: &CommandExecutionItem) -> String {
        let Some(outcome) = &item.outcome else {
            return format!("  {}\n", self.style.red("not run"));
        };
        let mut text = self.excerpt(&outcome.aggregated_output);
        let seconds = seconds(outcome.duration_ms);
        let end = match (item.status, outcome.exit_code) {
            (WorkStatus::Declined, _) => self.style.red("not run"),
            (_, None) => self
                .style
                .dim(&format!("goes on in the background after {seconds}")),
            (_, Some(0)) => self.style.green(&format!("ok in {seconds}")),
            (_, Some(code)) => self.style.red(&format!("exit {code} in {seconds}")),
        };
        add(&mut text, &format!("  {end}"));
        text
    }

    /// The last lines: they are where a program says what went wrong.
    fn excerpt(&self, output: &str) -> String {
        let lines: Vec<&str> = output.trim_end().lines().collect();
        let hidden = lines.len().saturating_sub(SHOWN_OUTPUT_LINES_MAX);
        let mut text = String::new();
        if hidden > 0 {
            let note = self.style.dim(&format!("  … {hidden} lines before"));
            add(&mut text, &note);
        }
        for line in &lines[hidden..] {
            let line = self.style.dim(&format!("  {}", cut(line)));
            add(&mut text, &line);
        }
        text
    }

    fn file_change(&self, item: &FileChangeItem) -> String {
        let mut text = String::new();
        for (path, change) in &item.changes {
            let (word, body) = match change {
                FileChange::Add { content } => ("add", marked(content, '+')),
                FileChange::Delete { .. } => ("delete", String::new()),
                FileChange::Update { unified_diff, .. } => ("edit", hunks(unified_diff)),
            };
            let path = self.relative(path);
            let head = format!("{} {}", self.style.cyan(word), self.style.bold(&path));
            add(&mut text, &head);
            text += &self.diff(&body);
        }
        match item.status {
            WorkStatus::Completed | WorkStatus::InProgress => {}
            WorkStatus::Declined => {
                // What follows is for the model: what it should do instead.
                let (why, _) = item.stderr.split_once(". ").unwrap_or((&item.stderr, ""));
                let by_rule = why.starts_with("refused by").then_some(why);
                let line = self.style.red(by_rule.unwrap_or("not changed"));
                add(&mut text, &format!("  {line}"));
            }
            WorkStatus::Failed => {
                let reason = item.stderr.trim();
                add(
                    &mut text,
                    &format!("  {} {reason}", self.style.red("failed")),
                );
            }
        }
        text
    }

    fn diff(&self, body: &str) -> String {
        let lines: Vec<&str> = body.lines().collect();
        let mut text = String::new();
        for line in lines.iter().take(SHOWN_DIFF_LINES_MAX) {
            let shown = format!("  {}", cut(line));
            let shown = match line.chars().next() {
                Some('+') => self.style.green(&shown),
                Some('-') => self.style.red(&shown),
                _ => self.style.dim(&shown),
            };
            add(&mut text, &shown);
        }
        if lines.len() > SHOWN_DIFF_LINES_MAX {
            let more = lines.len() - SHOWN_DIFF_LINES_MAX;
            let note = self.style.dim(&format!("  … {more} more lines"));
            add(&mut text, &note);
        }
        text
    }

    fn tool_call(&self, item: &ToolCallItem) -> String {
        let arguments = cut(&compact(&item.arguments));
        let head = format!(
            "{} {} {}\n",
            self.style.cyan("tool"),
            self.style.bold(&item.tool),
            self.style.dim(&arguments)
        );
        match item.status {
            WorkStatus::Completed | WorkStatus::InProgress => head,
            WorkStatus::Failed | WorkStatus::Declined => {
                let reason = item.output.as_deref().unwrap_or_default();
                let reason = cut(reason.lines().next().unwrap_or_default());
                format!("{head}  {} {reason}\n", self.style.red("failed"))
            }
        }
    }

    fn mcp_call(&self, item: &McpToolCallItem) -> String {
        match &item.error {
            Some(error) => format!("  {} {}\n", self.style.red("failed"), cut(error)),
            None => format!("  {}\n", self.style.green("ok")),
        }
    }

    fn called(&self, name: &str) -> String {
        format!("{} {}\n", self.style.cyan("tool"), self.style.bold(name))
    }

    fn plan(&self, plan: &[PlanStep], explanation: Option<&str>) -> String {
        let mut text = format!("{}\n", self.style.cyan("plan"));
        if let Some(explanation) = explanation {
            add(&mut text, &format!("  {explanation}"));
        }
        for step in plan {
            let line = match step.status {
                StepStatus::Completed => self.style.green(&format!("  x {}", step.step)),
                StepStatus::InProgress => self.style.bold(&format!("  > {}", step.step)),
                StepStatus::Pending => self.style.dim(&format!("  - {}", step.step)),
            };
            add(&mut text, &line);
        }
        text
    }

    /// Shows the held message first, because something follows it.
    fn after_message(&mut self, text: String) -> String {
        let held = std::mem::take(&mut self.held);
        self.said(&held) + &text
    }

    fn said(&self, held: &HeldMessages) -> String {
        let message = held.message.as_deref().map(|text| self.message(text));
        let plan = held.plan.as_deref().map(terminal::harmless);
        let plan = plan.map(|text| format!("{}\n{}\n", self.style.cyan("plan"), text.trim_end()));
        message.unwrap_or_default() + &plan.unwrap_or_default()
    }

    fn message(&self, text: &str) -> String {
        format!(
            "{}\n",
            self.style.bold(&terminal::harmless(text.trim_end()))
        )
    }

    /// Says how the agents below this one go on that were stopped while it was done itself.
    pub fn stopped_children(&self) -> String {
        let line = stopped::stopped(AbortReason::Interrupted, self.kept);
        format!("{}\n", self.style.red(&line))
    }

    fn aborted(&self, aborted: &TurnAborted) -> String {
        let line = stopped::stopped(aborted.reason, self.kept);
        format!("{}\n", self.style.red(&line))
    }

    /// Returns what the run used, said once at its end: of all agents, if there are others.
    pub fn totals(&self, of_tree: Option<TokenUsage>) -> String {
        let TokenUsage {
            input_tokens,
            cached_input_tokens,
            output_tokens,
            ..
        } = of_tree.unwrap_or(self.totals);
        if input_tokens + output_tokens == 0 {
            return String::new();
        }
        let whose = match of_tree {
            Some(_) => ", all agents together",
            None => "",
        };
        let text = format!(
            "tokens: {input_tokens} in ({cached_input_tokens} cached), {output_tokens} out{whose}"
        );
        format!("{}\n", self.style.dim(&text))
    }

    fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.cwd)
            .unwrap_or(path)
            .display()
            .to_string()
    }
}

/// Tells whether an event about other agents, or a question, comes of a call of this agent.
fn is_of_this_agent(msg: &EventMsg) -> bool {
    match msg {
        EventMsg::SubagentLifecycle(SubagentLifecycle::Created { subagent }) => {
            subagent.parent_agent_id == Some(AgentId::ROOT)
        }
        EventMsg::CollabWaitingBegin(_) | EventMsg::CollabAgentInteractionEnd(_) => true,
        EventMsg::ExecApprovalRequest(request) => request.agent.is_none(),
        EventMsg::ApplyPatchApprovalRequest(request) => request.agent.is_none(),
        EventMsg::RequestUserInput(request) => request.agent.is_none(),
        _ => false,
    }
}

fn add(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

fn sandbox(policy: &SandboxPolicy) -> String {
    let name = match policy {
        SandboxPolicy::DangerFullAccess => return "none (danger-full-access)".to_owned(),
        SandboxPolicy::ReadOnly { .. } => "read-only",
        SandboxPolicy::WorkspaceWrite { .. } => "workspace-write",
    };
    let network = if policy.network_access() {
        "network on"
    } else {
        "no network"
    };
    format!("{name}, {network}")
}

fn seconds(milliseconds: u64) -> String {
    format!("{}.{:01} s", milliseconds / 1000, milliseconds % 1000 / 100)
}

/// Drops the headers of a unified diff: the file is named above it.
fn hunks(diff: &str) -> String {
    let lines = diff
        .lines()
        .filter(|line| !line.starts_with("--- ") && !line.starts_with("+++ "));
    lines.collect::<Vec<_>>().join("\n")
}

fn marked(content: &str, mark: char) -> String {
    let lines = content.lines().map(|line| format!("{mark}{line}"));
    lines.collect::<Vec<_>>().join("\n")
}

fn compact(arguments: &serde_json::Value) -> String {
    match arguments {
        serde_json::Value::String(text) => text.replace('\n', " "),
        other => other.to_string(),
    }
}

/// Shortens a line, and removes what would move the terminal's cursor.
fn cut(line: &str) -> String {
    let line = terminal::harmless(line);
    let mut letters = line.chars();
    let mut shown: String = letters.by_ref().take(SHOWN_LINE_CHARS_MAX).collect();
    if letters.next().is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests;
