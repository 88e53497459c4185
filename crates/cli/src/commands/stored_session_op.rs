//! A stored session, opened for one thing that needs no model.

use std::sync::Arc;

use anyhow::anyhow;
use troupe_engine::{EventStream, SessionDeps, spawn};
use troupe_protocol::op::ConfigureSession;
use troupe_protocol::{EventMsg, Op, SessionId, Submission};

use crate::commands::tell;
use crate::failure::CommandFailure;
use crate::wiring::Wiring;

/// Asks a session for this and returns its answer. The session is over afterwards, and
/// everything on disk.
pub async fn submit_and_wait<T>(
    wiring: Wiring,
    session: SessionId,
    op: Op,
    is_answer: impl Fn(&EventMsg) -> Option<T>,
) -> Result<T, CommandFailure> {
    let deps = SessionDeps::new(Arc::new(wiring.without_model()));
    let (handle, mut events) = spawn(deps);
    let configure = ConfigureSession {
        resume: Some(session),
        ..ConfigureSession::default()
    };
    let ops = [Op::ConfigureSession(configure), op, Op::Shutdown];
    for (number, op) in ops.into_iter().enumerate() {
        let id = format!("one-{number}").as_str().into();
        let submission = Submission { id, op };
        handle
            .submit(submission)
            .await
            .map_err(CommandFailure::failed)?;
    }
    let answer = wait(&mut events, is_answer).await;
    while events.next().await.is_some() {}
    answer
}

async fn wait<T>(
    events: &mut EventStream,
    is_answer: impl Fn(&EventMsg) -> Option<T>,
) -> Result<T, CommandFailure> {
    while let Some(event) = events.next().await {
        match &event.msg {
            EventMsg::Error(error) => {
                return Err(CommandFailure::not_started(anyhow!(error.message.clone())));
            }
            EventMsg::Warning { message } => tell(&format!("warning: {message}")),
            msg => {
                if let Some(answer) = is_answer(msg) {
                    return Ok(answer);
                }
            }
        }
    }
    Err(CommandFailure::failed(anyhow!(
        "the session ended before it answered"
    )))
}
