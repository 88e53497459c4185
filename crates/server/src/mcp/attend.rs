//! Answers in the place of people, for clients that cannot ask any.

use troupe_engine::EventStream;
use troupe_protocol::EventMsg;

use crate::headless::Headless;
use crate::house::Thread;

/// Answers every request for approval of a tree until nothing runs in it. Ends with the thread.
pub(super) fn attend(thread: Thread, events: EventStream, headless: Headless) {
    tokio::spawn(async move {
        let mut events = events;
        if begun(&thread, &mut events, headless).await {
            let agents = thread.agents().clone();
            tokio::select! {
                () = agents.quiet() => {}
                () = answer_all(&thread, &mut events, headless) => {}
            }
        }
    });
}

/// Waits for the task that somebody has just asked for, or for word that there will be none:
/// before it a tree would be taken for quiet.
async fn begun(thread: &Thread, events: &mut EventStream, headless: Headless) -> bool {
    while let Some(event) = events.next().await {
        match &event.msg {
            EventMsg::TurnStarted(_) | EventMsg::SubagentLifecycle(_) => return true,
            EventMsg::Error(_) => return false,
            msg => answer(thread, msg, headless).await,
        }
    }
    false
}

async fn answer_all(thread: &Thread, events: &mut EventStream, headless: Headless) {
    while let Some(event) = events.next().await {
        answer(thread, &event.msg, headless).await;
    }
}

async fn answer(thread: &Thread, msg: &EventMsg, headless: Headless) {
    if let Some(op) = headless.answer(msg) {
        // A session that takes nothing more has nothing to ask.
        thread.submit(op).await.ok();
    }
}
