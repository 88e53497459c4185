//! Which submissions were taken before. A task goes by the id of its submission, so an id counts
//! once for each client: what comes again under it is known, and not done a second time.

use std::collections::VecDeque;

use troupe_protocol::{ClientId, SubmissionId};

use crate::limits::SUBMISSIONS_KNOWN_MAX;

/// Who hands a submission over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Submitter {
    /// The one client that there is.
    Holder,
    /// One of several, who count for themselves.
    Client(ClientId),
    /// The program itself, in nobody's name.
    Program,
}

/// The last submissions that were taken.
#[derive(Debug, Default)]
pub(super) struct KnownIds(VecDeque<(Submitter, SubmissionId)>);

impl KnownIds {
    /// Notes a submission. Returns whether it is new.
    pub(super) fn note(&mut self, by: Submitter, id: &SubmissionId) -> bool {
        if self.0.iter().any(|(who, known)| *who == by && known == id) {
            return false;
        }
        if self.0.len() >= SUBMISSIONS_KNOWN_MAX {
            self.0.pop_front();
        }
        self.0.push_back((by, id.clone()));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_counts_for_itself() {
        let mut known = KnownIds::default();
        let id = SubmissionId("1".to_owned());
        let client = |name: &str| Submitter::Client(ClientId(name.to_owned()));
        assert!(known.note(Submitter::Holder, &id));
        assert!(known.note(client("a"), &id));
        assert!(known.note(client("b"), &id));
        assert!(!known.note(client("a"), &id));
        assert!(!known.note(Submitter::Holder, &id));
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let mut known = KnownIds::default();
        let id = |n: usize| SubmissionId(n.to_string());
        for n in 0..=SUBMISSIONS_KNOWN_MAX {
            assert!(known.note(Submitter::Holder, &id(n)));
        }
        assert!(known.note(Submitter::Holder, &id(0)));
        assert!(!known.note(Submitter::Holder, &id(SUBMISSIONS_KNOWN_MAX)));
    }
}
