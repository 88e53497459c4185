//! What a person asks of a tree, done with the user's access to it. The socket and the commands that
//! open a stored tree themselves both end here.

use troupe_agents::TreeAccess;
use troupe_agents::tree_access::{AgentScope, AgentView, StopOutcome, TreeError, TreeStopRequest};
use troupe_protocol::input::UserInput;
use troupe_protocol::link::query::{MessageReceipt, MessageUrgency, StopExemption};
use troupe_protocol::tree::{AgentMessage, Interruption};
use troupe_protocol::{AgentId, StopVerb};
use troupe_tree::command::{self, StopMode};
use troupe_tree::effect::{DeliveryReceipt, StopSkipReason, UndeliverableReason};
use troupe_tree::{AgentAddressError, CurrentStatus};

use super::request::{ControlAnswer, ControlMode, ControlRequest, ReachedAgent};

/// Does it. Trouble is an answer too.
pub async fn act(desk: &TreeAccess, request: ControlRequest) -> ControlAnswer {
    let outcome = match request {
        ControlRequest::Look => look(desk).await,
        ControlRequest::Send { to, text, urgency } => send(desk, &to, &text, urgency).await,
        ControlRequest::Stop { verb, target, mode } => stop(desk, verb, target, mode).await,
        ControlRequest::Resume { target } => resume(desk, target).await,
        ControlRequest::Answer {
            agent,
            call_id,
            decision,
        } => {
            let asker = desk.answer(agent, call_id, decision).await;
            asker.map(|view| ControlAnswer::Answered {
                agent: Box::new(view.card()),
            })
        }
    };
    outcome.unwrap_or_else(|trouble| ControlAnswer::Refused {
        message: trouble.to_string(),
    })
}

async fn look(desk: &TreeAccess) -> Result<ControlAnswer, TreeError> {
    let root = desk.view(&AgentId::ROOT.to_string()).await?;
    let others = desk.list(AgentScope::All, true).await?;
    let views = std::iter::once(&root).chain(&others);
    Ok(ControlAnswer::Agents {
        agents: views.map(AgentView::card).collect(),
    })
}

async fn send(
    desk: &TreeAccess,
    to: &str,
    text: &str,
    urgency: MessageUrgency,
) -> Result<ControlAnswer, TreeError> {
    let urgency = match urgency {
        MessageUrgency::Regular => command::SendUrgency::Regular,
        MessageUrgency::Interrupt => command::SendUrgency::Interrupt,
    };
    let sent = desk.send(to, message(text), urgency).await?;
    Ok(ControlAnswer::Sent {
        to: Box::new(sent.view.card()),
        receipt: receipt(sent.receipt),
    })
}

async fn stop(
    desk: &TreeAccess,
    verb: StopVerb,
    target: String,
    mode: ControlMode,
) -> Result<ControlAnswer, TreeError> {
    let request = TreeStopRequest {
        verb,
        targets: vec![target],
        mode: match mode {
            ControlMode::Act => StopMode::Act,
            ControlMode::DryRun => StopMode::DryRun,
        },
        note: None,
    };
    let StopOutcome {
        touched,
        skipped,
        unknown,
    } = desk.stop(request).await?;
    if let Some(unknown) = unknown.into_iter().next() {
        return Err(AgentAddressError::Unknown(unknown).into());
    }
    let touched = touched.into_iter().map(|planned| ReachedAgent {
        agent_id: planned.view.agent,
        path: planned.view.path,
        action: planned.what,
    });
    let skipped = skipped.into_iter().map(|planned| StopExemption {
        agent_id: planned.view.agent,
        path: planned.view.path,
        why: skip(planned.what).to_owned(),
    });
    Ok(ControlAnswer::Stopped {
        touched: touched.collect(),
        skipped: skipped.collect(),
    })
}

async fn resume(desk: &TreeAccess, target: Option<String>) -> Result<ControlAnswer, TreeError> {
    let targets = match target {
        Some(target) => vec![target],
        None => cut_off(desk).await?,
    };
    let mut agents = Vec::new();
    for target in targets {
        agents.push(desk.go_on(&target).await?.card());
    }
    Ok(ControlAnswer::Resumed { agents })
}

/// Returns the agents that were at work when the engine stopped.
async fn cut_off(desk: &TreeAccess) -> Result<Vec<String>, TreeError> {
    let root = desk.view(&AgentId::ROOT.to_string()).await?;
    let others = desk.list(AgentScope::All, false).await?;
    let was_at_work = |status| {
        matches!(
            status,
            CurrentStatus::Interrupted {
                why: Interruption::Crash | Interruption::Shutdown | Interruption::Reconfigured
            }
        )
    };
    let agents = std::iter::once(&root).chain(&others);
    let found = agents.filter(|view| was_at_work(view.status));
    Ok(found.map(|view| view.agent.to_string()).collect())
}

fn message(text: &str) -> AgentMessage {
    AgentMessage {
        items: vec![UserInput::text(text)],
        metadata: None,
        client_id: None,
    }
}

/// Returns what became of a message, with the command that helps.
fn receipt(receipt: DeliveryReceipt) -> MessageReceipt {
    match receipt {
        DeliveryReceipt::Dead {
            why: UndeliverableReason::Closed,
        } => MessageReceipt::Dead {
            why: "it is closed; `troupe agents resume` brings it back".to_owned(),
        },
        other => other.told(),
    }
}

/// Says why a stop leaves an agent as it is.
pub fn skip(why: StopSkipReason) -> &'static str {
    match why {
        StopSkipReason::Idle => "nothing to stop",
        other => other.told(),
    }
}
