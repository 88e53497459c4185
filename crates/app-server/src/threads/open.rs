//! `thread/start`, `thread/resume`, `thread/fork`: each subscribes the client that asks.

use std::path::Path;

use troupe_protocol::discard;
use troupe_protocol::op::{ConfigureSession, ForkPoint, ForkTurn};
use troupe_protocol::policy::{EffortChoice, ReasoningEffort, ReasoningSummary};
use troupe_protocol::session::{SessionSource, TurnOverrides};
use troupe_protocol::{EventMsg, Op, SessionId, SubmissionId};
use troupe_server::session_pool;
use troupe_transport::rpc::RpcError;

use super::client_tools::brought_tools;
use super::{child, not_open, refused, status, stored};
use crate::call::{Handling, MethodCall, MethodReply, thread_id};
use crate::connection::AppConnection;
use crate::history::{self, StoredThread};
use crate::now_ms;
use crate::subscription::{SubscriptionScope, SubscriptionStart, ThreadSubscription};
use crate::translate::{EventTranslator, token_usage};
use crate::trees;
use crate::wire::notification::{
    ServerNotification, ThreadStartedNotification, TokenUsageUpdatedNotification,
    WarningNotification,
};
use crate::wire::policy::{ApprovalsReviewer, ReasoningEffort as Effort};
use crate::wire::thread::{
    Thread, ThreadForkParams, ThreadOpenResponse, ThreadResumeParams, ThreadSettings,
    ThreadStartParams,
};

pub(crate) fn start(call: MethodCall) -> Handling {
    call.pass(|client, params: ThreadStartParams, reply| async move {
        let brought = match brought_tools(params.dynamic_tools.unwrap_or_default()) {
            Ok(brought) => brought,
            Err(error) => return reply.refuse(error).await,
        };
        let (mut request, mut warnings) = match session_settings(params.settings) {
            Ok(wishes) => wishes,
            Err(error) => return reply.refuse(error).await,
        };
        request.source = Some(SessionSource::AppServer);
        request.ephemeral = params.ephemeral.unwrap_or_default();
        warnings.extend(brought.warnings);
        let opened = client.app().session_pool();
        let opened = opened.start_with(request, brought.tools).await;
        match opened.map_err(not_open) {
            Ok(thread) => answer_new_thread(&client, reply, thread, Vec::new(), warnings).await,
            Err(error) => reply.refuse(error).await,
        }
    })
}

pub(crate) fn fork(call: MethodCall) -> Handling {
    call.pass(|client, params: ThreadForkParams, reply| async move {
        match forked(&client, params).await {
            Ok((thread, turns, warnings)) => {
                answer_new_thread(&client, reply, thread, turns, warnings).await;
            }
            Err(error) => reply.refuse(error).await,
        }
    })
}

async fn forked(
    client: &AppConnection,
    params: ThreadForkParams,
) -> Result<
    (
        session_pool::RootSession,
        Vec<crate::wire::turn::Turn>,
        Vec<String>,
    ),
    RpcError,
> {
    let (mut request, mut warnings) = session_settings(params.settings)?;
    request.source = Some(SessionSource::AppServer);
    request.ephemeral = params.ephemeral.unwrap_or_default();
    let (session_id, losses) =
        find_or_open(client, &params.thread_id, params.path.as_deref()).await?;
    warnings.extend(losses);
    let turn = match (params.last_turn_id, params.before_turn_id) {
        (Some(_), Some(_)) => {
            let message = "lastTurnId and beforeTurnId exclude each other";
            return Err(RpcError::invalid_request(message));
        }
        (Some(turn), None) => Some(ForkTurn::Through(SubmissionId(turn))),
        (None, Some(turn)) => Some(ForkTurn::Before(SubmissionId(turn))),
        (None, None) => None,
    };
    let point = ForkPoint {
        session_id,
        last_response_id: None,
        turns: None,
        turn,
    };
    let fork = client.app().session_pool().fork(point, request).await;
    let fork = fork.map_err(not_open)?;
    let turns = match (params.exclude_turns, fork.agents().is_ephemeral()) {
        (Some(true), _) | (_, true) => Vec::new(),
        (_, false) => stored(client, &fork.id().to_string()).await?.turns,
    };
    Ok((fork, turns, warnings))
}

/// Answers for a new thread, tells all clients of it, and has this one follow it.
async fn answer_new_thread(
    client: &AppConnection,
    reply: MethodReply,
    thread: session_pool::RootSession,
    turns: Vec<crate::wire::turn::Turn>,
    warnings: Vec<String>,
) {
    let shown = new_thread(&thread);
    let answer = Thread {
        turns,
        ..shown.clone()
    };
    reply.send(Ok(opened(&thread, answer))).await;
    announce(client, shown).await;
    warn(client, thread.id(), warnings).await;
    follow_new(client, thread);
}

/// Tells all clients of a new thread that none of them asked for by itself, and has this one
/// follow it.
pub(crate) async fn introduce(client: &AppConnection, thread: session_pool::RootSession) {
    announce(client, new_thread(&thread)).await;
    follow_new(client, thread);
}

async fn announce(client: &AppConnection, thread: Thread) {
    let thread = Box::new(thread);
    let started = ServerNotification::ThreadStarted(ThreadStartedNotification { thread });
    client.announce(started).await;
}

fn follow_new(client: &AppConnection, thread: session_pool::RootSession) {
    let beginning = SubscriptionStart {
        events: thread.events(),
        translator: EventTranslator::new(thread.id().to_string()),
        seen: 0,
        questions: Vec::new(),
        thread,
        scope: SubscriptionScope::Tree,
    };
    subscribe(client, beginning);
}

pub(crate) fn resume(call: MethodCall) -> Handling {
    call.pass(|client, params: ThreadResumeParams, reply| async move {
        match resumed(&client, params).await {
            Err(error) => reply.refuse(error).await,
            Ok(resumed) => {
                let id = resumed.id;
                reply.send(Ok(resumed.response)).await;
                if let Some(usage) = resumed.usage {
                    // A client that is gone does not need it.
                    discard!(client.notify(&usage).await, "the client is gone");
                }
                warn(&client, id, resumed.warnings).await;
                for agent in resumed.tree {
                    // A client that is gone does not need it.
                    discard!(client.notify(&agent).await, "the client is gone");
                }
                if let Some(beginning) = resumed.beginning {
                    subscribe(&client, beginning);
                }
            }
        }
    })
}

pub(super) struct ResumedThread {
    pub id: SessionId,
    pub response: ThreadOpenResponse,
    pub usage: Option<ServerNotification>,
    pub warnings: Vec<String>,
    /// Who is in the tree.
    pub tree: Vec<ServerNotification>,
    /// None if the client follows the thread already, as one of a tree.
    pub beginning: Option<SubscriptionStart>,
}

async fn resumed(
    client: &AppConnection,
    params: ThreadResumeParams,
) -> Result<ResumedThread, RpcError> {
    let (request, mut warnings) = session_settings(params.settings.clone())?;
    let (id, losses) = find_or_open(client, &params.thread_id, params.path.as_deref()).await?;
    warnings.extend(losses);
    let house = client.app().session_pool();
    let running = house.get(id).await;
    let is_running = running.is_some();
    if !is_running && let Some(root) = child::root(client, id).await? {
        return child::resumed(client, root, id, &params).await;
    }
    let thread = match running {
        Some(thread) => {
            let mut settings = params.settings.clone();
            if let Some(instructions) = settings.developer_instructions.take() {
                instruct(&thread, instructions).await?;
            }
            if settings != ThreadSettings::default() {
                let message = "the thread is in memory and keeps its settings; change them with \
                               turn/start";
                warnings.push(message.to_owned());
            }
            thread
        }
        None => house.resume(id, request).await.map_err(not_open)?,
    };
    let beginning = subscription_start(client, thread, is_running).await?;
    let (thread, stored) = (&beginning.1.thread, &beginning.0);
    let shown = match stored {
        Some(stored) => {
            let path = thread.configured().rollout_path.clone();
            let turns = match params.exclude_turns {
                Some(true) => Vec::new(),
                Some(false) | None => stored.turns.clone(),
            };
            let shown = stored.thread(status(thread), path);
            Thread { turns, ..shown }
        }
        None => new_thread(thread),
    };
    let usage = stored.as_ref().and_then(|stored| usage(id, stored));
    Ok(ResumedThread {
        tree: trees::present(thread).await,
        id,
        response: opened(thread, shown),
        usage,
        warnings,
        beginning: Some(beginning.1),
    })
}

/// Returns the thread that a client means, and what was left behind if it had to be made.
async fn find_or_open(
    client: &AppConnection,
    id: &str,
    path: Option<&Path>,
) -> Result<(SessionId, Vec<String>), RpcError> {
    let Some(path) = path.filter(|path| !path.as_os_str().is_empty()) else {
        return Ok((thread_id(id)?, Vec::new()));
    };
    let running = match id.parse() {
        Ok(id) => client.app().session_pool().get(id).await,
        Err(_) => None,
    };
    if let Some(running) = running {
        let active = running.configured().rollout_path.as_deref();
        if active == Some(path) {
            return Ok((running.id(), Vec::new()));
        }
        return Err(RpcError::invalid_request(format!(
            "the thread {id} is in memory and is not kept in {}; leave the path out, or name \
             another thread",
            path.display()
        )));
    }
    let taken = client.app().host_services().take_over(path).await;
    let taken = taken.map_err(RpcError::invalid_request)?;
    let told = |loss: String| format!("not carried over: {loss}");
    Ok((taken.session, taken.losses.into_iter().map(told).collect()))
}

/// Gives a thread in memory other developer instructions. Its model is told of them when the next
/// turn begins.
async fn instruct(
    thread: &session_pool::RootSession,
    instructions: String,
) -> Result<(), RpcError> {
    let overrides = TurnOverrides {
        developer_instructions: Some(instructions),
        ..TurnOverrides::default()
    };
    let op = Op::OverrideTurnContext { overrides };
    let is_set = |msg: &EventMsg| matches!(msg, EventMsg::TurnContextUpdated(_)).then_some(());
    thread.ask(op, is_set).await.map_err(refused)
}

/// Finds where a client comes in: the events follow what the log says, with nothing between
/// them and nothing twice.
pub(super) async fn subscription_start(
    client: &AppConnection,
    thread: session_pool::RootSession,
    is_running: bool,
) -> Result<(Option<StoredThread>, SubscriptionStart), RpcError> {
    let id = thread.id().to_string();
    let translator = EventTranslator::new(id.clone());
    // Of a thread that was brought back, what it said since then is news.
    let events = if is_running {
        thread.events_after(thread.last_seq())
    } else {
        thread.events()
    };
    if thread.agents().is_ephemeral() {
        let beginning = SubscriptionStart {
            thread,
            events,
            translator,
            seen: 0,
            questions: Vec::new(),
            scope: SubscriptionScope::Tree,
        };
        return Ok((None, beginning));
    }
    let stored = stored(client, &id).await?;
    let translator = match stored.open_turn() {
        Some((turn, started_ms)) if is_running => translator.in_turn(turn, started_ms),
        Some(_) | None => translator,
    };
    let translator = match stored.open_review() {
        Some((turn, started_ms)) if is_running => translator.in_review(turn, started_ms),
        Some(_) | None => translator,
    };
    let questions = if thread.is_idle() && !thread.agents().is_planted() {
        Vec::new()
    } else {
        stored.questions.values().cloned().collect()
    };
    let beginning = SubscriptionStart {
        thread,
        events,
        translator,
        seen: if is_running { stored.last_seq } else { 0 },
        questions,
        scope: SubscriptionScope::Tree,
    };
    Ok((Some(stored), beginning))
}

pub(super) fn subscribe(client: &AppConnection, beginning: SubscriptionStart) {
    let root = beginning.thread.id();
    let only = match &beginning.scope {
        SubscriptionScope::Tree => None,
        SubscriptionScope::Child(child) => Some(child.id),
    };
    let subscription = ThreadSubscription::start(client.clone(), beginning);
    let mut subscriptions = client.subscriptions();
    if only.is_none() {
        // Who follows the tree hears its children once.
        subscriptions.retain(|_, other| other.root() != root);
    }
    subscriptions.insert(only.unwrap_or(root), subscription);
}

/// Has a client follow a thread in memory, unless it does already.
pub(crate) async fn follow(
    client: &AppConnection,
    thread: session_pool::RootSession,
) -> Result<(), RpcError> {
    let id = thread.id();
    let follows = |subscription: &ThreadSubscription| !subscription.is_over();
    if client.subscriptions().get(&id).is_some_and(follows) {
        return Ok(());
    }
    let (_, beginning) = subscription_start(client, thread, true).await?;
    subscribe(client, beginning);
    Ok(())
}

/// Returns a thread, from its log if it is not in memory.
pub(crate) async fn open_thread(
    client: &AppConnection,
    id: &str,
) -> Result<session_pool::RootSession, RpcError> {
    let id: SessionId = thread_id(id)?;
    let house = client.app().session_pool();
    house
        .resume(id, ConfigureSession::default())
        .await
        .map_err(not_open)
}

/// Returns what a client wants of a session, and what it wants in vain.
fn session_settings(settings: ThreadSettings) -> Result<(ConfigureSession, Vec<String>), RpcError> {
    let mut overrides = TurnOverrides {
        cwd: settings.cwd,
        approval_policy: settings.approval_policy.map(Into::into),
        sandbox_policy: settings.sandbox.map(Into::into),
        model: settings.model,
        effort: None,
        summary: None,
        collaboration_mode: None,
        plan_writes: None,
        personality: settings.personality.map(|personality| personality.0),
        developer_instructions: None,
    };
    let mut warnings = Vec::new();
    let mut config = serde_json::Map::new();
    for (key, value) in settings.config.unwrap_or_default() {
        let wrong = |error: serde_json::Error| {
            RpcError::invalid_params(format!("invalid params: config.{key}: {error}"))
        };
        match key.as_str() {
            "model_reasoning_effort" => {
                let effort: ReasoningEffort = serde_json::from_value(value).map_err(wrong)?;
                overrides.effort = Some(EffortChoice::Level(effort));
            }
            "model_reasoning_summary" => {
                let summary: ReasoningSummary = serde_json::from_value(value).map_err(wrong)?;
                overrides.summary = Some(summary);
            }
            // Checked with all others when the session is configured.
            key if key == "agents" || key.starts_with("agents.") => {
                config.insert(key.to_owned(), value);
            }
            _ => warnings.push(format!(
                "config.{key} is not a setting of one thread and was left out; set it in the \
                 configuration, or with -c when the server starts"
            )),
        }
    }
    if let Some(ApprovalsReviewer::AutoReview | ApprovalsReviewer::GuardianSubagent) =
        settings.approvals_reviewer
    {
        let message = "there is no automatic reviewer: approvals are asked of the client";
        warnings.push(message.to_owned());
    }
    let request = ConfigureSession {
        overrides,
        model_provider: settings.model_provider,
        base_instructions: settings.base_instructions,
        developer_instructions: settings.developer_instructions,
        config,
        ..ConfigureSession::default()
    };
    Ok((request, warnings))
}

async fn warn(client: &AppConnection, thread: SessionId, warnings: Vec<String>) {
    for message in warnings {
        let thread_id = Some(thread.to_string());
        let warning = WarningNotification { thread_id, message };
        // A client that is gone does not need it.
        discard!(
            client.notify(&ServerNotification::Warning(warning)).await,
            "the client is gone"
        );
    }
}

pub(super) fn usage(id: SessionId, stored: &StoredThread) -> Option<ServerNotification> {
    let turn = stored.turns.last()?;
    let usage = TokenUsageUpdatedNotification {
        thread_id: id.to_string(),
        turn_id: turn.id.clone(),
        token_usage: token_usage(stored.usage.as_ref()?),
    };
    Some(ServerNotification::ThreadTokenUsageUpdated(usage))
}

/// Returns a thread that has nothing in its history.
pub(super) fn new_thread(thread: &session_pool::RootSession) -> Thread {
    let configured = thread.configured();
    let now = now_ms() / 1000;
    Thread {
        id: thread.id().to_string(),
        session_id: thread.id().to_string(),
        forked_from_id: configured.forked_from_id.map(|id| id.to_string()),
        parent_thread_id: None,
        preview: String::new(),
        ephemeral: thread.agents().is_ephemeral(),
        project_id: None,
        model_provider: configured.model_provider_id.clone(),
        model: Some(configured.context.model.clone()),
        created_at: now,
        updated_at: now,
        status: status(thread),
        path: configured.rollout_path.clone(),
        cwd: configured.context.cwd.clone(),
        cli_version: env!("CARGO_PKG_VERSION").to_owned(),
        source: history::source(&SessionSource::AppServer),
        agent_nickname: None,
        agent_role: None,
        agent_path: None,
        git_info: None,
        name: configured.thread_name.clone(),
        note: configured.thread_note.clone(),
        turns: Vec::new(),
    }
}

fn opened(thread: &session_pool::RootSession, shown: Thread) -> ThreadOpenResponse {
    let configured = thread.configured();
    let context = &configured.context;
    ThreadOpenResponse {
        thread: shown,
        model: context.model.clone(),
        model_provider: configured.model_provider_id.clone(),
        service_tier: None,
        cwd: context.cwd.clone(),
        instruction_sources: configured.instruction_sources.clone(),
        approval_policy: context.approval_policy.into(),
        approvals_reviewer: ApprovalsReviewer::User,
        sandbox: context.sandbox_policy.clone().into(),
        reasoning_effort: context.effort.map(Effort),
    }
}
