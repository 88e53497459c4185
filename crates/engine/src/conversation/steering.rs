//! Messages that join a running task: from clients and from the inbox.

use std::path::Path;
use std::sync::Arc;

use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::{ErrorEvent, EventMsg, SteerReceipt};
use troupe_protocol::input::UserInput;
use troupe_protocol::item::{TurnItem, UserMessageItem};
use troupe_protocol::tree::{AgentMessage, MessageId};
use troupe_protocol::{ResponseItem, SubmissionId};
use troupe_store::StoreError;

use super::{Conversation, OpenSession};
use crate::emit::{EmittedLine, Emitter};
use crate::host::{StaleRequest, WriteAck, WriteBatch};
use crate::limits::STEERED_MAX;
use crate::task::{MessageSource, SteeredMessage, Task};
use crate::user_input::{self, CheckedMessage, MessageAuthor};

impl OpenSession {
    /// Adds input to the running task without aborting it.
    pub(crate) async fn steer(
        &mut self,
        out: &mut Emitter,
        id: SubmissionId,
        items: Vec<UserInput>,
        client_id: Option<String>,
    ) -> Result<(), StoreError> {
        let cwd = &self.turn_context().cwd;
        let place = self
            .conversation
            .place_for(cwd, &items, MessageAuthor::User);
        let place = place.await;
        let message = match user_input::read(&items, &place).await {
            Ok(message) => CheckedMessage {
                client_id,
                ..message
            },
            Err(refusal) => return out.error(&id, refusal),
        };
        let model = &self.turn_context().model;
        if let Err(refusal) = self.conversation.check_fits(&message, model) {
            return out.error(&id, refusal);
        }
        let Some(task) = &mut self.task else {
            return out.error(
                &id,
                not_steerable("there is no running task; send user_turn"),
            );
        };
        let clients = |one: &&SteeredMessage| matches!(one.sender, MessageSource::Client(_));
        if task.steered.iter().filter(clients).count() >= STEERED_MAX {
            return out.error(
                &id,
                not_steerable("too many messages wait for the next model request"),
            );
        }
        task.steered.push_back(SteeredMessage {
            sender: MessageSource::Client(id.clone()),
            items,
            message,
        });
        let receipt = SteerReceipt::Queued {
            turn_id: task.id.clone(),
            position: u32::try_from(task.steered.len()).unwrap_or(u32::MAX),
        };
        out.emit(&id, vec![EventMsg::SteerReceipt(receipt)])
    }

    /// Has messages of the inbox join the running task at its next request.
    pub(crate) async fn mail(&mut self, messages: Vec<(MessageId, AgentMessage)>) {
        // Without a task, the next one begins with these messages, and with their pictures.
        let Some(task) = &mut self.task else {
            return;
        };
        for (id, message) in messages {
            if task.is_stopping() || !task.heard.insert(id) {
                continue;
            }
            let cwd = task.context.cwd.clone();
            let read = self.conversation.read_mail(&cwd, id, message).await;
            task.steered.push_back(read);
        }
        self.conversation.pictures = Arc::default();
    }
}

impl Conversation {
    /// Reads a message of the inbox.
    pub(super) async fn read_mail(
        &self,
        cwd: &Path,
        id: MessageId,
        message: AgentMessage,
    ) -> SteeredMessage {
        let place = self.place_for(cwd, &message.items, MessageAuthor::Agent);
        let place = place.await;
        let read = user_input::read(&message.items, &place).await;
        // Nobody else can be told, and a message that cannot be read is still one.
        let mut read = read.unwrap_or_else(|refusal| {
            let text = format!("A message could not be read: {}", refusal.message);
            ResponseItem::user_text(text).into()
        });
        read.metadata = message.metadata;
        read.client_id = message.client_id;
        SteeredMessage {
            sender: MessageSource::Inbox(id),
            items: message.items,
            message: read,
        }
    }

    /// Gives the model what waits for it, in one write. Returns whether there was anything.
    pub(super) async fn deliver_steered(
        &mut self,
        task: &mut Task,
        out: &mut Emitter,
    ) -> Result<bool, StoreError> {
        let taking = self.take_mail(task).await;
        self.ledgers.note_agents(&taking.records);
        if task.steered.is_empty() {
            return Ok(false);
        }
        let messages: Vec<EmittedLine> = self.steered_lines(task).collect();
        let items: Vec<ResponseItem> = task
            .steered
            .iter()
            .flat_map(|steered| steered.message.history())
            .collect();
        let lines = taking.records.into_iter().map(EmittedLine::Record);
        // They wait until they are written: of what is not, the senders are told.
        out.write_lines(lines.chain(messages))?;
        WriteAck::tell_written(taking.receipt);
        self.ledgers.history.extend(items);
        task.said += task.steered.len();
        task.steered.clear();
        Ok(true)
    }

    /// Takes the waiting messages of the inbox; what the tree does not give is dropped.
    async fn take_mail(&self, task: &mut Task) -> WriteBatch {
        let waiting = task.steered.iter();
        let mail: Vec<MessageId> = waiting.filter_map(SteeredMessage::message_id).collect();
        if mail.is_empty() {
            return WriteBatch::default();
        }
        let taken = self.services.host.taking(&mail).await;
        if let Err(StaleRequest) = &taken {
            task.steered
                .retain(|steered| steered.message_id().is_none());
        }
        taken.unwrap_or_default()
    }

    fn steered_lines(&self, task: &Task) -> impl Iterator<Item = EmittedLine> {
        let steered = task.steered.iter();
        steered.flat_map(|steered| self.steered_message(&task.id, steered))
    }

    /// Returns the lines by which a task is told one message, and its sender of that.
    pub(super) fn steered_message(
        &self,
        task: &SubmissionId,
        steered: &SteeredMessage,
    ) -> impl Iterator<Item = EmittedLine> + use<> {
        let delivered = match &steered.sender {
            MessageSource::Inbox(_) => None,
            MessageSource::Client(submission) => {
                let turn_id = task.clone();
                let receipt = EventMsg::SteerReceipt(SteerReceipt::Delivered { turn_id });
                Some(EmittedLine::event(submission, receipt))
            }
        };
        let content = steered.items.clone();
        self.message_lines(task, content, &steered.message)
            .chain(delivered)
    }

    /// Returns the lines of a user's message, for the model and for people.
    pub(super) fn message_lines(
        &self,
        id: &SubmissionId,
        content: Vec<UserInput>,
        message: &CheckedMessage,
    ) -> impl Iterator<Item = EmittedLine> + use<> {
        let skills = message.skills.iter();
        let mut items: Vec<TurnItem> = skills.map(|skill| self.skill_item(skill)).collect();
        if message.item.is_some() {
            items.push(TurnItem::UserMessage(UserMessageItem {
                id: self.services.ids.item("user"),
                content,
                client_id: message.client_id.clone(),
                metadata: message.metadata.clone(),
            }));
        }
        let mut lines: Vec<EmittedLine> = message
            .history()
            .map(|item| EmittedLine::item(&item))
            .collect();
        for item in items {
            let started = self.started_event(id, item.clone());
            let completed = self.completed_events(id, vec![item]);
            let events = std::iter::once(started).chain(completed);
            lines.extend(events.map(|msg| EmittedLine::event(id, msg)));
        }
        lines.into_iter()
    }
}

fn not_steerable(message: &str) -> ErrorEvent {
    ErrorEvent {
        message: message.to_owned(),
        fatal: false,
        error_info: Some(ErrorInfo::ActiveTurnNotSteerable),
    }
}
