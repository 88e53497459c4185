//! What the session tells the tree that it is a member of, and what it gets for it: the
//! lines that belong in the same append.

use troupe_protocol::session::TurnContext;
use troupe_tools::{CallContext, DeliveryClaim};

use super::Conversation;
use crate::host::{ActivityKind, OpenedSession, SessionActivity, WriteBatch};
use crate::task::{Task, TaskPhase};

impl Conversation {
    pub(super) fn tell_opened(&self) {
        // Before it does anything it has used what its log says.
        let usage = self.ledgers.usage.total;
        let shown = self.services.host.activity_handle();
        shown.write(|shown| shown.usage = usage);
        self.services.host.opened(OpenedSession {
            session: self.id(),
            orders: self.services.mailbox.orders(),
            forked_from: self.settings.meta.forked_from_id,
            has_agents: self.ledgers.has_agents,
            context: self.settings.context.clone(),
            thread_note: self.ledgers.thread_note.clone(),
        });
    }

    /// Returns settings with the rights that the agents above leave of them now.
    pub(super) fn bounded_context(&self, context: &TurnContext) -> TurnContext {
        let mut context = context.clone();
        context.sandbox_policy = context.sandbox_in_force();
        if let Some(rights) = self.services.host.rights(&context) {
            context.sandbox_policy = rights.sandbox_policy;
        }
        context
    }

    /// Returns what a call of the task that begins now is told.
    pub(super) fn call_context(&self, task: &Task) -> CallContext {
        let mut context = task.call_context(self.id(), self.ledgers.history.items().len());
        if let Some(rights) = self.services.host.rights(&task.context) {
            context.sandbox_policy = rights.sandbox_policy;
            context.sandbox_held = rights.held;
        }
        context
    }

    pub(super) async fn claiming(&self, claims: Vec<DeliveryClaim>) -> WriteBatch {
        if claims.is_empty() {
            return WriteBatch::default();
        }
        self.services.host.claiming(claims).await
    }

    /// Shows what the session is doing from now on.
    pub(super) fn set_activity(&self, doing: ActivityKind) {
        let pulse = SessionActivity {
            doing,
            progress_at_ms: self.services.clock.now_ms(),
            usage: self.ledgers.usage.total,
        };
        self.services
            .host
            .activity_handle()
            .write(|shown| *shown = pulse);
    }

    /// Shows which calls run.
    pub(super) fn show_calls(&self, task: &mut Task) {
        if let Some(calls) = task.calls() {
            let tools = calls.running_tools();
            self.set_activity(ActivityKind::Tools(tools));
        }
    }

    /// Tells the tree of a new headline of the model's reasoning, if there is one.
    pub(super) fn report_headline(&self, task: &mut Task) {
        let TaskPhase::Sampling { response, .. } = &mut task.phase else {
            return;
        };
        let Some(headline) = response.take_headline() else {
            return;
        };
        if task.headline.as_ref() != Some(&headline) {
            self.services.host.reasoning(&headline);
            task.headline = Some(headline);
        }
    }
}
