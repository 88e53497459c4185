//! How an agent's children stand, told to a model whose history is about to be replaced: whom
//! it set to work, who is done, and whose result it has not heard yet. Results themselves are
//! safe in the inbox.

use std::fmt::Write as _;

use troupe_protocol::AgentId;
use troupe_protocol::tree::MailKind;

use super::Supervisor;
use crate::desk::AgentView;
use crate::tree::agent::Place;

/// Children that are told of, those at work first; the rest is counted.
const CHILDREN_TOLD_MAX: usize = 40;

impl Supervisor {
    /// Returns nothing for an agent without children that are still there.
    pub(super) fn standing(&self, of: AgentId) -> Option<String> {
        let parent = self.tree.get(of)?;
        let owed: Vec<AgentId> = parent
            .inbox
            .iter()
            .filter_map(|envelope| match envelope.kind {
                MailKind::Callback { child, .. } => Some(child),
                MailKind::Interrupt { .. } | MailKind::Regular { .. } => None,
            })
            .collect();
        let mut children: Vec<Child> = self
            .tree
            .memory()
            .iter()
            .filter(|agent| agent.parent == Some(of) && agent.place != Place::Pruned)
            .filter(|agent| {
                !self.tree.status(agent.id).row().is_closed() || owed.contains(&agent.id)
            })
            .map(|agent| Child::new(self.view(agent.id), owed.contains(&agent.id)))
            .collect();
        children.sort_by_key(|child| child.news);
        (!children.is_empty()).then(|| tell(&children))
    }
}

#[derive(Debug)]
struct Child {
    view: AgentView,
    news: News,
}

/// What of a child its parent has yet to hear, the most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum News {
    AtWork,
    ResultWaits,
    Told,
}

impl Child {
    fn new(view: AgentView, is_owed: bool) -> Self {
        let news = match (view.status.is_final(), is_owed) {
            (false, _) => News::AtWork,
            (true, true) => News::ResultWaits,
            (true, false) => News::Told,
        };
        Self { view, news }
    }
}

fn tell(children: &[Child]) -> String {
    let mut text =
        "The agents that you made, as they stand now. Do not make them again.\n".to_owned();
    for Child { view, news } in children.iter().take(CHILDREN_TOLD_MAX) {
        let status = view.status.row().agents;
        let more = match news {
            News::AtWork => "you will be told when it ends, or wait for it",
            News::ResultWaits => "its result waits in your inbox and will be told to you",
            News::Told => "agent_result tells its result",
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
