//! `--children`: what happens to children that are still at work when the root's task is over.

use troupe_agents::TreeHandle;
use troupe_agents::tree_access::{AgentScope, TreeError, TreeStopRequest};
use troupe_protocol::StopVerb;
use troupe_tree::command::StopMode;

/// What is to become of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum UnfinishedChildren {
    /// Wait for them; what they report is new work for the first agent.
    #[default]
    Wait,
    /// Stop them.
    Cancel,
    /// Have them go on without a parent: the run lasts until they are done, nobody acts on
    /// what they report, and their results stay for `troupe agents result`.
    Release,
}

impl UnfinishedChildren {
    /// Does what is to be done before the tree can come to rest.
    pub async fn settle(self, agents: &TreeHandle) -> Result<(), TreeError> {
        if !agents.is_planted() {
            return Ok(());
        }
        match self {
            Self::Wait => Ok(()),
            Self::Cancel => cancel_children(agents, "the first agent's task was over").await,
            Self::Release => release(agents).await,
        }
    }

    /// Tells whether there is something to be done again after each task of the first agent:
    /// one that a child's report began may have made further children.
    pub fn acts_after_each_task(self) -> bool {
        match self {
            Self::Wait => false,
            Self::Cancel | Self::Release => true,
        }
    }
}

/// Stops everything that runs in the tree, the released too. Named by its root, nobody is
/// called back: there is nobody left to act on it.
pub async fn cancel_all(agents: &TreeHandle, why: &str) -> Result<(), TreeError> {
    agents.user().cancel("root", Some(why.to_owned())).await?;
    Ok(())
}

/// Stops everything below the root, on the root's own behalf: its task goes on if it has one
/// again, and it is not told of what it did itself.
async fn cancel_children(agents: &TreeHandle, why: &str) -> Result<(), TreeError> {
    let desk = agents.root();
    let children = desk.list(AgentScope::Children, false).await?;
    desk.stop(TreeStopRequest {
        verb: StopVerb::Cancel,
        targets: children.into_iter().map(|child| child.path).collect(),
        mode: StopMode::Act,
        note: Some(why.to_owned()),
    })
    .await?;
    Ok(())
}

/// The agents below a child keep their parent.
async fn release(agents: &TreeHandle) -> Result<(), TreeError> {
    let desk = agents.user();
    let children = desk.list(AgentScope::Children, false).await?;
    let working = children
        .iter()
        .filter(|child| !child.status.is_final())
        .map(|child| child.path.clone());
    desk.stop(TreeStopRequest {
        verb: StopVerb::Release,
        targets: working.collect(),
        mode: StopMode::Act,
        note: None,
    })
    .await?;
    Ok(())
}
