//! What the session tells the tree that it is a member of, and what it gets for it: the
//! lines that belong in the same append. A session by itself tells nobody and gets none.

use troupe_protocol::op::ReviewRequest;
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::session::TurnContext;
use troupe_protocol::tree::MessageId;
use troupe_protocol::{CallId, SubmissionId};
use troupe_tools::{CallContext, Claim};

use super::Conversation;
use crate::host::{Doing, Later, Lines, NotNow, Opened, Pulse, Rights};
use crate::inquiry::{NotTaken, Word};
use crate::task::{Phase, Task};

/// What a client is told who asks a lone session for a review.
const NO_TREE: &str = "this session is not a member of an agent tree, which a review needs";

impl Conversation {
    pub(super) fn tell_opened(&self) {
        if let Some(host) = &self.host {
            // Before it does anything it has used what its log says.
            let usage = self.usage.total;
            host.vitals().write(|shown| shown.usage = usage);
            host.opened(Opened {
                session: self.id(),
                orders: self.mailbox.orders(),
                forked_from: self.meta.forked_from_id,
                has_agents: self.has_agents,
                context: self.context.clone(),
                thread_note: self.thread_note.clone(),
            });
        }
    }

    /// Tells the tree under which settings the session works: those below may do no more.
    pub(super) fn tell_settings(&self) {
        if let Some(host) = &self.host {
            host.settings(self.turn_context());
        }
    }

    /// Returns the settings of the running task with the rights that the agents above leave of
    /// them now; without a task, those of the next.
    pub(super) fn bounded_context(&self) -> TurnContext {
        let mut context = self.turn_context().clone();
        context.sandbox_policy = context.sandbox_in_force();
        if let Some(rights) = self.rights_under(&context) {
            context.sandbox_policy = rights.sandbox_policy;
        }
        context
    }

    /// Returns what a call of the task that begins now is told.
    pub(super) fn call_context(&self, task: &Task) -> CallContext {
        let mut context = task.call_context(self.id(), self.history.items().len());
        if let Some(rights) = self.rights_under(&task.context) {
            context.sandbox_policy = rights.sandbox_policy;
            context.sandbox_held = rights.held;
        }
        context
    }

    fn rights_under(&self, context: &TurnContext) -> Option<Rights> {
        self.host.as_ref()?.rights(context)
    }

    /// Returns what is over when nothing runs in the tree below.
    pub(crate) fn tree_quiet(&self) -> Option<Later> {
        self.host.as_ref()?.quiet()
    }

    /// Has the tree below end, and returns what is over when it has.
    pub(crate) fn tree_closing(&self) -> Option<Later> {
        self.host.as_ref()?.closing()
    }

    /// Tells who asked for it that a note or a name is not in the log.
    pub(crate) fn unrecorded(&self, what: &'static str, why: String) {
        if let Some(host) = &self.host {
            host.unrecorded(what, why);
        }
    }

    pub(super) async fn starting(
        &mut self,
        task: &SubmissionId,
        message: Option<MessageId>,
    ) -> Result<Lines, NotNow> {
        match self.host.clone() {
            Some(host) => host.starting(task, message).await,
            None => Ok(Lines::default()),
        }
    }

    pub(super) async fn taking(&mut self, messages: &[MessageId]) -> Result<Lines, NotNow> {
        match self.host.clone() {
            Some(host) if !messages.is_empty() => host.taking(messages).await,
            _ => Ok(Lines::default()),
        }
    }

    pub(super) async fn claiming(&mut self, claims: Vec<Claim>) -> Lines {
        match self.host.clone() {
            Some(host) if !claims.is_empty() => host.claiming(claims).await,
            _ => Lines::default(),
        }
    }

    pub(super) async fn standing(&mut self) -> Option<String> {
        let host = self.host.clone()?;
        host.standing().await
    }

    pub(super) fn asking(&mut self, call_id: &CallId) {
        if let Some(host) = self.host.clone()
            && let Some(question) = self.calls().and_then(|calls| calls.question(call_id))
        {
            host.asking(call_id, question);
        }
    }

    pub(super) fn answered(&self, call_id: &CallId, word: &Word) {
        if let Some(host) = &self.host {
            host.answered(call_id, word);
        }
    }

    /// Passes on the answer to a question of another agent.
    pub(super) async fn decide_elsewhere(
        &mut self,
        call_id: CallId,
        word: Word,
    ) -> Result<(), NotTaken> {
        match self.host.clone() {
            Some(host) => host.decide(call_id.as_str(), word).await,
            None => Err(NotTaken::Unknown { id: call_id.0 }),
        }
    }

    /// Has the tree review something. Returns why it does not.
    pub(crate) async fn review(
        &mut self,
        id: &SubmissionId,
        request: ReviewRequest,
    ) -> Result<(), String> {
        match self.host.clone() {
            Some(host) => host.review(id, request).await,
            None => Err(NO_TREE.to_owned()),
        }
    }

    /// Shows what the session is doing from now on.
    pub(super) fn show(&self, doing: Doing) {
        if let Some(host) = &self.host {
            let pulse = Pulse {
                doing,
                progress_at_ms: self.clock.now_ms(),
                usage: self.usage.total,
            };
            host.vitals().write(|shown| *shown = pulse);
        }
    }

    /// Shows which calls run.
    pub(super) fn show_calls(&mut self) {
        if self.host.is_some()
            && let Some(calls) = self.calls()
        {
            let tools = calls.running_tools();
            self.show(Doing::Tools(tools));
        }
    }

    /// Tells the tree of a new headline of the model's reasoning, if there is one.
    pub(super) fn look_for_headline(&mut self) {
        let (Some(host), Some(task)) = (&self.host, &mut self.task) else {
            return;
        };
        let Phase::Sampling { response, .. } = &mut task.phase else {
            return;
        };
        let Some(headline) = response.take_headline() else {
            return;
        };
        if task.headline.as_ref() != Some(&headline) {
            host.reasoning(&headline);
            task.headline = Some(headline);
        }
    }

    /// Remembers that there are lines of a tree in the log, for who reads it from the end.
    pub(super) fn note_agents(&mut self, records: &[RolloutRecord]) {
        let is_agent = |record: &RolloutRecord| matches!(record, RolloutRecord::Agent(_));
        self.has_agents |= records.iter().any(is_agent);
    }
}
