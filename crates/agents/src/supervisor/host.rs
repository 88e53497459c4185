//! A session's membership in a tree: the tree's end of the line to one session.

use async_trait::async_trait;
use tokio::sync::oneshot;
use troupe_engine::{
    ActivityHandle, AnswerRefusal, Completion, InquiryAnswer, MemberRights, OpenedSession,
    SessionHost, StaleRequest, WriteBatch,
};
use troupe_protocol::op::ReviewRequest;
use troupe_protocol::result::TaskResult;
use troupe_protocol::session::TurnContext;
use troupe_protocol::tree::MessageId;
use troupe_protocol::{AgentId, CallId, PendingQuestion, SubmissionId};
use troupe_tools::DeliveryClaim;

use super::handle::TreeHandle;
use super::input::{SessionReport, SupervisorInput};

#[derive(Debug)]
pub(crate) struct TreeMembership {
    agents: TreeHandle,
    agent: AgentId,
    vitals: ActivityHandle,
}

impl TreeMembership {
    pub(crate) fn new(agents: TreeHandle, agent: AgentId) -> Self {
        Self {
            agents,
            agent,
            vitals: ActivityHandle::default(),
        }
    }

    /// Returns the tree, if this is its root and it has grown.
    fn tree_of_root(&self) -> Option<TreeHandle> {
        let is_root = self.agent == AgentId::ROOT;
        (is_root && self.agents.is_planted()).then(|| self.agents.clone())
    }

    fn report(&self, report: SessionReport) {
        self.agents.post(SupervisorInput::Report(report));
    }

    async fn ask<T>(&self, report: impl FnOnce(oneshot::Sender<T>) -> SessionReport) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.report(report(reply));
        answer.await.ok()
    }
}

#[async_trait]
impl SessionHost for TreeMembership {
    fn opened(&self, opened: OpenedSession) {
        if self.agent == AgentId::ROOT {
            self.agents.root_opened(opened, self.vitals.clone());
        } else {
            let agent = self.agent;
            self.agents.ceilings().set(agent, &opened.context);
            self.agents.post(SupervisorInput::Opened { agent, opened });
        }
    }

    fn has_tree(&self) -> bool {
        self.agents.is_planted()
    }

    async fn starting(
        &self,
        task: &SubmissionId,
        message: Option<MessageId>,
    ) -> Result<WriteBatch, StaleRequest> {
        let is_root = self.agent == AgentId::ROOT;
        if is_root && !self.agents.note_task(Some(task)) {
            return Ok(WriteBatch::default());
        }
        let (agent, task) = (self.agent, task.clone());
        let lines = self
            .ask(|reply| SessionReport::Starting {
                agent,
                task,
                message,
                reply,
            })
            .await;
        match lines {
            Some(lines) => lines,
            // Without its tree the user's own conversation goes on; a child's does not.
            None if is_root => Ok(WriteBatch::default()),
            None => Err(StaleRequest),
        }
    }

    async fn taking(&self, messages: &[MessageId]) -> Result<WriteBatch, StaleRequest> {
        let (agent, messages) = (self.agent, messages.to_vec());
        self.ask(|reply| SessionReport::Taking {
            agent,
            messages,
            reply,
        })
        .await
        .unwrap_or(Err(StaleRequest))
    }

    async fn claiming(&self, claims: Vec<DeliveryClaim>) -> WriteBatch {
        let agent = self.agent;
        self.ask(|reply| SessionReport::Claiming {
            agent,
            claims,
            reply,
        })
        .await
        .unwrap_or_default()
    }

    async fn ending(&self, result: TaskResult) -> WriteBatch {
        if self.agent == AgentId::ROOT && !self.agents.note_task(None) {
            return WriteBatch::default();
        }
        let (agent, result) = (self.agent, Box::new(result));
        self.ask(|reply| SessionReport::Ending {
            agent,
            result,
            reply,
        })
        .await
        .unwrap_or_default()
    }

    fn question_asked(&self, call_id: &CallId, question: &PendingQuestion) {
        if self.agent == AgentId::ROOT {
            // The root's own questions are answered where they are asked, and by other programs
            // of the user, which reach a session as a tree only.
            self.agents.open_to_others();
            return;
        }
        self.report(SessionReport::Asking {
            agent: self.agent,
            call_id: call_id.clone(),
            question: Box::new(question.clone()),
        });
    }

    fn question_answered(&self, call_id: &CallId, word: &InquiryAnswer) {
        if self.agent != AgentId::ROOT {
            self.report(SessionReport::Answered {
                agent: self.agent,
                call_id: call_id.clone(),
                word: word.clone(),
            });
        }
    }

    fn question_settled(&self, call_id: &CallId, word: &InquiryAnswer) -> bool {
        let is_child = self.agent != AgentId::ROOT;
        if is_child {
            self.report(SessionReport::Settled {
                agent: self.agent,
                call_id: call_id.clone(),
                word: word.clone(),
            });
        }
        is_child
    }

    async fn decide(&self, id: &str, word: InquiryAnswer) -> Result<(), AnswerRefusal> {
        let (agent, id) = (self.agent, id.to_owned());
        let unknown = AnswerRefusal::Unknown { id: id.clone() };
        if !self.agents.is_planted() {
            return Err(unknown);
        }
        self.ask(|reply| SessionReport::Deciding {
            agent,
            id,
            word,
            reply,
        })
        .await
        .unwrap_or(Err(unknown))
    }

    async fn review(&self, id: &SubmissionId, request: ReviewRequest) -> Result<(), String> {
        self.agents.review(self.agent, id.clone(), request).await
    }

    fn unrecorded(&self, what: &'static str, why: String) {
        // The root's client asked itself, and was told.
        if self.agent != AgentId::ROOT {
            let agent = self.agent;
            self.report(SessionReport::Unrecorded { agent, what, why });
        }
    }

    fn hook_warned(&self, message: &str) {
        // The root says so itself.
        if self.agent != AgentId::ROOT {
            self.report(SessionReport::HookWarned {
                agent: self.agent,
                message: message.to_owned(),
            });
        }
    }

    fn reasoning(&self, header: &str) {
        if self.agent != AgentId::ROOT {
            self.report(SessionReport::Reasoning {
                agent: self.agent,
                header: header.to_owned(),
            });
        }
    }

    fn settings(&self, context: &TurnContext) {
        self.agents.ceilings().set(self.agent, context);
    }

    fn rights(&self, context: &TurnContext) -> Option<MemberRights> {
        self.agents.ceilings().left_to(self.agent, context)
    }

    fn activity_handle(&self) -> &ActivityHandle {
        &self.vitals
    }

    async fn describe_subtree(&self) -> Option<String> {
        if !self.agents.is_planted() {
            return None;
        }
        let agent = self.agent;
        self.ask(|reply| SessionReport::Standing { agent, reply })
            .await?
    }

    fn unattended(&self) {
        if self.agent == AgentId::ROOT {
            self.report(SessionReport::Unattended);
        }
    }

    fn subtree_idle(&self) -> Option<Completion> {
        let agents = self.tree_of_root()?;
        Some(Box::pin(async move { agents.wait_until_idle().await }))
    }

    fn close_subtree(&self) -> Option<Completion> {
        let agents = self.tree_of_root()?;
        Some(Box::pin(async move { agents.close().await }))
    }
}

impl Drop for TreeMembership {
    fn drop(&mut self) {
        // The root's membership ends with its session: nobody is left to run the tree for.
        if self.agent == AgentId::ROOT {
            self.agents.post(SupervisorInput::RootGone);
        }
    }
}
