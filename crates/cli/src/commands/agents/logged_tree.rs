//! A tree as its logs tell it. Reading further costs what was added, so that a tree can be
//! watched while another process runs it.

use std::collections::{BTreeMap, HashMap};

use troupe_protocol::agent::{AgentCard, AgentMaking, AgentStatus, TokenSums};
use troupe_protocol::result::TaskResult;
use troupe_protocol::rollout::{RolloutRecord, SessionMeta};
use troupe_protocol::text::one_line;
use troupe_protocol::tree::{Interruption, TimeMs, TreeRecord};
use troupe_protocol::{AgentId, EventMsg, SessionId};
use troupe_store::{LogLine, LogPosition, LogReader, SessionStore, StoreError};
use troupe_tree::logged_lives::{LoggedLives, without_a_task};
use troupe_tree::{AgentAddressError, AgentRecord, CurrentStatus, LoggedFacts, TreeMemory};

use crate::failure::CommandFailure;
use crate::limits::SHOWN_PREVIEW_CHARS_MAX;

#[derive(Debug)]
pub struct LoggedTree {
    pub root: SessionId,
    /// The first line of the root's log.
    pub meta: SessionMeta,
    pub memory: TreeMemory,
    pub facts: LoggedFacts,
    logs: Vec<LogReader>,
    /// The tokens that each session has used.
    tokens: HashMap<SessionId, u64>,
    lives: LoggedLives,
    /// How those stood who are lost, when the root's log told of them last.
    lost: BTreeMap<AgentId, AgentStatus>,
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
            facts: LoggedFacts::default(),
            logs: vec![LogReader::new(root)],
            tokens: HashMap::new(),
            lives: LoggedLives::default(),
            lost: BTreeMap::new(),
        };
        chronicle.follow(store).await?;
        Ok(chronicle)
    }

    /// Reads what was added. Returns whether the tree changed.
    pub async fn follow(&mut self, store: &dyn SessionStore) -> Result<bool, CommandFailure> {
        let known = self.facts.records.len();
        // The births in one log add logs to the end.
        let mut index = 0;
        while index < self.logs.len() {
            self.read_log(store, index).await?;
            index += 1;
        }
        let changed = self.facts.records.len() > known;
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
        let session = self.logs[index].session();
        loop {
            let lines = match self.logs[index].next(store).await {
                Ok(Some(lines)) => lines,
                Ok(None) => return Ok(()),
                // A child that has not been opened yet has no log.
                Err(StoreError::NotFound { .. }) if index > 0 => return Ok(()),
                Err(error) => return Err(CommandFailure::failed(error)),
            };
            for line in lines.iter().filter(|line| may_be_ours(&line.bytes)) {
                // One that cannot be read is reported by whoever resumes the tree.
                let Ok(stamped) = line.record() else { continue };
                if session == self.root {
                    let at = TimeMs(stamped.timestamp.0);
                    self.lives.take(self.root, &stamped.record, at);
                }
                match stamped.record {
                    RolloutRecord::Agent(line) if line.tree == self.root => {
                        let born = self.facts.take(*line);
                        self.logs.extend(born.map(LogReader::new));
                    }
                    RolloutRecord::EventMsg(event) => self.count(session, &event.msg),
                    _ => {}
                }
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

    fn fold(&mut self) {
        self.facts.sort();
        self.memory = TreeMemory::default();
        for record in &self.facts.records {
            // What does not fit yet stands in a line that was not read yet, or never will be.
            self.memory.fold(record).ok();
        }
        let unbegun = without_a_task(&self.facts.records);
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
        self.facts.records.clone()
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
        self.facts.note(agent)
    }

    /// Returns all agents by number.
    pub fn rows(&self, served: TreeLiveness) -> Vec<AgentCard> {
        let agents = self.memory.iter();
        agents.map(|agent| self.row(agent, served)).collect()
    }

    pub fn row(&self, agent: &AgentRecord, served: TreeLiveness) -> AgentCard {
        let lost = self.last_known_status(agent.id);
        let status = match lost {
            Some(_) => CurrentStatus::Lost,
            None => status(agent, served),
        };
        let last = self.facts.results.get(&agent.id).and_then(|all| all.last());
        let parent = agent.parent.and_then(|parent| self.memory.get(parent));
        let status_text = last.and_then(TaskResult::text);
        let told = lost.and_then(AgentStatus::text).or(status_text.as_deref());
        AgentCard {
            agent_id: agent.id,
            session_id: agent.session,
            parent_agent_id: agent.parent,
            parent_session_id: parent.map(|parent| parent.session),
            path: agent.path.clone(),
            depth: agent.depth,
            made: agent.genealogy.as_ref().and_then(|genealogy| {
                let spec = self.facts.specs.get(&agent.id)?;
                Some(AgentMaking::new(spec, genealogy.origin))
            }),
            title: self.facts.name(agent.id).map(str::to_owned),
            note: self.note(agent.id).map(str::to_owned),
            preview: told.map(|text| one_line(text, SHOWN_PREVIEW_CHARS_MAX)),
            status: match lost {
                Some(last) => AgentStatus::Lost(Some(Box::new(last.clone()))),
                None => status.to_wire(status_text),
            },
            detail: status.detail().map(str::to_owned),
            waiting_on: None,
            interruption: status.interruption(),
            current_tools: Vec::new(),
            reasoning_header: None,
            since_ms: agent.since.0,
            born_ms: agent.born_at.0,
            progress_ms: agent.since.0,
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
            pending: agent.inbox.depth(),
            last_task: last.map(|result| result.task_id.clone()),
            read: false,
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
