//! Orders of the tree, done in the order in which they were given.

use std::ops::ControlFlow;

use troupe_protocol::EventMsg;
use troupe_protocol::op::{Op, Submission};
use troupe_protocol::text::error_chain;
use troupe_store::StoreError;

use super::{Flow, SessionActor};
use crate::host::SessionOrder;

impl SessionActor {
    /// Takes an order. One that brings pictures is carried out when they are decoded.
    pub(super) async fn order(&mut self, order: SessionOrder) -> Result<Flow, StoreError> {
        match self.decode_mail(order) {
            Some(order) => self.carry_out(order).await,
            None => Ok(ControlFlow::Continue(())),
        }
    }

    pub(super) async fn carry_out(&mut self, order: SessionOrder) -> Result<Flow, StoreError> {
        if let SessionOrder::Abort { task, .. } = &order {
            self.forget_undecoded(task);
        }
        let out = &mut self.emitter;
        match (order, &mut self.open) {
            (SessionOrder::Operate { submission: id, op }, _) => {
                let what = recorded(&op);
                let done = Box::pin(self.submission(Submission { id, op })).await;
                // Nobody but the tree asked, so nobody else would hear of it.
                if let (Err(error), Some(what), Some(open)) = (&done, what, &self.open) {
                    open.host().unrecorded(what, error_chain(error));
                }
                return done;
            }
            // Without a session there is no agent: a receipt that is dropped says so.
            (_, None) => (),
            (
                SessionOrder::Start {
                    task,
                    message,
                    mail,
                    ahead,
                    output_schema,
                },
                Some(open),
            ) => {
                let first = (message, mail);
                open.start(out, task, first, ahead, output_schema).await?;
            }
            (SessionOrder::Mail(mail), Some(open)) => open.mail(mail).await,
            (SessionOrder::Abort { task, reason, by }, Some(open)) => {
                open.abort(out, &task, reason, by).await?;
            }
            (SessionOrder::Write(parcel), Some(open)) => {
                if let Some(lines) = parcel.take() {
                    let task = open.task_id().unwrap_or_default();
                    let conversation = &mut open.conversation;
                    conversation.write_for_tree(out, &task, lines).await?;
                }
            }
            (SessionOrder::Record { submission, events }, Some(open)) => {
                let id = submission.or_else(|| open.task_id());
                let id = id.unwrap_or_default();
                // What is asked and answered is on disk before it counts.
                let must_last = events.iter().any(is_approval);
                out.write(&id, Vec::new(), events)?;
                if must_last {
                    out.commit().await?;
                }
            }
            (SessionOrder::Answer { call_id, word }, Some(open)) => {
                open.record_answer(out, &call_id, word).await?;
            }
            (SessionOrder::Tell(msg), Some(open)) => {
                let id = open.task_id().unwrap_or_default();
                out.delta(&id, msg)?;
            }
        }
        Ok(ControlFlow::Continue(()))
    }
}

/// Returns what an op has the session record about itself.
fn recorded(op: &Op) -> Option<&'static str> {
    match op {
        Op::SetThreadNote { .. } => Some("note"),
        Op::SetThreadName { .. } => Some("name"),
        _ => None,
    }
}

fn is_approval(event: &EventMsg) -> bool {
    matches!(
        event,
        EventMsg::ExecApprovalRequest(_)
            | EventMsg::ApplyPatchApprovalRequest(_)
            | EventMsg::ApprovalResolved { .. }
    )
}
