//! The host of a session that is a member of no tree: it is told everything and gives nothing.

use async_trait::async_trait;
use troupe_protocol::op::ReviewRequest;
use troupe_protocol::result::TaskResult;
use troupe_protocol::tree::MessageId;
use troupe_protocol::{CallId, PendingQuestion, SubmissionId};
use troupe_tools::DeliveryClaim;

use crate::host::{ActivityHandle, OpenedSession, SessionHost, StaleRequest, WriteBatch};
use crate::inquiry::{AnswerRefusal, InquiryAnswer};

/// What a client is told who asks a lone session for a review.
const NO_TREE: &str = "this session is not a member of an agent tree, which a review needs";

#[derive(Debug, Default)]
pub struct NoHost(ActivityHandle);

#[async_trait]
impl SessionHost for NoHost {
    fn opened(&self, _: OpenedSession) {}

    fn has_tree(&self) -> bool {
        false
    }

    async fn starting(
        &self,
        _: &SubmissionId,
        _: Option<MessageId>,
    ) -> Result<WriteBatch, StaleRequest> {
        Ok(WriteBatch::default())
    }

    async fn taking(&self, _: &[MessageId]) -> Result<WriteBatch, StaleRequest> {
        Ok(WriteBatch::default())
    }

    async fn claiming(&self, _: Vec<DeliveryClaim>) -> WriteBatch {
        WriteBatch::default()
    }

    async fn ending(&self, _: TaskResult) -> WriteBatch {
        WriteBatch::default()
    }

    fn question_asked(&self, _: &CallId, _: &PendingQuestion) {}

    fn question_answered(&self, _: &CallId, _: &InquiryAnswer) {}

    async fn decide(&self, id: &str, _: InquiryAnswer) -> Result<(), AnswerRefusal> {
        let id = id.to_owned();
        Err(AnswerRefusal::Unknown { id })
    }

    async fn review(&self, _: &SubmissionId, _: ReviewRequest) -> Result<(), String> {
        Err(NO_TREE.to_owned())
    }

    fn reasoning(&self, _: &str) {}

    fn activity_handle(&self) -> &ActivityHandle {
        &self.0
    }
}
