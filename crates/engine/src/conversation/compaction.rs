//! Making the history smaller: the model writes a hand-over for itself, which takes the
//! place of everything but the newest user messages. The plans, proposed and set, and the
//! agents that are at work are not left to its memory: they are told behind it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use troupe_model::{HistoryItem, ModelError, ModelEvent, ModelRequest, ModelToolChoice};
use troupe_protocol::command::WorkStatus;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::AbortReason;
use troupe_protocol::history::Role;
use troupe_protocol::item::{ContextCompactionItem, TurnItem};
use troupe_protocol::rollout::{CompactionRecord, RolloutRecord};
use troupe_protocol::{CallId, ContextFragment, ItemId, ResponseItem, SubmissionId};
use troupe_store::StoreError;
use troupe_tools::plan_set_by;

use super::models::effective_effort;
use super::running::stale_request_error;
use super::{Conversation, OpenSession};
use crate::context;
use crate::emit::Emitter;
use crate::host::{ActivityKind, StaleRequest};
use crate::limits::{
    COMPACTION_ATTEMPTS_MAX, COMPACTION_KEPT_PERCENT, COMPACTION_KEPT_TOKENS_MAX, COMPACTIONS_MAX,
};
use crate::output::AnswerFormat;
use crate::response::plans;
use crate::task::{AfterCompaction, RunningCompaction, StopCause, Task, TaskPhase};

const PROMPT: &str = include_str!("../prompts/compact.md");
const SUMMARY_PREFIX: &str = include_str!("../prompts/compact_prefix.md");

impl RunningCompaction {
    pub(super) fn take(&mut self, event: ModelEvent) {
        match event {
            ModelEvent::TextDelta { delta, .. } => self.summary.push_str(&delta),
            ModelEvent::ItemDone { item, .. } => {
                if let Some(text) = item.assistant_message() {
                    self.summary = text;
                }
            }
            _ => (),
        }
    }
}

pub(super) fn item(id: ItemId, status: WorkStatus) -> TurnItem {
    TurnItem::ContextCompaction(ContextCompactionItem { id, status })
}

impl OpenSession {
    /// Compacts because the user asked for it: a task of its own.
    pub(crate) async fn compact(
        &mut self,
        out: &mut Emitter,
        id: SubmissionId,
    ) -> Result<(), StoreError> {
        if self.task.is_some() {
            return out.warn(
                &id,
                "a task is running; compact when it is over, or interrupt it".to_owned(),
            );
        }
        let conversation = &mut self.conversation;
        let starting = match conversation.services.host.starting(&id, None).await {
            Ok(lines) => lines,
            Err(StaleRequest) => return out.error(&id, stale_request_error()),
        };
        let task = conversation.open_task(out, id, AnswerFormat::Free, None, starting)?;
        let task = self.task.insert(task);
        conversation.start_compaction(task, out, AfterCompaction::Finish)
    }
}

impl Conversation {
    /// Compacts so that the task can go on.
    pub(super) async fn make_room(
        &mut self,
        task: &mut Task,
        out: &mut Emitter,
    ) -> Result<(), StoreError> {
        let made = task.compactions;
        if made >= COMPACTIONS_MAX {
            let stop = StopCause::fatal(
                AbortReason::Error,
                format!(
                    "the conversation was summarised {made} times in this task and is too long \
                     again; choose a model with a larger context window"
                ),
                ErrorInfo::ContextWindowExceeded,
            );
            return self.stop(task, out, stop).await;
        }
        self.start_compaction(task, out, AfterCompaction::Sample)
    }

    fn start_compaction(
        &self,
        task: &mut Task,
        out: &mut Emitter,
        then: AfterCompaction,
    ) -> Result<(), StoreError> {
        let item_id = self.services.ids.item("compaction");
        let event = self.started_event(&task.id, item(item_id.clone(), WorkStatus::InProgress));
        out.emit(&task.id, vec![event])?;
        let stream = self.services.model.open(self.compaction_request(task, 0));
        task.enter(TaskPhase::Compacting(RunningCompaction {
            stream,
            item: item_id,
            summary: String::new(),
            attempt: 0,
            then,
        }));
        self.set_activity(ActivityKind::Compacting);
        Ok(())
    }

    /// Returns how much of the history a summary would take the place of: so many first items.
    /// What a task was just told is not among them: only once it was answered are its words part
    /// of what was said before.
    pub(super) fn compactable(&self, task: &Task) -> usize {
        match task.cycles {
            0 => self.ledgers.history.before_turn(),
            _ => self.ledgers.history.items().len(),
        }
    }

    /// Asks again with less, because even the request for a summary did not fit.
    pub(super) async fn shrink_compaction(
        &mut self,
        task: &mut Task,
        out: &mut Emitter,
        error: &ModelError,
    ) -> Result<(), StoreError> {
        let Some(compacting) = task.compacting() else {
            return Ok(());
        };
        compacting.attempt += 1;
        compacting.summary.clear();
        let attempt = compacting.attempt;
        let all = self.compactable(task);
        let kept = all >> attempt;
        if attempt > COMPACTION_ATTEMPTS_MAX || kept == 0 {
            let stop = StopCause::fatal(
                AbortReason::Error,
                format!(
                    "the conversation does not fit in the model's context window, and could not \
                     be summarised; roll back some turns or choose a model with a larger window: \
                     {error}"
                ),
                ErrorInfo::ContextWindowExceeded,
            );
            return self.stop(task, out, stop).await;
        }
        let request = self.compaction_request(task, attempt);
        if let Some(compacting) = task.compacting() {
            compacting.stream = self.services.model.open(request);
        }
        let message = format!(
            "the conversation is too long even to be summarised; the oldest {} of its {all} items \
             are left out of the summary",
            all - kept
        );
        out.warn(&task.id, message)
    }

    /// Asks for the summary again as before, because what the request had of the history was
    /// changed.
    pub(super) fn repeat_compaction(&self, task: &mut Task) {
        let Some(attempt) = task.compacting().map(|compacting| compacting.attempt) else {
            return;
        };
        let request = self.compaction_request(task, attempt);
        if let Some(compacting) = task.compacting() {
            compacting.summary.clear();
            compacting.stream = self.services.model.open(request);
        }
    }

    /// Each attempt leaves out half of what the one before sent, oldest first.
    fn compaction_request(&self, task: &Task, attempt: u32) -> ModelRequest {
        let items = &self.ledgers.history.items()[..self.compactable(task)];
        let kept = items.len() >> attempt;
        let mut input = without_orphans(&items[items.len() - kept..]);
        input.push(Arc::new(HistoryItem::new(ResponseItem::user_text(PROMPT))));
        let context = &task.context;
        ModelRequest {
            model: context.model.clone(),
            instructions: self.instructions(context),
            input,
            tools: Arc::clone(&self.toolset),
            tool_choice: ModelToolChoice::Never,
            parallel_tool_calls: true,
            effort: effective_effort(context),
            summary: context.summary,
            output_schema: None,
            previous: None,
            prompt_cache_key: Some(self.settings.prompt_cache_key.clone()),
            conversation: self.settings.own_name(),
        }
    }

    /// Puts the summary in place of the history.
    pub(super) async fn compacted(
        &mut self,
        task: &mut Task,
        out: &mut Emitter,
        compacting: RunningCompaction,
    ) -> Result<(), StoreError> {
        if compacting.summary.trim().is_empty() {
            let failed = item(compacting.item, WorkStatus::Failed);
            out.emit(&task.id, self.completed_events(&task.id, vec![failed]))?;
            let stop = StopCause::fatal(
                AbortReason::Error,
                "the model answered the request for a summary with nothing; the history is \
                 unchanged"
                    .to_owned(),
                ErrorInfo::Other,
            );
            return self.stop(task, out, stop).await;
        }
        let mut replacement = self.replacement(task, &compacting.summary, compacting.then);
        replacement.extend(self.proposal_kept(&task.context.model, compacting.then));
        replacement.extend(self.plan_kept());
        let standing = self.services.host.describe_subtree().await;
        replacement.extend(standing.map(|text| ResponseItem::user_text(context::agents(&text))));
        let history = &self.ledgers.history;
        let just_said = history.responses().skip(self.compactable(task));
        replacement.extend(just_said.cloned());
        let record = CompactionRecord {
            message: compacting.summary,
            replacement_history: replacement.clone(),
            carried: self.carried(out),
        };
        let completed = item(compacting.item, WorkStatus::Completed);
        let mut msgs = self.completed_events(&task.id, vec![completed]);
        msgs.push(self.token_count(&task.context.model));
        out.write(
            &task.id,
            vec![RolloutRecord::Compacted(Box::new(record))],
            msgs,
        )?;
        self.ledgers.history.replace(replacement);
        self.ledgers.usage.counted = None;
        task.compactions += 1;
        task.room = task.room.after_compaction();
        let goes_on = match compacting.then {
            AfterCompaction::Sample => true,
            AfterCompaction::Finish => self.deliver_steered(task, out).await?,
        };
        if goes_on {
            return Box::pin(self.sample(task, out)).await;
        }
        self.complete_task(task, out).await
    }

    /// Surroundings, the newest user messages that fit, then the summary. What the running task
    /// was told is kept whole, whether it fits or not.
    fn replacement(&self, task: &Task, summary: &str, then: AfterCompaction) -> Vec<ResponseItem> {
        let items = self.ledgers.history.items();
        let (past, just_said) = items.split_at(self.compactable(task));
        let whole = if just_said.is_empty() { task.said } else { 0 };
        let told: Vec<&str> = just_said
            .iter()
            .filter_map(|item| context::text_of(item.item()))
            .collect();
        // What could not be read of the surroundings was told when they were first read.
        let mut items = self.context_beside(&task.context, &told, &mut Vec::new());
        let messages = past
            .iter()
            .map(|item| item.item())
            .filter(|item| is_user_message(item));
        let tokens_max = self.kept_tokens_max(&task.context.model, then);
        items.extend(newest_user_messages(messages, tokens_max, whole));
        items.push(ResponseItem::user_text(format!(
            "{SUMMARY_PREFIX}{summary}"
        )));
        items
    }

    /// Returns the plan that work goes by: as it was set last, or as an earlier compaction kept
    /// it. A summary may lose steps.
    fn plan_kept(&self) -> Option<ResponseItem> {
        let mut answers = HashMap::new();
        for item in self.ledgers.history.responses().rev() {
            if let Some(call) = item.answered_call() {
                answers.insert(call, item);
            }
            let answer = item.open_call().and_then(|call| answers.get(call));
            if let Some(plan) = answer.and_then(|answer| plan_set_by(item, answer)) {
                return Some(ResponseItem::user_text(context::plan(&plan)));
            }
            if item.fragment() == Some(ContextFragment::Plan) {
                return Some(item.clone());
            }
        }
        None
    }

    /// Returns the plan that was proposed last, whether or not it was agreed on yet: work may
    /// go by it, and talk does.
    fn proposal_kept(&self, model: &str, then: AfterCompaction) -> Option<ResponseItem> {
        self.ledgers.history.responses().rev().find_map(|item| {
            if item.fragment() == Some(ContextFragment::Proposal) {
                return Some(item.clone());
            }
            let plan = plans::proposed_in(&item.assistant_message()?)?;
            let bytes_max = text_bytes(self.kept_tokens_max(model, then));
            let plan = context::cut_text(&plan, bytes_max, "plan");
            Some(ResponseItem::user_text(context::proposal(&plan)))
        })
    }

    /// Returns how much of the user's messages is kept. In a small window the general bound
    /// would keep all that was too much.
    fn kept_tokens_max(&self, model: &str, then: AfterCompaction) -> u64 {
        let too_much = match then {
            // The window is smaller than this, whether anybody knows its size or not.
            AfterCompaction::Sample => Some(self.ledgers.context_tokens()),
            AfterCompaction::Finish => None,
        };
        let window = self.context_window(model);
        let room = too_much.map_or(window, |tokens| tokens.min(window));
        (room.saturating_mul(COMPACTION_KEPT_PERCENT) / 100).min(COMPACTION_KEPT_TOKENS_MAX)
    }
}

/// Returns the items without the answers to calls that were left out.
fn without_orphans(items: &[Arc<HistoryItem>]) -> Vec<Arc<HistoryItem>> {
    let calls: HashSet<&CallId> = items
        .iter()
        .filter_map(|item| item.item().open_call())
        .collect();
    let belongs = |item: &&Arc<HistoryItem>| {
        let answered = item.item().answered_call();
        answered.is_none_or(|call| calls.contains(call))
    };
    items.iter().filter(belongs).cloned().collect()
}

/// Returns the user's own messages, newest first until the budget is used, oldest first. The
/// newest `whole` of them are returned in any case.
fn newest_user_messages<'a>(
    messages: impl DoubleEndedIterator<Item = &'a ResponseItem>,
    tokens_max: u64,
    whole: usize,
) -> Vec<ResponseItem> {
    let mut left = tokens_max;
    let mut kept = Vec::new();
    let own = messages
        .rev()
        .filter(|message| !context::is_fragment_item(message));
    for (nth, message) in own.enumerate() {
        let cost = HistoryItem::new(message.clone()).approx_tokens();
        match left.checked_sub(cost) {
            Some(rest) => left = rest,
            None if nth < whole => left = 0,
            None => {
                kept.extend(cut_to(message, left));
                break;
            }
        }
        kept.push(message.clone());
    }
    kept.reverse();
    kept
}

/// Returns the beginning of a message that is too long to be kept whole.
fn cut_to(message: &ResponseItem, tokens: u64) -> Option<ResponseItem> {
    let text = context::text_of(message)?;
    (tokens > 0).then(|| {
        let text = context::cut_text(text, text_bytes(tokens), "message");
        ResponseItem::user_text(text).marked_as_said()
    })
}

/// Returns how long a text of so many tokens is, about.
fn text_bytes(tokens: u64) -> usize {
    usize::try_from(tokens.saturating_mul(4)).unwrap_or(usize::MAX)
}

fn is_user_message(item: &ResponseItem) -> bool {
    matches!(
        item,
        ResponseItem::Message {
            role: Role::User,
            ..
        }
    )
}
