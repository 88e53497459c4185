//! An older tree is taken up from its logs: numbers, paths, notes, inboxes, watchdogs,
//! statuses with their reasons.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use troupe_engine::{SessionOrder, result_after_crash};
use troupe_protocol::agent::SubagentLifecycle;
use troupe_protocol::result::StopReason;
use troupe_protocol::spawn::{ChildInstructions, SpawnSpec};
use troupe_protocol::tree::{
    Interruption, MailSender, MessageId, TaskEnding, TreeFact, TreeRecord,
};
use troupe_protocol::{AgentId, EventMsg, SessionId, SubmissionId};
use troupe_store::{SessionStore, StoreError};
use troupe_tree::agent::AgentLiveness;
use troupe_tree::command::{MessageForm, SendCommand, SendUrgency, TreeAction};
use troupe_tree::lifecycle::Lifecycle;
use troupe_tree::logged_lives::without_a_task;
use troupe_tree::{LoggedFacts, Tree};

use super::fact_lines::FactContents;
use super::handle::RecoveryPolicy;
use super::member::TreeMember;
use super::settings::KeptSettings;
use super::task_children::TaskChildren;
use super::{Supervisor, views};

/// What an agent is told when it is to go on after the engine had stopped.
const CONTINUE: &str = "The engine stopped while you were at work. What you had done until then is \
    kept, but a command that was running may have been cut off. Look at where things stand and go \
    on with your task.";

/// Everything that the logs of a tree say.
#[derive(Debug, Default)]
pub(super) struct TreeLogs {
    pub facts: LoggedFacts,
    /// Children that never got a log.
    unopened: Vec<SessionId>,
    /// Children whose log has no readable first line, and what is wrong with it.
    headless: Vec<(SessionId, String)>,
    warnings: Vec<String>,
}

impl Supervisor {
    pub(super) async fn restore(&mut self) {
        let mut story = TreeLogs::default();
        if let Some(store) = self.shared.store() {
            story = read(&*store, self.root.session).await;
            story.clear_empty_logs(&*store).await;
        }
        for warning in &story.warnings {
            self.warn(AgentId::ROOT, warning.clone());
        }
        let is_rooted = |record: &TreeRecord| matches!(record.fact, TreeFact::Rooted { .. });
        if !story.facts.records.iter().any(is_rooted) {
            // The lines were those of another tree.
            return self.plant_fork().await;
        }
        story.facts.sort();
        let now = self.now().0;
        for record in &story.facts.records {
            self.watchdogs.fold(&record.fact, now);
        }
        let order = LastOrders::of(&story.facts.records);
        let callback = KeptSettings::of(&story.facts.records).callback;
        let unbegun = without_a_task(&story.facts.records);
        let may_be_lost = !unbegun.is_empty() || !story.unopened.is_empty();
        let limits = self.shared.settings().tree().limits;
        let (tree, misfits) = Tree::restore(limits, std::mem::take(&mut story.facts.records));
        self.tree = tree;
        for (record, misfit) in misfits {
            let message = format!(
                "a line of the agent tree (number {}) was left out: {misfit}",
                record.order
            );
            self.warn(AgentId::ROOT, message);
        }
        self.remember(story);
        self.keep_settings(callback);
        if may_be_lost {
            self.remove_lost_agents(&unbegun).await;
        }
        self.births = TaskChildren::of_running(self.tree.memory());
        self.salvage().await;
        self.drive(TreeAction::Recover);
        self.salvaged.clear();
        self.news.note_ends_told(self.reported_ends(&order));
        if !order.started.contains_key(&AgentId::ROOT) {
            self.look_for_foreign_agents().await;
        }
        self.tell_restored();
        let interrupted = self.interrupted();
        let recovery = self.shared.settings().tree().recovery;
        tracing::info!(
            agents = self.tree.memory().iter().count(),
            interrupted = interrupted.len(),
            ?recovery,
            "the tree is taken up again"
        );
        for agent in &interrupted {
            let path = self.tree.get(*agent).map(|node| node.path.as_str());
            tracing::warn!(agent = path, "an agent was cut off");
        }
        let reconfigured = self.ended_by(|why| why == Interruption::Reconfigured);
        match self.shared.settings().tree().recovery {
            RecoveryPolicy::Leave => {
                self.tell_interrupted(&interrupted);
                let unheard = self.unreported_interruptions(&interrupted, &order);
                self.news.note_cut_off(unheard);
            }
            RecoveryPolicy::ContinueChildren => self.continue_all(interrupted, &[AgentId::ROOT]),
            RecoveryPolicy::Continue => self.continue_all(interrupted, &[]),
        }
        let unheard = self.unreported_interruptions(&reconfigured, &order);
        self.news.note_cut_off(unheard);
    }

    /// Reads what the tasks had come to that were running when the engine died.
    async fn salvage(&mut self) {
        let Some(store) = self.shared.store() else {
            return;
        };
        let agents = self.tree.memory().iter();
        let running: Vec<(AgentId, SessionId, SubmissionId)> = agents
            .filter_map(|agent| match &agent.lifecycle {
                Lifecycle::Running { task } => Some((agent.id, agent.session, task.clone())),
                Lifecycle::PendingInit | Lifecycle::Ended { .. } | Lifecycle::Shutdown { .. } => {
                    None
                }
            })
            .collect();
        for (agent, session, task) in running {
            // A log that cannot be read was warned of when its lines were.
            if let Ok(live) = store.read_live(session).await {
                self.salvaged
                    .insert(agent, result_after_crash(&live, &task).await);
            }
        }
    }

    fn remember(&mut self, mut story: TreeLogs) {
        share_prompts(story.facts.specs.values_mut());
        for node in self.tree.memory().iter() {
            let Some(spec) = story.facts.specs.remove(&node.id) else {
                continue;
            };
            self.shared.ceilings.born(node.id, node.parent, &spec);
            let mut member = TreeMember::new(Arc::new(spec));
            member.has_log = !story.unopened.contains(&node.session);
            member.note = story.facts.note(node.id).map(str::to_owned);
            member.name = story.facts.name(node.id).map(str::to_owned);
            let asked = story.facts.stop_note(node.id);
            member.stop_note = asked.filter(|_| node.stop.is_some()).map(str::to_owned);
            for result in story.facts.results.remove(&node.id).unwrap_or_default() {
                member.has_answered |= result.stop != StopReason::Replaced;
                member.usage += result.evidence.usage;
                member.ran_ms = result.evidence.ran_ms();
                member.preview = result.text().as_deref().map(views::preview);
            }
            self.members.insert(node.id, member);
        }
        for envelope in self.tree.memory().iter().flat_map(|node| node.inbox.iter()) {
            let message = story.facts.mail.remove(&envelope.id);
            self.mail.keep(envelope.id, message);
        }
    }

    /// Returns who was at work when the engine stopped, and has done nothing since.
    fn interrupted(&self) -> Vec<AgentId> {
        self.ended_by(|why| matches!(why, Interruption::Crash | Interruption::Shutdown))
    }

    /// Returns whose last task was interrupted so.
    fn ended_by(&self, is_it: impl Fn(Interruption) -> bool) -> Vec<AgentId> {
        let agents = self.tree.memory().iter();
        agents
            .filter(|agent| match &agent.lifecycle {
                Lifecycle::Ended {
                    end: TaskEnding::Interrupted { why },
                    ..
                } => is_it(*why),
                Lifecycle::PendingInit
                | Lifecycle::Running { .. }
                | Lifecycle::Ended { .. }
                | Lifecycle::Shutdown { .. } => false,
            })
            .map(|agent| agent.id)
            .collect()
    }

    /// Returns those of whose end their parent's model has not heard. A parent that has begun
    /// a task since then was told.
    fn unreported_interruptions(
        &self,
        interrupted: &[AgentId],
        order: &LastOrders,
    ) -> BTreeSet<AgentId> {
        let heard = |agent: &AgentId| {
            let ended = order.ended.get(agent);
            // One that was still running when the engine died has ended only now.
            let is_new = order.started.get(agent) > ended;
            let parent = self.tree.get(*agent).and_then(|node| node.parent);
            let began = parent.and_then(|parent| order.started.get(&parent));
            !is_new && began > ended
        };
        let agents = interrupted.iter().copied();
        agents.filter(|agent| !heard(agent)).collect()
    }

    /// Returns the ends that parents were told of: those before their last tasks began.
    fn reported_ends(&self, order: &LastOrders) -> BTreeSet<MessageId> {
        let parents = self.tree.memory().iter();
        let told = parents.flat_map(|parent| {
            let began = order.started.get(&parent.id);
            let news = parent.news.iter();
            news.filter(move |item| began > order.ended.get(&item.child))
        });
        told.map(|item| item.id).collect()
    }

    /// Tells who is in a tree that was taken up again. It is not kept: the logs have it.
    fn tell_restored(&mut self) {
        let agents = self.tree.memory().iter();
        let live: Vec<AgentId> = agents
            .filter(|agent| agent.id != AgentId::ROOT && agent.place != AgentLiveness::Pruned)
            .map(|agent| agent.id)
            .collect();
        for agent in live {
            let subagent = self.view(agent).summary();
            let restored = SubagentLifecycle::Restored { subagent };
            let event = EventMsg::SubagentLifecycle(restored);
            self.root.orders.give(SessionOrder::Tell(event));
        }
    }

    fn tell_interrupted(&mut self, interrupted: &[AgentId]) {
        let children = interrupted.iter().filter(|agent| **agent != AgentId::ROOT);
        let paths: Vec<&str> = children
            .filter_map(|agent| Some(self.tree.get(*agent)?.path.as_str()))
            .collect();
        if !paths.is_empty() {
            let message = format!(
                "at work when the engine stopped, and idle until somebody writes to them: {}; \
                 resume with --continue to have them go on",
                paths.join(", ")
            );
            self.warn(AgentId::ROOT, message);
        }
    }

    /// Asks everybody to go on who was interrupted, with a few exceptions.
    fn continue_all(&mut self, interrupted: Vec<AgentId>, but: &[AgentId]) {
        for to in interrupted.into_iter().filter(|agent| !but.contains(agent)) {
            let letter = SendCommand {
                from: MailSender::User,
                to,
                message: MessageId(self.shared.ids.session().0),
                urgency: SendUrgency::Regular,
                form: MessageForm::Words,
            };
            let path = self.tree.get(to).map(|node| node.path.clone());
            let Ok(effects) = self.command(TreeAction::Send(letter)) else {
                tracing::warn!(agent = path, "an agent cannot be asked to go on");
                continue;
            };
            tracing::info!(agent = path, "an agent is asked to go on");
            self.perform(effects, FactContents::saying(CONTINUE));
        }
    }
}

/// The numbers of the last lines that say when agents began and ended tasks.
#[derive(Debug, Default)]
struct LastOrders {
    started: HashMap<AgentId, u64>,
    ended: HashMap<AgentId, u64>,
}

impl LastOrders {
    fn of(records: &[TreeRecord]) -> Self {
        let mut last = Self::default();
        for record in records {
            let (agent, orders) = match &record.fact {
                TreeFact::Started { agent, .. } => (*agent, &mut last.started),
                TreeFact::Ended { agent, .. } => (*agent, &mut last.ended),
                _ => continue,
            };
            let newest = orders.entry(agent).or_default();
            *newest = record.order.max(*newest);
        }
        last
    }
}

/// Has the children of one role share its prompt, as when they were made.
fn share_prompts<'a>(specs: impl Iterator<Item = &'a mut SpawnSpec>) {
    let mut known: HashSet<Arc<str>> = HashSet::new();
    for spec in specs {
        if let ChildInstructions::Role(prompt) = &mut spec.instructions {
            match known.get(prompt) {
                Some(shared) => *prompt = Arc::clone(shared),
                None => {
                    known.insert(Arc::clone(prompt));
                }
            }
        }
    }
}

/// Reads the logs of a tree, from the root down.
pub(super) async fn read(store: &dyn SessionStore, root: SessionId) -> TreeLogs {
    let mut story = TreeLogs::default();
    let mut open = VecDeque::from([root]);
    while let Some(session) = open.pop_front() {
        match store.agent_lines(session).await {
            Ok(lines) => {
                story.warnings.extend(lines.warnings);
                let of_tree = lines.lines.into_iter().map(|(_, line)| line);
                for line in of_tree.filter(|line| line.tree == root) {
                    open.extend(story.facts.take(line));
                }
            }
            Err(StoreError::NotFound { .. }) => story.unopened.push(session),
            Err(error) => {
                let warning = format!("the log of agent session {session}: {error}");
                match error {
                    StoreError::Meta { .. } => story.headless.push((session, warning)),
                    _ => story.warnings.push(warning),
                }
            }
        }
    }
    story
}

impl TreeLogs {
    /// A child whose engine was killed between making its log and writing the first line has not
    /// begun, and begins now: what it left is cleared away.
    async fn clear_empty_logs(&mut self, store: &dyn SessionStore) {
        for (session, warning) in std::mem::take(&mut self.headless) {
            match store.remove_empty(session).await {
                Ok(true) => self.unopened.push(session),
                Ok(false) => self.warnings.push(warning),
                Err(error) => self.warnings.push(format!("{warning}; {error}")),
            }
        }
    }
}
