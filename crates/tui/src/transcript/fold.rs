//! Events become cells. The older names of what items tell (`exec_command_begin`,
//! `agent_message`, …) are projections of the same items and are passed over.

use crate::text::append;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use troupe_protocol::command::WorkStatus;
use troupe_protocol::event::{AbortReason, TextDelta};
use troupe_protocol::item::UserMessageItem;
use troupe_protocol::{EventMsg, ItemId, SessionId, TurnItem};

use super::stream::AnswerStream;
use super::{OpenItem, Transcript};
use crate::cells::{
    AgentNewsCell, CallbackCell, CellBody, CommandCell, NoticeCell, PatchCell, PlanCell,
    ReasoningCell, StepsCell, ToolCell, UserCell, call_words, command_line, tool_arguments,
};

/// Tools that other cells tell of.
const TOLD_OTHERWISE: [&str; 2] = ["update_plan", "request_user_input"];

impl Transcript {
    /// Takes one event in.
    pub fn take(&mut self, msg: &EventMsg) {
        match msg {
            EventMsg::ItemStarted {
                item,
                started_at_ms,
                ..
            } => self.begin(item, *started_at_ms),
            EventMsg::ItemCompleted { item, .. } => self.complete(item),
            EventMsg::AgentMessageContentDelta(delta) => self.answer_delta(delta),
            EventMsg::PlanDelta(delta) => self.text_delta(delta, |id| OpenItem::Plan {
                id,
                text: String::new(),
            }),
            EventMsg::ReasoningContentDelta(delta) => {
                self.text_delta(delta, |id| OpenItem::Reasoning {
                    id,
                    text: String::new(),
                });
            }
            EventMsg::ExecCommandOutputDelta(delta) => {
                let bytes = BASE64_STANDARD.decode(&delta.chunk).unwrap_or_default();
                self.add_output(delta.call_id.as_str(), &String::from_utf8_lossy(&bytes));
            }
            EventMsg::McpToolCallProgress {
                call_id,
                message: Some(message),
                ..
            } => self.add_output(call_id.as_str(), &format!("{message}\n")),
            EventMsg::PlanUpdate { explanation, plan } => self.push(CellBody::Steps(StepsCell {
                explanation: explanation.clone(),
                steps: plan.clone(),
            })),
            EventMsg::Error(error) if error.message == "interrupted" => {}
            EventMsg::Error(error) => {
                self.push(CellBody::Notice(NoticeCell::error(&error.message)));
            }
            EventMsg::StreamError(error) => {
                let text = format!(
                    "{} (attempt {} of {})",
                    error.message, error.attempt, error.attempts_max
                );
                self.push(CellBody::Notice(NoticeCell::warning(text)));
            }
            EventMsg::Warning { message } => {
                self.push(CellBody::Notice(NoticeCell::warning(message)));
            }
            EventMsg::DeprecationNotice { summary, .. } => {
                self.push(CellBody::Notice(NoticeCell::warning(summary)));
            }
            // How an agent stands that is still at work, the line of agents says.
            EventMsg::BackgroundEvent(event) if event.session_id.is_some() && !event.is_final => {}
            EventMsg::BackgroundEvent(event) => {
                let session = event.session_id;
                let child = session.map(|session| self.named(session));
                self.push(CellBody::AgentNews(AgentNewsCell::of(
                    &event.message,
                    child.as_deref(),
                )));
            }
            EventMsg::TurnComplete(_) => self.open.clear(),
            EventMsg::TurnAborted(aborted) => {
                self.break_off();
                let text = match aborted.reason {
                    AbortReason::Interrupted => "interrupted",
                    AbortReason::Replaced | AbortReason::ReviewEnded | AbortReason::Shutdown => {
                        return;
                    }
                    // Told by the error before.
                    AbortReason::Error => return,
                    AbortReason::Crash => "the engine died here; the task can be continued",
                    AbortReason::BudgetLimited => "the budget is used up",
                };
                self.push(CellBody::Notice(NoticeCell::warning(text)));
            }
            EventMsg::ContextCompacted => {
                let text = "the conversation so far was summarised";
                self.push(CellBody::Notice(NoticeCell::info(text)));
            }
            EventMsg::ThreadRolledBack { num_turns } => {
                let text = format!("went back before the last {num_turns} of your messages");
                self.push(CellBody::Notice(NoticeCell::info(text)));
            }
            EventMsg::UndoCompleted(undo) => {
                let text = undo.message.clone().unwrap_or_else(|| {
                    let (back, gone) = (undo.restored.len(), undo.removed.len());
                    format!("files: {back} as they were before, {gone} gone again")
                });
                let cell = if undo.success {
                    NoticeCell::info(text)
                } else {
                    NoticeCell::warning(text)
                };
                self.push(CellBody::Notice(cell));
            }
            EventMsg::EnteredReviewMode {
                user_facing_hint, ..
            } => {
                let hint = user_facing_hint.as_deref().unwrap_or("the changes");
                self.push(CellBody::Notice(NoticeCell::info(format!(
                    "reviews {hint}"
                ))));
            }
            EventMsg::ExitedReviewMode { review_output } => {
                let text = review_output.as_ref().map(review_text);
                let text = text.unwrap_or_else(|| "the review has ended".to_owned());
                self.push(CellBody::Answer(crate::cells::AnswerCell::whole(text)));
            }
            _ => {}
        }
    }

    fn begin(&mut self, item: &TurnItem, since_ms: i64) {
        let id = item.id().clone();
        let call = |verb: &str, command: String| OpenItem::Call {
            id: id.clone(),
            verb: verb.to_owned(),
            command,
            since_ms,
            tail: String::new(),
        };
        let open = match item {
            TurnItem::AgentMessage(_) => OpenItem::Answer {
                id,
                stream: AnswerStream::default(),
            },
            TurnItem::Plan(_) => OpenItem::Plan {
                id,
                text: String::new(),
            },
            TurnItem::Reasoning(_) => OpenItem::Reasoning {
                id,
                text: String::new(),
            },
            TurnItem::CommandExecution(item) => call("Runs", command_line(&item.command)),
            TurnItem::FileChange(item) => {
                let paths: Vec<String> = item
                    .changes
                    .keys()
                    .map(|path| path.display().to_string())
                    .collect();
                call("Edits", paths.join(", "))
            }
            TurnItem::McpToolCall(item) => call(
                &format!("{}/{}", item.server, item.tool),
                tool_arguments(&item.arguments),
            ),
            TurnItem::ToolCall(item) if TOLD_OTHERWISE.contains(&item.tool.as_str()) => {
                OpenItem::Silent { id }
            }
            TurnItem::ToolCall(item) => {
                let words = call_words(&item.tool, &item.arguments);
                call(words.runs, self.with_names(words.about))
            }
            TurnItem::ContextCompaction(_) => call("Summarises", "the conversation".to_owned()),
            _ => OpenItem::Silent { id },
        };
        self.close(open.id());
        self.settle_reasoning();
        self.open.push(open);
    }

    /// What was thought stands above what comes of it, also where its end is told later.
    fn settle_reasoning(&mut self) {
        for at in 0..self.open.len() {
            let OpenItem::Reasoning { id, text } = &self.open[at] else {
                continue;
            };
            if text.trim().is_empty() {
                continue;
            }
            let (id, text) = (id.clone(), text.clone());
            self.open[at] = OpenItem::Silent { id };
            self.push(CellBody::Reasoning(ReasoningCell { text }));
        }
    }

    fn complete(&mut self, item: &TurnItem) {
        let open = self.close(item.id());
        let body = match item {
            TurnItem::UserMessage(item) => self.user_cell(item),
            TurnItem::AgentMessage(item) => {
                let stream = match open {
                    Some(OpenItem::Answer { stream, .. }) => stream,
                    _ => AnswerStream::default(),
                };
                for body in stream.finish(&item.text) {
                    self.push(body);
                }
                return;
            }
            TurnItem::Plan(item) => CellBody::Plan(PlanCell {
                text: item.text.clone(),
            }),
            TurnItem::Reasoning(item) => {
                let text = item.summary_text.join("\n\n");
                let is_told = matches!(open, Some(OpenItem::Silent { .. }));
                if is_told || text.trim().is_empty() {
                    return;
                }
                CellBody::Reasoning(ReasoningCell { text })
            }
            TurnItem::CommandExecution(item) => CellBody::Command(CommandCell::of(item)),
            TurnItem::FileChange(item) => CellBody::Patch(PatchCell {
                changes: item.changes.clone(),
                status: item.status,
                trouble: match item.status {
                    WorkStatus::Failed => item.stderr.clone(),
                    _ => String::new(),
                },
            }),
            TurnItem::McpToolCall(item) => CellBody::Tool(ToolCell::of_mcp(item)),
            TurnItem::ToolCall(item) if TOLD_OTHERWISE.contains(&item.tool.as_str()) => return,
            TurnItem::ToolCall(item) => {
                let mut cell = ToolCell::of(item);
                cell.arguments = self.with_names(cell.arguments);
                CellBody::Tool(cell)
            }
            TurnItem::ImageView(item) => {
                let text = format!("looks at {}", item.path.display());
                CellBody::Notice(NoticeCell::info(text))
            }
            TurnItem::Skill(item) => {
                CellBody::Notice(NoticeCell::info(format!("skill {}", item.name)))
            }
            // `context_compacted` tells of it.
            TurnItem::ContextCompaction(_) => return,
        };
        self.push(body);
    }

    fn answer_delta(&mut self, delta: &TextDelta) {
        if !self.open.iter().any(|item| *item.id() == delta.item_id) {
            self.settle_reasoning();
            // Attached in the middle: its beginning comes with a snapshot.
            self.open.push(OpenItem::Answer {
                id: delta.item_id.clone(),
                stream: AnswerStream::default(),
            });
        }
        let open = self
            .open
            .iter_mut()
            .find(|item| *item.id() == delta.item_id);
        if let Some(OpenItem::Answer { stream, .. }) = open {
            if delta.snapshot {
                stream.replace(&delta.delta);
            } else {
                stream.add(&delta.delta);
            }
        }
    }

    fn text_delta(&mut self, delta: &TextDelta, new: impl FnOnce(ItemId) -> OpenItem) {
        if !self.open.iter().any(|item| *item.id() == delta.item_id) {
            self.open.push(new(delta.item_id.clone()));
        }
        let open = self
            .open
            .iter_mut()
            .find(|item| *item.id() == delta.item_id);
        if let Some(OpenItem::Plan { text, .. } | OpenItem::Reasoning { text, .. }) = open {
            if delta.snapshot {
                text.clear();
            }
            text.push_str(&delta.delta);
        }
    }

    fn add_output(&mut self, call: &str, text: &str) {
        let open = self.open.iter_mut().find(|item| item.id().as_str() == call);
        if let Some(item) = open {
            item.add_output(text);
        }
    }

    fn close(&mut self, id: &ItemId) -> Option<OpenItem> {
        let at = self.open.iter().position(|item| item.id() == id)?;
        Some(self.open.remove(at))
    }

    /// Keeps what was said before the task broke off.
    fn break_off(&mut self) {
        for item in std::mem::take(&mut self.open) {
            if let OpenItem::Answer { stream, .. } = item {
                let said = stream.said();
                for body in stream.finish(&said) {
                    self.push(body);
                }
            }
        }
    }

    fn user_cell(&self, item: &UserMessageItem) -> CellBody {
        let cell = UserCell::of(&item.content);
        let callback = item
            .metadata
            .as_ref()
            .filter(|metadata| metadata.is_callback);
        let Some(callback) = callback else {
            return CellBody::User(cell);
        };
        CellBody::Callback(CallbackCell {
            child: self.named(callback.child_session_id),
            text: cell.text,
        })
    }

    fn named(&self, session: SessionId) -> String {
        let known = self.names.get(&session).cloned();
        known.unwrap_or_else(|| format!("session {}", session.short()))
    }

    /// Has agents be called by their names in what names sessions.
    fn with_names(&self, mut text: String) -> String {
        for (session, name) in &self.names {
            let session = session.to_string();
            if text.contains(&session) {
                text = text.replace(&session, name);
            }
        }
        text
    }
}

fn review_text(review: &troupe_protocol::event::ReviewOutput) -> String {
    let mut text = format!("{}\n", review.overall_explanation);
    for finding in &review.findings {
        let place = &finding.code_location;
        append(
            &mut text,
            format_args!(
                "\n- **[P{}] {}** {}:{}\n  {}\n",
                finding.priority,
                finding.title,
                place.absolute_file_path.display(),
                place.line_range.start,
                finding.body.replace('\n', "\n  "),
            ),
        );
    }
    text
}
