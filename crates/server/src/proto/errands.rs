//! What is done for one client beside the session: queries that are being answered, agents that
//! are followed. Dropping it ends all of them.

use std::collections::BTreeMap;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::link::ServerNotice;
use troupe_protocol::{AgentId, SubmissionId};

use super::hub::refused;
use super::office::SessionOffice;
use crate::limits::{AGENTS_FOLLOWED_MAX, QUERIES_OPEN_MAX};

#[derive(Debug)]
pub(super) struct Errands {
    tell: mpsc::Sender<ServerNotice>,
    queries: JoinSet<()>,
    followed: BTreeMap<AgentId, AbortOnDropHandle<()>>,
}

impl Errands {
    pub(super) fn new(tell: mpsc::Sender<ServerNotice>) -> Self {
        Self {
            tell,
            queries: JoinSet::new(),
            followed: BTreeMap::new(),
        }
    }

    /// Has a query answered; returns why it is not.
    pub(super) fn run(
        &mut self,
        id: SubmissionId,
        answer: impl Future<Output = ServerNotice> + Send + 'static,
    ) -> Option<ServerNotice> {
        while self.queries.try_join_next().is_some() {}
        if self.queries.len() >= QUERIES_OPEN_MAX {
            let message =
                format!("{QUERIES_OPEN_MAX} queries of this client wait already; try again later");
            return Some(refused(Some(id), ErrorInfo::InvalidSubmission, message));
        }
        let tell = self.tell.clone();
        self.queries.spawn(async move {
            let notice = answer.await;
            // A client that is gone needs no answer.
            tell.send(notice).await.ok();
        });
        None
    }

    /// Tells what an agent says from now on; returns why not.
    pub(super) fn follow(
        &mut self,
        office: &SessionOffice,
        agent: AgentId,
        after: u64,
    ) -> Option<ServerNotice> {
        self.followed.retain(|_, task| !task.is_finished());
        if self.followed.len() >= AGENTS_FOLLOWED_MAX && !self.followed.contains_key(&agent) {
            let message =
                format!("{AGENTS_FOLLOWED_MAX} agents are followed; unfollow one of them first");
            return Some(refused(None, ErrorInfo::InvalidSubmission, message));
        }
        let (office, tell) = (office.clone(), self.tell.clone());
        let following = async move {
            if let Err(message) = office.follow(agent, after, &tell).await {
                let notice = refused(None, ErrorInfo::NotFound, message);
                // As above.
                tell.send(notice).await.ok();
            }
        };
        let task = AbortOnDropHandle::new(tokio::spawn(following));
        self.followed.insert(agent, task);
        None
    }

    pub(super) fn unfollow(&mut self, agent: AgentId) {
        self.followed.remove(&agent);
    }
}
