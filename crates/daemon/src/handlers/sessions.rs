//! Sessions: made, listed, looked at, changed, deleted.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use troupe_agents::preview_callback;
use troupe_protocol::input::UserInput;
use troupe_protocol::op::ConfigureSession;
use troupe_protocol::policy::EffortChoice;
use troupe_protocol::session::TurnOverrides;
use troupe_protocol::spawn::CallbackConfig;
use troupe_protocol::{EventMsg, Op, SessionId};
use troupe_schema::AnswerSchema;
use troupe_server::RootSession;
use troupe_store::{ArchivedFilter, ListQuery, SessionSummary, SourceKind};

use super::tasks::begun_task;
use crate::daemon::Daemon;
use crate::limits::{SESSIONS_PAGE_DEFAULT, SESSIONS_PAGE_MAX};
use crate::members::{FoundSession, root_view, user};
use crate::problem::Problem;
use crate::route::{NoMembers, RouteCall, RouteReply};
use crate::wire::callback::CallbackConfigChange;
use crate::wire::session::{
    SessionChange, SessionCreateRequest, SessionCreated, SessionDeleteQuery, SessionEntry,
    SessionListQuery, SessionPage, SessionView, SessionsDeleted,
};
use crate::wire::task::check_prompt;

/// What we are called among those that can run a session.
const OURSELVES: &str = "troupe";

pub(crate) async fn create(
    call: RouteCall<NoMembers, SessionCreateRequest>,
) -> Result<RouteReply<SessionCreated>, Problem> {
    let RouteCall { daemon, body, .. } = call;
    if let Some(prompt) = &body.prompt {
        check_prompt(prompt)?;
    }
    let schema = body.output_schema.clone().map(Value::Object);
    check_schema(schema.as_ref())?;
    if body.prompt.is_none() && schema.is_some() {
        let detail = "output_schema is for the first task; give a prompt too";
        return Err(Problem::unprocessable("output_schema", detail));
    }
    check_directory(body.working_directory.as_deref())?;
    let (prompt, title, note) = (body.prompt.clone(), body.title.clone(), body.note.clone());
    let request = configuration(&daemon, body)?;
    let thread = daemon.pool().start(request).await?;
    let found = FoundSession::of_root(thread.id());
    daemon.note_root(found.root)?;
    set_texts(&thread, title, note).await?;
    // Its tree begins with it, so that its results are recorded with their evidence.
    root_view(&thread).await?;
    let task = match prompt {
        None => None,
        Some(prompt) => {
            let id = thread
                .submit(Op::UserInput {
                    items: vec![UserInput::text(prompt.clone())],
                    final_output_json_schema: schema,
                    last_response_id: None,
                })
                .await
                .map_err(|closed| Problem::unavailable(closed.to_string()))?;
            Some(begun_task(found.session, id.0, prompt))
        }
    };
    let session = daemon.describe_live(found, &thread).await?;
    let location = format!("/v1/sessions/{}", session.id);
    let version = session.version.clone();
    let created = SessionCreated {
        seed_id: session.id,
        session,
        task,
    };
    Ok(RouteReply::new(created).version(version).location(location))
}

pub(crate) fn check_schema(schema: Option<&Value>) -> Result<(), Problem> {
    match schema.map(AnswerSchema::compile) {
        Some(Err(error)) => Err(Problem::unprocessable("output_schema", error.to_string())),
        Some(Ok(_)) | None => Ok(()),
    }
}

fn check_directory(directory: Option<&std::path::Path>) -> Result<(), Problem> {
    match directory {
        Some(path) if !path.is_absolute() || !path.is_dir() => Err(Problem::unprocessable(
            "working_directory",
            "it must be the absolute path of an existing directory",
        )),
        _ => Ok(()),
    }
}

/// Returns the backend that is asked for; none for ourselves.
pub(crate) fn backend(daemon: &Daemon, tool: Option<String>) -> Result<Option<String>, Problem> {
    let Some(tool) = tool.filter(|tool| tool != OURSELVES) else {
        return Ok(None);
    };
    let known = daemon.pool().backends();
    if known.contains(&tool) {
        return Ok(Some(tool));
    }
    let detail = format!("there is no {tool:?}; a [backends] table of the configuration adds one");
    let known = std::iter::once(OURSELVES.to_owned()).chain(known);
    Err(Problem::unprocessable("agentic_tool", detail).allowed(known))
}

fn configuration(daemon: &Daemon, body: SessionCreateRequest) -> Result<ConfigureSession, Problem> {
    let backend = backend(daemon, body.agentic_tool)?;
    if backend.is_some() && body.model_provider.is_some() {
        let detail = "a backend has a provider of its own; leave model_provider out";
        return Err(Problem::unprocessable("model_provider", detail));
    }
    let mut config = body.config.unwrap_or_default();
    if let Some(mode) = body.sandbox_mode {
        config.insert("sandbox_mode".to_owned(), json!(mode));
    }
    if let Some(callback) = body.callback_config {
        let said = said(&callback);
        preview_callback(&callback.apply(CallbackConfig::default()))?;
        config.insert("agents.callback".to_owned(), Value::Object(said));
    }
    Ok(ConfigureSession {
        model_provider: backend.or(body.model_provider),
        overrides: TurnOverrides {
            cwd: body.working_directory,
            model: body.model,
            effort: body.reasoning_effort.map(EffortChoice::Level),
            approval_policy: body.approval_policy,
            ..TurnOverrides::default()
        },
        config,
        ..ConfigureSession::default()
    })
}

/// Returns what was said of callbacks, as the configuration names it.
fn said(change: &CallbackConfigChange) -> Map<String, Value> {
    let mut said = Map::new();
    let flags = [
        ("enabled", change.enabled),
        ("include_last_message", change.include_last_message),
        ("include_original_prompt", change.include_original_prompt),
    ];
    for (key, flag) in flags {
        said.extend(flag.map(|flag| (key.to_owned(), Value::Bool(flag))));
    }
    let template = change.template.clone().filter(|text| !text.is_empty());
    said.extend(template.map(|text| ("template".to_owned(), Value::String(text))));
    said
}

pub(crate) async fn list(
    call: RouteCall<SessionListQuery, NoMembers>,
) -> Result<RouteReply<SessionPage>, Problem> {
    let RouteCall { daemon, query, .. } = call;
    let limit = query.limit.unwrap_or(SESSIONS_PAGE_DEFAULT);
    if limit == 0 || limit > SESSIONS_PAGE_MAX {
        let detail = format!("limit must be between 1 and {SESSIONS_PAGE_MAX}");
        return Err(Problem::bad_request("bad_limit", detail).field("limit"));
    }
    let asked = ListQuery {
        cwds: query.working_directory.into_iter().collect(),
        archived: if query.archived {
            ArchivedFilter::Archived
        } else {
            ArchivedFilter::Live
        },
        sources: if query.children {
            SourceKind::ALL.to_vec()
        } else {
            Vec::new()
        },
        search: query.q,
        cursor: query.cursor,
        limit: Some(limit),
        ..ListQuery::default()
    };
    let page = daemon.store()?.list(&asked).await?;
    let loaded = daemon.pool().loaded().await;
    let idle: HashMap<SessionId, bool> = loaded
        .iter()
        .map(|thread| (thread.id(), thread.is_idle()))
        .collect();
    let data = page
        .sessions
        .into_iter()
        .map(|summary| entry(summary, &idle));
    Ok(RouteReply::new(SessionPage {
        data: data.collect(),
        next_cursor: page.next,
    }))
}

fn entry(summary: SessionSummary, idle: &HashMap<SessionId, bool>) -> SessionEntry {
    SessionEntry {
        id: summary.id,
        short_id: summary.id.short(),
        title: summary.name,
        note: summary.note,
        preview: summary.preview,
        source: SourceKind::from(&summary.source).as_str(),
        working_directory: summary.cwd,
        model: summary.model,
        created_at: summary.created.to_string(),
        updated_at: summary.updated.to_string(),
        tokens: summary.tokens,
        archived: summary.archived,
        loaded: idle.contains_key(&summary.id),
        running: idle.get(&summary.id).map(|idle| !idle),
        forked_from_session_id: summary.forked_from,
    }
}

pub(crate) async fn get(
    call: RouteCall<NoMembers, NoMembers>,
) -> Result<RouteReply<SessionView>, Problem> {
    let found = call.daemon.find(call.path.get("session")).await?;
    Ok(tagged(call.daemon.describe(found).await?))
}

pub(crate) fn tagged(session: SessionView) -> RouteReply<SessionView> {
    let version = session.version.clone();
    RouteReply::new(session).version(version)
}

pub(crate) async fn change(
    call: RouteCall<NoMembers, SessionChange>,
) -> Result<RouteReply<SessionView>, Problem> {
    let found = call.daemon.find(call.path.get("session")).await?;
    let before = call.daemon.describe(found).await?;
    call.check_version(&before.version, || json!(before))?;
    let RouteCall { daemon, body, .. } = call;
    if !found.is_root() {
        let only_roots = [
            ("archived", body.archived.is_some()),
            ("callback_config", body.callback_config.is_some()),
        ];
        if let Some((field, _)) = only_roots.into_iter().find(|(_, given)| *given) {
            let detail = format!("{field} is that of the tree; change it at {}", found.root);
            return Err(Problem::conflict("not_a_root", detail).field(field));
        }
    }
    if body.archived == Some(false) && before.archived {
        daemon.store()?.unarchive(found.session).await?;
    }
    let changes_texts = body.title.is_some() || body.note.is_some();
    if changes_texts || body.callback_config.is_some() {
        let thread = daemon.open(found).await?;
        if let Some(change) = body.callback_config {
            let config = change.apply(thread.agents().callback());
            user(&thread).set_callback(config).await?;
        }
        if found.is_root() {
            set_texts(&thread, body.title, body.note).await?;
        } else {
            let access = user(&thread);
            if let Some(title) = body.title {
                access.set_name(&found.address(), &title).await?;
            }
            if let Some(note) = body.note {
                access.set_note(&found.address(), &note).await?;
            }
        }
    }
    if body.archived == Some(true) && !before.archived {
        let_go(&daemon, found).await?;
        daemon.store()?.archive(found.session).await?;
    }
    Ok(tagged(daemon.describe(found).await?))
}

/// Sets title and note of a root, and returns when both are written.
async fn set_texts(
    thread: &RootSession,
    title: Option<String>,
    note: Option<String>,
) -> Result<(), Problem> {
    if let Some(name) = title {
        let named =
            |msg: &EventMsg| matches!(msg, EventMsg::ThreadNameUpdated { .. }).then_some(());
        thread.ask(Op::SetThreadName { name }, named).await?;
    }
    if let Some(note) = note {
        let noted =
            |msg: &EventMsg| matches!(msg, EventMsg::ThreadNoteUpdated { .. }).then_some(());
        thread.ask(Op::SetThreadNote { note }, noted).await?;
    }
    Ok(())
}

/// Takes a tree out of memory at which nothing runs.
async fn let_go(daemon: &Daemon, found: FoundSession) -> Result<(), Problem> {
    let Some(thread) = daemon.loaded(found).await else {
        return Ok(());
    };
    if !super::waiting::is_quiet(&thread).await? {
        let detail = "something runs in its tree; stop it first";
        return Err(Problem::conflict("running", detail));
    }
    drop(thread);
    daemon.pool().unload(found.root).await;
    Ok(())
}

pub(crate) async fn delete(
    call: RouteCall<SessionDeleteQuery, NoMembers>,
) -> Result<RouteReply<SessionsDeleted>, Problem> {
    let found = call.daemon.find(call.path.get("session")).await?;
    let before = call.daemon.describe(found).await?;
    call.check_version(&before.version, || json!(before))?;
    let RouteCall { daemon, query, .. } = call;
    let store = daemon.store()?;
    if query.dry_run {
        let rows = store.tree(found.session).await?;
        let others = rows.iter().map(|row| row.session);
        let others = others.filter(|session| *session != found.session);
        return Ok(RouteReply::new(SessionsDeleted {
            deleted: others.chain([found.session]).collect(),
            dry_run: true,
        }));
    }
    if found.is_root() {
        let_go(&daemon, found).await?;
    }
    let deleted = store.delete(found.session).await?;
    for session in &deleted {
        daemon.logs().forget(*session);
    }
    Ok(RouteReply::new(SessionsDeleted {
        deleted,
        dry_run: false,
    }))
}
