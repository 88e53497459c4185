//! `troupe_sessions_prompt` and `troupe_sessions_wait`: calls that last as long as a session works.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use troupe_agents::Desk;
use troupe_agents::desk::{StopRequest, Targets};
use troupe_agents::tree::command::{StopMode, Urgency};
use troupe_agents::tree::effect::{Receipt, WaitEnd};
use troupe_mcp::serve::Caller;
use troupe_protocol::StopVerb;
use troupe_protocol::op::{ConfigureSession, ForkPoint};
use troupe_protocol::tree::AgentMessage;

use super::answers::{Prompted, SessionAnswer, Waited};
use super::arguments::{PromptArguments, PromptMode, WaitArguments};
use super::attend::attend;
use super::directory::{Found, desk};
use super::orchestra::Orchestra;
use super::spawning::check_prompt;
use super::trouble::Trouble;
use super::watch::Watch;
use crate::house::{Thread, dead};
use crate::limits::{MCP_LOOK_INTERVAL_MS, MCP_WAIT_MS_MAX, MCP_WAIT_SESSIONS_MAX};

/// How a wait for one session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    Done,
    TimeUp,
}

impl Orchestra {
    pub(super) async fn prompt(
        &self,
        arguments: PromptArguments,
        caller: &Caller,
    ) -> Result<Prompted, Trouble> {
        check_prompt("troupe_sessions_prompt", &arguments.prompt)?;
        let found = self.find(&arguments.session_id).await?;
        let (thread, found) = match arguments.mode {
            PromptMode::Continue => (self.open(found).await?, found),
            PromptMode::Fork => self.fork(found).await?,
        };
        let desk = desk(&thread);
        let seq = thread.last_seq();
        let urgency = if arguments.interrupt {
            Urgency::Interrupt
        } else {
            Urgency::Regular
        };
        let message = AgentMessage::text(arguments.prompt);
        let sent = desk.send(&found.address(), message, urgency).await?;
        let (receipt, queue_position) = told(sent.receipt)?;
        if !caller.can_be_asked() {
            attend(thread.clone(), thread.events_after(seq), self.headless);
        }
        let mut timed_out = false;
        if arguments.wait {
            let watch = Watch::new(&thread, caller, seq);
            let until = patient(&desk, found, deadline(arguments.timeout_ms));
            tokio::select! {
                over = watch.during(until) => timed_out = over? == Over::TimeUp,
                () = caller.cancelled().cancelled() => {
                    // Nobody is left to read what the task comes to.
                    interrupt(&desk, found).await?;
                    return Err(Trouble::Cancelled);
                }
            }
        }
        Ok(Prompted {
            receipt,
            queue_position,
            timed_out,
            session: self.describe(found, Some(&thread)).await?,
        })
    }

    async fn fork(&self, found: Found) -> Result<(Thread, Found), Trouble> {
        let point = ForkPoint {
            session_id: found.session,
            last_response_id: None,
            turns: None,
            turn: None,
        };
        let fork = self.house.fork(point, ConfigureSession::default()).await?;
        let (session, root) = (fork.id(), fork.id());
        Ok((fork, Found { session, root }))
    }

    pub(super) async fn wait(
        &self,
        arguments: WaitArguments,
        caller: &Caller,
    ) -> Result<Waited, Trouble> {
        let wanted = arguments.session_ids.len();
        if wanted == 0 || wanted > MCP_WAIT_SESSIONS_MAX {
            return Err(Trouble::Arguments {
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
            ended = self.all_or_one(&places, until, arguments.all, caller) => ended?,
            () = caller.cancelled().cancelled() => return Err(Trouble::Cancelled),
        };
        let mut waited = Waited {
            finished: Vec::new(),
            running: Vec::new(),
            timed_out: ended == Over::TimeUp,
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
        found: Found,
        thread: Option<&Thread>,
    ) -> Result<SessionAnswer, Trouble> {
        match thread {
            Some(thread) => self.live(found, thread).await,
            None => self.stored(found).await,
        }
    }
}

impl Orchestra {
    async fn all_or_one(
        &self,
        places: &[(Found, Option<Thread>)],
        until: Instant,
        all: bool,
        caller: &Caller,
    ) -> Result<Over, Trouble> {
        let store = self.store()?;
        let store = &*store;
        let mut waits: FuturesUnordered<_> = places
            .iter()
            .map(|(found, thread)| async move {
                match thread {
                    Some(thread) => {
                        let watch = Watch::from_now(store, thread, caller).await?;
                        let desk = desk(thread);
                        watch.during(patient(&desk, *found, until)).await
                    }
                    None => self.done_elsewhere(*found, until).await,
                }
            })
            .collect();
        let mut over = Over::Done;
        while let Some(one) = waits.next().await {
            match (one?, all) {
                (Over::Done, true) => {}
                (Over::Done, false) => return Ok(Over::Done),
                (Over::TimeUp, _) => over = Over::TimeUp,
            }
        }
        Ok(over)
    }

    /// Waits for a session that is not in memory. Nobody tells us what another process does with
    /// it, so its log is looked at now and then.
    async fn done_elsewhere(&self, found: Found, until: Instant) -> Result<Over, Trouble> {
        loop {
            if self.stored(found).await?.is_done() {
                return Ok(Over::Done);
            }
            if Instant::now() >= until {
                return Ok(Over::TimeUp);
            }
            let pause = Duration::from_millis(MCP_LOOK_INTERVAL_MS);
            tokio::time::sleep_until(until.min(Instant::now() + pause)).await;
        }
    }
}

/// Waits until a session has nothing to do: a message that its task did not take starts the
/// next one.
async fn patient(desk: &Desk, found: Found, until: Instant) -> Result<Over, Trouble> {
    // Dropping the wait is what ends it early.
    let stop = CancellationToken::new();
    let _stopped = stop.clone().drop_guard();
    loop {
        let targets = Targets::Addresses(vec![found.address()]);
        let time = until.saturating_duration_since(Instant::now());
        let waited = desk.wait(targets, time, &stop).await?;
        let view = desk.view(&found.address()).await?;
        let is_done = view.status.is_final() && view.pending.messages == 0;
        match waited.end {
            WaitEnd::Final if is_done => return Ok(Over::Done),
            WaitEnd::Final if Instant::now() < until => {}
            WaitEnd::Final
            | WaitEnd::Mail
            | WaitEnd::Exhausted
            | WaitEnd::TimedOut
            | WaitEnd::Stopped => return Ok(Over::TimeUp),
        }
    }
}

async fn interrupt(desk: &Desk, found: Found) -> Result<(), Trouble> {
    let request = StopRequest {
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

fn told(receipt: Receipt) -> Result<(String, Option<usize>), Trouble> {
    match receipt {
        Receipt::Delivered => Ok(("delivered".to_owned(), None)),
        Receipt::Queued { position } => Ok(("queued".to_owned(), Some(position))),
        Receipt::Held { .. } => Ok(("held".to_owned(), None)),
        Receipt::Dead { why } => Err(Trouble::Dead(dead(why))),
    }
}
