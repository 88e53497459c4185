//! What the session tells the tree that it is a member of, and what it gets for it: the
//! lines that belong in the same append. A session by itself tells nobody and gets none.

use troupe_protocol::op::ReviewRequest;
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::session::TurnContext;
use troupe_protocol::tree::MessageId;
use troupe_protocol::{CallId, SubmissionId};
use troupe_tools::{CallContext, DeliveryClaim};

use super::Conversation;
use crate::host::{
    ActivityKind, Completion, MemberRights, OpenedSession, SessionActivity, StaleRequest,
    WriteBatch,
};
use crate::inquiry::{AnswerRefusal, InquiryAnswer};
use crate::task::{Task, TaskPhase};

/// What a client is told who asks a lone session for a review.
const NO_TREE: &str = "this session is not a member of an agent tree, which a review needs";

impl Conversation {
    pub(super) fn tell_opened(&self) {
        if let Some(host) = &self.host {
            // Before it does anything it has used what its log says.
            let usage = self.usage.total;
            host.activity_handle().write(|shown| shown.usage = usage);
            host.opened(OpenedSession {
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

    fn rights_under(&self, context: &TurnContext) -> Option<MemberRights> {
        self.host.as_ref()?.rights(context)
    }

    /// Returns what is over when nothing runs in the tree below.
    pub(crate) fn tree_idle(&self) -> Option<Completion> {
        self.host.as_ref()?.subtree_idle()
    }

    /// Has the tree below end, and returns what is over when it has.
    pub(crate) fn close_tree(&self) -> Option<Completion> {
        self.host.as_ref()?.close_subtree()
    }

    /// Tells who asked for it that a note or a name is not in the log.
    pub(crate) fn unrecorded(&self, what: &'static str, why: String) {
        if let Some(host) = &self.host {
            host.unrecorded(what, why);
        }
    }

    /// Tells who sees to the tree what a hook said against this agent.
    pub(super) fn hook_warned(&self, message: &str) {
        if let Some(host) = &self.host {
            host.hook_warned(message);
        }
    }

    pub(super) async fn starting(
        &mut self,
        task: &SubmissionId,
        message: Option<MessageId>,
    ) -> Result<WriteBatch, StaleRequest> {
        match self.host.clone() {
            Some(host) => host.starting(task, message).await,
            None => Ok(WriteBatch::default()),
        }
    }

    pub(super) async fn taking(
        &mut self,
        messages: &[MessageId],
    ) -> Result<WriteBatch, StaleRequest> {
        match self.host.clone() {
            Some(host) if !messages.is_empty() => host.taking(messages).await,
            _ => Ok(WriteBatch::default()),
        }
    }

    pub(super) async fn claiming(&mut self, claims: Vec<DeliveryClaim>) -> WriteBatch {
        match self.host.clone() {
            Some(host) if !claims.is_empty() => host.claiming(claims).await,
            _ => WriteBatch::default(),
        }
    }

    pub(super) async fn subtree_summary(&mut self) -> Option<String> {
        let host = self.host.clone()?;
        host.describe_subtree().await
    }

    pub(super) fn asking(&mut self, call_id: &CallId) {
        if let Some(host) = self.host.clone()
            && let Some(question) = self.calls().and_then(|calls| calls.question(call_id))
        {
            host.question_asked(call_id, question);
        }
    }

    pub(super) fn answered(&self, call_id: &CallId, word: &InquiryAnswer) {
        if let Some(host) = &self.host {
            host.question_answered(call_id, word);
        }
    }

    /// Passes on the answer to a question of another agent.
    pub(super) async fn answer_for_other_agent(
        &mut self,
        call_id: CallId,
        word: InquiryAnswer,
    ) -> Result<(), AnswerRefusal> {
        match self.host.clone() {
            Some(host) => host.decide(call_id.as_str(), word).await,
            None => Err(AnswerRefusal::Unknown { id: call_id.0 }),
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
    pub(super) fn set_activity(&self, doing: ActivityKind) {
        if let Some(host) = &self.host {
            let pulse = SessionActivity {
                doing,
                progress_at_ms: self.clock.now_ms(),
                usage: self.usage.total,
            };
            host.activity_handle().write(|shown| *shown = pulse);
        }
    }

    /// Shows which calls run.
    pub(super) fn show_calls(&mut self) {
        if self.host.is_some()
            && let Some(calls) = self.calls()
        {
            let tools = calls.running_tools();
            self.set_activity(ActivityKind::Tools(tools));
        }
    }

    /// Tells the tree of a new headline of the model's reasoning, if there is one.
    pub(super) fn report_headline(&mut self) {
        let (Some(host), Some(task)) = (&self.host, &mut self.task) else {
            return;
        };
        let TaskPhase::Sampling { response, .. } = &mut task.phase else {
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
