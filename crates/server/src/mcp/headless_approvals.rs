//! Answers in the place of people, for clients that cannot ask any.

use troupe_engine::EventStream;
use troupe_protocol::discard;
use troupe_protocol::{EventMsg, Op};

use crate::headless::{HeadlessApprover, HeadlessPolicy, HeadlessReaction};
use crate::session_pool::RootSession;

/// Answers every request for approval of a tree until nothing runs in it. Ends with the thread.
pub(super) fn answer_approvals(thread: RootSession, events: EventStream, headless: HeadlessPolicy) {
    tokio::spawn(async move {
        let mut events = events;
        let mut standin = HeadlessApprover::new(headless);
        if wait_for_start(&thread, &mut events, &mut standin).await {
            let agents = thread.agents().clone();
            tokio::select! {
                () = agents.wait_until_idle() => {}
                () = answer_all(&thread, &mut events, &mut standin) => {}
            }
        }
    });
}

/// Waits for the task that somebody has just asked for, or for word that there will be none:
/// before it a tree would be taken for quiet.
async fn wait_for_start(
    thread: &RootSession,
    events: &mut EventStream,
    standin: &mut HeadlessApprover,
) -> bool {
    while let Some(event) = events.next().await {
        match &event.msg {
            EventMsg::TurnStarted(_) | EventMsg::SubagentLifecycle(_) => return true,
            EventMsg::Error(_) => return false,
            msg => hear(thread, msg, standin).await,
        }
    }
    false
}

async fn answer_all(
    thread: &RootSession,
    events: &mut EventStream,
    standin: &mut HeadlessApprover,
) {
    loop {
        tokio::select! {
            event = events.next() => match event {
                Some(event) => hear(thread, &event.msg, standin).await,
                None => return,
            },
            refusal = standin.due() => submit(thread, refusal).await,
        }
    }
}

async fn hear(thread: &RootSession, msg: &EventMsg, standin: &mut HeadlessApprover) {
    match standin.observe(msg) {
        HeadlessReaction::Answer(op) | HeadlessReaction::Escalate(op) => submit(thread, *op).await,
        HeadlessReaction::Nothing | HeadlessReaction::Open { .. } => {}
    }
}

async fn submit(thread: &RootSession, op: Op) {
    // A session that takes nothing more has nothing to ask.
    discard!(thread.submit(op).await, "the session has ended");
}
