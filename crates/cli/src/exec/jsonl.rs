//! Events → the lines of `exec --json`.
//!
//! The stream is the one that the SDKs of the Codex family read: `thread.started`,
//! `turn.started`, `item.*`, and at the end of each turn exactly one of `turn.completed` and
//! `turn.failed`. An interrupted turn ends in `turn.failed` too, so that no reader waits
//! for a line that never comes. A child that is done may begin another turn.
//!
//! `agent.created`, `agent.restored`, `agent.status` and `agent.deleted` are ours: the life of
//! every agent of the tree; `agents.finished` is the last line of a run that had any. Between two turns, and
//! after the last one, there are besides these only items `error`: warnings and troubles that
//! belong to no turn. They are not lines `error`, which existing readers take for the end.
//!
//! `usage` holds the totals of the whole thread, because that is what existing readers
//! expect there; `turn_usage` beside it holds what the responses of this turn used.

mod agents;
mod line;
mod partial;

use std::collections::{HashMap, HashSet};

use troupe_protocol::command::{FileChange as Change, PlanStep, StepStatus, WorkStatus};
use troupe_protocol::event::{AbortReason, TurnAborted};
use troupe_protocol::item::{
    CommandExecutionItem, FileChangeItem, McpToolCallItem, ReasoningItem, ToolCallItem,
};
use troupe_protocol::usage::{TokenUsage, TokenUsageInfo};
use troupe_protocol::{CallId, Event, EventMsg, ItemId, TurnItem};

use agents::CollaborationLine;
pub use line::JsonLine;
use line::{
    ErrorText, FileChangeKind, ItemStatus, JsonFileChange, JsonItem, JsonItemDetails, JsonTodo,
    McpResult,
};
use partial::{GrowingTexts, TextSoFar};

use crate::exec::command_line;
use crate::exec::event_kinds::{is_collaboration, is_left_out};
use crate::exec::request::JsonTexts;

/// What must be remembered between events.
#[derive(Debug, Default)]
pub struct JsonlOutput {
    /// Ids as readers see them, `item_0`, `item_1`, …, in the order of appearance.
    items: HashMap<ItemId, usize>,
    items_total: usize,
    todo: Option<(usize, Vec<JsonTodo>)>,
    totals: TokenUsage,
    of_turn: TokenUsage,
    last_error: Option<String>,
    /// Calls that were shown as work with other agents.
    collaborations: HashSet<CallId>,
    /// Only if somebody asked for them.
    growing: Option<GrowingTexts>,
    stage: JsonlStage,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum JsonlStage {
    #[default]
    Before,
    InTurn,
    /// The turn's last line is written; most of what else comes is for nobody.
    Between,
    /// The run is over and the session is being closed: a disk that was full is so once more.
    Closing,
}

impl JsonlOutput {
    pub fn telling(texts: JsonTexts) -> Self {
        Self {
            growing: match texts {
                JsonTexts::Whole => None,
                JsonTexts::Growing => Some(GrowingTexts::default()),
            },
            ..Self::default()
        }
    }

    /// Takes a piece of text in. Tells whether somebody wants to know how the text stands.
    pub fn hear_delta(&mut self, msg: &EventMsg) -> bool {
        let growing = self.growing.as_mut();
        self.stage == JsonlStage::InTurn && growing.is_some_and(|growing| growing.hear(msg))
    }

    /// Returns a line for each text that has grown since it was told.
    pub fn texts_so_far(&mut self) -> Vec<JsonLine> {
        let grown = self.growing.as_mut().map(GrowingTexts::take_grown);
        let line = |TextSoFar {
                        item,
                        details,
                        is_first,
                    }| {
            let id = self.id_of(&item);
            let item = JsonItem { id, details };
            if is_first {
                JsonLine::ItemStarted { item }
            } else {
                JsonLine::ItemUpdated { item }
            }
        };
        grown.unwrap_or_default().into_iter().map(line).collect()
    }

    /// Returns the lines that an event becomes, usually none or one.
    pub fn project(&mut self, event: &Event) -> Vec<JsonLine> {
        let is_told = match self.stage {
            JsonlStage::Before | JsonlStage::InTurn => true,
            JsonlStage::Between => is_told_between_turns(&event.msg),
            JsonlStage::Closing => matches!(event.msg, EventMsg::SubagentLifecycle(_)),
        };
        if !is_told {
            return Vec::new();
        }
        match &event.msg {
            EventMsg::SessionConfigured(session) => vec![JsonLine::ThreadStarted {
                thread_id: session.session_id.to_string(),
            }],
            EventMsg::TurnStarted(_) => {
                self.of_turn = TokenUsage::default();
                if let Some(growing) = &mut self.growing {
                    growing.end_turn();
                }
                self.last_error = None;
                self.stage = JsonlStage::InTurn;
                vec![JsonLine::TurnStarted]
            }
            // A resumed session may first tell how an earlier turn ended; that is not ours.
            EventMsg::TurnAborted(_) if self.stage != JsonlStage::InTurn => Vec::new(),
            EventMsg::TurnComplete(_) => {
                self.stage = JsonlStage::Between;
                let end = JsonLine::TurnCompleted {
                    usage: self.totals.into(),
                    turn_usage: self.of_turn.into(),
                };
                self.close_todo().into_iter().chain([end]).collect()
            }
            EventMsg::TurnAborted(aborted) => {
                self.stage = JsonlStage::Between;
                let message = self.failure(aborted);
                let end = JsonLine::TurnFailed {
                    error: ErrorText { message },
                };
                self.close_todo().into_iter().chain([end]).collect()
            }
            EventMsg::TokenCount { info, .. } => {
                if let Some(TokenUsageInfo {
                    total_token_usage, ..
                }) = info
                {
                    self.totals = *total_token_usage;
                }
                Vec::new()
            }
            EventMsg::ResponseCompleted { usage, .. } => {
                self.of_turn += *usage;
                Vec::new()
            }
            EventMsg::Error(error) if self.stage == JsonlStage::Between => {
                vec![self.note(error.message.clone())]
            }
            EventMsg::StreamError(error) if self.stage == JsonlStage::Between => {
                vec![self.note(error.message.clone())]
            }
            EventMsg::Error(error) => {
                self.last_error = Some(error.message.clone());
                vec![JsonLine::Error {
                    message: error.message.clone(),
                }]
            }
            EventMsg::StreamError(error) => vec![JsonLine::Error {
                message: error.message.clone(),
            }],
            EventMsg::Warning { message } => vec![self.note(message.clone())],
            EventMsg::DeprecationNotice { summary, details } => {
                let text = match details {
                    Some(details) => format!("{summary}: {details}"),
                    None => summary.clone(),
                };
                vec![self.note(text)]
            }
            EventMsg::ItemStarted { item, .. } => self.started(item),
            EventMsg::ItemCompleted { item, .. } => self.completed(item),
            EventMsg::PlanUpdate { plan, .. } => vec![self.plan(plan)],
            EventMsg::SubagentLifecycle(event) => agents::lifecycle(event).into_iter().collect(),
            other if let Some(collaboration) = CollaborationLine::of(other) => {
                vec![self.collaboration(collaboration)]
            }
            other => {
                debug_assert!(is_left_out(other), "{other:?} is shown to nobody");
                Vec::new()
            }
        }
    }

    /// No turn comes any more.
    pub fn close(&mut self) {
        self.stage = JsonlStage::Closing;
    }

    fn started(&mut self, item: &TurnItem) -> Vec<JsonLine> {
        let details = match item {
            TurnItem::CommandExecution(item) => command(item),
            TurnItem::FileChange(item) => file_change(item),
            TurnItem::McpToolCall(item) => mcp_call(item),
            // It may turn out to be work with other agents, which has items of its own.
            TurnItem::ToolCall(item) if is_collaboration(&item.tool) => return Vec::new(),
            TurnItem::ToolCall(item) => tool_call(item),
            // These appear once, when they are whole.
            _ => return Vec::new(),
        };
        let id = self.id_of(item.id());
        vec![JsonLine::ItemStarted {
            item: JsonItem { id, details },
        }]
    }

    fn completed(&mut self, item: &TurnItem) -> Vec<JsonLine> {
        if let Some(growing) = &mut self.growing {
            growing.is_whole(item.id());
        }
        let details = match item {
            TurnItem::AgentMessage(item) => JsonItemDetails::AgentMessage {
                text: item.text.clone(),
            },
            TurnItem::Plan(item) => JsonItemDetails::Plan {
                text: item.text.clone(),
            },
            TurnItem::Reasoning(item) => match reasoning(item) {
                Some(details) => details,
                None => return Vec::new(),
            },
            TurnItem::CommandExecution(item) => command(item),
            TurnItem::FileChange(item) => file_change(item),
            TurnItem::McpToolCall(item) => mcp_call(item),
            TurnItem::ToolCall(item) if self.is_shown(&item.id) => return Vec::new(),
            TurnItem::ToolCall(item) => tool_call(item),
            // The stream has no names for these.
            TurnItem::UserMessage(_)
            | TurnItem::ImageView(_)
            | TurnItem::Skill(_)
            | TurnItem::ContextCompaction(_) => return Vec::new(),
        };
        let id = self.id_of(item.id());
        vec![JsonLine::ItemCompleted {
            item: JsonItem { id, details },
        }]
    }

    fn collaboration(&mut self, collaboration: CollaborationLine) -> JsonLine {
        let CollaborationLine {
            call_id,
            is_begin,
            details,
        } = collaboration;
        let id = self.id_of(&ItemId(call_id.0.clone()));
        let item = JsonItem { id, details };
        self.collaborations.insert(call_id);
        if is_begin {
            JsonLine::ItemStarted { item }
        } else {
            JsonLine::ItemCompleted { item }
        }
    }

    fn is_shown(&self, id: &ItemId) -> bool {
        self.collaborations.contains(&CallId(id.0.clone()))
    }

    /// The plan is one item that is started by its first version and completed with the turn.
    fn plan(&mut self, plan: &[PlanStep]) -> JsonLine {
        let items: Vec<JsonTodo> = plan.iter().map(todo).collect();
        let details = JsonItemDetails::TodoList {
            items: items.clone(),
        };
        if let Some((number, current)) = &mut self.todo {
            *current = items;
            return JsonLine::ItemUpdated {
                item: JsonItem {
                    id: item_id(*number),
                    details,
                },
            };
        }
        let number = self.next_number();
        self.todo = Some((number, items));
        JsonLine::ItemStarted {
            item: JsonItem {
                id: item_id(number),
                details,
            },
        }
    }

    fn close_todo(&mut self) -> Option<JsonLine> {
        let (number, items) = self.todo.take()?;
        Some(JsonLine::ItemCompleted {
            item: JsonItem {
                id: item_id(number),
                details: JsonItemDetails::TodoList { items },
            },
        })
    }

    /// Something to know that ends nothing.
    fn note(&mut self, message: String) -> JsonLine {
        let id = item_id(self.next_number());
        JsonLine::ItemCompleted {
            item: JsonItem {
                id,
                details: JsonItemDetails::Error { message },
            },
        }
    }

    fn failure(&mut self, aborted: &TurnAborted) -> String {
        match aborted.reason {
            AbortReason::Interrupted => "interrupted".to_owned(),
            reason => self
                .last_error
                .take()
                .unwrap_or_else(|| format!("the turn was aborted: {}", reason.as_str())),
        }
    }

    fn id_of(&mut self, id: &ItemId) -> String {
        if let Some(number) = self.items.get(id) {
            return item_id(*number);
        }
        let number = self.next_number();
        self.items.insert(id.clone(), number);
        item_id(number)
    }

    fn next_number(&mut self) -> usize {
        let number = self.items_total;
        self.items_total += 1;
        number
    }
}

fn item_id(number: usize) -> String {
    format!("item_{number}")
}

fn reasoning(item: &ReasoningItem) -> Option<JsonItemDetails> {
    let text = item.summary_text.join("\n");
    (!text.is_empty()).then_some(JsonItemDetails::Reasoning { text })
}

fn command(item: &CommandExecutionItem) -> JsonItemDetails {
    let outcome = item.outcome.as_ref();
    JsonItemDetails::CommandExecution {
        command: command_line::joined(&item.command),
        aggregated_output: outcome
            .map(|outcome| outcome.aggregated_output.clone())
            .unwrap_or_default(),
        exit_code: outcome.and_then(|outcome| outcome.exit_code),
        status: item.status.into(),
    }
}

fn file_change(item: &FileChangeItem) -> JsonItemDetails {
    let changes = item.changes.iter().map(|(path, change)| JsonFileChange {
        path: path.display().to_string(),
        kind: match change {
            Change::Add { .. } => FileChangeKind::Add,
            Change::Delete { .. } => FileChangeKind::Delete,
            Change::Update { .. } => FileChangeKind::Update,
        },
    });
    JsonItemDetails::FileChange {
        changes: changes.collect(),
        // Readers know no declined change.
        status: match item.status {
            WorkStatus::Declined => ItemStatus::Failed,
            status => status.into(),
        },
    }
}

fn mcp_call(item: &McpToolCallItem) -> JsonItemDetails {
    JsonItemDetails::McpToolCall {
        server: item.server.clone(),
        tool: item.tool.clone(),
        arguments: item.arguments.clone(),
        result: item.result.as_ref().map(McpResult::from),
        error: item.error.clone().map(|message| ErrorText { message }),
        status: item.status.into(),
    }
}

fn tool_call(item: &ToolCallItem) -> JsonItemDetails {
    JsonItemDetails::ToolCall {
        tool: item.tool.clone(),
        arguments: item.arguments.clone(),
        status: item.status.into(),
    }
}

fn todo(step: &PlanStep) -> JsonTodo {
    JsonTodo {
        text: step.step.clone(),
        completed: step.status == StepStatus::Completed,
    }
}

fn is_told_between_turns(msg: &EventMsg) -> bool {
    matches!(
        msg,
        EventMsg::TurnStarted(_)
            | EventMsg::SubagentLifecycle(_)
            | EventMsg::Warning { .. }
            | EventMsg::DeprecationNotice { .. }
            | EventMsg::Error(_)
            | EventMsg::StreamError(_)
    )
}

#[cfg(test)]
mod tests;
