//! `troupe_sessions_prompt` and `troupe_sessions_wait`: calls that last as long as a session works.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use troupe_agents::TreeAccess;
use troupe_agents::tree_access::{TreeStopRequest, WaitTargets};
use troupe_mcp::serve::CallingClient;
use troupe_protocol::StopVerb;
use troupe_protocol::op::{ConfigureSession, ForkPoint};
use troupe_protocol::tree::AgentMessage;
use troupe_tree::command::{SendUrgency, StopMode};
use troupe_tree::effect::{DeliveryReceipt, WaitEnd};

use super::answers::{SessionAnswer, SessionPromptAnswer, SessionWaitAnswer};
use super::arguments::{PromptArguments, PromptMode, WaitArguments};
use super::directory::{FoundSession, desk};
use super::error::SessionToolError;
use super::headless_approvals::answer_approvals;
use super::session_tools::SessionTools;
use super::spawning::check_prompt;
use super::watch::TreeWatch;
use crate::limits::{MCP_LOOK_INTERVAL_MS, MCP_WAIT_MS_MAX, MCP_WAIT_SESSIONS_MAX};
use crate::session_pool::{RootSession, dead_agent_advice};

/// How a wait for one session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WaitOutcome {
    Done,
    TimeUp,
}

impl SessionTools {
    pub(super) async fn prompt(
        &self,
        arguments: PromptArguments,
        caller: &CallingClient,
    ) -> Result<SessionPromptAnswer, SessionToolError> {
        check_prompt("troupe_sessions_prompt", &arguments.prompt)?;
        let found = self.find(&arguments.session_id).await?;
        let (thread, found) = match arguments.mode {
            PromptMode::Continue => (self.open(found).await?, found),
            PromptMode::Fork => self.fork(found).await?,
        };
        let desk = desk(&thread);
        let seq = thread.last_seq();
        let urgency = if arguments.interrupt {
            SendUrgency::Interrupt
        } else {
            SendUrgency::Regular
        };
        let message = AgentMessage::text(arguments.prompt);
        let sent = desk.send(&found.address(), message, urgency).await?;
        let (receipt, queue_position) = receipt_text(sent.receipt)?;
        if !caller.can_be_asked() {
            answer_approvals(thread.clone(), thread.events_after(seq), self.headless);
        }
        let mut timed_out = false;
        if arguments.wait {
            let watch = TreeWatch::new(&thread, caller, seq);
            let until = wait_until_idle(&desk, found, deadline(arguments.timeout_ms));
            tokio::select! {
                over = watch.during(until) => timed_out = over? == WaitOutcome::TimeUp,
                () = caller.cancelled().cancelled() => {
                    // Nobody is left to read what the task comes to.
                    interrupt(&desk, found).await?;
                    return Err(SessionToolError::Cancelled);
                }
            }
        }
        Ok(SessionPromptAnswer {
            receipt,
            queue_position,
            timed_out,
            session: self.describe(found, Some(&thread)).await?,
        })
    }

    async fn fork(
        &self,
        found: FoundSession,
    ) -> Result<(RootSession, FoundSession), SessionToolError> {
        let point = ForkPoint {
            session_id: found.session,
            last_response_id: None,
            turns: None,
            turn: None,
        };
        let fork = self.house.fork(point, ConfigureSession::default()).await?;
        let (session, root) = (fork.id(), fork.id());
        Ok((fork, FoundSession { session, root }))
    }

    pub(super) async fn wait(
        &self,
        arguments: WaitArguments,
        caller: &CallingClient,
    ) -> Result<SessionWaitAnswer, SessionToolError> {
        let wanted = arguments.session_ids.len();
        if wanted == 0 || wanted > MCP_WAIT_SESSIONS_MAX {
            return Err(SessionToolError::Arguments {
                tool: "troupe_sessions_wait",
                problem: format!(
                    "sessionIds has {wanted} ids; give between 1 and {MCP_WAIT_SESSIONS_MAX}"
                ),
            });
        }
        let mut places = Vec::new();
        for id in &arguments.session_ids {
            let found = self.find(id).await?;
            places.push((found, self.loaded(found).await));
        }
        let until = deadline(arguments.timeout_ms);
        let ended = tokio::select! {
            ended = self.wait_for_sessions(&places, until, arguments.all, caller) => ended?,
            () = caller.cancelled().cancelled() => return Err(SessionToolError::Cancelled),
        };
        let mut waited = SessionWaitAnswer {
            finished: Vec::new(),
            running: Vec::new(),
            timed_out: ended == WaitOutcome::TimeUp,
        };
        for (found, thread) in &places {
            let mut session = self.describe(*found, thread.as_ref()).await?;
            if !arguments.include_last_message {
                session.last_message = None;
            }
            let list = if session.is_done() {
                &mut waited.finished
            } else {
                &mut waited.running
            };
            list.push(session);
        }
        Ok(waited)
    }

    /// Tells how a session stands, with its last message.
    async fn describe(
        &self,
        found: FoundSession,
        thread: Option<&RootSession>,
    ) -> Result<SessionAnswer, SessionToolError> {
        match thread {
            Some(thread) => self.live(found, thread).await,
            None => self.stored(found).await,
        }
    }
}

impl SessionTools {
    async fn wait_for_sessions(
        &self,
        places: &[(FoundSession, Option<RootSession>)],
        until: Instant,
        all: bool,
        caller: &CallingClient,
    ) -> Result<WaitOutcome, SessionToolError> {
        let store = self.store()?;
        let store = &*store;
        let mut waits: FuturesUnordered<_> = places
            .iter()
            .map(|(found, thread)| async move {
                match thread {
                    Some(thread) => {
                        let watch = TreeWatch::from_now(store, thread, caller).await?;
                        let desk = desk(thread);
                        watch.during(wait_until_idle(&desk, *found, until)).await
                    }
                    None => self.wait_for_other_process(*found, until).await,
                }
            })
            .collect();
        let mut over = WaitOutcome::Done;
        while let Some(one) = waits.next().await {
            match (one?, all) {
                (WaitOutcome::Done, true) => {}
                (WaitOutcome::Done, false) => return Ok(WaitOutcome::Done),
                (WaitOutcome::TimeUp, _) => over = WaitOutcome::TimeUp,
            }
        }
        Ok(over)
    }

    /// Waits for a session that is not in memory. Nobody tells us what another process does with
    /// it, so its log is looked at now and then.
    async fn wait_for_other_process(
        &self,
        found: FoundSession,
        until: Instant,
    ) -> Result<WaitOutcome, SessionToolError> {
        loop {
            if self.stored(found).await?.is_done() {
                return Ok(WaitOutcome::Done);
            }
            if Instant::now() >= until {
                return Ok(WaitOutcome::TimeUp);
            }
            let pause = Duration::from_millis(MCP_LOOK_INTERVAL_MS);
            tokio::time::sleep_until(until.min(Instant::now() + pause)).await;
        }
    }
}

/// Waits until a session has nothing to do: a message that its task did not take starts the
/// next one.
async fn wait_until_idle(
    desk: &TreeAccess,
    found: FoundSession,
    until: Instant,
) -> Result<WaitOutcome, SessionToolError> {
    // Dropping the wait is what ends it early.
    let stop = CancellationToken::new();
    let _stopped = stop.clone().drop_guard();
    loop {
        let targets = WaitTargets::Addresses(vec![found.address()]);
        let time = until.saturating_duration_since(Instant::now());
        let waited = desk.wait(targets, time, &stop).await?;
        let view = desk.view(&found.address()).await?;
        let is_done = view.status.is_final() && view.pending.messages == 0;
        match waited.end {
            WaitEnd::Final if is_done => return Ok(WaitOutcome::Done),
            WaitEnd::Final if Instant::now() < until => {}
            WaitEnd::Final
            | WaitEnd::Mail
            | WaitEnd::Exhausted
            | WaitEnd::TimedOut
            | WaitEnd::Stopped => return Ok(WaitOutcome::TimeUp),
        }
    }
}

async fn interrupt(desk: &TreeAccess, found: FoundSession) -> Result<(), SessionToolError> {
    let request = TreeStopRequest {
        verb: StopVerb::Interrupt,
        targets: vec![found.address()],
        mode: StopMode::Act,
        note: Some("the call that waited for it was cancelled".to_owned()),
    };
    desk.stop(request).await?;
    Ok(())
}

fn deadline(timeout_ms: u64) -> Instant {
    Instant::now() + Duration::from_millis(timeout_ms.min(MCP_WAIT_MS_MAX))
}

fn receipt_text(receipt: DeliveryReceipt) -> Result<(String, Option<usize>), SessionToolError> {
    match receipt {
        DeliveryReceipt::Delivered => Ok(("delivered".to_owned(), None)),
        DeliveryReceipt::Queued { position } => Ok(("queued".to_owned(), Some(position))),
        DeliveryReceipt::Held { .. } => Ok(("held".to_owned(), None)),
        DeliveryReceipt::Dead { why } => Err(SessionToolError::Dead(dead_agent_advice(why))),
    }
}
