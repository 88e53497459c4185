//! Answers in the place of people, for clients that cannot ask any.

use troupe_engine::EventStream;
use troupe_protocol::discard;
use troupe_protocol::{EventMsg, Op};

use crate::headless::{Headless, Heard, Standin};
use crate::house::Thread;

/// Answers every request for approval of a tree until nothing runs in it. Ends with the thread.
pub(super) fn attend(thread: Thread, events: EventStream, headless: Headless) {
    tokio::spawn(async move {
        let mut events = events;
        let mut standin = Standin::new(headless);
        if begun(&thread, &mut events, &mut standin).await {
            let agents = thread.agents().clone();
            tokio::select! {
                () = agents.quiet() => {}
                () = answer_all(&thread, &mut events, &mut standin) => {}
            }
        }
    });
}

/// Waits for the task that somebody has just asked for, or for word that there will be none:
/// before it a tree would be taken for quiet.
async fn begun(thread: &Thread, events: &mut EventStream, standin: &mut Standin) -> bool {
    while let Some(event) = events.next().await {
        match &event.msg {
            EventMsg::TurnStarted(_) | EventMsg::SubagentLifecycle(_) => return true,
            EventMsg::Error(_) => return false,
            msg => hear(thread, msg, standin).await,
        }
    }
    false
}

async fn answer_all(thread: &Thread, events: &mut EventStream, standin: &mut Standin) {
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

async fn hear(thread: &Thread, msg: &EventMsg, standin: &mut Standin) {
    match standin.hear(msg) {
        Heard::Answer(op) | Heard::Escalate(op) => submit(thread, *op).await,
        Heard::Nothing | Heard::Open { .. } => {}
    }
}

async fn submit(thread: &Thread, op: Op) {
    // A session that takes nothing more has nothing to ask.
    discard!(thread.submit(op).await, "the session has ended");
}
