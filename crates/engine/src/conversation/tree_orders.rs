//! What the tree has a session do: begin with a message of the inbox, take more along, end,
//! write down.

use serde_json::Value;
use troupe_protocol::SubmissionId;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::{AbortReason, ErrorEvent, EventMsg};
use troupe_protocol::result::StopReason;
use troupe_protocol::session::TurnOverrides;
use troupe_protocol::tree::{AgentMessage, MessageId};
use troupe_store::StoreError;

use super::ending::stop_reason;
use super::preparing::{PreparedTask, check_cwd};
use super::{Conversation, NewTask, OpenSession, TaskRequester};
use crate::emit::{EmittedLine, Emitter};
use crate::host::{StopRequester, WriteAck, WriteBatch};
use crate::output::AnswerFormat;
use crate::task::{StopCause, Task};

impl OpenSession {
    /// Begins a task with a message of the inbox, unless one runs. Those `ahead` come before
    /// it in the history.
    pub(crate) async fn start(
        &mut self,
        out: &mut Emitter,
        task: SubmissionId,
        (id, message): (MessageId, AgentMessage),
        ahead: Vec<(MessageId, AgentMessage)>,
        output_schema: Option<Value>,
    ) -> Result<(), StoreError> {
        if self.task.is_some() {
            return Ok(());
        }
        let metadata = message.metadata;
        let new = NewTask {
            items: message.items,
            overrides: TurnOverrides::default(),
            output_schema,
            from: None,
            client_id: message.client_id,
            asker: TaskRequester::Inbox(id),
        };
        let conversation = &mut self.conversation;
        match conversation.prepare_start(&new).await? {
            Ok(mut prepared) => {
                prepared.message.metadata = metadata;
                let cwd = &conversation.settings.context.cwd;
                for (id, message) in ahead {
                    let read = conversation.read_mail(cwd, id, message).await;
                    prepared.ahead.push(read);
                }
                self.begin(out, task, new, prepared).await
            }
            Err(refusal) => conversation.end_unstarted_task(out, task, refusal).await,
        }
    }

    /// Ends this task; another one is left alone.
    pub(crate) async fn abort(
        &mut self,
        out: &mut Emitter,
        task: &SubmissionId,
        reason: AbortReason,
        by: StopRequester,
    ) -> Result<(), StoreError> {
        match &self.task {
            None => {
                let conversation = &mut self.conversation;
                return conversation
                    .report_unknown_task_end(out, task.clone(), reason)
                    .await;
            }
            Some(running) if running.id != *task => return Ok(()),
            Some(_) => {}
        }
        let why = match reason {
            AbortReason::Interrupted => StopCause::interrupted(by),
            AbortReason::BudgetLimited => StopCause::fatal(
                reason,
                "the budget is used up".to_owned(),
                ErrorInfo::UsageLimitExceeded,
            ),
            reason => StopCause::quietly(reason),
        };
        self.stop(out, why).await
    }
}

impl Conversation {
    async fn prepare_start(
        &self,
        new: &NewTask,
    ) -> Result<Result<PreparedTask, ErrorEvent>, StoreError> {
        match check_cwd(&self.settings.context.cwd) {
            Ok(()) => self.prepare(new, true).await,
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    /// Ends a task that could not begin.
    async fn end_unstarted_task(
        &mut self,
        out: &mut Emitter,
        id: SubmissionId,
        refusal: ErrorEvent,
    ) -> Result<(), StoreError> {
        let mut task = self.unseen_task(id);
        let stop = StopReason::FailedToStart {
            message: refusal.message.clone(),
        };
        let ending = self.ending(&mut task, stop, None).await;
        self.ledgers.note_agents(&ending.records);
        let lines = ending.records.into_iter().map(EmittedLine::Record);
        let error = EmittedLine::event(&task.id, EventMsg::Error(refusal));
        out.write_lines(lines.chain([error]))?;
        out.commit().await?;
        WriteAck::tell_written(ending.receipt);
        Ok(())
    }

    /// Tells the tree that a task is over which this session does not have. The tree knows
    /// whether it has heard so before.
    async fn report_unknown_task_end(
        &mut self,
        out: &mut Emitter,
        id: SubmissionId,
        reason: AbortReason,
    ) -> Result<(), StoreError> {
        let mut task = self.unseen_task(id);
        let why = stop_reason(&task, reason, None);
        let ending = self.ending(&mut task, why, None).await;
        if ending.records.is_empty() {
            return Ok(());
        }
        self.write_for_tree(out, &SubmissionId::default(), ending)
            .await
    }

    /// Makes the task of which there is nothing to tell but how it ended.
    pub(super) fn unseen_task(&self, id: SubmissionId) -> Task {
        let now = self.services.clock.now_ms();
        let context = self.settings.context.clone();
        Task::new(id, self.epoch, context, now, AnswerFormat::Free)
    }

    /// Writes lines of the tree. Who wants to know gets to know when they are on disk.
    pub(crate) async fn write_for_tree(
        &mut self,
        out: &mut Emitter,
        task: &SubmissionId,
        lines: WriteBatch,
    ) -> Result<(), StoreError> {
        self.ledgers.note_agents(&lines.records);
        out.write(task, lines.records, Vec::new())?;
        out.commit().await?;
        WriteAck::tell_written(lines.receipt);
        Ok(())
    }
}
