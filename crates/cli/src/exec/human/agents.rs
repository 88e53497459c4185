//! What a person reads about other agents: one line for each change, indented by depth.

use troupe_protocol::agent::{AgentStatus, CollabInteraction, CollabWaiting, SubagentLifecycle};
use troupe_protocol::approval::{AgentLabel, ReviewDecision, UserInputResponse};
use troupe_protocol::command::WorkStatus;
use troupe_protocol::item::ToolCallItem;
use troupe_protocol::{CallId, EventMsg};

use super::{HumanOutput, cut, seconds};
use crate::exec::command_line;
use crate::exec::event_kinds::is_collaboration;
use crate::style::TextStyle;
use crate::terminal;

/// Tells whether what a call did is told by the agent that it was done to.
pub fn is_told(item: &ToolCallItem) -> bool {
    is_collaboration(&item.tool) && item.status == WorkStatus::Completed
}

impl HumanOutput {
    /// Returns the line for an event that is about other agents; none for any other event.
    pub(super) fn of_other_agents(&mut self, msg: &EventMsg) -> Option<String> {
        Some(match msg {
            EventMsg::SubagentLifecycle(event) => self.lifecycle(event),
            EventMsg::CollabWaitingBegin(waiting) => self.waiting(waiting),
            EventMsg::CollabAgentInteractionEnd(it) => self.sent(it),
            EventMsg::CollabAgentSpawnBegin(_)
            | EventMsg::CollabAgentSpawnEnd(_)
            | EventMsg::CollabAgentInteractionBegin(_)
            | EventMsg::CollabWaitingEnd(_)
            | EventMsg::CollabCloseBegin(_)
            | EventMsg::CollabCloseEnd(_)
            | EventMsg::CollabResumeBegin(_)
            | EventMsg::CollabResumeEnd(_) => String::new(),
            EventMsg::ExecApprovalRequest(request) => {
                let wish = format!("run {}", command_line::shown(&request.command));
                self.asked(request.call_id.clone(), request.agent.as_ref()?, &wish)
            }
            EventMsg::ApplyPatchApprovalRequest(request) => {
                let files = request.changes.keys().map(|path| self.relative(path));
                let wish = format!("change {}", files.collect::<Vec<_>>().join(", "));
                self.asked(request.call_id.clone(), request.agent.as_ref()?, &wish)
            }
            EventMsg::RequestUserInput(request) => {
                let questions = request.questions.iter();
                let texts: Vec<&str> = questions.map(|one| one.question.as_str()).collect();
                let wish = format!("know: {}", texts.join(" "));
                self.asked(request.call_id.clone(), request.agent.as_ref()?, &wish)
            }
            EventMsg::UserInputResolved { call_id, response } => {
                let path = self.questions.remove(call_id)?;
                let nobody = UserInputResponse::default();
                let word = match response {
                    Some(response) if *response != nobody => self.style.green("was answered"),
                    Some(_) | None => self.style.red("got no answer"),
                };
                format!("{}{word}\n", head(self.style, &path))
            }
            EventMsg::ApprovalResolved { call_id, decision } => {
                let path = self.questions.remove(call_id)?;
                let word = match decision {
                    ReviewDecision::Denied => self.style.red("refused"),
                    ReviewDecision::Abort => self.style.yellow("stopped before it was answered"),
                    ReviewDecision::Approved
                    | ReviewDecision::ApprovedForSession
                    | ReviewDecision::ApprovedAlways => self.style.green("approved"),
                };
                format!("{}{word}\n", head(self.style, &path))
            }
            _ => return None,
        })
    }

    fn lifecycle(&mut self, event: &SubagentLifecycle) -> String {
        let now_ms = self.clock.now_ms();
        let Some(known) = self.roster.apply(event, now_ms) else {
            return String::new();
        };
        let head = head(self.style, &known.path);
        let time = seconds(u64::try_from(now_ms - known.since_ms).unwrap_or(0));
        let preview = |text: &str| cut(text.lines().next().unwrap_or_default());
        let style = self.style;
        if let SubagentLifecycle::Created { .. } = event {
            let task = known.summary.as_deref().unwrap_or("made");
            let queued = match known.status {
                AgentStatus::Queued { position } => format!(" (number {position} in line)"),
                _ => String::new(),
            };
            return format!("{head}{}\n", style.dim(&(preview(task) + &queued)));
        }
        let text = match &known.status {
            AgentStatus::PendingInit => style.dim("starting"),
            AgentStatus::Ready => style.dim("ready"),
            AgentStatus::Queued { position } => {
                style.dim(&format!("queued, number {position} in line"))
            }
            AgentStatus::Running => style.dim("running"),
            AgentStatus::Completed(None) => style.green(&format!("completed in {time}")),
            AgentStatus::Completed(Some(message)) => {
                let end = style.green(&format!("completed in {time}:"));
                format!("{end} {}", preview(message))
            }
            AgentStatus::Errored(message) => {
                let end = style.red(&format!("failed after {time}:"));
                format!("{end} {}", preview(message))
            }
            AgentStatus::BudgetExceeded => {
                style.red(&format!("ran out of its budget after {time}"))
            }
            AgentStatus::Interrupted => style.yellow(&format!("interrupted after {time}")),
            AgentStatus::Cancelled => style.yellow(&format!("cancelled after {time}")),
            AgentStatus::Shutdown => style.dim("closed"),
            AgentStatus::Lost(_) => style.red("lost: its log is gone"),
            AgentStatus::NotFound => style.red("not found"),
        };
        format!("{head}{text}\n")
    }

    fn waiting(&self, waiting: &CollabWaiting) -> String {
        let ids = waiting.receiver_thread_ids.iter();
        let names: Vec<String> = ids.map(|id| self.roster.name(*id)).collect();
        let text = match names.as_slice() {
            [] => "waiting for agents".to_owned(),
            names => format!("waiting for {}", names.join(", ")),
        };
        format!("{}\n", self.style.dim(&text))
    }

    fn sent(&self, sent: &CollabInteraction) -> String {
        // Who is closed has heard nothing; the call says so.
        if let Some(AgentStatus::Shutdown | AgentStatus::NotFound) = sent.status {
            return String::new();
        }
        let to = self.roster.name(sent.receiver_thread_id);
        let prompt = sent.prompt.as_deref().unwrap_or_default();
        let prompt = cut(prompt.lines().next().unwrap_or_default());
        let text = self.style.dim(&format!("told: {prompt}"));
        format!("{}{text}\n", head(self.style, &to))
    }

    fn asked(&mut self, id: CallId, who: &AgentLabel, wish: &str) -> String {
        self.questions.insert(id, who.path.clone());
        let head = head(self.style, &who.path);
        // All of it: the line below may invite somebody to agree.
        let wish = terminal::harmless(wish).replace('\n', "\n    ");
        format!("{head}{} {wish}\n", self.style.yellow("asks to"))
    }
}

/// Returns the beginning of a line about an agent.
fn head(style: TextStyle, path: &str) -> String {
    let depth = path.matches('/').count().saturating_sub(2);
    let indent = "  ".repeat(depth);
    format!("{indent}{} {} ", style.cyan("agent"), style.bold(path))
}
