//! What agents' models are told when their next tasks begin, because nothing else tells them.

use std::collections::BTreeSet;

use troupe_protocol::AgentId;
use troupe_protocol::tree::MessageId;

#[derive(Debug, Default)]
pub(super) struct UnheardNews {
    /// For the root: agents that its history names and its tree does not have.
    foreign: Option<String>,
    /// Who was cut off when the engine stopped, and whose parents are to be told.
    cut_off: BTreeSet<AgentId>,
    /// Ends that parents were told of without their results.
    ends_told: BTreeSet<MessageId>,
}

impl UnheardNews {
    pub(super) fn note_foreign(&mut self, text: Option<String>) {
        self.foreign = text;
    }

    pub(super) fn take_foreign(&mut self) -> Option<String> {
        self.foreign.take()
    }

    pub(super) fn note_cut_off(&mut self, agents: impl IntoIterator<Item = AgentId>) {
        self.cut_off.extend(agents);
    }

    /// Takes out those that were cut off and are meant.
    pub(super) fn take_cut_off(&mut self, is_meant: impl Fn(AgentId) -> bool) -> Vec<AgentId> {
        let taken = self.cut_off.extract_if(.., |agent| is_meant(*agent));
        taken.collect()
    }

    pub(super) fn note_ends_told(&mut self, ends: impl IntoIterator<Item = MessageId>) {
        self.ends_told.extend(ends);
    }

    pub(super) fn is_end_told(&self, end: MessageId) -> bool {
        self.ends_told.contains(&end)
    }
}
