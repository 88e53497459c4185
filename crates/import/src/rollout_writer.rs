//! Writes a conversation as lines of ours: for the model as items, for people as events.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use serde_json::Value;
use troupe_protocol::command::WorkStatus;
use troupe_protocol::event::{AbortReason, EventMsg, TurnAborted, TurnComplete, TurnStarted};
use troupe_protocol::history::{ContentItem, ResponseItem, ToolOutputBody};
use troupe_protocol::item::{
    AgentMessageItem, ContextCompactionItem, ReasoningItem, ToolCallItem, TurnItem, UserMessageItem,
};
use troupe_protocol::rollout::{
    CarriedState, CompactionRecord, EventRecord, RewindReason, RewindRecord, RolloutRecord,
};
use troupe_protocol::session::TurnContext;
use troupe_protocol::usage::TokenUsage;
use troupe_protocol::{CallId, ItemId, SessionId, SubmissionId};
use troupe_store::{LogPosition, SessionLog, StoreError, UnixMillis};

use crate::fields::one_line;
use crate::limits::{APPEND_SPAN_MS, NAME_CHARS_MAX, RECORDS_PER_APPEND_MAX, SEQ_STRIDE};
use crate::passage::{Passage, TimedPassage, TurnEnd};

/// The submission that lines are recorded under which end the import.
pub(crate) const CLOSING_ID: &str = "import";
/// Those of the turns begin with this.
pub(crate) const TURN_ID_PREFIX: &str = "import-";

/// Where the lines go.
pub(crate) enum RecordSink {
    Log(Box<dyn SessionLog>),
    /// Nothing is written; it is only counted what would be.
    Nowhere,
}

/// The time that the log puts on its lines.
pub(crate) type LineTime = Arc<AtomicI64>;

pub(crate) struct RolloutWriter {
    sink: RecordSink,
    time: LineTime,
    session: SessionId,
    context: TurnContext,
    at: UnixMillis,
    buffer: Vec<RolloutRecord>,
    buffer_at: UnixMillis,
    seq: u64,
    name: Option<String>,
    turns: TurnBook,
    /// The calls of the turn, for the events that tell of them with their answers.
    calls: HashMap<CallId, (String, Value)>,
    pub(crate) items: u64,
}

/// The turns so far.
#[derive(Debug, Default)]
struct TurnBook {
    open: Option<ImportedTurn>,
    /// Where those begin that a person began, for going back to.
    starts: Vec<LogPosition>,
    count: u64,
    /// The other agent says itself where turns begin.
    are_told: bool,
}

#[derive(Debug)]
struct ImportedTurn {
    id: SubmissionId,
    started: UnixMillis,
    last_message: Option<String>,
}

impl RolloutWriter {
    pub(crate) fn new(
        sink: RecordSink,
        time: LineTime,
        session: SessionId,
        context: TurnContext,
        started: UnixMillis,
    ) -> Self {
        Self {
            sink,
            time,
            session,
            context,
            at: started,
            buffer: Vec::new(),
            buffer_at: started,
            seq: 1,
            name: None,
            turns: TurnBook::default(),
            calls: HashMap::new(),
            items: 0,
        }
    }

    /// Returns how many turns a person began and did not take back.
    pub(crate) fn turns(&self) -> usize {
        self.turns.starts.len()
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    pub(crate) fn write(&mut self, piece: TimedPassage) -> Result<(), StoreError> {
        // A clock that was set back must not lead a reader backwards.
        self.at = piece.at.map_or(self.at, |at| at.max(self.at));
        match piece.passage {
            Passage::TurnBegan => {
                self.turns.are_told = true;
                self.end_turn(TurnEnd::Completed)
            }
            Passage::TurnEnded(end) => self.end_turn(end),
            Passage::Asked { shown, told } => {
                if !self.turns.are_told {
                    self.end_turn(TurnEnd::Completed)?;
                }
                if let Some(start) = self.begin_turn()? {
                    self.turns.starts.push(start);
                }
                let item = TurnItem::UserMessage(UserMessageItem {
                    id: self.item_id(),
                    content: shown,
                    client_id: None,
                    metadata: None,
                });
                self.item(told, Some(item))
            }
            Passage::Told(told) => self.within_turn(|scribe| scribe.item(told, None)),
            Passage::Said(said) => self.within_turn(|scribe| scribe.said(said)),
            Passage::Thought(text) => self.within_turn(|scribe| {
                let item = TurnItem::Reasoning(ReasoningItem {
                    id: scribe.item_id(),
                    summary_text: vec![text],
                    raw_content: Vec::new(),
                });
                scribe.completed(item)
            }),
            Passage::Called(call) => self.within_turn(|scribe| scribe.called(call)),
            Passage::Answered(answer) => self.within_turn(|scribe| scribe.answered(answer)),
            Passage::Compacted {
                summary,
                replacement,
            } => self.within_turn(|scribe| scribe.compacted(summary, replacement)),
            Passage::RolledBack { turns } => self.roll_back(turns),
            Passage::Named(name) => {
                self.name = Some(one_line(&name, NAME_CHARS_MAX));
                Ok(())
            }
        }
    }

    /// Ends the log. What comes after the last of these lines is not the import's.
    pub(crate) fn close(mut self, now: UnixMillis, note: String) -> Result<RecordSink, StoreError> {
        self.end_turn(TurnEnd::Completed)?;
        self.at = now.max(self.at);
        self.flush()?;
        let id = SubmissionId(CLOSING_ID.to_owned());
        if let Some(name) = self.name.clone() {
            let named = EventMsg::ThreadNameUpdated {
                thread_name: Some(name),
            };
            self.event(&id, named)?;
        }
        let until = self.seq + 2 * SEQ_STRIDE;
        self.record(RolloutRecord::SeqReserved { until })?;
        let noted = EventMsg::ThreadNoteUpdated {
            thread_note: Some(note),
        };
        self.event(&id, noted)?;
        self.flush()?;
        Ok(self.sink)
    }

    fn said(&mut self, said: ResponseItem) -> Result<(), StoreError> {
        let text = said.assistant_message().unwrap_or_default();
        if let Some(turn) = &mut self.turns.open {
            turn.last_message = Some(text.clone());
        }
        let item = TurnItem::AgentMessage(AgentMessageItem {
            id: self.item_id(),
            text,
        });
        self.item(said, Some(item))
    }

    fn called(&mut self, call: ResponseItem) -> Result<(), StoreError> {
        let about = match &call {
            ResponseItem::FunctionCall {
                name, arguments, ..
            } => {
                let raw = || Value::String(arguments.clone());
                let arguments = serde_json::from_str(arguments).unwrap_or_else(|_| raw());
                Some((name.clone(), arguments))
            }
            ResponseItem::CustomToolCall { name, input, .. } => {
                Some((name.clone(), Value::String(input.clone())))
            }
            _ => None,
        };
        if let (Some(id), Some(about)) = (call.open_call(), about) {
            self.calls.insert(id.clone(), about);
        }
        self.item(call, None)
    }

    fn answered(&mut self, answer: ResponseItem) -> Result<(), StoreError> {
        let (ResponseItem::FunctionCallOutput { call_id, output }
        | ResponseItem::CustomToolCallOutput { call_id, output }) = &answer
        else {
            return Ok(());
        };
        let item = self.calls.remove(call_id).map(|(tool, arguments)| {
            TurnItem::ToolCall(ToolCallItem {
                id: ItemId(call_id.0.clone()),
                tool,
                arguments,
                status: WorkStatus::Completed,
                output: Some(output_text(output)),
            })
        });
        self.item(answer, item)
    }

    fn compacted(
        &mut self,
        summary: String,
        replacement: Vec<ResponseItem>,
    ) -> Result<(), StoreError> {
        let record = CompactionRecord {
            message: summary,
            replacement_history: replacement,
            carried: self.carried_state(),
        };
        self.record(RolloutRecord::Compacted(Box::new(record)))?;
        let item = ContextCompactionItem {
            id: self.item_id(),
            status: WorkStatus::Completed,
        };
        self.completed(TurnItem::ContextCompaction(item))
    }

    fn roll_back(&mut self, turns: u32) -> Result<(), StoreError> {
        self.end_turn(TurnEnd::Completed)?;
        let starts = &mut self.turns.starts;
        let kept = starts.len().saturating_sub(turns as usize);
        let Some(to) = starts.get(kept).copied() else {
            return Ok(());
        };
        starts.truncate(kept);
        let rewind = RewindRecord {
            to: to.0,
            reason: RewindReason::Rollback { num_turns: turns },
            carried: self.carried_state(),
        };
        self.record(RolloutRecord::Rewind(Box::new(rewind)))
    }

    fn within_turn(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.begin_turn()?;
        write(self)
    }

    /// Begins a turn and returns where; `None` if one is open.
    fn begin_turn(&mut self) -> Result<Option<LogPosition>, StoreError> {
        if self.turns.open.is_some() {
            return Ok(None);
        }
        self.flush()?;
        let position = match &self.sink {
            RecordSink::Log(log) => log.position(),
            RecordSink::Nowhere => LogPosition::default(),
        };
        self.turns.count += 1;
        let id = SubmissionId(format!("{TURN_ID_PREFIX}{}", self.turns.count));
        let started = EventMsg::TurnStarted(TurnStarted {
            turn_id: id.clone(),
            started_at_ms: self.at.0,
            model_context_window: None,
            collaboration_mode_kind: self.context.collaboration_mode,
        });
        self.event(&id, started)?;
        self.record(RolloutRecord::TurnContext(self.context.clone()))?;
        self.turns.open = Some(ImportedTurn {
            id,
            started: self.at,
            last_message: None,
        });
        Ok(Some(position))
    }

    fn end_turn(&mut self, end: TurnEnd) -> Result<(), StoreError> {
        let Some(turn) = self.turns.open.take() else {
            return Ok(());
        };
        self.calls.clear();
        let ImportedTurn {
            id,
            started,
            last_message,
        } = turn;
        let ended = match end {
            TurnEnd::Completed => EventMsg::TurnComplete(TurnComplete {
                turn_id: id.clone(),
                last_agent_message: last_message,
                response_id: None,
                duration_ms: self.at.0.abs_diff(started.0),
            }),
            TurnEnd::Interrupted => EventMsg::TurnAborted(TurnAborted {
                turn_id: id.clone(),
                reason: AbortReason::Interrupted,
                last_agent_message: last_message,
                response_id: None,
            }),
        };
        self.event(&id, ended)
    }

    /// Writes what the model is told, and what people see of it.
    fn item(&mut self, told: ResponseItem, shown: Option<TurnItem>) -> Result<(), StoreError> {
        self.items += 1;
        self.record(RolloutRecord::ResponseItem(told))?;
        shown.map_or(Ok(()), |item| self.completed(item))
    }

    fn completed(&mut self, item: TurnItem) -> Result<(), StoreError> {
        let Some(turn) = &self.turns.open else {
            return Ok(());
        };
        let id = turn.id.clone();
        let completed = EventMsg::ItemCompleted {
            thread_id: self.session,
            turn_id: id.clone(),
            item,
            completed_at_ms: self.at.0,
        };
        self.event(&id, completed)
    }

    fn event(&mut self, id: &SubmissionId, msg: EventMsg) -> Result<(), StoreError> {
        let seq = self.seq;
        self.seq += SEQ_STRIDE;
        let id = id.clone();
        self.record(RolloutRecord::EventMsg(EventRecord { id, seq, msg }))
    }

    fn record(&mut self, record: RolloutRecord) -> Result<(), StoreError> {
        let is_due = self.buffer.len() >= RECORDS_PER_APPEND_MAX
            || self.at.0 - self.buffer_at.0 >= APPEND_SPAN_MS;
        if is_due {
            self.flush()?;
        }
        if self.buffer.is_empty() {
            self.buffer_at = self.at;
        }
        self.buffer.push(record);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        let records = std::mem::take(&mut self.buffer);
        if let RecordSink::Log(log) = &mut self.sink
            && !records.is_empty()
        {
            self.time.store(self.buffer_at.0, Ordering::Release);
            log.append(&records)?;
        }
        Ok(())
    }

    fn item_id(&self) -> ItemId {
        ItemId(format!("imported-{}", self.seq))
    }

    fn carried_state(&self) -> CarriedState {
        CarriedState {
            turn_context: self.context.clone(),
            total_token_usage: TokenUsage::default(),
            seq_reserved_until: self.seq,
            thread_name: self.name.clone(),
            thread_note: None,
            last_response_id: None,
            has_agents: false,
            output_schema: None,
        }
    }
}

fn output_text(output: &ToolOutputBody) -> String {
    match output {
        ToolOutputBody::Text(text) => text.clone(),
        ToolOutputBody::Parts(parts) => {
            let texts: Vec<&str> = parts
                .iter()
                .map(|part| ContentItem::text(part).unwrap_or("[image]"))
                .collect();
            texts.join("\n")
        }
    }
}
