//! A session's state, folded from its recorded lines.

mod repeated;

use std::collections::HashMap;

use serde_json::Value;
use troupe_protocol::event::EventMsg;
use troupe_protocol::history::{ResponseItem, Role};
use troupe_protocol::item::TurnItem;
use troupe_protocol::rollout::{CarriedState, RolloutRecord};
use troupe_protocol::session::TurnContext;
use troupe_protocol::usage::TokenUsage;
use troupe_protocol::{CallId, PendingQuestion, SubmissionId};
use troupe_store::{LiveHistory, LogPosition};

use crate::conversation::output_for_model;
use crate::history::{PromptHistory, output_for};

/// What a call is answered with whose answer the log should hold and does not: its line was
/// damaged, or could not be written.
pub(crate) const MISSING_ANSWER: &str =
    "aborted: the record of this call's answer is missing; what the call did is not known";

/// What the lines of the live branch add up to.
#[derive(Debug, Default)]
pub(crate) struct ResumedState {
    pub history: PromptHistory,
    pub context: Option<TurnContext>,
    pub total_usage: TokenUsage,
    pub thread_name: Option<String>,
    pub thread_note: Option<String>,
    pub reserved_until: u64,
    pub has_agents: bool,
    /// What a client asked for last.
    pub asked_shape: Option<Value>,
    pub unfinished: UnfinishedWork,
    /// Lines that were there already, and do not count.
    pub repeated: usize,
    /// Output of the user's commands that the model was not told.
    pub untold: Vec<ResponseItem>,
    open: UnansweredCalls,
}

/// The calls of the newest response that have no answer yet. In a whole log nothing but
/// answers follows them until none is open; a log that lost a line is folded so that this
/// holds again, because providers refuse a request of which it does not.
#[derive(Debug, Default)]
struct UnansweredCalls {
    /// Where they are in the history.
    calls: Vec<(CallId, usize)>,
    /// Answers have come, so the response with the calls is over.
    is_answered: bool,
}

/// What the engine was doing when it died, if it did.
#[derive(Debug, Default)]
pub(crate) struct UnfinishedWork {
    /// A task that began and did not end.
    pub task: Option<SubmissionId>,
    /// What calls of a cycle that did not end had come to: recorded for people, not yet told
    /// to the model.
    pub outcomes: HashMap<CallId, String>,
    /// What people were asked and nobody answered, with the submission under which it was
    /// asked; at a root, questions of its agents too.
    pub questions: Vec<(SubmissionId, PendingQuestion)>,
}

impl ResumedState {
    /// Tells what a person should know about the log.
    pub(crate) fn warning(&self) -> Option<String> {
        let repeated = self.repeated;
        (repeated > 0).then(|| {
            format!(
                "the log has {repeated} lines twice, as if it had been copied into itself; the \
                 second ones do not count"
            )
        })
    }
}

impl UnfinishedWork {
    /// Tells whether a call had asked a person and waited for the answer.
    pub(crate) fn awaits_person(&self, call: &CallId) -> bool {
        self.questions.iter().any(|(_, asked)| asked.id() == call)
    }

    /// Takes an event that asks, or one that ends a question.
    fn question(&mut self, id: &SubmissionId, msg: &EventMsg) {
        if let Some(question) = PendingQuestion::of(msg) {
            self.questions.push((id.clone(), question));
        } else if let Some(call) = PendingQuestion::settled_by(msg) {
            self.questions.retain(|(_, asked)| asked.id() != call);
        }
    }
}

/// Takes out of a log what it has twice. Returns how many lines that were.
pub(crate) fn leave_out_repeated(live: &mut LiveHistory) -> usize {
    repeated::leave_out(&mut live.records)
}

pub(crate) fn fold(mut live: LiveHistory) -> ResumedState {
    let mut folded = ResumedState {
        repeated: leave_out_repeated(&mut live),
        ..ResumedState::default()
    };
    let mut before = live.start;
    for (after, line) in live.records {
        folded.apply(line.record, before, after);
        before = after;
    }
    folded.history.drop_dangling_reasoning();
    folded
}

impl ResumedState {
    fn apply(&mut self, record: RolloutRecord, before: LogPosition, after: LogPosition) {
        match record {
            RolloutRecord::TurnContext(context) => self.context = Some(context),
            RolloutRecord::ResponseItem(item) => self.item(item, before),
            RolloutRecord::Compacted(compacted) => {
                self.open = UnansweredCalls::default();
                self.history.replace(compacted.replacement_history);
                self.carry(compacted.carried);
            }
            RolloutRecord::Rewind(rewind) => {
                self.carry(rewind.carried);
                // One goes back only when nothing runs; the end of the task that is cut
                // here lies in what is jumped over.
                self.unfinished.task = None;
            }
            RolloutRecord::Agent(line) => {
                self.has_agents = true;
                // Written in one piece with the end of the task, and before it.
                if let Some(result) = line.result
                    && self.unfinished.task.as_ref() == Some(&result.task_id)
                {
                    self.unfinished.task = None;
                }
            }
            RolloutRecord::AnswerShape { output_schema } => self.asked_shape = output_schema,
            RolloutRecord::SeqReserved { until } => {
                self.reserved_until = self.reserved_until.max(until);
            }
            RolloutRecord::EventMsg(event) => {
                self.reserved_until = self.reserved_until.max(event.seq + 1);
                self.event(event.id, event.msg, before, after);
            }
            // The meta line is handed over by itself; what was seen of files is read when
            // somebody wants to take it back; a record of a later version is one that
            // the store has warned about.
            _ => (),
        }
    }

    fn item(&mut self, item: ResponseItem, before: LogPosition) {
        let is_from_user = matches!(
            item,
            ResponseItem::Message {
                role: Role::User,
                ..
            }
        );
        if let Some(call) = item.answered_call() {
            let asked = self.open.calls.iter().position(|(open, _)| open == call);
            // The line of its call is missing, or it is the second answer.
            let Some(asked) = asked else { return };
            self.open.calls.remove(asked);
            self.open.is_answered = true;
        } else if is_from_user || self.open.is_answered {
            self.close_calls();
        }
        if is_from_user {
            self.history.drop_dangling_reasoning();
        }
        if let Some(told) = self.untold.iter().position(|untold| *untold == item) {
            self.untold.remove(told);
        }
        if let Some(call) = item.open_call() {
            let place = self.history.items().len();
            self.open.calls.push((call.clone(), place));
        }
        self.history.push_at(item, before);
    }

    /// Answers the calls whose answers should have come by now.
    fn close_calls(&mut self) {
        for (call, place) in std::mem::take(&mut self.open).calls {
            let text = self.unfinished.outcomes.get(&call).cloned();
            let text = text.unwrap_or_else(|| MISSING_ANSWER.to_owned());
            let asked = self.history.items().get(place);
            let answer = asked.and_then(|asked| output_for(asked.item(), text.into()));
            self.history.extend(answer);
        }
    }

    fn event(&mut self, id: SubmissionId, msg: EventMsg, before: LogPosition, after: LogPosition) {
        self.unfinished.question(&id, &msg);
        match msg {
            EventMsg::TurnStarted(_) => {
                self.history.begin_turn(before);
                self.unfinished.task = Some(id);
            }
            EventMsg::TurnComplete(_) | EventMsg::TurnAborted(_) => {
                self.unfinished.task = None;
                // An agent's question does not end with a task of its root.
                let questions = &mut self.unfinished.questions;
                questions.retain(|(task, asked)| *task != id || asked.agent().is_some());
            }
            EventMsg::ResponseCompleted { response_id, .. } => {
                // Written behind the last answer.
                self.close_calls();
                // As it was done live, so that the bookmark covers the same items.
                self.history.drop_dangling_reasoning();
                self.history.set_bookmark(response_id, after);
                self.unfinished.outcomes.clear();
            }
            // A compaction is always part of a task, whose beginning lies before what is
            // read here.
            EventMsg::ItemCompleted {
                item: TurnItem::ContextCompaction(_),
                ..
            } => self.unfinished.task = Some(id),
            EventMsg::ItemCompleted { item, .. } => {
                self.untold.extend(output_for_model(&item));
                let call = CallId(item.id().0.clone());
                self.unfinished
                    .outcomes
                    .extend(outcome(item).map(|text| (call, text)));
            }
            EventMsg::ItemsInjected { items } => self.untold.extend(items),
            EventMsg::TokenCount {
                info: Some(info), ..
            } => self.total_usage = info.total_token_usage,
            EventMsg::ThreadNameUpdated { thread_name } => self.thread_name = thread_name,
            EventMsg::ThreadNoteUpdated { thread_note } => self.thread_note = thread_note,
            _ => (),
        }
    }

    fn carry(&mut self, carried: CarriedState) {
        self.context = Some(carried.turn_context);
        self.total_usage = carried.total_token_usage;
        self.thread_name = carried.thread_name;
        self.thread_note = carried.thread_note;
        self.has_agents |= carried.has_agents;
        self.asked_shape = carried.output_schema;
        self.reserved_until = self.reserved_until.max(carried.seq_reserved_until);
    }
}

/// Returns what the model would have been told of a call that was shown as this item.
fn outcome(item: TurnItem) -> Option<String> {
    match item {
        TurnItem::CommandExecution(item) => Some(item.outcome?.formatted_output),
        TurnItem::FileChange(item) => Some(format!("{}{}", item.stdout, item.stderr)),
        TurnItem::ToolCall(item) => item.output,
        _ => None,
    }
    .filter(|text| !text.is_empty())
}
