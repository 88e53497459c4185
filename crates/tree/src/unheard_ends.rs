//! What an agent has yet to hear of its children: the ends of their tasks, in the order in
//! which they came. A callback brings one, or a wait; whichever comes first makes it old. So
//! a parent that is never called back can still ask for what it has not heard.

use std::collections::VecDeque;

use troupe_protocol::tree::{MessageId, TaskEnding};
use troupe_protocol::{AgentId, SubmissionId};

use crate::limits::NEWS_MAX;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UnheardEnds(VecDeque<UnheardEnd>);

/// The end of one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnheardEnd {
    /// That of the callback which tells it, whether or not there is one.
    pub id: MessageId,
    pub child: AgentId,
    pub task: SubmissionId,
    pub end: TaskEnding,
}

impl UnheardEnds {
    /// Adds an end. The oldest gives way to one too many: its result stays on disk.
    pub(crate) fn put(&mut self, item: UnheardEnd) {
        if self.contains(item.id) {
            return;
        }
        if self.0.len() >= NEWS_MAX {
            self.0.pop_front();
        }
        self.0.push_back(item);
    }

    /// Takes an end that was heard of. Returns whether it was news.
    pub(crate) fn take(&mut self, id: MessageId) -> bool {
        let found = self.0.iter().position(|item| item.id == id);
        let was_news = found.and_then(|at| self.0.remove(at)).is_some();
        // Most agents have heard everything, and keep no room for more then.
        if self.0.is_empty() {
            self.0 = VecDeque::new();
        }
        was_news
    }

    pub fn contains(&self, id: MessageId) -> bool {
        self.0.iter().any(|item| item.id == id)
    }

    /// Returns the ends, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &UnheardEnd> {
        self.0.iter()
    }
}
