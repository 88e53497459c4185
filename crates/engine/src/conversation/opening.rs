//! Opening a conversation: new, resumed from its rollout, or forked from another.

use std::sync::Arc;

use troupe_protocol::event::{AbortReason, EventMsg, SessionConfigured, TurnAborted};
use troupe_protocol::op::ConfigureSession;
use troupe_protocol::rollout::{RolloutRecord, SessionMeta};
use troupe_protocol::spawn::AnsweredCall;
use troupe_protocol::text::error_chain;
use troupe_protocol::{CallId, SubmissionId};
use troupe_store::{SessionLog, SessionStore, StoreError};

use super::ledgers::{SessionLedgers, SessionUsage};
use super::models::ModelKnowledge;
use super::services::SessionServices;
use super::settings::SessionSettings;
use super::tool_sources::PendingListings;
use super::{Conversation, forking};
use crate::context;
use crate::deps::{SessionDeps, SessionSetup, SetupNotice};
use crate::emit::Emitter;
use crate::events::{LogSegment, SegmentOrigin};
use crate::inquiry::InquiryAnswer;
use crate::mailbox::Mailbox;
use crate::resume::{MISSING_ANSWER, ResumedState, UnfinishedWork, fold};

/// What a call that the engine did not survive is answered with.
const CRASH_ANSWER: &str =
    "aborted: the engine stopped while this call ran; what it did up to then is not known";

/// What a person reads when a session is resumed whose engine did not end by itself.
const KILLED_NOTE: &str = "Troupe was killed during the last task; everything up to then is kept";

/// What a call is answered with that waited for a person when the engine stopped.
const UNDECIDED_ANSWER: &str = "aborted: the engine stopped while this call waited for the user's \
    answer; it did not run and nothing was decided; make the call again if it is still needed, so \
    that the user is asked again";

/// A conversation's log and what was in it.
pub(super) struct OpenedLog {
    pub log: Box<dyn SessionLog>,
    pub meta: SessionMeta,
    pub folded: ResumedState,
    pub open_calls: OpenCallAnswers,
    pub warnings: Vec<String>,
}

/// What the calls are answered with that a history has open.
pub(super) struct OpenCallAnswers {
    /// The one call of which something is known.
    pub known: Option<AnsweredCall>,
    pub others: &'static str,
}

impl OpenCallAnswers {
    fn all(others: &'static str) -> Self {
        Self {
            known: None,
            others,
        }
    }

    fn answer(&self, call: &CallId) -> &str {
        match &self.known {
            Some(known) if known.call_id == *call => &known.answer,
            Some(_) | None => self.others,
        }
    }
}

/// What is missing in a history that was left in the middle of a task.
struct HistoryRepair {
    unfinished: UnfinishedWork,
    open_calls: OpenCallAnswers,
}

impl Conversation {
    pub(crate) async fn open(
        out: &mut Emitter,
        deps: &SessionDeps,
        mailbox: Mailbox,
        id: &SubmissionId,
        request: ConfigureSession,
        setup: SessionSetup,
    ) -> Result<Self, StoreError> {
        let notices = setup.notices.clone();
        let origin = match request.resume {
            Some(_) => SegmentOrigin::Resumed,
            None => SegmentOrigin::New,
        };
        let is_stored = request.resume.is_some() || request.fork.is_some();
        let opened = match (&request.resume, &request.fork) {
            (Some(session), _) => resume(&*setup.store, *session).await?,
            (None, Some(point)) => forking::fork(&setup, deps, &request, point).await?,
            (None, None) => create(&setup, deps, &request).await?,
        };
        let OpenedLog {
            log,
            mut meta,
            mut folded,
            open_calls,
            warnings: read,
        } = opened;
        meta.model_provider.clone_from(&setup.provider_id);
        meta.base_instructions = request.base_instructions.or(meta.base_instructions);
        let developer = request.developer_instructions;
        let repair = HistoryRepair {
            unfinished: std::mem::take(&mut folded.unfinished),
            open_calls,
        };
        let untold = std::mem::take(&mut folded.untold);
        tracing::Span::current().record("id", tracing::field::display(meta.id));
        let cut_off = repair.unfinished.task.as_ref();
        tracing::info!(
            ?origin,
            items = folded.history.items().len(),
            cut_off = cut_off.map(tracing::field::display),
            "the session opens"
        );
        let from = log.position();
        let before = out.attach(log, folded.reserved_until);
        let after = out.last_seq();
        let fork_rights = setup.fork_rights.clone();
        let mut conversation = Self::assemble(deps, mailbox, setup, meta, folded);
        let mut overrides = request.overrides;
        if let Some(rights) = fork_rights.filter(|_| overrides.sandbox_policy.is_none()) {
            overrides.sandbox_policy = Some(rights.left_to(&conversation.settings.context));
        }
        if is_stored {
            // They count from now on, also when it is taken up again after this.
            overrides.developer_instructions = overrides.developer_instructions.or(developer);
        }
        let settings = &mut conversation.settings;
        settings.set_context(settings.context.with(overrides));
        conversation.ledgers.untold = untold;
        let read = read.into_iter().map(SetupNotice::Warning);
        let notices = notices.into_iter().chain(read).collect();
        if let Err(error) = conversation.introduce(out, id, repair, notices) {
            // The session that was open goes on, in its own log.
            out.restore(before);
            return Err(error);
        }
        out.follow_rollout(LogSegment {
            store: Arc::clone(&conversation.services.store),
            session: conversation.id(),
            from,
            after,
            origin,
        });
        if let Some(old) = before.log
            && let Err(error) = old.close().await
        {
            let message = format!("the session before was not closed: {}", error_chain(&error));
            out.publish_unrecorded(id, vec![EventMsg::Warning { message }]);
        }
        conversation.tell_opened();
        Ok(conversation)
    }

    /// Makes the first lines of an opened session.
    fn introduce(
        &mut self,
        out: &mut Emitter,
        id: &SubmissionId,
        repair: HistoryRepair,
        notices: Vec<SetupNotice>,
    ) -> Result<(), StoreError> {
        let unfinished = self.repair(out, repair)?;
        self.ledgers.tell_untold(out)?;
        self.tell_configured(out, id)?;
        let unfinished = unfinished.map(SetupNotice::Warning);
        for notice in notices.into_iter().chain(unfinished) {
            out.emit(id, vec![notice.into()])?;
        }
        Ok(())
    }

    fn tell_configured(&self, out: &mut Emitter, id: &SubmissionId) -> Result<(), StoreError> {
        let path = out
            .log()
            .and_then(|log| log.path().map(std::path::Path::to_owned));
        let configured = self.configured(path);
        out.write(
            id,
            vec![RolloutRecord::TurnContext(self.settings.context.clone())],
            vec![EventMsg::SessionConfigured(Box::new(configured))],
        )
    }

    fn assemble(
        deps: &SessionDeps,
        mailbox: Mailbox,
        setup: SessionSetup,
        meta: SessionMeta,
        folded: ResumedState,
    ) -> Self {
        let prompt_cache_key = setup
            .prompt_cache_key
            .unwrap_or_else(|| meta.id.to_string());
        Self {
            toolset: setup.encodings.tools(&setup.tools),
            tools: Arc::new(setup.tools),
            listings: PendingListings::default(),
            services: SessionServices {
                store: setup.store,
                model: setup.model,
                host: setup.host,
                encodings: setup.encodings,
                mailbox,
                clock: deps.clock.clone(),
                ids: deps.ids.clone(),
            },
            settings: SessionSettings {
                meta,
                terms: deps.terms,
                instructions: setup.instructions,
                window: setup.window,
                context: folded.context.unwrap_or(setup.context),
                asked_shape: folded.asked_shape,
                reinstructs: false,
                prompt_cache_key,
            },
            ledgers: SessionLedgers {
                history: folded.history,
                usage: SessionUsage {
                    total: folded.total_usage,
                    ..SessionUsage::default()
                },
                responses: 0,
                thread_name: folded.thread_name,
                thread_note: folded.thread_note,
                has_agents: folded.has_agents,
                untold: Vec::new(),
            },
            skills: super::task_skills::TaskSkills::default(),
            models: ModelKnowledge::default(),
            shells: super::user_shell::UserShells::default(),
            pictures: Arc::default(),
            unattended: false,
            epoch: 0,
        }
    }

    /// Makes the history of a session that died in mid-task a valid request again.
    fn repair(
        &mut self,
        out: &mut Emitter,
        repair: HistoryRepair,
    ) -> Result<Option<String>, StoreError> {
        let HistoryRepair {
            unfinished,
            open_calls,
        } = repair;
        self.ledgers.answer_open_calls(out, |call| {
            let recorded = unfinished.outcomes.get(call);
            let waited = unfinished.awaits_person(call);
            let has_outcome = recorded.is_some();
            if unfinished.task.is_some() {
                tracing::warn!(%call, has_outcome, waited, "a call was cut off");
            } else {
                tracing::debug!(%call, has_outcome, waited, "an open call is answered");
            }
            match recorded {
                Some(recorded) => recorded.clone(),
                None if waited => UNDECIDED_ANSWER.to_owned(),
                None => open_calls.answer(call).to_owned(),
            }
        })?;
        // Nobody waits for the answers any more, so nobody is to be asked.
        for (asked, question) in unfinished.questions {
            let call_id = question.id().clone();
            let withdrawn = InquiryAnswer::withdrawal(&question).event(call_id);
            out.emit(&asked, vec![withdrawn])?;
        }
        let Some(task) = unfinished.task else {
            return Ok(None);
        };
        tracing::warn!(%task, "a task was cut off by the end of the engine");
        out.emit(
            &task,
            vec![EventMsg::TurnAborted(TurnAborted {
                turn_id: task.clone(),
                reason: AbortReason::Crash,
                last_agent_message: self.last_said(),
                response_id: self.ledgers.last_response_id(),
            })],
        )?;
        Ok(Some(KILLED_NOTE.to_owned()))
    }

    /// Takes a new configuration and keeps the conversation.
    pub(crate) async fn reconfigure(
        &mut self,
        out: &mut Emitter,
        id: &SubmissionId,
        request: ConfigureSession,
        setup: SessionSetup,
    ) -> Result<(), StoreError> {
        self.tools.shutdown().await;
        self.toolset = setup.encodings.tools(&setup.tools);
        self.tools = Arc::new(setup.tools);
        self.models.forget();
        let settings = &mut self.settings;
        settings.meta.model_provider = setup.provider_id;
        settings.meta.base_instructions = request.base_instructions;
        settings.meta.developer_instructions = request.developer_instructions;
        settings.instructions = setup.instructions;
        settings.window = setup.window;
        settings.context = setup.context.with(request.overrides);
        self.services.model = setup.model;
        self.services.host = setup.host;
        self.services.encodings = setup.encodings;
        self.tell_configured(out, id)?;
        for notice in setup.notices {
            out.emit(id, vec![notice.into()])?;
        }
        self.tell_opened();
        Ok(())
    }

    /// Counts tasks on from another conversation of this process, so that a late signal of
    /// one of its calls is not taken for one of ours.
    pub(crate) fn after(mut self, other: &Self) -> Self {
        self.epoch = other.epoch;
        self.listings = PendingListings::after(&other.listings);
        self
    }

    fn configured(&self, rollout_path: Option<std::path::PathBuf>) -> SessionConfigured {
        let settings = &self.settings;
        SessionConfigured {
            session_id: settings.meta.id,
            forked_from_id: settings.meta.forked_from_id,
            thread_name: self.ledgers.thread_name.clone(),
            thread_note: self.ledgers.thread_note.clone(),
            model_provider_id: settings.meta.model_provider.clone(),
            context: settings.context.clone(),
            history_entry_count: self.ledgers.history.items().len(),
            rollout_path,
            instruction_sources: context::instruction_sources(
                &settings.context.cwd,
                &settings.instructions,
            ),
        }
    }
}

async fn create(
    setup: &SessionSetup,
    deps: &SessionDeps,
    request: &ConfigureSession,
) -> Result<OpenedLog, StoreError> {
    let meta = new_meta(setup, deps, request);
    let log = setup.store.create(&meta).await?;
    Ok(OpenedLog {
        log,
        meta,
        folded: ResumedState::default(),
        open_calls: OpenCallAnswers::all(CRASH_ANSWER),
        warnings: Vec::new(),
    })
}

async fn resume(
    store: &dyn SessionStore,
    session: troupe_protocol::SessionId,
) -> Result<OpenedLog, StoreError> {
    let (log, live) = store.open(session).await?;
    let meta = live.meta.clone();
    let mut warnings = live.warnings.clone();
    let folded = fold(live);
    warnings.extend(folded.warning());
    let others = match folded.unfinished.task {
        Some(_) => CRASH_ANSWER,
        None => MISSING_ANSWER,
    };
    Ok(OpenedLog {
        log,
        meta,
        folded,
        open_calls: OpenCallAnswers::all(others),
        warnings,
    })
}

pub(super) fn new_meta(
    setup: &SessionSetup,
    deps: &SessionDeps,
    request: &ConfigureSession,
) -> SessionMeta {
    let context = setup.context.with(request.overrides.clone());
    SessionMeta {
        id: setup.session_id.unwrap_or_else(|| deps.ids.session()),
        timestamp: format!("{:.3}", deps.clock.now()),
        personality: context.personality,
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
        developer_instructions: request.developer_instructions.clone(),
        git: setup.origin.git.clone(),
        imported_from: None,
        dynamic_tools: setup.dynamic_tools.clone(),
    }
}
