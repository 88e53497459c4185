//! A tree as its logs tell it. Reading further costs what was added, so that a tree can be
//! watched while another process runs it.

use std::collections::{BTreeMap, HashMap, HashSet};

use troupe_protocol::agent::AgentStatus;
use troupe_protocol::result::TaskResult;
use troupe_protocol::rollout::{RolloutRecord, SessionMeta};
use troupe_protocol::spawn::SpawnSpec;
use troupe_protocol::tree::{
    AgentLine, AgentMessage, AgentMetadata, Interruption, MessageId, TimeMs, TreeFact, TreeRecord,
};
use troupe_protocol::{AgentId, EventMsg, SessionId};
use troupe_store::{LogLine, LogPosition, SessionStore, StoreError};
use troupe_tree::logged_lives::{LoggedLives, without_a_task};
use troupe_tree::{AgentAddressError, AgentRecord, CurrentStatus, TreeMemory};

use crate::control::AgentListRow;
use crate::control::row::{ChildBirth, PendingMail, TokenSums};
use crate::failure::CommandFailure;

#[derive(Debug)]
pub struct LoggedTree {
    pub root: SessionId,
    /// The first line of the root's log.
    pub meta: SessionMeta,
    pub memory: TreeMemory,
    pub specs: BTreeMap<AgentId, SpawnSpec>,
    /// Oldest first.
    pub results: BTreeMap<AgentId, Vec<TaskResult>>,
    pub mail: HashMap<MessageId, AgentMessage>,
    notes: BTreeMap<AgentId, LoggedNote>,
    records: Vec<TreeRecord>,
    /// The numbers of the records. A line whose receipt was lost stands in two logs, or twice
    /// in one.
    known: HashSet<u64>,
    logs: Vec<LogCursor>,
    /// The tokens that each session has used.
    tokens: HashMap<SessionId, u64>,
    lives: LoggedLives,
    /// How those stood who are lost, when the root's log told of them last.
    lost: BTreeMap<AgentId, AgentStatus>,
}

/// How far a log was read.
#[derive(Debug)]
struct LogCursor {
    session: SessionId,
    next: LogPosition,
}

#[derive(Debug)]
struct LoggedNote {
    order: u64,
    text: Option<String>,
}

/// Whether a process runs the tree: without one, what began cannot be running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeLiveness {
    Yes,
    No,
}

impl LoggedTree {
    pub async fn read(store: &dyn SessionStore, root: SessionId) -> Result<Self, CommandFailure> {
        let first = store.read_all(root, LogPosition::default()).await;
        let first = first.map_err(CommandFailure::not_started)?;
        let meta = match first.lines.first().map(LogLine::record) {
            Some(Ok(stamped)) => match stamped.record {
                RolloutRecord::SessionMeta(meta) => Some(*meta),
                _ => None,
            },
            _ => None,
        };
        let meta = meta.ok_or_else(|| {
            CommandFailure::failed(anyhow::anyhow!(
                "the log of session {root} does not begin as one; `troupe sessions show {root}` \
                 may tell more"
            ))
        })?;
        let mut chronicle = Self {
            root,
            meta,
            memory: TreeMemory::default(),
            specs: BTreeMap::new(),
            results: BTreeMap::new(),
            mail: HashMap::new(),
            notes: BTreeMap::new(),
            records: Vec::new(),
            known: HashSet::new(),
            logs: vec![LogCursor {
                session: root,
                next: LogPosition::default(),
            }],
            tokens: HashMap::new(),
            lives: LoggedLives::default(),
            lost: BTreeMap::new(),
        };
        chronicle.follow(store).await?;
        Ok(chronicle)
    }

    /// Reads what was added. Returns whether the tree changed.
    pub async fn follow(&mut self, store: &dyn SessionStore) -> Result<bool, CommandFailure> {
        let known = self.records.len();
        // The births in one log add logs to the end.
        let mut index = 0;
        while index < self.logs.len() {
            self.read_log(store, index).await?;
            index += 1;
        }
        let changed = self.records.len() > known;
        if changed {
            self.fold();
        }
        Ok(changed)
    }

    async fn read_log(
        &mut self,
        store: &dyn SessionStore,
        index: usize,
    ) -> Result<(), CommandFailure> {
        loop {
            let LogCursor { session, next } = self.logs[index];
            let batch = match store.read_all(session, next).await {
                Ok(batch) => batch,
                // A child that has not been opened yet has no log.
                Err(StoreError::NotFound { .. }) if index > 0 => return Ok(()),
                Err(error) => return Err(CommandFailure::failed(error)),
            };
            for line in batch.lines.iter().filter(|line| may_be_ours(&line.bytes)) {
                // One that cannot be read is reported by whoever resumes the tree.
                let Ok(stamped) = line.record() else { continue };
                if session == self.root {
                    let at = TimeMs(stamped.timestamp.0);
                    self.lives.take(self.root, &stamped.record, at);
                }
                match stamped.record {
                    RolloutRecord::Agent(line) if line.tree == self.root => self.take(*line),
                    RolloutRecord::EventMsg(event) => self.count(session, &event.msg),
                    _ => {}
                }
            }
            let is_stuck = batch.next == next;
            self.logs[index].next = batch.next;
            if batch.at_end || is_stuck {
                return Ok(());
            }
        }
    }

    /// The last count of a session is all that it has used, also in a task that was cut off.
    fn count(&mut self, session: SessionId, msg: &EventMsg) {
        if let EventMsg::TokenCount {
            info: Some(info), ..
        } = msg
        {
            let total = info.total_token_usage.total_tokens;
            self.tokens.insert(session, total);
        }
    }

    fn take(&mut self, line: AgentLine) {
        let AgentLine {
            record,
            spec,
            message,
            result,
            ..
        } = line;
        if !self.known.insert(record.order) {
            return;
        }
        let mut keep = |id: MessageId, message: Option<Box<AgentMessage>>| {
            if let Some(message) = message {
                self.mail.insert(id, *message);
            }
        };
        match &record.fact {
            TreeFact::Born(birth) => {
                if let Some(first) = &birth.first {
                    keep(first.id, message);
                }
                self.logs.push(LogCursor {
                    session: birth.session,
                    next: LogPosition::default(),
                });
                if let Some(spec) = spec {
                    self.specs.insert(birth.agent, *spec);
                }
            }
            TreeFact::Sent { envelope, .. } => keep(envelope.id, message),
            TreeFact::Ended {
                agent, callback, ..
            } => {
                if let Some(callback) = callback {
                    keep(callback.id, message);
                }
                if let Some(result) = result {
                    self.results.entry(*agent).or_default().push(*result);
                }
            }
            TreeFact::Kept(AgentMetadata::Note { agent, note }) => {
                let order = record.order;
                let known = self.notes.get(agent);
                if known.is_none_or(|known| known.order < order) {
                    let text = note.clone();
                    self.notes.insert(*agent, LoggedNote { order, text });
                }
            }
            _ => {}
        }
        self.records.push(record);
    }

    fn fold(&mut self) {
        self.records.sort_by_key(|record| record.order);
        self.memory = TreeMemory::default();
        for record in &self.records {
            // What does not fit yet stands in a line that was not read yet, or never will be.
            self.memory.fold(record).ok();
        }
        let unbegun = without_a_task(&self.records);
        let lost = self.lives.mark_lost_agents(&mut self.memory, &unbegun);
        let last = lost.into_iter().map(|lost| (lost.agent, lost.last));
        self.lost = last.collect();
    }

    /// Returns how an agent stood when the root's log told of it last, if it is lost.
    pub fn last_known_status(&self, agent: AgentId) -> Option<&AgentStatus> {
        self.lost.get(&agent)
    }

    /// Returns all facts, in their order.
    pub fn records(&self) -> Vec<TreeRecord> {
        self.records.clone()
    }

    /// Finds the agent that a person means: by any address, or by the end of its path if no
    /// other path ends so.
    pub fn resolve(&self, text: &str) -> Result<AgentId, AgentAddressError> {
        let unknown = match self.memory.resolve(AgentId::ROOT, text) {
            Err(unknown @ AgentAddressError::Unknown(_)) => unknown,
            found => return found,
        };
        let end = format!("/{}", text.trim().trim_start_matches('/'));
        let ends_so = |agent: &&AgentRecord| agent.path.ends_with(&end);
        let found: Vec<&AgentRecord> = self.memory.iter().filter(ends_so).collect();
        match found.as_slice() {
            [] => Err(unknown),
            [agent] => Ok(agent.id),
            many => Err(AgentAddressError::Ambiguous {
                text: text.to_owned(),
                candidates: many.iter().map(|agent| agent.path.clone()).collect(),
            }),
        }
    }

    /// Returns an agent, which must be one that [`LoggedTree::resolve`] or the index named.
    pub fn agent(&self, agent: AgentId) -> Result<&AgentRecord, CommandFailure> {
        self.memory.get(agent).ok_or_else(|| {
            CommandFailure::failed(anyhow::anyhow!(
                "agent {agent} is not in the logs of session {}; `troupe reindex` rebuilds the \
                 index",
                self.root.short()
            ))
        })
    }

    pub fn note(&self, agent: AgentId) -> Option<&str> {
        self.notes.get(&agent)?.text.as_deref()
    }

    /// Returns all agents by number.
    pub fn rows(&self, served: TreeLiveness) -> Vec<AgentListRow> {
        let agents = self.memory.iter();
        agents.map(|agent| self.row(agent, served)).collect()
    }

    pub fn row(&self, agent: &AgentRecord, served: TreeLiveness) -> AgentListRow {
        let lost = self.last_known_status(agent.id);
        let status = match lost {
            Some(_) => CurrentStatus::Lost,
            None => status(agent, served),
        };
        let last = self.results.get(&agent.id).and_then(|all| all.last());
        AgentListRow {
            agent_id: agent.id,
            session_id: agent.session,
            parent_agent_id: agent.parent,
            path: agent.path.clone(),
            made: agent.genealogy.as_ref().and_then(|genealogy| {
                let spec = self.specs.get(&agent.id)?;
                Some(ChildBirth::by(spec, genealogy.origin))
            }),
            note: self.note(agent.id).map(str::to_owned),
            status: match lost {
                Some(last) => AgentStatus::Lost(Some(Box::new(last.clone()))),
                None => status.to_wire(last.and_then(TaskResult::text)),
            },
            detail: status.detail().map(str::to_owned),
            since_ms: agent.since.0,
            born_ms: agent.born_at.0,
            ran_ms: last.and_then(|result| result.evidence.ran_ms()),
            tokens: TokenSums {
                own: self.tokens(agent.id),
                subtree: self
                    .memory
                    .within(agent.id)
                    .into_iter()
                    .map(|below| self.tokens(below))
                    .sum(),
            },
            pending: PendingMail::of(agent.inbox.depth()),
            last_task: last.map(|result| result.task_id.clone()),
            pruned: agent.place == troupe_tree::agent::AgentLiveness::Pruned,
        }
    }

    fn tokens(&self, agent: AgentId) -> u64 {
        let agent = self.memory.get(agent);
        let counted = agent.and_then(|agent| self.tokens.get(&agent.session));
        counted.copied().unwrap_or(0)
    }
}

/// Returns how an agent stands, as far as it is written.
pub fn status(agent: &AgentRecord, served: TreeLiveness) -> CurrentStatus {
    match (CurrentStatus::from(&agent.lifecycle), served) {
        (CurrentStatus::PendingInit, _) if agent.is_ready() => CurrentStatus::Ready,
        (CurrentStatus::Running, TreeLiveness::No) => CurrentStatus::Interrupted {
            why: Interruption::Crash,
        },
        (status, _) => status,
    }
}

/// Tells most other lines by their first bytes, as our own writer puts the kinds there.
fn may_be_ours(line: &[u8]) -> bool {
    const KIND_BYTES: usize = 64;
    const EVENT_KIND_BYTES: usize = 256;
    let has = |bytes: usize, text: &[u8]| {
        let head = &line[..line.len().min(bytes)];
        head.windows(text.len()).any(|window| window == text)
    };
    has(KIND_BYTES, br#""type":"agent""#)
        || !has(KIND_BYTES, br#""type":""#)
        || (has(KIND_BYTES, br#""type":"event_msg""#)
            && (has(EVENT_KIND_BYTES, br#""type":"token_count""#)
                || has(EVENT_KIND_BYTES, br#""type":"subagent_lifecycle""#)))
}
