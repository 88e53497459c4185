//! What the `agent` lines of a tree's logs say: its facts in their order, and what came with
//! them. Whoever reads the logs of a tree gives every line to [`LoggedFacts::take`].

use std::collections::{BTreeMap, HashMap, HashSet};

use troupe_protocol::result::TaskResult;
use troupe_protocol::spawn::SpawnSpec;
use troupe_protocol::tree::{
    AgentLine, AgentMessage, AgentMetadata, MessageId, TreeFact, TreeRecord,
};
use troupe_protocol::{AgentId, SessionId};

#[derive(Debug, Default)]
pub struct LoggedFacts {
    pub records: Vec<TreeRecord>,
    /// The numbers of the facts so far. A line whose receipt was lost stands in two logs, or
    /// twice in one.
    known: HashSet<u64>,
    pub specs: BTreeMap<AgentId, SpawnSpec>,
    pub mail: HashMap<MessageId, AgentMessage>,
    /// Oldest first.
    pub results: BTreeMap<AgentId, Vec<TaskResult>>,
    notes: NewestTexts,
    names: NewestTexts,
    stop_notes: NewestTexts,
}

/// A text of each agent that may be written again, with the number of the fact that wrote it.
type NewestTexts = BTreeMap<AgentId, (u64, Option<String>)>;

impl LoggedFacts {
    /// Takes a line of the tree in. Returns the session that it tells the birth of: its log is
    /// to be read too.
    pub fn take(&mut self, line: AgentLine) -> Option<SessionId> {
        let AgentLine {
            record,
            spec,
            message,
            result,
            ..
        } = line;
        if !self.known.insert(record.order) {
            return None;
        }
        let order = record.order;
        let mut born = None;
        match &record.fact {
            TreeFact::Born(birth) => {
                born = Some(birth.session);
                if let Some(spec) = spec {
                    self.specs.insert(birth.agent, *spec);
                }
                if let Some(first) = &birth.first {
                    self.keep(first.id, message);
                }
            }
            TreeFact::Sent { envelope, .. } => self.keep(envelope.id, message),
            TreeFact::Ended {
                agent, callback, ..
            } => {
                if let Some(callback) = callback {
                    self.keep(callback.id, message);
                }
                if let Some(result) = result {
                    self.results.entry(*agent).or_default().push(*result);
                }
            }
            TreeFact::Kept(AgentMetadata::Note { agent, note }) => {
                keep_newest(&mut self.notes, *agent, order, note.as_ref());
            }
            TreeFact::Kept(AgentMetadata::Name { agent, name }) => {
                keep_newest(&mut self.names, *agent, order, name.as_ref());
            }
            TreeFact::StopAsked { agent, note, .. } => {
                keep_newest(&mut self.stop_notes, *agent, order, note.as_ref());
            }
            _ => {}
        }
        self.records.push(record);
        born
    }

    /// Puts the facts of all logs into their order.
    pub fn sort(&mut self) {
        self.records.sort_by_key(|record| record.order);
    }

    pub fn note(&self, agent: AgentId) -> Option<&str> {
        newest(&self.notes, agent)
    }

    /// Returns what an agent's conversation is called, if somebody gave it a name.
    pub fn name(&self, agent: AgentId) -> Option<&str> {
        newest(&self.names, agent)
    }

    /// Returns why an agent was asked to stop last.
    pub fn stop_note(&self, agent: AgentId) -> Option<&str> {
        newest(&self.stop_notes, agent)
    }

    fn keep(&mut self, id: MessageId, message: Option<Box<AgentMessage>>) {
        if let Some(message) = message {
            self.mail.insert(id, *message);
        }
    }
}

fn keep_newest(texts: &mut NewestTexts, agent: AgentId, order: u64, text: Option<&String>) {
    if texts.get(&agent).is_none_or(|(known, _)| *known < order) {
        texts.insert(agent, (order, text.cloned()));
    }
}

fn newest(texts: &NewestTexts, agent: AgentId) -> Option<&str> {
    let (_, text) = texts.get(&agent)?;
    text.as_deref()
}
