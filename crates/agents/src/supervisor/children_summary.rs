//! How an agent's children stand, told to a model whose history is about to be replaced: whom
//! it set to work, who is done, and whose result it has not heard yet. Results themselves are
//! safe in the inbox. And who was cut off with the engine: that calls nobody back, because a
//! callback would have the parent go on without being asked to, so it is told with the next
//! task.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use troupe_protocol::AgentId;
use troupe_protocol::tree::{CallbackMode, Caller, Interruption, MailKind, TaskEnding};
use troupe_tree::AgentRecord;
use troupe_tree::agent::AgentLiveness;
use troupe_tree::lifecycle::Lifecycle;

use super::Supervisor;
use crate::limits::CHILDREN_TOLD_MAX;
use crate::tree_access::AgentView;

const CUT_OFF: &str = "The engine stopped while these agents were at work. They are idle and you \
    will hear nothing more of what they were doing, unless you write to them to go on. What they \
    had come to is kept: agent_result tells it.";

const RECONFIGURED: &str = "The session was configured anew while these agents were at work, or \
    about to begin, and that ended their tasks. They are idle and you will hear nothing more of \
    what they were doing, unless you write to them. What they had come to is kept: agent_result \
    tells it.";

const ENDED_UNFETCHED: &str = "These sessions that you created have ended since you looked last, \
    and you have not fetched their results: wait_session tells them at once.";

impl Supervisor {
    /// Returns nothing for an agent without children that are still there.
    pub(super) fn children_summary(&self, of: AgentId) -> Option<String> {
        let parent = self.tree.get(of)?;
        let owed: Vec<AgentId> = parent
            .inbox
            .iter()
            .filter_map(|envelope| match envelope.kind {
                MailKind::Callback { child, .. } => Some(child),
                MailKind::Interrupt { .. } | MailKind::Regular { .. } => None,
            })
            .collect();
        let mut children: Vec<ChildStanding> = self
            .tree
            .memory()
            .iter()
            .filter(|agent| agent.parent == Some(of) && agent.place != AgentLiveness::Pruned)
            .filter(|agent| {
                !self.tree.status(agent.id).row().is_closed() || owed.contains(&agent.id)
            })
            .map(|agent| {
                let is_owed = owed.contains(&agent.id);
                ChildStanding::new(self.view(agent.id), is_owed, agent.bond.callback)
            })
            .collect();
        children.sort_by_key(|child| child.news);
        (!children.is_empty()).then(|| tell(&children))
    }

    /// Returns what an agent's model is told when a task of it begins, beside what the task
    /// begins with. Each is told once.
    pub(super) fn take_task_preamble(&mut self, to: AgentId) -> Vec<String> {
        let is_root = to == AgentId::ROOT;
        let foreign = is_root.then(|| self.news.take_foreign()).flatten();
        let cut_off = self.cut_off_below(to);
        let ended = self.ended_unfetched(to);
        foreign.into_iter().chain(cut_off).chain(ended).collect()
    }

    /// Returns which sessions of an agent have ended that calls nobody back, and whose results
    /// it did not fetch.
    fn ended_unfetched(&mut self, of: AgentId) -> Option<String> {
        let node = self.tree.get(of)?;
        let mut text = String::new();
        let mut told = Vec::new();
        for item in node.news.iter() {
            let child = self.tree.get(item.child)?;
            let member = self.members.get(item.child);
            let is_silent = child.bond.callback == CallbackMode::Off
                && member.is_some_and(|member| member.spec.is_session());
            if !is_silent || self.news.is_end_told(item.id) {
                continue;
            }
            told.push(item.id);
            if told.len() <= CHILDREN_TOLD_MAX {
                let status = self.tree.status(item.child).row().agents;
                let session = child.session;
                writeln!(text, "- session {session}: {status}")
                    .expect("writing to a string does not fail");
            }
        }
        if let Some(rest) = told.len().checked_sub(CHILDREN_TOLD_MAX)
            && rest > 0
        {
            writeln!(text, "- and {rest} more").expect("writing to a string does not fail");
        }
        self.news.note_ends_told(told);
        (!text.is_empty()).then(|| format!("{ENDED_UNFETCHED}\n{text}"))
    }

    /// Returns who of an agent's children was cut off, by the end of the engine or by another
    /// configuration, has done nothing since, and would have called back. It is told once.
    pub(super) fn cut_off_below(&mut self, of: AgentId) -> Vec<String> {
        let is_below = |agent| self.tree.get(agent).and_then(|node| node.parent) == Some(of);
        let below = self.news.take_cut_off(is_below);
        let mut texts: BTreeMap<&'static str, String> = BTreeMap::new();
        for agent in below {
            let Some(node) = self.tree.get(agent) else {
                continue;
            };
            if let Some(why) = cut_off(node)
                && node.bond.callback != CallbackMode::Off
            {
                let (path, session) = (&node.path, node.session.short());
                let text = texts.entry(why).or_default();
                writeln!(text, "- {path} (agent {agent}, session {session})")
                    .expect("writing to a string does not fail");
            }
        }
        let texts = texts.into_iter();
        texts.map(|(why, text)| format!("{why}\n{text}")).collect()
    }
}

/// Returns what a parent is told of a child whose last task was cut off.
fn cut_off(node: &AgentRecord) -> Option<&'static str> {
    let Lifecycle::Ended { end, .. } = &node.lifecycle else {
        return None;
    };
    match end {
        TaskEnding::Interrupted { why } => match why {
            Interruption::Crash | Interruption::Shutdown => Some(CUT_OFF),
            Interruption::Reconfigured => Some(RECONFIGURED),
            Interruption::User | Interruption::Parent => None,
        },
        // It waited for a slot.
        TaskEnding::Cancelled {
            by: Caller::User,
            scope: AgentId::ROOT,
        } => Some(RECONFIGURED),
        TaskEnding::Completed
        | TaskEnding::Errored
        | TaskEnding::Cancelled { .. }
        | TaskEnding::FailedToStart
        | TaskEnding::BudgetExceeded
        | TaskEnding::Replaced => None,
    }
}

#[derive(Debug)]
struct ChildStanding {
    view: AgentView,
    news: ReportState,
}

/// What of a child its parent has yet to hear, the most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ReportState {
    AtWork,
    /// At work, and its end calls nobody.
    AtWorkSilently,
    ResultWaits,
    Told,
}

impl ChildStanding {
    fn new(view: AgentView, is_owed: bool, callback: CallbackMode) -> Self {
        let news = match (view.status.is_final(), is_owed) {
            (false, _) if callback == CallbackMode::Off => ReportState::AtWorkSilently,
            (false, _) => ReportState::AtWork,
            (true, true) => ReportState::ResultWaits,
            (true, false) => ReportState::Told,
        };
        Self { view, news }
    }
}

fn tell(children: &[ChildStanding]) -> String {
    let mut text =
        "The agents that you made, as they stand now. Do not make them again.\n".to_owned();
    for ChildStanding { view, news } in children.iter().take(CHILDREN_TOLD_MAX) {
        let status = view.status.row().agents;
        let more = match news {
            ReportState::AtWorkSilently => "wait for it, its end calls nobody",
            ReportState::AtWork => "you will be told when it ends, or wait for it",
            ReportState::ResultWaits => "its result waits in your inbox and will be told to you",
            ReportState::Told => "agent_result tells its result",
        };
        let session = view.session.short();
        writeln!(
            text,
            "- {} (agent {}, session {session}): {status}; {more}",
            view.path, view.agent,
        )
        .expect("writing to a string does not fail");
    }
    if let Some(rest) = children.len().checked_sub(CHILDREN_TOLD_MAX)
        && rest > 0
    {
        writeln!(text, "- and {rest} more").expect("writing to a string does not fail");
    }
    text
}
