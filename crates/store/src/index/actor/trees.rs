//! What the thread is asked about agent trees.

use troupe_protocol::SessionId;
use troupe_protocol::discard;

use crate::error::StoreError;
use crate::tree::{AgentLocation, AgentRow, ApprovalRow, MailRow, TaskRow, TreeRow};

use super::{IndexActor, IndexRequest, IndexerHandle, Reply};

#[derive(Debug)]
pub(super) enum TreeQuestion {
    TreeOf(SessionId, Reply<Option<AgentLocation>>),
    Trees(usize, Reply<Vec<TreeRow>>),
    Tree(SessionId, Reply<Vec<AgentRow>>),
    Inbox(AgentLocation, Reply<Vec<MailRow>>),
    Tasks(SessionId, Reply<Vec<TaskRow>>),
    Approvals(SessionId, Reply<Vec<ApprovalRow>>),
}

impl IndexerHandle {
    pub(crate) async fn tree_of(
        &self,
        session: SessionId,
    ) -> Result<Option<AgentLocation>, StoreError> {
        self.ask_of_trees(|reply| TreeQuestion::TreeOf(session, reply))
            .await
    }

    pub(crate) async fn trees(&self, limit: usize) -> Result<Vec<TreeRow>, StoreError> {
        self.ask_of_trees(|reply| TreeQuestion::Trees(limit, reply))
            .await
    }

    pub(crate) async fn tree(&self, root: SessionId) -> Result<Vec<AgentRow>, StoreError> {
        self.ask_of_trees(|reply| TreeQuestion::Tree(root, reply))
            .await
    }

    pub(crate) async fn inbox(&self, at: AgentLocation) -> Result<Vec<MailRow>, StoreError> {
        self.ask_of_trees(|reply| TreeQuestion::Inbox(at, reply))
            .await
    }

    pub(crate) async fn tasks_of(&self, session: SessionId) -> Result<Vec<TaskRow>, StoreError> {
        self.ask_of_trees(|reply| TreeQuestion::Tasks(session, reply))
            .await
    }

    pub(crate) async fn open_approvals(
        &self,
        root: SessionId,
    ) -> Result<Vec<ApprovalRow>, StoreError> {
        self.ask_of_trees(|reply| TreeQuestion::Approvals(root, reply))
            .await
    }

    async fn ask_of_trees<T>(
        &self,
        question: impl FnOnce(Reply<T>) -> TreeQuestion,
    ) -> Result<T, StoreError> {
        self.ask(|reply| IndexRequest::Trees(question(reply))).await
    }
}

impl IndexActor {
    /// As with other questions, an answer that nobody takes is dropped.
    pub(super) fn answer(&mut self, question: TreeQuestion) {
        match question {
            TreeQuestion::TreeOf(session, reply) => {
                discard!(
                    reply.send(self.caught_up(|index| index.tree_of(session))),
                    "nobody waits for the answer"
                );
            }
            TreeQuestion::Trees(limit, reply) => {
                discard!(
                    reply.send(self.caught_up(|index| index.trees(limit))),
                    "nobody waits for the answer"
                );
            }
            TreeQuestion::Tree(root, reply) => {
                discard!(
                    reply.send(self.caught_up(|index| index.tree(root))),
                    "nobody waits for the answer"
                );
            }
            TreeQuestion::Inbox(at, reply) => {
                discard!(
                    reply.send(self.caught_up(|index| index.inbox(at))),
                    "nobody waits for the answer"
                );
            }
            TreeQuestion::Tasks(session, reply) => {
                discard!(
                    reply.send(self.caught_up(|index| index.tasks_of(session))),
                    "nobody waits for the answer"
                );
            }
            TreeQuestion::Approvals(root, reply) => {
                discard!(
                    reply.send(self.caught_up(|index| index.open_approvals(root))),
                    "nobody waits for the answer"
                );
            }
        }
    }
}
