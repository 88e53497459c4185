//! `tree/*` and `agent/*`, which are ours: the agents below a thread, with the user's access to the tree.
//!
//! The root is named by `rootThreadId`, so that a wait is not in the way of other requests
//! about the thread.

mod changes;
mod show;

pub(super) use changes::{present, tree_notification};

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use troupe_agents::tree_access::{
    AgentScope, CallbackChoice, SpawnContext, SpawnRequest, TreeError, TreeStopRequest, WaitTargets,
};
use troupe_protocol::tree::AgentMessage;
use troupe_protocol::{AgentId, SubmissionId};
use troupe_server::session_pool::place_of;
use troupe_transport::rpc::RpcError;
use troupe_tree::command::{SendUrgency, StopMode};
use troupe_tree::effect::WaitEnd;

use super::call::{Handling, MethodCall};
use super::connection::AppConnection;
use super::threads::{self, open_thread};
use super::wire::Empty;
use super::wire::tree::{
    AgentNoteSetParams, AgentResultParams, AgentResultResponse, AgentSendParams, AgentSendResponse,
    AgentSpawnParams, AgentSpawnResponse, AgentStopParams, AgentStopResponse, AgentWaitParams,
    AgentWaitResponse, TreeListResponse, TreeReadParams, TreeReadResponse, TreeSummary,
};
use crate::limits::AGENT_WAIT_MS_DEFAULT;

/// What a spawn is recorded as.
const TOOL: &str = "agent/spawn";

pub(super) fn list(call: MethodCall) -> Handling {
    call.answer(|client: AppConnection, _: Empty| async move {
        let mut data = Vec::new();
        for thread in client.app().session_pool().loaded().await {
            let agents = thread.agents();
            if agents.is_planted() {
                let below = agents.user().list(AgentScope::All, false).await;
                data.push(TreeSummary {
                    root_thread_id: thread.id().to_string(),
                    agents: below.map_err(refused)?.len(),
                });
            }
        }
        Ok(TreeListResponse { data })
    })
}

pub(super) fn read(call: MethodCall) -> Handling {
    call.answer(|client: AppConnection, params: TreeReadParams| async move {
        let thread = open_thread(&client, &params.root_thread_id).await?;
        let desk = thread.agents().user();
        let root = desk.view(&AgentId::ROOT.to_string()).await;
        let others = desk.list(AgentScope::All, params.include_closed).await;
        let (root, others) = (root.map_err(refused)?, others.map_err(refused)?);
        let others = others.iter().filter(|view| view.agent != AgentId::ROOT);
        let agents = std::iter::once(&root).chain(others);
        Ok(TreeReadResponse {
            agents: agents.map(show::agent).collect(),
        })
    })
}

pub(super) fn spawn(call: MethodCall) -> Handling {
    call.answer(
        |client: AppConnection, params: AgentSpawnParams| async move {
            if params.input.is_empty() {
                return Err(RpcError::invalid_request("input must not be empty"));
            }
            let thread = open_thread(&client, &params.root_thread_id).await?;
            let context = thread.context().await.map_err(threads::refused)?;
            let house = client.app().session_pool();
            let turn = match place_of(house, thread.id()).await {
                Some((task, index)) => SpawnContext::outside_task(&context).at(task, index),
                None => SpawnContext::outside_task(&context),
            };
            let request = spawn_request(turn, params);
            let spawned = thread.agents().user().spawn(request).await;
            let spawned = spawned.map_err(refused)?;
            Ok(AgentSpawnResponse {
                agent: show::agent(&spawned.view),
                why: spawned.why,
            })
        },
    )
}

fn spawn_request(turn: SpawnContext, params: AgentSpawnParams) -> SpawnRequest {
    let items = params.input.into_iter().map(Into::into).collect();
    SpawnRequest {
        agent_type: params.role,
        name: params.name,
        model: params.model,
        reasoning_effort: params.effort.map(|effort| effort.0),
        sandbox: params.sandbox.map(Into::into),
        output_schema: params.output_schema,
        callback: CallbackChoice::each_end(params.call_back),
        thread_note: params.note,
        ..SpawnRequest::new(TOOL, items, turn)
    }
}

pub(super) fn send(call: MethodCall) -> Handling {
    call.answer(
        |client: AppConnection, params: AgentSendParams| async move {
            if params.input.is_empty() {
                return Err(RpcError::invalid_request("input must not be empty"));
            }
            let thread = open_thread(&client, &params.root_thread_id).await?;
            let message = AgentMessage {
                items: params.input.into_iter().map(Into::into).collect(),
                metadata: None,
                client_id: None,
            };
            let urgency = if params.interrupt {
                SendUrgency::Interrupt
            } else {
                SendUrgency::Regular
            };
            let desk = thread.agents().user();
            let sent = desk.send(&params.agent, message, urgency).await;
            let sent = sent.map_err(refused)?;
            Ok(AgentSendResponse {
                message_id: sent.message.to_string(),
                receipt: show::receipt(sent.receipt),
                agent: show::agent(&sent.view),
            })
        },
    )
}

/// Ends with the client, as every request does.
pub(super) fn wait(call: MethodCall) -> Handling {
    call.answer(
        |client: AppConnection, params: AgentWaitParams| async move {
            let thread = open_thread(&client, &params.root_thread_id).await?;
            let on = match params.agents {
                agents if agents.is_empty() => WaitTargets::AnyChild,
                agents => WaitTargets::Addresses(agents),
            };
            let time = params.timeout_ms.unwrap_or(AGENT_WAIT_MS_DEFAULT);
            let left = CancellationToken::new();
            let _left = left.clone().drop_guard();
            let desk = thread.agents().user();
            let waited = desk.wait(on, Duration::from_millis(time), &left).await;
            let waited = waited.map_err(refused)?;
            Ok(AgentWaitResponse {
                timed_out: waited.end == WaitEnd::TimedOut,
                finished: waited.finished.iter().map(show::finished).collect(),
                unfinished: waited.unfinished.iter().map(show::agent).collect(),
            })
        },
    )
}

pub(super) fn result(call: MethodCall) -> Handling {
    call.answer(
        |client: AppConnection, params: AgentResultParams| async move {
            let thread = open_thread(&client, &params.root_thread_id).await?;
            let desk = thread.agents().user();
            let task = params.task_id.map(SubmissionId);
            let result = desk.result(&params.agent, task).await.map_err(refused)?;
            Ok(AgentResultResponse {
                result: show::result(&result),
            })
        },
    )
}

pub(super) fn set_note(call: MethodCall) -> Handling {
    call.answer(
        |client: AppConnection, params: AgentNoteSetParams| async move {
            let thread = open_thread(&client, &params.root_thread_id).await?;
            let desk = thread.agents().user();
            let set = desk.set_note(&params.agent, &params.note).await;
            set.map_err(refused)?;
            Ok(Empty {})
        },
    )
}

pub(super) fn stop(call: MethodCall) -> Handling {
    call.answer(
        |client: AppConnection, params: AgentStopParams| async move {
            let thread = open_thread(&client, &params.root_thread_id).await?;
            let request = TreeStopRequest {
                verb: params.verb,
                targets: params.agents,
                mode: if params.dry_run {
                    StopMode::DryRun
                } else {
                    StopMode::Act
                },
                note: params.note,
            };
            let stopped = thread.agents().user().stop(request).await;
            let stopped = stopped.map_err(refused)?;
            Ok(AgentStopResponse {
                touched: stopped.touched.iter().map(show::touched).collect(),
                skipped: stopped.skipped.iter().map(show::skipped).collect(),
                unknown: stopped.unknown,
            })
        },
    )
}

pub(super) fn refused(trouble: TreeError) -> RpcError {
    match trouble {
        TreeError::Storage(_) => RpcError::internal(trouble.to_string()),
        trouble => RpcError::invalid_request(trouble.to_string()),
    }
}
