//! `turn/*`: what a thread is asked to do.

use tokio::sync::mpsc;
use troupe_protocol::SessionId;
use troupe_protocol::input::UserInput;
use troupe_protocol::policy::EffortChoice;
use troupe_protocol::session::TurnOverrides;
use troupe_transport::rpc::RpcError;

use super::call::{Handling, MethodCall, MethodReply, thread_id};
use super::connection::AppConnection;
use super::subscription::{NewTurn, ThreadControl};
use super::threads;
use super::wire::turn::{TurnInterruptParams, TurnStartParams, TurnSteerParams};

pub(super) fn start(call: MethodCall) -> Handling {
    call.pass(|client, params: TurnStartParams, reply| async move {
        let input = Box::new(NewTurn {
            items: params.input.into_iter().map(Into::into).collect(),
            overrides: TurnOverrides {
                cwd: params.cwd,
                approval_policy: params.approval_policy.map(Into::into),
                sandbox_policy: params.sandbox_policy.map(Into::into),
                model: params.model,
                effort: params.effort.map(|effort| EffortChoice::Level(effort.0)),
                summary: params.summary.map(|summary| summary.0),
                collaboration_mode: params.collaboration_mode.map(|mode| mode.0),
                plan_writes: None,
                personality: params.personality.map(|personality| personality.0),
                developer_instructions: params.developer_instructions,
            },
            output_schema: params.output_schema,
            client_id: params.client_user_message_id,
        });
        let control = |reply| ThreadControl::Start { input, reply };
        send_to_subscription(&client, &params.thread_id, reply, control).await;
    })
}

pub(super) fn steer(call: MethodCall) -> Handling {
    call.pass(|client, params: TurnSteerParams, reply| async move {
        let items: Vec<UserInput> = params.input.into_iter().map(Into::into).collect();
        if items.is_empty() {
            let error = RpcError::invalid_request("input must not be empty");
            return reply.refuse(error).await;
        }
        let expected = params.expected_turn_id;
        let client_id = params.client_user_message_id;
        let control = |reply| ThreadControl::Steer {
            items,
            client_id,
            expected,
            reply,
        };
        send_to_subscription(&client, &params.thread_id, reply, control).await;
    })
}

pub(super) fn interrupt(call: MethodCall) -> Handling {
    call.pass(|client, params: TurnInterruptParams, reply| async move {
        let turn = params.turn_id;
        let control = |reply| ThreadControl::Interrupt { turn, reply };
        send_to_subscription(&client, &params.thread_id, reply, control).await;
    })
}

/// Hands a request to the client's subscription, which answers it in its place among the
/// events. A client that does not follow the thread yet does from now on.
pub(super) async fn send_to_subscription(
    client: &AppConnection,
    thread: &str,
    reply: MethodReply,
    control: impl FnOnce(MethodReply) -> ThreadControl,
) {
    match find_subscription(client, thread).await {
        Err(error) => reply.refuse(error).await,
        // A subscription that ends meanwhile drops the request, which is then answered so.
        Ok((id, controls)) => drop(controls.send((id, control(reply))).await),
    }
}

/// Returns the thread, and the subscription that takes what is asked of it: its own, or that of
/// the tree that it is in.
async fn find_subscription(
    client: &AppConnection,
    thread: &str,
) -> Result<(SessionId, mpsc::Sender<(SessionId, ThreadControl)>), RpcError> {
    let id = thread_id(thread)?;
    let followed = match client.app().session_pool().get(id).await {
        Some(thread) => {
            threads::follow(client, thread).await?;
            Some(id)
        }
        None => threads::follow_child(client, id).await?,
    };
    let subscriptions = client.subscriptions();
    let subscription = followed.and_then(|followed| subscriptions.get(&followed));
    let subscription = subscription.ok_or_else(|| not_loaded(thread))?;
    Ok((id, subscription.controls()))
}

fn not_loaded(thread: &str) -> RpcError {
    RpcError::invalid_request(format!(
        "thread not found: {thread}; thread/resume brings a stored one back"
    ))
}
