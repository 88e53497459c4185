//! Checking a user turn before anything is aborted for it, and finding where it goes on.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use troupe_protocol::ResponseId;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::ErrorEvent;
use troupe_protocol::op::ForkPoint;
use troupe_protocol::rollout::{RewindReason, RewindRecord, RolloutRecord};
use troupe_protocol::session::{TurnContext, TurnOverrides};
use troupe_schema::SchemaError;
use troupe_store::{LogPosition, StoreError};

use super::models::check_model;
use super::{Conversation, NewTask, SessionSettings, TaskRequester};
use crate::deps::AnswerCheck;
use crate::emit::Emitter;
use crate::history::PromptHistory;
use crate::output::AnswerFormat;
use crate::resume;
use crate::skills::SkillCatalogue;
use crate::task::SteeredMessage;
use crate::user_input::{self, CheckedMessage};

/// A user turn that was found to be sound.
#[derive(Debug)]
pub(crate) struct PreparedTask {
    pub message: CheckedMessage,
    /// Messages of the inbox that the task is told first.
    pub ahead: Vec<SteeredMessage>,
    /// The skills that there are for the task.
    pub skills: Arc<SkillCatalogue>,
    pub from: ResumePoint,
    pub output: AnswerFormat,
}

/// Where a task goes on from.
#[derive(Debug)]
pub(crate) enum ResumePoint {
    /// The end of this conversation.
    Here,
    /// An earlier place of this conversation.
    Branch(Box<BranchPoint>),
    /// A place of another conversation: this one becomes a fork of that.
    Elsewhere(ForkPoint),
}

/// An earlier place of a conversation.
#[derive(Debug)]
pub(crate) struct BranchPoint {
    response_id: ResponseId,
    position: LogPosition,
    history: PromptHistory,
}

impl Conversation {
    /// Checks a user turn without changing anything.
    pub(crate) async fn prepare(
        &self,
        task: &NewTask,
        is_idle: bool,
    ) -> Result<Result<PreparedTask, ErrorEvent>, StoreError> {
        if let Err(refusal) = check_overrides(&self.settings.context, &task.overrides) {
            return Ok(Err(refusal));
        }
        let output = match self.settings.output(task) {
            Ok(output) => output,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let context = &self.settings.context;
        let cwd = task.overrides.cwd.as_ref().unwrap_or(&context.cwd);
        let place = self.place(cwd.clone(), task.author()).await;
        let may_be_silent = is_idle && self.may_start_without_message(task);
        let message = if task.items.is_empty() && may_be_silent {
            CheckedMessage::without_text()
        } else {
            match user_input::read(&task.items, &place).await {
                Ok(message) => CheckedMessage {
                    client_id: task.client_id.clone(),
                    ..message
                },
                Err(refusal) => return Ok(Err(refusal)),
            }
        };
        if let TaskRequester::Client = task.asker {
            let context = context.with(task.overrides.clone());
            if let Err(refusal) = self.check_fits(&message, &context.model) {
                return Ok(Err(refusal));
            }
        }
        let from = match &task.from {
            None => ResumePoint::Here,
            Some(response_id) => match self.find_resume_point(response_id).await? {
                Some(from) => from,
                None => {
                    return Ok(Err(ErrorEvent {
                        message: format!(
                            "no response {response_id} is known; use the response_id of a \
                             response_completed event"
                        ),
                        fatal: false,
                        error_info: Some(ErrorInfo::NotFound),
                    }));
                }
            },
        };
        Ok(Ok(PreparedTask {
            message,
            ahead: Vec::new(),
            skills: place.skills,
            from,
            output,
        }))
    }

    /// Tells whether a task can begin without a word: a client may want an answer to what it put
    /// into the history, or have a turn go on that was cut off.
    fn may_start_without_message(&self, task: &NewTask) -> bool {
        let is_here = matches!(task.asker, TaskRequester::Client) && task.from.is_none();
        let last = self.ledgers.history.responses().next_back();
        is_here && last.is_some_and(|last| last.assistant_message().is_none())
    }

    async fn find_resume_point(
        &self,
        response_id: &ResponseId,
    ) -> Result<Option<ResumePoint>, StoreError> {
        if let Some(bookmark) = self.ledgers.history.bookmark(response_id) {
            let mut history = self.ledgers.history.clone();
            history.truncate(bookmark.len);
            return Ok(Some(ResumePoint::Branch(Box::new(BranchPoint {
                response_id: response_id.clone(),
                position: bookmark.position,
                history,
            }))));
        }
        // Older than the newest compaction, or on a branch that was left.
        let store = &self.services.store;
        let Some(bookmark) = store.find_bookmark(response_id).await? else {
            return Ok(None);
        };
        if bookmark.session != self.id() {
            return Ok(Some(ResumePoint::Elsewhere(ForkPoint {
                session_id: bookmark.session,
                last_response_id: Some(response_id.clone()),
                turns: None,
                turn: None,
            })));
        }
        let live = store
            .read_live_at(bookmark.session, bookmark.position)
            .await?;
        Ok(Some(ResumePoint::Branch(Box::new(BranchPoint {
            response_id: response_id.clone(),
            position: bookmark.position,
            history: resume::fold(live).history,
        }))))
    }

    /// Leaves what came after `branch` out of the history. It stays in the log.
    pub(super) fn rewind_to(
        &mut self,
        out: &mut Emitter,
        branch: BranchPoint,
    ) -> Result<(), StoreError> {
        let rewind = RewindRecord {
            to: branch.position.0,
            reason: RewindReason::Bookmark {
                response_id: branch.response_id,
            },
            carried: self.carried(out),
        };
        out.record(&[RolloutRecord::Rewind(Box::new(rewind))])?;
        self.ledgers.history = branch.history;
        self.ledgers.usage.counted = None;
        Ok(())
    }
}

impl SessionSettings {
    /// A client looks at its answer itself, unless it said otherwise; that of an agent counts only
    /// if it fits. What a callback begins is still the work that a client asked for, in the shape
    /// it asked for.
    fn output(&self, task: &NewTask) -> Result<AnswerFormat, ErrorEvent> {
        let schema = task.output_schema.clone();
        match &task.asker {
            TaskRequester::Client if schema.as_ref().is_some_and(|it| !it.is_object()) => {
                Err(ErrorEvent {
                    message: "final_output_json_schema is no JSON Schema: expected an object"
                        .to_owned(),
                    fatal: false,
                    error_info: Some(ErrorInfo::InvalidSubmission),
                })
            }
            TaskRequester::Client => self.clients_output(schema),
            TaskRequester::Inbox(_) if schema.is_none() => {
                self.clients_output(self.asked_shape.clone())
            }
            TaskRequester::Inbox(_) => {
                AnswerFormat::checked(schema).map_err(|error| unusable_schema(&error))
            }
        }
    }

    fn clients_output(&self, schema: Option<Value>) -> Result<AnswerFormat, ErrorEvent> {
        // One that nothing can be checked by is refused, whoever checks.
        let checked =
            AnswerFormat::checked(schema.clone()).map_err(|error| unusable_schema(&error))?;
        Ok(match self.terms.answer_check {
            AnswerCheck::ByEngine => checked,
            AnswerCheck::ByClient => AnswerFormat::shaped(schema),
        })
    }
}

fn unusable_schema(error: &SchemaError) -> ErrorEvent {
    ErrorEvent {
        message: format!("the output schema is not one that answers can be checked by: {error}"),
        fatal: false,
        error_info: Some(ErrorInfo::InvalidSubmission),
    }
}

/// Refuses settings that a task could not run with.
pub(super) fn check_overrides(
    context: &TurnContext,
    overrides: &TurnOverrides,
) -> Result<(), ErrorEvent> {
    overrides.cwd.as_deref().map_or(Ok(()), check_cwd)?;
    check_model(context, overrides)
}

/// Refuses a working directory that commands could not run in, or not tell which one is
/// meant.
pub(super) fn check_cwd(cwd: &Path) -> Result<(), ErrorEvent> {
    let problem = if !cwd.is_absolute() {
        "is not an absolute path"
    } else if !cwd.is_dir() {
        "is not a directory"
    } else {
        return Ok(());
    };
    Err(ErrorEvent {
        message: format!(
            "cwd {} {problem}; name an existing directory by its absolute path",
            cwd.display()
        ),
        fatal: false,
        error_info: Some(ErrorInfo::InvalidSubmission),
    })
}
