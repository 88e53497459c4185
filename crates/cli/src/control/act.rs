//! What a person asks of a tree, done with the user's access to it. The socket and the commands that
//! open a stored tree themselves both end here.

use troupe_agents::Desk;
use troupe_agents::desk::{Scope, StopRequest, Stopped, Trouble};
use troupe_agents::tree::command::{self, StopMode};
use troupe_agents::tree::effect::{self, DeadWhy, HeldWhy, SkipWhy};
use troupe_agents::tree::lifecycle::Interruption;
use troupe_agents::tree::status::WaitingOn;
use troupe_agents::tree::{AddressError, Status};
use troupe_protocol::input::UserInput;
use troupe_protocol::tree::AgentMessage;
use troupe_protocol::{AgentId, StopVerb};

use super::request::{Answer, Mode, Receipt, Request, Skipped, Touched, Urgency};
use super::row::Row;

/// What a stopped agent is told when a person has it go on.
pub const GO_ON: &str = "You were stopped before your task was done. What you had done until \
    then is kept, but a command that was running may have been cut off. Look at where things \
    stand and go on with your task.";

/// Does it. Trouble is an answer too.
pub async fn act(desk: &Desk, request: Request) -> Answer {
    let outcome = match request {
        Request::Look => look(desk).await,
        Request::Send { to, text, urgency } => send(desk, &to, &text, urgency).await,
        Request::Stop { verb, target, mode } => stop(desk, verb, target, mode).await,
        Request::Resume { target } => resume(desk, target).await,
        Request::Answer {
            agent,
            call_id,
            decision,
        } => {
            let asker = desk.answer(agent, call_id, decision).await;
            asker.map(|view| Answer::Answered {
                agent: Box::new(Row::of(&view)),
            })
        }
    };
    outcome.unwrap_or_else(|trouble| Answer::Refused {
        message: trouble.to_string(),
    })
}

async fn look(desk: &Desk) -> Result<Answer, Trouble> {
    let root = desk.view(&AgentId::ROOT.to_string()).await?;
    let others = desk.list(Scope::All, true).await?;
    let views = std::iter::once(&root).chain(&others);
    Ok(Answer::Agents {
        agents: views.map(Row::of).collect(),
    })
}

async fn send(desk: &Desk, to: &str, text: &str, urgency: Urgency) -> Result<Answer, Trouble> {
    let urgency = match urgency {
        Urgency::Regular => command::Urgency::Regular,
        Urgency::Interrupt => command::Urgency::Interrupt,
    };
    let sent = desk.send(to, message(text), urgency).await?;
    Ok(Answer::Sent {
        to: Box::new(Row::of(&sent.view)),
        receipt: receipt(sent.receipt),
    })
}

async fn stop(desk: &Desk, verb: StopVerb, target: String, mode: Mode) -> Result<Answer, Trouble> {
    let request = StopRequest {
        verb,
        targets: vec![target],
        mode: match mode {
            Mode::Act => StopMode::Act,
            Mode::DryRun => StopMode::DryRun,
        },
        note: None,
    };
    let Stopped {
        touched,
        skipped,
        unknown,
    } = desk.stop(request).await?;
    if let Some(unknown) = unknown.into_iter().next() {
        return Err(AddressError::Unknown(unknown).into());
    }
    let touched = touched.into_iter().map(|planned| Touched {
        agent_id: planned.view.agent,
        path: planned.view.path,
        action: planned.what,
    });
    let skipped = skipped.into_iter().map(|planned| Skipped {
        agent_id: planned.view.agent,
        path: planned.view.path,
        why: skip(planned.what).to_owned(),
    });
    Ok(Answer::Stopped {
        touched: touched.collect(),
        skipped: skipped.collect(),
    })
}

async fn resume(desk: &Desk, target: Option<String>) -> Result<Answer, Trouble> {
    let targets = match target {
        Some(target) => vec![target],
        None => cut_off(desk).await?,
    };
    let mut agents = Vec::new();
    for target in targets {
        let before = desk.view(&target).await?;
        let resumed = desk.resume(&target).await?;
        let view = match (before.status, resumed.status) {
            // One that was closed was cancelled with that; it is only brought back.
            (Status::Cancelled, Status::Cancelled) | (_, Status::Interrupted { .. }) => {
                let urgency = command::Urgency::Regular;
                desk.send(&target, message(GO_ON), urgency).await?.view
            }
            _ => resumed,
        };
        agents.push(Row::of(&view));
    }
    Ok(Answer::Resumed { agents })
}

/// Returns the agents that were at work when the engine stopped.
async fn cut_off(desk: &Desk) -> Result<Vec<String>, Trouble> {
    let root = desk.view(&AgentId::ROOT.to_string()).await?;
    let others = desk.list(Scope::All, false).await?;
    let was_at_work = |status| {
        matches!(
            status,
            Status::Interrupted {
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

fn receipt(receipt: effect::Receipt) -> Receipt {
    match receipt {
        effect::Receipt::Delivered => Receipt::Delivered,
        effect::Receipt::Queued { position } => Receipt::Queued { position },
        effect::Receipt::Held { why } => Receipt::Held {
            until: match why {
                HeldWhy::Waiting(WaitingOn::Approval) => "an approval is answered",
                HeldWhy::Waiting(WaitingOn::User) => "the user has answered it",
                HeldWhy::Waiting(WaitingOn::Child) => "its wait for a child is over",
                HeldWhy::Waiting(WaitingOn::Slot) => "a slot is free",
                HeldWhy::Waiting(WaitingOn::Model | WaitingOn::Tool | WaitingOn::RateLimit) => {
                    "its present step is over"
                }
                HeldWhy::Stopping => "its task has been interrupted",
            }
            .to_owned(),
        },
        effect::Receipt::Dead { why } => Receipt::Dead {
            why: match why {
                DeadWhy::Closed => "it is closed; `troupe agents resume` brings it back",
                DeadWhy::Pruned => "it was pruned; only its result is left",
                DeadWhy::Lost => "its log is gone; spawn another agent for the work",
                DeadWhy::Stopping => "it is being stopped; try again when it has ended",
            }
            .to_owned(),
        },
    }
}

/// Says why a stop leaves an agent as it is.
pub fn skip(why: SkipWhy) -> &'static str {
    match why {
        SkipWhy::Idle => "nothing to stop",
        SkipWhy::Active => "not finished; cancel or close it first",
        SkipWhy::AlreadyDone => "done already",
        SkipWhy::Unknown => "unknown",
    }
}
