//! `--continue`: who was stopped with a run, by Ctrl-C or because a person had to decide, and
//! goes on with it. Who was at work in a crash is the tree's business.

use serde_json::Value;
use troupe_agents::TreeHandle;
use troupe_agents::tree_access::{AgentScope, AgentView, GO_ON, TreeError};
use troupe_protocol::event::AbortReason;
use troupe_protocol::input::UserInput;
use troupe_protocol::result::StopReason;
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::tree::AgentMessage;
use troupe_protocol::{EventMsg, SessionId};
use troupe_store::SessionStore;
use troupe_tree::CurrentStatus;
use troupe_tree::command::SendUrgency;

use crate::exec::report::RunStop;
use crate::failure::CommandFailure;

/// What a session came to before it is opened again.
#[derive(Debug)]
pub struct EarlierRun {
    pub last_end: LastEnd,
    /// The JSON Schema that its last answer was asked for in.
    pub output_schema: Option<Value>,
}

impl EarlierRun {
    /// There was none.
    pub fn none() -> Self {
        Self {
            last_end: LastEnd::Done,
            output_schema: None,
        }
    }

    pub async fn of(store: &dyn SessionStore, session: SessionId) -> Result<Self, CommandFailure> {
        let live = store.read_live(session).await;
        let live = live.map_err(CommandFailure::not_started)?;
        let records = || live.records.iter().rev().map(|(_, line)| &line.record);
        let mut ends = records().filter_map(|record| match record {
            RolloutRecord::EventMsg(record) => of_event(&record.msg),
            _ => None,
        });
        let mut schemas = records().filter_map(|record| match record {
            RolloutRecord::AnswerShape { output_schema } => Some(output_schema),
            RolloutRecord::Compacted(compacted) => Some(&compacted.carried.output_schema),
            RolloutRecord::Rewind(rewind) => Some(&rewind.carried.output_schema),
            _ => None,
        });
        Ok(Self {
            last_end: ends.next().unwrap_or(LastEnd::Done),
            output_schema: schemas.next().cloned().flatten(),
        })
    }
}

/// How the last task of a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastEnd {
    /// It was completed, or there was none.
    Done,
    /// With the engine; a tree has its root go on by itself.
    WithEngine,
    /// By an error, a limit or somebody's wish.
    Stopped,
}

fn of_event(msg: &EventMsg) -> Option<LastEnd> {
    match msg {
        EventMsg::TurnComplete(_) => Some(LastEnd::Done),
        EventMsg::TurnAborted(aborted) => Some(match aborted.reason {
            AbortReason::Crash | AbortReason::Shutdown => LastEnd::WithEngine,
            AbortReason::Interrupted
            | AbortReason::Replaced
            | AbortReason::Error
            | AbortReason::ReviewEnded
            | AbortReason::BudgetLimited => LastEnd::Stopped,
        }),
        // Its end is written when the session is opened.
        EventMsg::TurnStarted(_) => Some(LastEnd::WithEngine),
        _ => None,
    }
}

/// Has the children go on that were stopped with the run. One that was stopped for itself, by a
/// person or an agent, is left alone.
pub async fn revive_children(agents: &TreeHandle) -> Result<(), TreeError> {
    if !agents.is_planted() {
        return Ok(());
    }
    let desk = agents.user();
    for child in desk.list(AgentScope::All, false).await? {
        if !was_stopped_with_run(agents, &child).await {
            continue;
        }
        desk.resume(&child.path).await?;
        let message = AgentMessage {
            items: vec![UserInput::text(GO_ON)],
            client_id: None,
            metadata: None,
        };
        desk.send(&child.path, message, SendUrgency::Regular)
            .await?;
    }
    Ok(())
}

async fn was_stopped_with_run(agents: &TreeHandle, child: &AgentView) -> bool {
    if child.status != CurrentStatus::Cancelled {
        return false;
    }
    // Without a result nobody knows why it was stopped.
    let Ok(result) = agents.user().result(&child.path, None).await else {
        return false;
    };
    match result.stop {
        StopReason::Cancelled { note: Some(note) } => RunStop::is_note(&note),
        _ => false,
    }
}
