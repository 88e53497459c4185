//! How a conversation begins: anew, from its rollout, or as a fork of another.

use std::sync::Arc;

use troupe_model::ToolSet;
use troupe_protocol::SubmissionId;
use troupe_protocol::event::{AbortReason, EventMsg, SessionConfigured, TurnAborted};
use troupe_protocol::op::{ConfigureSession, ForkPoint};
use troupe_protocol::rollout::{EventRecord, RolloutRecord, SessionMeta};
use troupe_protocol::usage::TokenUsage;
use troupe_store::{Error, LiveHistory, Log, Store};

use super::{Conversation, Usage};
use crate::deps::{Deps, Setup};
use crate::emit::Emitter;
use crate::events::Followed;
use crate::mailbox::Mailbox;
use crate::resume::{Folded, Unfinished, fold};
use crate::session::describe;

/// What a call that the engine did not survive is answered with.
const CRASH_ANSWER: &str =
    "aborted: the engine stopped while this call ran; what it did up to then is not known";

/// A conversation's log and what was in it.
struct Opened {
    log: Box<dyn Log>,
    meta: SessionMeta,
    folded: Folded,
    warnings: Vec<String>,
}

impl Conversation {
    pub(crate) async fn open(
        out: &mut Emitter,
        deps: &Deps,
        mailbox: Mailbox,
        id: &SubmissionId,
        request: ConfigureSession,
        setup: Setup,
    ) -> Result<Self, Error> {
        let warnings = setup.warnings.clone();
        let opened = match (&request.resume, &request.fork) {
            (Some(session), _) => resume(&*setup.store, *session).await?,
            (None, Some(fork_point)) => fork(&setup, deps, &request, fork_point).await?,
            (None, None) => create(&setup, deps, &request).await?,
        };
        let Opened {
            log,
            mut meta,
            mut folded,
            warnings: read,
        } = opened;
        meta.model_provider.clone_from(&setup.provider_id);
        meta.base_instructions = request.base_instructions.or(meta.base_instructions);
        let unfinished = std::mem::take(&mut folded.unfinished);
        let from = log.position();
        let before = out.attach(log, folded.reserved_until);
        let mut conversation = Self::assemble(deps, mailbox, setup, meta, folded);
        conversation.context = conversation.context.with(request.overrides);
        let warnings = warnings.into_iter().chain(read).collect();
        if let Err(error) = conversation.introduce(out, id, unfinished, warnings) {
            // The session that was open goes on, in its own log.
            out.restore(before);
            return Err(error);
        }
        out.follow_rollout(Followed {
            store: Arc::clone(&conversation.store),
            session: conversation.id(),
            from,
        });
        if let Some(old) = before.log
            && let Err(error) = old.close().await
        {
            let message = format!("the session before was not closed: {}", describe(&error));
            out.tell_unrecorded(id, vec![EventMsg::Warning { message }]);
        }
        conversation.tell_opened();
        Ok(conversation)
    }

    /// Makes the first lines of an opened session.
    fn introduce(
        &mut self,
        out: &mut Emitter,
        id: &SubmissionId,
        unfinished: Unfinished,
        warnings: Vec<String>,
    ) -> Result<(), Error> {
        let unfinished = self.repair(out, unfinished)?;
        self.tell_configured(out, id)?;
        for message in warnings.into_iter().chain(unfinished) {
            out.warn(id, message)?;
        }
        Ok(())
    }

    fn tell_configured(&self, out: &mut Emitter, id: &SubmissionId) -> Result<(), Error> {
        let path = out
            .log()
            .and_then(|log| log.path().map(std::path::Path::to_owned));
        let configured = self.configured(path);
        out.write(
            id,
            vec![RolloutRecord::TurnContext(self.context.clone())],
            vec![EventMsg::SessionConfigured(Box::new(configured))],
        )
    }

    fn assemble(
        deps: &Deps,
        mailbox: Mailbox,
        setup: Setup,
        meta: SessionMeta,
        folded: Folded,
    ) -> Self {
        Self {
            toolset: Arc::new(ToolSet::new(setup.tools.specs())),
            tools: Arc::new(setup.tools),
            task: None,
            unattended: false,
            store: setup.store,
            model: setup.model,
            instructions: setup.instructions,
            window: setup.window,
            context: folded.context.unwrap_or(setup.context),
            history: folded.history,
            usage: Usage {
                total: folded.total_usage,
                ..Usage::default()
            },
            thread_name: folded.thread_name,
            thread_note: folded.thread_note,
            has_agents: folded.has_agents,
            host: setup.host,
            prompt_cache_key: setup
                .prompt_cache_key
                .unwrap_or_else(|| meta.id.to_string()),
            meta,
            epoch: 0,
            mailbox,
            clock: deps.clock.clone(),
            ids: deps.ids.clone(),
        }
    }

    /// Makes the history of a session that died in mid-task a valid request again.
    fn repair(
        &mut self,
        out: &mut Emitter,
        unfinished: Unfinished,
    ) -> Result<Option<String>, Error> {
        self.answer_open_calls(out, |call| match unfinished.outcomes.get(call) {
            Some(recorded) => recorded.clone(),
            None => CRASH_ANSWER.to_owned(),
        })?;
        let Some(task) = unfinished.task else {
            return Ok(None);
        };
        out.emit(
            &task,
            vec![EventMsg::TurnAborted(TurnAborted {
                turn_id: task.clone(),
                reason: AbortReason::Crash,
                last_agent_message: self.history.last_assistant_message(),
                response_id: self.last_response_id(),
            })],
        )?;
        Ok(Some(format!(
            "the engine stopped while task {task} ran; it is marked as aborted, and what was \
             recorded of it is kept"
        )))
    }

    /// Takes a new configuration and keeps the conversation.
    pub(crate) async fn reconfigure(
        &mut self,
        out: &mut Emitter,
        id: &SubmissionId,
        request: ConfigureSession,
        setup: Setup,
    ) -> Result<(), Error> {
        self.tools.shutdown().await;
        self.toolset = Arc::new(ToolSet::new(setup.tools.specs()));
        self.tools = Arc::new(setup.tools);
        self.model = setup.model;
        self.meta.model_provider = setup.provider_id;
        self.meta.base_instructions = request.base_instructions;
        self.instructions = setup.instructions;
        self.window = setup.window;
        self.host = setup.host;
        self.context = setup.context.with(request.overrides);
        self.tell_configured(out, id)?;
        for message in setup.warnings {
            out.warn(id, message)?;
        }
        self.tell_opened();
        Ok(())
    }

    /// Counts tasks on from another conversation of this process, so that a late signal of
    /// one of its calls is not taken for one of ours.
    pub(crate) fn after(mut self, other: &Self) -> Self {
        self.epoch = other.epoch;
        self
    }

    fn configured(&self, rollout_path: Option<std::path::PathBuf>) -> SessionConfigured {
        SessionConfigured {
            session_id: self.meta.id,
            forked_from_id: self.meta.forked_from_id,
            thread_name: self.thread_name.clone(),
            thread_note: self.thread_note.clone(),
            model_provider_id: self.meta.model_provider.clone(),
            context: self.context.clone(),
            history_entry_count: self.history.items().len(),
            rollout_path,
        }
    }
}

async fn create(setup: &Setup, deps: &Deps, request: &ConfigureSession) -> Result<Opened, Error> {
    let meta = new_meta(setup, deps, request);
    let log = setup.store.create(&meta).await?;
    Ok(Opened {
        log,
        meta,
        folded: Folded::default(),
        warnings: Vec::new(),
    })
}

async fn resume(store: &dyn Store, session: troupe_protocol::SessionId) -> Result<Opened, Error> {
    let (log, live) = store.open(session).await?;
    let meta = live.meta.clone();
    let warnings = live.warnings.clone();
    Ok(Opened {
        log,
        meta,
        folded: fold(live),
        warnings,
    })
}

async fn fork(
    setup: &Setup,
    deps: &Deps,
    request: &ConfigureSession,
    point: &ForkPoint,
) -> Result<Opened, Error> {
    let live = read_fork_point(&*setup.store, point).await?;
    let mut meta = new_meta(setup, deps, request);
    meta.forked_from_id = Some(live.meta.id);
    meta.base_instructions = meta
        .base_instructions
        .or(live.meta.base_instructions.clone());
    let warnings = live.warnings.clone();
    let mut copied: Vec<RolloutRecord> = live
        .records
        .iter()
        .filter(|(_, line)| belongs_to_fork(&line.record))
        .map(|(_, line)| uncounted(line.record.clone()))
        .collect();
    copied.extend(end_of_task(fold(live)));
    let mut log = setup.store.create(&meta).await?;
    log.append(&copied)?;
    log.commit().await?;
    // Folded from its own lines, so that places in it are places in its own log.
    let own = setup.store.read_live(meta.id).await?;
    Ok(Opened {
        log,
        meta,
        folded: fold(own),
        warnings,
    })
}

async fn read_fork_point(store: &dyn Store, point: &ForkPoint) -> Result<LiveHistory, Error> {
    let Some(response_id) = &point.last_response_id else {
        return store.read_live(point.session_id).await;
    };
    match store.find_bookmark(response_id).await? {
        Some(bookmark) => {
            store
                .read_live_at(bookmark.session, bookmark.position)
                .await
        }
        None => Err(Error::NoBookmark {
            response_id: response_id.clone(),
        }),
    }
}

/// Returns the line that ends a task in whose middle the fork was made: what happened to
/// it afterwards belongs to the other session.
fn end_of_task(source: Folded) -> Option<RolloutRecord> {
    let task = source.unfinished.task?;
    Some(RolloutRecord::EventMsg(EventRecord {
        id: task.clone(),
        seq: source.reserved_until,
        msg: EventMsg::TurnAborted(TurnAborted {
            turn_id: task,
            reason: AbortReason::Replaced,
            last_agent_message: source.history.last_assistant_message(),
            response_id: None,
        }),
    }))
}

/// Bookmarks and token counts stay with the session that made them: the former are found
/// there, the latter must not be counted twice.
fn belongs_to_fork(record: &RolloutRecord) -> bool {
    match record {
        RolloutRecord::EventMsg(event) => !matches!(
            event.msg,
            EventMsg::ResponseCompleted { .. }
                | EventMsg::TokenCount { .. }
                | EventMsg::SessionConfigured(_)
        ),
        // Children stay with the session that made them.
        RolloutRecord::SessionMeta(_) | RolloutRecord::Rewind(_) | RolloutRecord::Agent(_) => false,
        _ => true,
    }
}

/// Returns the record without the tokens that the source has counted.
fn uncounted(mut record: RolloutRecord) -> RolloutRecord {
    if let RolloutRecord::Compacted(compacted) = &mut record {
        compacted.carried.total_token_usage = TokenUsage::default();
        compacted.carried.has_agents = false;
    }
    record
}

fn new_meta(setup: &Setup, deps: &Deps, request: &ConfigureSession) -> SessionMeta {
    let context = setup.context.with(request.overrides.clone());
    SessionMeta {
        id: setup.session_id.unwrap_or_else(|| deps.ids.session()),
        timestamp: format!("{:.3}", deps.clock.now()),
        cwd: context.cwd,
        originator: setup.origin.originator.clone(),
        cli_version: setup.origin.cli_version.clone(),
        source: request
            .source
            .clone()
            .unwrap_or_else(|| setup.origin.source.clone()),
        model_provider: setup.provider_id.clone(),
        forked_from_id: None,
        base_instructions: request.base_instructions.clone(),
        git: setup.origin.git.clone(),
    }
}
