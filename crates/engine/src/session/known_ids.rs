//! Which submissions were taken before. A task goes by the id of its submission, so an id counts
//! once for each client: what comes again under it is known, and not done a second time.
//!
//! Of clients that share a session, the log knows their tasks too, so that one which comes back
//! after a crash may send again what it does not know to have arrived. It is the same one if it
//! shows the secret of its earlier welcome. Who has none begins anew, and may count from 1 again:
//! the log does not hold that against it.

use std::collections::VecDeque;

use troupe_protocol::link::SecretDigest;
use troupe_protocol::op::Op;
use troupe_protocol::rollout::{RolloutRecord, SubmittedTask};
use troupe_protocol::{ClientId, EventMsg, SessionId, SubmissionId};
use troupe_store::{LogReader, SessionStore, StoreError};

use crate::limits::SUBMISSIONS_KNOWN_MAX;

/// The source of a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SubmissionSource {
    /// The one client that there is.
    Holder,
    /// One of several, who count for themselves.
    Client(ClientSeat),
    /// The program itself, in nobody's name.
    Program,
}

/// A client among several. Names are public; who has the secret is who it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientSeat {
    pub client: ClientId,
    pub secret_digest: SecretDigest,
}

/// The last submissions that were taken.
#[derive(Debug, Default)]
pub(super) struct KnownIds {
    ids: VecDeque<(SubmissionSource, SubmissionId)>,
    /// The session whose log was read.
    read: Option<SessionId>,
}

impl KnownIds {
    /// Notes a submission. Returns whether it is new.
    pub(super) fn note(&mut self, by: SubmissionSource, id: &SubmissionId) -> bool {
        let mut known = self.ids.iter();
        if known.any(|(who, known)| *who == by && known == id) {
            return false;
        }
        if self.ids.len() >= SUBMISSIONS_KNOWN_MAX {
            self.ids.pop_front();
        }
        self.ids.push_back((by, id.clone()));
        true
    }

    /// Learns from a session's log, once, which tasks were begun in it and for whom.
    pub(super) async fn learn(
        &mut self,
        store: &dyn SessionStore,
        session: SessionId,
    ) -> Result<(), StoreError> {
        if self.read == Some(session) {
            return Ok(());
        }
        let mut log = LogReader::new(session);
        let mut asked = VecDeque::new();
        while let Some(lines) = log.next(store).await? {
            for line in lines
                .iter()
                .filter(|line| line.is("submitted") || line.is("event_msg"))
            {
                // A line that cannot be read tells nothing; its damage is warned of elsewhere.
                if let Ok(stamped) = line.record() {
                    self.take(stamped.record, &mut asked);
                }
            }
        }
        self.read = Some(session);
        Ok(())
    }

    /// A submission counts once its task has begun: what a crash kept from beginning is done when
    /// it comes again.
    fn take(&mut self, record: RolloutRecord, asked: &mut VecDeque<SubmittedTask>) {
        match record {
            RolloutRecord::Submitted(submitted) => {
                if asked.len() >= SUBMISSIONS_KNOWN_MAX {
                    asked.pop_front();
                }
                asked.push_back(submitted);
            }
            RolloutRecord::EventMsg(event) if matches!(event.msg, EventMsg::TurnStarted(_)) => {
                let last = asked.iter().rposition(|task| task.id == event.id);
                if let Some(task) = last.and_then(|at| asked.remove(at)) {
                    let seat = ClientSeat {
                        client: task.client,
                        secret_digest: task.secret_digest,
                    };
                    self.note(SubmissionSource::Client(seat), &task.id);
                }
            }
            _ => {}
        }
    }
}

/// Tells whether an operation begins a task, which goes by the id of its submission.
pub(super) fn begins_task(op: &Op) -> bool {
    matches!(
        op,
        Op::UserInput { .. } | Op::UserTurn { .. } | Op::Compact | Op::RunUserShellCommand { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_counts_for_itself() {
        let mut known = KnownIds::default();
        let id = SubmissionId("1".to_owned());
        let client = |name: &str| {
            SubmissionSource::Client(ClientSeat {
                client: ClientId(name.to_owned()),
                secret_digest: SecretDigest(String::new()),
            })
        };
        assert!(known.note(SubmissionSource::Holder, &id));
        assert!(known.note(client("a"), &id));
        assert!(known.note(client("b"), &id));
        assert!(!known.note(client("a"), &id));
        assert!(!known.note(SubmissionSource::Holder, &id));
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let mut known = KnownIds::default();
        let id = |n: usize| SubmissionId(n.to_string());
        for n in 0..=SUBMISSIONS_KNOWN_MAX {
            assert!(known.note(SubmissionSource::Holder, &id(n)));
        }
        assert!(known.note(SubmissionSource::Holder, &id(0)));
        assert!(!known.note(SubmissionSource::Holder, &id(SUBMISSIONS_KNOWN_MAX)));
    }
}
