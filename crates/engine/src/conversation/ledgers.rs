//! What happened in a session: the prompt history, what was used, and what was noted of it. Each
//! is a fold of the log.

use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::usage::{RateLimitSnapshot, TokenUsage};
use troupe_protocol::{CallId, ResponseId, ResponseItem};
use troupe_store::StoreError;

use crate::emit::{EmittedLine, Emitter};
use crate::history::PromptHistory;

#[derive(Debug)]
pub(super) struct SessionLedgers {
    pub history: PromptHistory,
    pub usage: SessionUsage,
    /// How many times the model has answered since the session was opened.
    pub responses: u32,
    pub thread_name: Option<String>,
    pub thread_note: Option<String>,
    /// There are lines of an agent tree in the log.
    pub has_agents: bool,
    /// What the model is to be told, and is not yet.
    pub untold: Vec<ResponseItem>,
}

/// What was used so far.
#[derive(Debug, Default)]
pub(super) struct SessionUsage {
    pub total: TokenUsage,
    pub last: TokenUsage,
    pub rate_limits: Option<RateLimitSnapshot>,
    /// The provider's count of the history's first items, if it gave one.
    pub counted: Option<PrefixCount>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct PrefixCount {
    tokens: u64,
    items: usize,
}

impl SessionLedgers {
    /// Returns how full the context is: the provider's count, and an estimate of what was
    /// added since.
    pub(super) fn context_tokens(&self) -> u64 {
        match self.usage.counted {
            Some(counted) => counted.tokens + self.history.tokens_since(counted.items),
            None => self.history.tokens_since(0),
        }
    }

    /// Takes the provider's count of all that the history has now.
    pub(super) fn count(&mut self, usage: TokenUsage) {
        self.usage.counted = (usage.total_tokens > 0).then(|| PrefixCount {
            tokens: usage.total_tokens,
            items: self.history.items().len(),
        });
    }

    /// Leaves all but the first items out of the history.
    pub(super) fn cut_history(&mut self, len: usize) {
        self.history.truncate(len);
        self.usage.counted = None;
    }

    pub(super) fn last_response_id(&self) -> Option<ResponseId> {
        let bookmark = self.history.last_bookmark()?;
        Some(bookmark.response_id.clone())
    }

    /// Remembers that there are lines of a tree in the log, for who reads it from the end.
    pub(super) fn note_agents(&mut self, records: &[RolloutRecord]) {
        let is_agent = |record: &RolloutRecord| matches!(record, RolloutRecord::Agent(_));
        self.has_agents |= records.iter().any(is_agent);
    }

    /// Puts what waits for the model into the history.
    pub(super) fn tell_untold(&mut self, out: &mut Emitter) -> Result<(), StoreError> {
        if self.untold.is_empty() {
            return Ok(());
        }
        out.write_lines(self.untold.iter().map(EmittedLine::item))?;
        let told = std::mem::take(&mut self.untold);
        self.history.extend(told);
        Ok(())
    }

    /// Answers the calls that an end without a record left open, here and in the log.
    pub(super) fn answer_open_calls(
        &mut self,
        out: &mut Emitter,
        answer: impl Fn(&CallId) -> String,
    ) -> Result<(), StoreError> {
        let answers = self.history.answers_for_open_calls(answer);
        if answers.is_empty() {
            return Ok(());
        }
        let records = answers
            .iter()
            .cloned()
            .map(RolloutRecord::ResponseItem)
            .collect::<Vec<_>>();
        out.record(&records)?;
        self.history.extend(answers);
        Ok(())
    }
}
