//! What the model knows: the items of the live branch, with the places one can go back to.

use std::collections::HashSet;
use std::sync::Arc;

use troupe_model::{HistoryItem, PreviousResponse};
use troupe_protocol::history::{ResponseItem, ToolOutputBody};
use troupe_protocol::{CallId, ResponseId};
use troupe_store::LogPosition;

use crate::context;

/// The conversation as it is sent to the model. Items are shared with the requests that
/// carry them, so a request costs a pointer per item.
#[derive(Debug, Default, Clone)]
pub(crate) struct PromptHistory {
    items: Vec<Arc<HistoryItem>>,
    bookmarks: Vec<CycleBookmark>,
    turns: Vec<TaskStart>,
    /// Where the engine itself tells of the surroundings: looked for at every task, and few
    /// among many.
    fragments: Vec<usize>,
    /// Where the newest note of an undo is.
    undo_note: Option<TaskStart>,
    /// All calls among so many first items are answered among them too.
    settled: usize,
    /// So many first bookmarks are of responses that the provider does not have any more.
    unheld: usize,
}

/// A finished model cycle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CycleBookmark {
    pub response_id: ResponseId,
    /// How many items the history had then.
    pub len: usize,
    /// The place in the log just after the cycle.
    pub position: LogPosition,
}

/// The beginning of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TaskStart {
    pub len: usize,
    /// The place in the log just before the task.
    pub position: LogPosition,
}

impl PromptHistory {
    pub(crate) fn items(&self) -> &[Arc<HistoryItem>] {
        &self.items
    }

    pub(crate) fn responses(&self) -> impl DoubleEndedIterator<Item = &ResponseItem> {
        self.items.iter().map(|item| item.item())
    }

    pub(crate) fn push(&mut self, item: ResponseItem) {
        if context::is_fragment_item(&item) {
            self.fragments.push(self.items.len());
        }
        self.items.push(Arc::new(HistoryItem::new(item)));
    }

    /// Takes an item whose place in the log is known.
    pub(crate) fn push_at(&mut self, item: ResponseItem, before: LogPosition) {
        if context::is_undo_note(&item) {
            self.undo_note = Some(TaskStart {
                len: self.items.len(),
                position: before,
            });
        }
        self.push(item);
    }

    /// Returns the place just before the note that says what an undo took back, if nothing has
    /// been said since.
    pub(crate) fn last_undo_note(&self) -> Option<&TaskStart> {
        let note = self.undo_note.as_ref();
        note.filter(|note| note.len + 1 == self.items.len())
    }

    pub(crate) fn extend(&mut self, items: impl IntoIterator<Item = ResponseItem>) {
        for item in items {
            self.push(item);
        }
    }

    pub(crate) fn begin_turn(&mut self, position: LogPosition) {
        self.turns.push(TaskStart {
            len: self.items.len(),
            position,
        });
    }

    pub(crate) fn set_bookmark(&mut self, response_id: ResponseId, position: LogPosition) {
        self.bookmarks.push(CycleBookmark {
            response_id,
            len: self.items.len(),
            position,
        });
    }

    pub(crate) fn bookmark(&self, response_id: &ResponseId) -> Option<&CycleBookmark> {
        self.bookmarks
            .iter()
            .rev()
            .find(|bookmark| bookmark.response_id == *response_id)
    }

    pub(crate) fn last_bookmark(&self) -> Option<&CycleBookmark> {
        self.bookmarks.last()
    }

    /// Returns the newest response with what a provider that keeps state holds by it: what it
    /// was sent and what it said, but not the answers to its calls.
    pub(crate) fn previous(&self) -> Option<PreviousResponse> {
        let [earlier @ .., bookmark] = &self.bookmarks[..] else {
            return None;
        };
        if earlier.len() < self.unheld {
            return None;
        }
        let sent = earlier.last().map_or(0, |bookmark| bookmark.len);
        let cycle = self.items.get(sent..bookmark.len).unwrap_or_default();
        let answers = cycle
            .iter()
            .rev()
            .take_while(|item| item.item().answered_call().is_some())
            .count();
        Some(PreviousResponse {
            response_id: bookmark.response_id.clone(),
            covers: bookmark.len - answers,
        })
    }

    /// Notes that the provider has none of the responses so far. What follows is sent with all
    /// that came before it, until there is another one to go on from.
    pub(crate) fn forget_held(&mut self) {
        self.unheld = self.bookmarks.len();
    }

    /// Returns the beginning of the task `count` tasks ago, and how many can be gone back.
    pub(crate) fn turn_start(&self, count: usize) -> Result<&TaskStart, usize> {
        let available = self.turns.len();
        match available.checked_sub(count) {
            Some(index) if count > 0 => Ok(&self.turns[index]),
            _ => Err(available),
        }
    }

    /// Forgets what came after the first `len` items.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.items.truncate(len);
        if self.settled > len {
            self.settled = 0;
        }
        self.bookmarks.retain(|bookmark| bookmark.len <= len);
        self.unheld = self.unheld.min(self.bookmarks.len());
        self.turns.retain(|turn| turn.len < len);
        self.undo_note.take_if(|note| note.len >= len);
        self.fragments.retain(|index| *index < len);
    }

    /// Replaces everything. Places in what was replaced cannot be gone back to from here;
    /// bookmarks among them are still found through the store.
    pub(crate) fn replace(&mut self, items: Vec<ResponseItem>) {
        *self = Self::default();
        self.extend(items);
    }

    /// Returns what the model knew before the newest task began: so many first items.
    pub(crate) fn before_turn(&self) -> usize {
        let start = self.turns.last().map(|turn| turn.len);
        start.unwrap_or(self.items.len())
    }

    /// Puts other items in the places of some.
    pub(crate) fn change(
        &mut self,
        mut changed: impl FnMut(&ResponseItem) -> Option<ResponseItem>,
    ) {
        for item in &mut self.items {
            if let Some(other) = changed(item.item()) {
                *item = Arc::new(HistoryItem::new(other));
            }
        }
    }

    /// Estimates the tokens of the items from `len` on.
    pub(crate) fn tokens_since(&self, len: usize) -> u64 {
        let items = self.items.get(len..).unwrap_or_default();
        items.iter().map(|item| item.approx_tokens()).sum()
    }

    /// Returns what has to be added so that every call is answered, as providers demand.
    pub(crate) fn answers_for_open_calls(
        &mut self,
        answer: impl Fn(&CallId) -> String,
    ) -> Vec<ResponseItem> {
        // Backwards, so that one look tells whether a call was answered after it was made.
        // What was settled before is not looked at again: every task begins here.
        let mut answered = HashSet::new();
        let mut open = Vec::new();
        for item in self.items[self.settled..].iter().rev() {
            let item = item.item();
            if let Some(call) = item.answered_call() {
                answered.insert(call);
            } else if item
                .open_call()
                .is_some_and(|call| !answered.contains(call))
            {
                open.push(item);
            }
        }
        if open.is_empty() {
            self.settled = self.items.len();
        }
        open.into_iter()
            .rev()
            .filter_map(|call| output_for(call, answer(call.open_call()?).into()))
            .collect()
    }

    /// Returns the ids of all calls.
    pub(crate) fn call_ids(&self) -> HashSet<CallId> {
        self.responses()
            .filter_map(ResponseItem::open_call)
            .cloned()
            .collect()
    }

    pub(crate) fn has_any_call(&self, ids: &[&CallId]) -> bool {
        !ids.is_empty()
            && self
                .responses()
                .filter_map(ResponseItem::open_call)
                .any(|id| ids.contains(&id))
    }

    /// Takes out reasoning at the end that nothing followed: providers refuse it.
    pub(crate) fn drop_dangling_reasoning(&mut self) {
        while self
            .items
            .pop_if(|item| matches!(item.item(), ResponseItem::Reasoning { .. }))
            .is_some()
        {}
        self.settled = self.settled.min(self.items.len());
    }

    pub(crate) fn last_assistant_message(&self) -> Option<String> {
        self.responses()
            .rev()
            .find_map(ResponseItem::assistant_message)
            .filter(|text| !text.is_empty())
    }

    /// Returns the texts in which the engine itself told of the surroundings.
    pub(crate) fn fragments(&self) -> impl DoubleEndedIterator<Item = &str> {
        let items = self.fragments.iter().filter_map(|at| self.items.get(*at));
        items.filter_map(|item| context::text_of(item.item()))
    }
}

/// Returns the item that answers `call`, `None` if it is not a call.
pub(crate) fn output_for(call: &ResponseItem, output: ToolOutputBody) -> Option<ResponseItem> {
    match call {
        ResponseItem::FunctionCall { call_id, .. } => Some(ResponseItem::FunctionCallOutput {
            call_id: call_id.clone(),
            output,
        }),
        ResponseItem::CustomToolCall { call_id, .. } => Some(ResponseItem::CustomToolCallOutput {
            call_id: call_id.clone(),
            output,
        }),
        _ => None,
    }
}

/// Makes the id of a call unique in its conversation: a model that repeats one would leave a
/// call without an answer, and an approval could meet another call than the one it was
/// given for.
pub(crate) fn distinct_call_id(wanted: &CallId, taken: &HashSet<CallId>) -> CallId {
    if !taken.contains(wanted) && !wanted.0.is_empty() {
        return wanted.clone();
    }
    (2..=taken.len() + 2)
        .map(|n| CallId(format!("{wanted}_{n}")))
        .find(|id| !taken.contains(id))
        .expect("of more numbers than are taken, one is free")
}
