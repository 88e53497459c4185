//! What the session tells the tree that it is a member of, and what it gets for it: the
//! lines that belong in the same append.

use std::sync::Arc;

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

impl Conversation {
    pub(super) fn tell_opened(&self) {
        // Before it does anything it has used what its log says.
        let usage = self.usage.total;
        let shown = self.host.activity_handle();
        shown.write(|shown| shown.usage = usage);
        self.host.opened(OpenedSession {
            session: self.id(),
            orders: self.mailbox.orders(),
            forked_from: self.meta.forked_from_id,
            has_agents: self.has_agents,
            context: self.context.clone(),
            thread_note: self.thread_note.clone(),
        });
    }

    /// Tells the tree under which settings the session works: those below may do no more.
    pub(super) fn tell_settings(&self) {
        self.host.settings(self.turn_context());
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
        self.host.rights(context)
    }

    /// Returns what is over when nothing runs in the tree below.
    pub(crate) fn tree_idle(&self) -> Option<Completion> {
        self.host.subtree_idle()
    }

    /// Has the tree below end, and returns what is over when it has.
    pub(crate) fn close_tree(&self) -> Option<Completion> {
        self.host.close_subtree()
    }

    /// Tells who asked for it that a note or a name is not in the log.
    pub(crate) fn unrecorded(&self, what: &'static str, why: String) {
        self.host.unrecorded(what, why);
    }

    /// Tells who sees to the tree what a hook said against this agent.
    pub(super) fn hook_warned(&self, message: &str) {
        self.host.hook_warned(message);
    }

    pub(super) async fn starting(
        &mut self,
        task: &SubmissionId,
        message: Option<MessageId>,
    ) -> Result<WriteBatch, StaleRequest> {
        let host = Arc::clone(&self.host);
        host.starting(task, message).await
    }

    pub(super) async fn taking(
        &mut self,
        messages: &[MessageId],
    ) -> Result<WriteBatch, StaleRequest> {
        if messages.is_empty() {
            return Ok(WriteBatch::default());
        }
        let host = Arc::clone(&self.host);
        host.taking(messages).await
    }

    pub(super) async fn claiming(&mut self, claims: Vec<DeliveryClaim>) -> WriteBatch {
        if claims.is_empty() {
            return WriteBatch::default();
        }
        let host = Arc::clone(&self.host);
        host.claiming(claims).await
    }

    pub(super) async fn subtree_summary(&mut self) -> Option<String> {
        let host = Arc::clone(&self.host);
        host.describe_subtree().await
    }

    pub(super) fn asking(&mut self, call_id: &CallId) {
        let host = Arc::clone(&self.host);
        if let Some(question) = self.calls().and_then(|calls| calls.question(call_id)) {
            host.question_asked(call_id, question);
        }
    }

    pub(super) fn answered(&self, call_id: &CallId, word: &InquiryAnswer) {
        self.host.question_answered(call_id, word);
    }

    /// Passes on the answer to a question of another agent.
    pub(super) async fn answer_for_other_agent(
        &mut self,
        call_id: CallId,
        word: InquiryAnswer,
    ) -> Result<(), AnswerRefusal> {
        let host = Arc::clone(&self.host);
        host.decide(call_id.as_str(), word).await
    }

    /// Has the tree review something. Returns why it does not.
    pub(crate) async fn review(
        &mut self,
        id: &SubmissionId,
        request: ReviewRequest,
    ) -> Result<(), String> {
        let host = Arc::clone(&self.host);
        host.review(id, request).await
    }

    /// Shows what the session is doing from now on.
    pub(super) fn set_activity(&self, doing: ActivityKind) {
        let pulse = SessionActivity {
            doing,
            progress_at_ms: self.clock.now_ms(),
            usage: self.usage.total,
        };
        self.host.activity_handle().write(|shown| *shown = pulse);
    }

    /// Shows which calls run.
    pub(super) fn show_calls(&mut self) {
        if let Some(calls) = self.calls() {
            let tools = calls.running_tools();
            self.set_activity(ActivityKind::Tools(tools));
        }
    }

    /// Tells the tree of a new headline of the model's reasoning, if there is one.
    pub(super) fn report_headline(&mut self) {
        let Some(task) = &mut self.task else {
            return;
        };
        let TaskPhase::Sampling { response, .. } = &mut task.phase else {
            return;
        };
        let Some(headline) = response.take_headline() else {
            return;
        };
        if task.headline.as_ref() != Some(&headline) {
            self.host.reasoning(&headline);
            task.headline = Some(headline);
        }
    }

    /// Remembers that there are lines of a tree in the log, for who reads it from the end.
    pub(super) fn note_agents(&mut self, records: &[RolloutRecord]) {
        let is_agent = |record: &RolloutRecord| matches!(record, RolloutRecord::Agent(_));
        self.has_agents |= records.iter().any(is_agent);
    }
}
